"""How models are named, and which one is used where nobody said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from moot.errors import ConfigInvalid

DEFAULT_ANTHROPIC = "claude-sonnet-5-5"
DEFAULT_OPENAI = "gpt-5.6"

LOCAL = "local"
OLLAMA_URL = "http://127.0.0.1:11434"


@dataclass(frozen=True, slots=True)
class ModelName:
    """`provider:model`. The provider is `anthropic`, `openai`, `ollama`, `local`, one from the
    configuration, or the base URL of an OpenAI-compatible server (then written `URL#model`)."""

    provider: str
    model: str

    def __str__(self) -> str:
        if self.is_url:
            return f"{self.provider}#{self.model}"
        return f"{self.provider}:{self.model}" if self.model else self.provider

    @property
    def is_url(self) -> bool:
        return self.provider.startswith(("http://", "https://"))

    @property
    def is_local(self) -> bool:
        return self.provider == LOCAL


def parse(text: str, where: str = "model") -> ModelName:
    """Reads `anthropic:claude-sonnet-5-5`, `ollama:qwen3:4b`, `http://127.0.0.1:8000/v1#name`, `local`."""
    text = text.strip()
    if text.startswith(("http://", "https://")):
        url, mark, model = text.rpartition("#")
        if "@" in url.split("://", 1)[-1].split("/", 1)[0]:
            raise ConfigInvalid(where, "a URL must not contain a user or password: set MOOT_API_KEY instead")
        if not mark or not model:
            raise ConfigInvalid(where, f"{text!r} names no model: write it as BASE_URL#MODEL")
        return ModelName(url.rstrip("/"), model)
    provider, _, model = text.partition(":")
    if provider == LOCAL:
        return ModelName(LOCAL, model)
    if not provider or not model:
        raise ConfigInvalid(
            where,
            f"{text!r} is no model name: write provider:model, such as anthropic:{DEFAULT_ANTHROPIC}, "
            f"openai:{DEFAULT_OPENAI}, ollama:NAME, http://HOST/v1#NAME, or local",
        )
    return ModelName(provider, model)


@dataclass(frozen=True, slots=True)
class Choice:
    """A model, and why it is this one, for `moot doctor` and for whoever wonders."""

    name: ModelName
    reason: str


@dataclass(frozen=True, slots=True)
class Wishes:
    """What one configuration file says about models."""

    where: str
    default: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    personas: Mapping[str, str] = field(default_factory=dict)
    trusted: bool = True
    """False for files that come with a repository: those may choose among the user's models, but not send
    what is said to a server of their own choosing."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who is going to speak: the role that the program gives, and the persona with its own wish."""

    role: str = ""
    persona: str = ""
    persona_model: str | None = None


def choose(
    speaker: Speaker, *, flag: str | None, env: Mapping[str, str], wishes: Sequence[Wishes]
) -> Choice | None:
    """The first that says something: the flag, the user's wish for this persona or role, MOOT_MODEL, the
    repository's, the user's default, a key. None where nobody did; then it is an Ollama that answers, else
    the embedded model. What a repository wishes never overrides what the user said."""
    for wish, reason, trusted in _spoken(speaker, flag, env, wishes):
        if not wish:
            continue
        name = parse(wish, reason)
        if not trusted:
            _check_untrusted(name, reason)
        return Choice(name, reason)
    if env.get("ANTHROPIC_API_KEY") or env.get("ANTHROPIC_AUTH_TOKEN"):
        return Choice(ModelName("anthropic", DEFAULT_ANTHROPIC), "ANTHROPIC_API_KEY")
    if env.get("OPENAI_API_KEY"):
        return Choice(ModelName("openai", DEFAULT_OPENAI), "OPENAI_API_KEY")
    return None


def _check_untrusted(name: ModelName, where: str) -> None:
    if name.is_url:
        raise ConfigInvalid(
            where,
            f"a repository may not send what you say to a server of its choosing ({name}); "
            "name that server under [providers] in your own configuration, or use --model",
        )
    if name.is_local and ("/" in name.model or "\\" in name.model or name.model.endswith(".gguf")):
        raise ConfigInvalid(
            where,
            f"a repository may not choose a file to load as weights ({name}); "
            "use the name of a pulled model, or choose the file yourself with --model",
        )


def _spoken(
    speaker: Speaker, flag: str | None, env: Mapping[str, str], wishes: Sequence[Wishes]
) -> Iterator[tuple[str | None, str, bool]]:
    users = [file for file in wishes if file.trusted]
    repositorys = [file for file in wishes if not file.trusted]
    yield flag, "--model", True
    yield from _specific(speaker, users)
    yield env.get("MOOT_MODEL"), "MOOT_MODEL", True
    yield from _specific(speaker, repositorys)
    yield speaker.persona_model, f"persona {speaker.persona}", False
    for file in (*repositorys, *users):
        yield file.default, f"{file.where}, models.default", file.trusted


def _specific(speaker: Speaker, files: Sequence[Wishes]) -> Iterator[tuple[str | None, str, bool]]:
    """What is wished for this persona, then for this role."""
    for file in files:
        wish = file.personas.get(speaker.persona)
        yield wish, f"{file.where}, models.personas.{speaker.persona}", file.trusted
    for file in files:
        yield file.roles.get(speaker.role), f"{file.where}, models.roles.{speaker.role}", file.trusted


def ollama_url(env: Mapping[str, str]) -> str:
    """Ollama's own variable, with what it allows to leave out filled in."""
    host = env.get("OLLAMA_HOST", "").strip().rstrip("/")
    if not host:
        return OLLAMA_URL
    if "://" not in host:
        host = f"http://{host}"
    scheme, _, address = host.partition("://")
    address = address.replace("0.0.0.0", "127.0.0.1")
    return f"{scheme}://{address}" if ":" in address.rsplit("]", 1)[-1] else f"{scheme}://{address}:11434"


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
