"""What each kind of child sees of the environment: lists of names, and no values.

Knows which variables Codex, Claude Code, git and moot itself need. A child gets what its list names and no
more, so that a key that moot has for one provider reaches nobody else. Only tests and programs that the
person has chosen get the person's whole environment, without what looks like a secret. `more` are names
that the person has added in their own settings. Names may end in or contain `*`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from moot.processes import absolute_folders
from moot.text import toml

Env = Mapping[str, str]

_PERSON = (
    "HOME", "USER", "LOGNAME", "SHELL", "PATH", "TMPDIR", "TMP", "TEMP", "TERM", "COLORTERM", "NO_COLOR",
    "LANG", "LANGUAGE", "LC_*", "TZ", "XDG_*",
)  # fmt: skip
_NETWORK = (
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy",
    "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS", "NODE_USE_ENV_PROXY",
)  # fmt: skip
_KEYRING = ("DBUS_SESSION_BUS_ADDRESS", "GNOME_KEYRING_CONTROL")
_CODEX = ("OPENAI_*", "CODEX_*", "RUST_LOG")
_CLAUDE = (
    "ANTHROPIC_*", "CLAUDE_*", "DISABLE_*", "MCP_*", "MAX_MCP_OUTPUT_TOKENS", "MAX_THINKING_TOKENS",
    "API_TIMEOUT_MS", "USE_BUILTIN_RIPGREP",
)  # fmt: skip
_CLOUDS = {
    "CLAUDE_CODE_USE_BEDROCK": ("AWS_*",),
    "CLAUDE_CODE_USE_VERTEX": ("GOOGLE_*", "GCLOUD_*", "CLOUDSDK_*", "CLOUD_ML_REGION", "VERTEX_REGION_*"),
    "CLAUDE_CODE_USE_FOUNDRY": ("AZURE_*",),
}
_TOOLCHAINS = (
    "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_*", "UV_CACHE_DIR", "PIP_CACHE_DIR",
    "POETRY_HOME", "NVM_*", "FNM_*", "VOLTA_HOME", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR", "JAVA_HOME",
    "GRADLE_USER_HOME", "MAVEN_HOME", "M2_HOME", "GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "GOFLAGS",
    "CARGO_HOME", "RUSTUP_HOME", "RBENV_*", "GEM_HOME", "GEM_PATH", "DOTNET_ROOT", "ANDROID_HOME",
    "SDKMAN_DIR", "MISE_*", "ASDF_*", "CC", "CXX", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "MAKEFLAGS", "CI",
)  # fmt: skip
_SECRETS = (
    "MOOT_*", "OPENAI_*", "ANTHROPIC_*", "CODEX_*", "CLAUDE_*", "*TOKEN*", "*SECRET*", "*PASSWORD*",
    "*PASSWD*", "*API_KEY*", "*APIKEY*", "*ACCESS_KEY*", "*PRIVATE_KEY*", "*CREDENTIAL*",
)  # fmt: skip
_PYTHON_SETTINGS = (
    "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER",
    "PYTHONNOUSERSITE", "PYTHONHASHSEED", "PYTHONASYNCIODEBUG",
)  # fmt: skip
_SAFE_PATH = {"PYTHONSAFEPATH": "1"}


def for_moot(env: Env) -> dict[str, str]:
    """moot itself, as one server of several: it needs the keys and the database, and nothing that names code
    for Python to load."""
    own = {name for name in env if not name.startswith("PYTHON") or name in _PYTHON_SETTINGS}
    return _chosen(env, own) | _SAFE_PATH


def for_review_server(env: Env) -> dict[str, str]:
    """moot's MCP server within a reviewer, which reads files of a change and writes a review."""
    return _listed(env, _PERSON) | _SAFE_PATH


def for_git(env: Env) -> dict[str, str]:
    """No variables of git's own: in a git hook, they name another repository."""
    return _listed(env, _PERSON)


def for_agent(name: str, env: Env, more: Iterable[str] = (), *, codes: bool = False) -> dict[str, str]:
    """Codex or Claude Code. One that `codes` needs what the project is built with, too."""
    if name == "codex":
        own = (*_CODEX, *_named_by_codex(env))
    else:
        clouds = [one for switch, names in _CLOUDS.items() if env.get(switch) for one in names]
        own = (*_CLAUDE, *clouds)
    return _listed(env, (*_PERSON, *_NETWORK, *_KEYRING, *own, *(_TOOLCHAINS if codes else ()), *more))


def for_own_program(env: Env, more: Iterable[str] = ()) -> dict[str, str]:
    """Tests, a coding agent of the person's own, and the commit that they asked for: the person's environment
    without keys, tokens and what is moot's."""
    allowed = tuple(more)
    return {
        name: value
        for name, value in env.items()
        if _matches(name, allowed) or not _matches(name.upper(), _SECRETS)
    }


def _listed(env: Env, names: Iterable[str]) -> dict[str, str]:
    patterns = tuple(names)
    return _chosen(env, {name for name in env if _matches(name, patterns)})


def _chosen(env: Env, names: set[str]) -> dict[str, str]:
    chosen = {name: value for name, value in env.items() if name in names}
    if "PATH" in chosen:
        chosen["PATH"] = absolute_folders(chosen["PATH"])
    return chosen


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def codex_settings(env: Env) -> dict[str, Any]:
    """The person's own; none where they cannot be read."""
    home = Path(env.get("CODEX_HOME") or Path(env.get("HOME", "/")) / ".codex")
    try:
        return toml.parse((home / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _named_by_codex(env: Env) -> Iterator[str]:
    """The variables that the person's own Codex settings name: where a provider's key is, for one."""
    settings = codex_settings(env)
    if "bedrock" in str(settings.get("model_provider")):
        yield "AWS_*"
    for kind in ("model_providers", "mcp_servers"):
        for one in _mappings(settings.get(kind)):
            yield from (
                one[key] for key in ("env_key", "bearer_token_env_var") if isinstance(one.get(key), str)
            )
            headers = one.get("env_http_headers")
            yield from (str(name) for name in (headers.values() if isinstance(headers, dict) else ()))


def _mappings(section: Any) -> list[dict[str, Any]]:
    return [one for one in section.values() if isinstance(one, dict)] if isinstance(section, dict) else []
