from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.errors import ConfigInvalid
from moot.llm.names import Choice, ModelName, Speaker, Wishes, choose, ollama_url, parse


@pytest.mark.parametrize(
    ("text", "provider", "model"),
    [
        ("anthropic:claude-sonnet-5-5", "anthropic", "claude-sonnet-5-5"),
        ("ollama:qwen3:4b", "ollama", "qwen3:4b"),
        (" local ", "local", ""),
        ("local:qwen2.5-0.5b", "local", "qwen2.5-0.5b"),
        ("http://127.0.0.1:8000/v1/#org/model", "http://127.0.0.1:8000/v1", "org/model"),
    ],
)
def test_names_are_read(text: str, provider: str, model: str) -> None:
    assert parse(text) == ModelName(provider, model)


@pytest.mark.parametrize(
    "text", ["", "claude", ":x", "anthropic:", "http://127.0.0.1:8000/v1", "http://h/v1#"]
)
def test_what_is_no_name_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigInvalid, match="write"):
        parse(text)


@given(st.sampled_from(["anthropic", "lab", "http://h:1/v1"]), st.text("abc:/.-1", min_size=1, max_size=12))
def test_a_name_is_read_back_as_it_is_written(provider: str, model: str) -> None:
    assert parse(str(ModelName(provider, model))) == ModelName(provider, model)


EVERYTHING = {
    "MOOT_MODEL": "env:m",
    "ANTHROPIC_API_KEY": "a",
    "OPENAI_API_KEY": "o",
}
WORKSPACE = Wishes(
    "moot.toml",
    default="workspace:d",
    roles={"advisor": "workspace:r"},
    personas={"the-analyst": "workspace:p"},
    trusted=False,
)
USER = Wishes("config.toml", default="user:d", roles={"brief": "user:r"}, personas={"the-coach": "user:p"})


@pytest.mark.parametrize(
    ("speaker", "flag", "env", "wishes", "chosen"),
    [
        (Speaker("advisor", "the-analyst", "own:m"), "flag:m", EVERYTHING, [WORKSPACE, USER], "flag:m"),
        (Speaker("advisor", "the-analyst", "own:m"), None, EVERYTHING, [WORKSPACE, USER], "env:m"),
        (Speaker("advisor", "the-analyst", "own:m"), None, {}, [WORKSPACE, USER], "workspace:p"),
        (Speaker("advisor", "the-coach", "own:m"), None, EVERYTHING, [WORKSPACE, USER], "user:p"),
        (Speaker("brief", "the-mentor", "own:m"), None, EVERYTHING, [WORKSPACE, USER], "user:r"),
        (Speaker("x", "the-mentor", "own:m"), None, {}, [WORKSPACE, USER], "own:m"),
        (Speaker("advisor", "the-mentor"), None, {}, [WORKSPACE, USER], "workspace:r"),
        (Speaker("brief"), None, EVERYTHING, [WORKSPACE, USER], "user:r"),
        (Speaker(), None, EVERYTHING, [WORKSPACE, USER], "env:m"),
        (Speaker(), None, {}, [WORKSPACE, USER], "workspace:d"),
        (Speaker(), None, {}, [Wishes("moot.toml"), USER], "user:d"),
        (
            Speaker(),
            None,
            {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o"},
            [],
            "anthropic:claude-sonnet-5-5",
        ),
        (Speaker(), None, {"OPENAI_API_KEY": "o"}, [], "openai:gpt-5.6"),
        (Speaker(), None, {"ANTHROPIC_API_KEY": ""}, [], None),
    ],
)
def test_the_first_that_says_something_is_heard(
    speaker: Speaker, flag: str | None, env: Mapping[str, str], wishes: list[Wishes], chosen: str | None
) -> None:
    choice = choose(speaker, flag=flag, env=env, wishes=wishes)
    assert (str(choice.name) if choice else None) == chosen


def test_a_choice_says_why() -> None:
    choice = choose(Speaker("advisor"), flag=None, env={}, wishes=[WORKSPACE])
    assert choice == Choice(ModelName("workspace", "r"), "moot.toml, models.roles.advisor")


@pytest.mark.parametrize(
    ("speaker", "wishes"),
    [
        (Speaker(), [Wishes("moot.toml", default="http://elsewhere/v1#m", trusted=False)]),
        (Speaker("r"), [Wishes("moot.toml", roles={"r": "https://elsewhere/v1#m"}, trusted=False)]),
        (Speaker(persona="p", persona_model="http://elsewhere/v1#m"), []),
        (Speaker(), [Wishes("moot.toml", default="local:/etc/evil.gguf", trusted=False)]),
        (Speaker(persona="p", persona_model="local:evil.gguf"), []),
    ],
)
def test_a_repository_cannot_send_what_is_said_elsewhere(speaker: Speaker, wishes: list[Wishes]) -> None:
    with pytest.raises(ConfigInvalid, match="a repository may not"):
        choose(speaker, flag=None, env={}, wishes=wishes)


def test_the_users_own_settings_may_name_any_server() -> None:
    own = Wishes("config.toml", default="http://127.0.0.1:8000/v1#m")
    choice = choose(Speaker(), flag=None, env={}, wishes=[own])
    assert choice is not None
    assert choice.name.is_url


@pytest.mark.parametrize(
    ("host", "url"),
    [
        (None, "http://127.0.0.1:11434"),
        ("", "http://127.0.0.1:11434"),
        ("127.0.0.1:1234", "http://127.0.0.1:1234"),
        ("box", "http://box:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("https://box:99/", "https://box:99"),
        ("[::1]:5000", "http://[::1]:5000"),
        ("[::1]", "http://[::1]:11434"),
    ],
)
def test_ollamas_own_variable_is_understood(host: str | None, url: str) -> None:
    assert ollama_url({} if host is None else {"OLLAMA_HOST": host}) == url


def test_a_url_with_a_user_or_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(ConfigInvalid) as raised:
        parse("http://me:sekret@127.0.0.1/v1#m")
    assert "sekret" not in str(raised.value)
