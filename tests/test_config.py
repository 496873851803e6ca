from __future__ import annotations

import pytest

from moot.config import combine, parse
from moot.errors import ConfigInvalid


def test_no_files_are_no_settings() -> None:
    config = combine(("moot.toml", ""), ("config.toml", ""))
    assert config.user.gateway.retries == 3
    assert config.workspace.models.default == ""


def test_all_settings_are_read() -> None:
    settings = parse(
        """
        [models]
        default = "anthropic:claude-opus-5-5"
        [models.roles]
        brief = "openai:gpt-5.6"
        [models.personas]
        the-analyst = "ollama:qwen3"
        [providers.lab]
        base_url = "http://127.0.0.1:8000/v1"
        api_key_env = "LAB_KEY"
        [local]
        model = "qwen3-4b"
        [gateway]
        retries = 1
        stall_seconds = 30
        """,
        "config.toml",
    )
    assert settings.models.roles == {"brief": "openai:gpt-5.6"}
    assert settings.providers["lab"].api_key_env == "LAB_KEY"
    assert (settings.gateway.retries, settings.gateway.stall_seconds) == (1, 30.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("models = 3", "models: "),
        ("[models]\ndefualt = 'x'", "models.defualt: unknown setting; did you mean 'default'?"),
        ("[modles]", "modles: unknown setting; did you mean 'models'?"),
        ("[zzz]", "zzz: unknown setting; known here: models, review, workflow, "),
        ("[models]\ndefault = 3", "models.default: "),
        ("[gateway]\nretries = -1", "gateway.retries: "),
        ("[providers.lab]\nbase_url = 'ftp://x'", "providers.lab.base_url: "),
        ("[providers.lab]\nurl = 'http://x'", "providers.lab."),
        (
            "[implement]\ncommand = \"agent -p 'do it'\"",
            'implement.command: has to be a list, and is text; write command = ["agent", "-p", "do it"]',
        ),
        ('[implement]\ncommand = "it\'s"', 'write command = ["it\'s"]'),
        ("[implement]\ncommand = 3", "implement.command: has to be a list, and is a number"),
        ("[models", "is no valid TOML: "),
        ("a = 1\na = 2", "Cannot overwrite a value"),
        (f"a = {'[' * 5000}{']' * 5000}", "is no valid TOML: it is nested too deeply"),
        (f"[limits]\nsessions = {'9' * 5000}", "is no valid TOML: a number in it has too many digits"),
        (".".join("a" * 20_000) + " = 1", "is no valid TOML: more than 200 dots in one line (at line 1)"),
    ],
)
def test_a_mistake_is_named(text: str, said: str) -> None:
    with pytest.raises(ConfigInvalid) as raised:
        parse(text, "moot.toml")
    assert str(raised.value).startswith("moot.toml: ")
    assert said in str(raised.value)


@pytest.mark.parametrize("section", ["[providers.x]\nbase_url='http://x'", "[local]\nmodel='x'", "[gateway]"])
def test_a_repository_may_not_choose_servers_keys_or_weights(section: str) -> None:
    with pytest.raises(ConfigInvalid, match="your own configuration"):
        combine(("moot.toml", section), ("config.toml", ""))
    assert combine(("moot.toml", ""), ("config.toml", section)).user_file == "config.toml"


def test_a_repository_may_not_choose_that_nobody_looks_at_what_is_built() -> None:
    for setting in ("review = false", "review = true"):
        with pytest.raises(ConfigInvalid, match=r"implement\.review belongs into your own configuration"):
            combine(("moot.toml", f"[implement]\n{setting}\n"), ("config.toml", ""))
    own = combine(("moot.toml", ""), ("config.toml", "[implement]\nreview = false\n"))
    assert not own.user.implement.review


def test_a_repository_may_not_choose_that_the_person_is_not_asked() -> None:
    for setting in ("unattended = true", "unattended = false"):
        with pytest.raises(ConfigInvalid, match=r"workflow\.unattended belongs into your own configuration"):
            combine(("moot.toml", f"[workflow]\n{setting}\n"), ("config.toml", ""))
    assert combine(
        ("moot.toml", ""), ("config.toml", "[workflow]\nunattended = true\n")
    ).user.workflow.unattended
