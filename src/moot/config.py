"""What moot.toml may say. A file with a mistake is an error that names the setting, never a silent default.

Two files count: the user's own, and the workspace's. The workspace's comes with a repository that somebody
else may have written, so it may choose among models but name no servers and no keys.
"""

from __future__ import annotations

import contextlib
import difflib
import ipaddress
import json
import shlex
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from moot.errors import ConfigInvalid
from moot.text import toml
from moot.text.faults import fault_of, field_of
from moot.text.masking import mask

_ADDRESS = r"^https?://[^@/]+(/|$)"
_ADDRESS_OR_NONE = r"^(https?://[^@/]+(/.*)?)?$"
_HEADER = r"^[A-Za-z0-9-]*$"


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Models(_Section):
    """Names of models: for everyone, per role, per persona."""

    default: str = ""
    roles: dict[str, str] = {}
    personas: dict[str, str] = {}


class ProviderSettings(_Section):
    """A server that speaks OpenAI's chat completions."""

    base_url: str = Field(pattern=_ADDRESS)
    api_key_env: str = ""


class Local(_Section):
    """The embedded model's weights: a GGUF file, or the name of a pulled model."""

    model: str = ""


class GatewaySettings(_Section):
    retries: int = Field(default=3, ge=0, le=20)
    stall_seconds: float = Field(default=120.0, gt=0)


class Telemetry(_Section):
    """Where traces and metrics of a server go, over OTLP, and how it logs."""

    endpoint: str = Field(default="", pattern=_ADDRESS_OR_NONE)
    log_format: Literal["text", "json"] = "text"


class ReviewSettings(_Section):
    """Who reviews changes. `pass_env` names variables that Codex and Claude Code get besides what they
    need."""

    engine: Literal["auto", "codex", "claude", "model"] = "auto"
    pass_env: list[str] = []


class Workflow(_Section):
    """How often and how long reviewers and coding agents are tried. `max_rounds`, `max_usd` and `max_minutes`
    are of one loop of reviews and revisions. `unattended`: an approved plan is built without asking."""

    script_retries: int = Field(default=2, ge=0, le=10)
    retry_delay_secs: float = Field(default=5.0, ge=0, le=600)
    timeout_secs: float = Field(default=1800.0, gt=0)
    max_rounds: int = Field(default=4, ge=1, le=20)
    max_usd: float | None = Field(default=None, gt=0)
    max_minutes: float | None = Field(default=None, gt=0)
    unattended: bool = False


class ModelsByComplexity(_Section):
    """An engine's models, for changes of each complexity. Empty: the engine's own choice."""

    low: str = ""
    medium: str = ""
    high: str = ""
    critical: str = ""

    def select_model(self, complexity: str) -> str:
        return str(getattr(self, complexity))


_Effort = Literal["", "low", "medium", "high", "xhigh", "max"]


class Efforts(_Section):
    """How hard a program thinks about changes of each complexity. Empty: as it does by itself."""

    low: _Effort = "low"
    medium: _Effort = "medium"
    high: _Effort = "high"
    critical: _Effort = "high"

    def select(self, complexity: str) -> str:
        return str(getattr(self, complexity))


class ProgramByComplexity(ModelsByComplexity):
    efforts: Efforts = Efforts()


class Implementing(_Section):
    """Who carries out tasks, and what shows that they were. `command` is a program with its arguments: the
    task comes on its standard input. `attempts` is how often an agent is asked for one task, told each time
    what was wrong; `review` whether what it did is reviewed. `pass_env` names variables that a coding agent
    gets besides what it needs, and `test_pass_env` keys and tokens that the tests get."""

    agent: Literal["auto", "codex", "claude", "command"] = "auto"
    command: list[str] = []
    test: str = ""
    attempts: int = Field(default=2, ge=1, le=10)
    review: bool = True
    pass_env: list[str] = []
    test_pass_env: list[str] = []


class ServerSettings(_Section):
    """How `moot serve` and `moot worker` run. `names` are those under which the server may be addressed, such
    as a load balancer's, besides its own. A client has `header_seconds` to send a request's headers and
    `body_seconds` for its body; a connection without a request is closed after `idle_seconds`.
    `trusted_proxies` are addresses and networks: only what comes from there is believed about the client, and
    about who it is in `identity_header`."""

    grace_seconds: float = Field(default=3.0, ge=0)
    keep_frames_hours: float = Field(default=24.0, gt=0)
    sessions_per_worker: int = Field(default=50, ge=1)
    header_seconds: float = Field(default=15.0, gt=0, le=600)
    body_seconds: float = Field(default=30.0, gt=0, le=600)
    idle_seconds: float = Field(default=75.0, gt=0, le=600)
    names: list[str] = []
    trusted_proxies: list[str] = []
    identity_header: str = Field(default="", pattern=_HEADER)

    @field_validator("trusted_proxies")
    @classmethod
    def _addresses(cls, proxies: list[str]) -> list[str]:
        for one in proxies:
            try:
                ipaddress.ip_network(one, strict=False)
            except ValueError:
                raise ValueError(f"{one!r} is no address and no network, such as 10.0.0.0/8") from None
        return proxies

    @model_validator(mode="after")
    def _from_somebody(self) -> ServerSettings:
        if self.identity_header and not self.trusted_proxies:
            raise ValueError("identity_header needs trusted_proxies: anybody can send a header")
        return self


class Limits(_Section):
    """How much may happen at once, and cost. `model_calls` is how many calls to a provider may be under
    way. The limits in dollars and tokens hold for each session and each day (UTC). All but `sessions` hold
    over all servers and commands on one database. Without a number there is no limit."""

    sessions: int | None = Field(default=None, ge=1)
    sessions_per_client: int | None = Field(default=None, ge=1)
    model_calls: dict[str, Annotated[int, Field(ge=1)]] = {}
    session_usd: float | None = Field(default=None, ge=0)
    day_usd: float | None = Field(default=None, ge=0)
    session_tokens: int | None = Field(default=None, ge=0)
    day_tokens: int | None = Field(default=None, ge=0)

    @property
    def usd(self) -> str:
        """The limits in dollars that are set, by name; empty where there are none."""
        names = ("session_usd", "day_usd")
        return " and ".join(name for name in names if getattr(self, name) is not None)

    @property
    def limits_spending(self) -> bool:
        limits = (self.session_usd, self.day_usd, self.session_tokens, self.day_tokens)
        return any(limit is not None for limit in limits)


class Price(_Section):
    """What a model costs, in dollars for a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cache_read: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)


class Settings(_Section):
    """One file's content."""

    models: Models = Models()
    review: ReviewSettings = ReviewSettings()
    workflow: Workflow = Workflow()
    codex: ProgramByComplexity = ProgramByComplexity()
    claude: ProgramByComplexity = ProgramByComplexity()
    model: ModelsByComplexity = ModelsByComplexity()
    implement: Implementing = Implementing()
    providers: dict[str, ProviderSettings] = {}
    local: Local = Local()
    gateway: GatewaySettings = GatewaySettings()
    telemetry: Telemetry = Telemetry()
    server: ServerSettings = ServerSettings()
    limits: Limits = Limits()
    prices: dict[str, Price] = {}
    windows: dict[str, Annotated[int, Field(ge=2_000)]] = {}
    """How many tokens a model takes at once, by its name."""
    images: dict[str, bool] = {}
    """Whether a model takes images, by its name."""


class Config(BaseModel):
    """Both files, most specific first."""

    model_config = ConfigDict(frozen=True)

    workspace: Settings = Settings()
    user: Settings = Settings()
    workspace_file: str = "moot.toml"
    user_file: str = "config.toml"

    @property
    def both(self) -> Settings:
        """Every setting from the workspace's file where that has it, else from the user's."""
        return _over(self.user, self.workspace)


_ONLY_THE_USERS = (
    *("providers", "local", "gateway", "telemetry", "server", "limits", "prices", "windows", "images"),
)


_FORMS = {
    _ADDRESS: "has to be an address without a password in it, such as https://example.org/v1",
    _ADDRESS_OR_NONE: "has to be an address without a password in it, such as https://example.org/v1",
    _HEADER: "has to be the name of a header: letters, digits and hyphens",
}
_S = TypeVar("_S", bound=BaseModel)


def _over(below: _S, above: _S) -> _S:
    said = {}
    for name in above.model_fields_set:
        old, new = getattr(below, name), getattr(above, name)
        said[name] = _over(old, new) if isinstance(new, BaseModel) else new
    return below.model_copy(update=said)


def combine(workspace: tuple[str, str], user: tuple[str, str]) -> Config:
    """Both files as (name, text); a file that is not there is an empty text."""
    (workspace_file, workspace_text), (user_file, user_text) = workspace, user
    settings = parse(workspace_text, workspace_file)
    for section in _ONLY_THE_USERS:
        if section in settings.model_fields_set:
            raise ConfigInvalid(
                workspace_file,
                f"[{section}] belongs into your own configuration, {user_file}: "
                "a repository may not choose servers, keys or weights for you",
            )
    if settings.implement.command or settings.implement.agent == "command":
        raise ConfigInvalid(
            workspace_file,
            f"implement.command belongs into your own configuration, {user_file}: "
            "a repository may not choose which program runs",
        )
    if "review" in settings.implement.model_fields_set:
        raise ConfigInvalid(
            workspace_file,
            f"implement.review belongs into your own configuration, {user_file}: "
            "a repository may not choose that nobody looks at what is built",
        )
    if "unattended" in settings.workflow.model_fields_set:
        raise ConfigInvalid(
            workspace_file,
            f"workflow.unattended belongs into your own configuration, {user_file}: "
            "a repository may not choose that you are not asked",
        )
    for name, said in (("review", settings.review), ("implement", settings.implement)):
        for field in ("pass_env", "test_pass_env"):
            if getattr(said, field, None):
                raise ConfigInvalid(
                    workspace_file,
                    f"{name}.{field} belongs into your own configuration, {user_file}: "
                    "a repository may not choose which of your keys a program gets",
                )
    return Config(
        workspace=settings,
        user=parse(user_text, user_file),
        workspace_file=workspace_file,
        user_file=user_file,
    )


def parse(text: str, where: str) -> Settings:
    try:
        data = toml.parse(text)
    except ValueError as error:
        raise ConfigInvalid(where, f"is no valid TOML: {error}") from error
    try:
        return Settings.model_validate(data)
    except ValidationError as invalid:
        problem = invalid.errors(include_url=False)[0]
        path = [str(part) for part in problem["loc"]]
        raise ConfigInvalid(where, f"{field_of(problem['loc'])}: {_said(problem, path)}") from invalid


def _as_list(given: str) -> str:
    """What was meant, as it has to be written: a program and its arguments, each by itself."""
    words = given.split()
    with contextlib.suppress(ValueError):
        words = shlex.split(given)
    return mask(json.dumps(words, ensure_ascii=False))


def _said(problem: Any, path: list[str]) -> str:
    if problem["type"] == "list_type" and isinstance(given := problem["input"], str):
        return f"{fault_of(problem)}; write {path[-1]} = {_as_list(given)}"
    if problem["type"] != "extra_forbidden":
        return fault_of(problem, _FORMS)
    known = _known_settings(path[:-1])
    near = difflib.get_close_matches(path[-1], known, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else f"; known here: {', '.join(known)}"
    return f"unknown setting{hint}"


def _known_settings(path: list[str]) -> list[str]:
    section: type[BaseModel] = Settings
    for part in path:
        field = section.model_fields.get(part)
        kind = field.annotation if field else None
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            section = kind
        else:
            named: dict[str, type[BaseModel]] = {"providers": ProviderSettings, "prices": Price}
            return list(named[path[0]].model_fields) if path[0] in named else []
    return list(section.model_fields)
