"""Which provider stands behind a name, over real HTTP where one is reached."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from moot.config import Config, Settings
from moot.errors import ConfigInvalid, NoLocalModel
from moot.llm.messages import Request, UserSaid
from moot.llm.names import Speaker, parse
from moot.llm.registry import Gateway
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.providers import run

NOWHERE = {"OLLAMA_HOST": "127.0.0.1:9"}


def gateway(
    env: Mapping[str, str], cache: Path, config: Config | None = None, flag: str | None = None
) -> Gateway:
    return Gateway(config or Config(), NOWHERE | dict(env), cache=cache, flag=flag)


def said(there: Gateway, name: str) -> tuple[str, float | None]:
    async def main() -> tuple[str, float | None]:
        try:
            reply = await there.named(parse(name)).stream(Request("", (UserSaid("Hello?"),), max_tokens=16))
            return reply.text, reply.cost_usd
        finally:
            await there.close()

    return run(main)


def test_the_sdks_own_variables_hold(stub: StubServer, tmp_path: Path) -> None:
    stub.default = Behaviour(text="Here.")
    env = {
        "ANTHROPIC_API_KEY": "a-key",
        "ANTHROPIC_BASE_URL": stub.anthropic_base_url,
        "OPENAI_API_KEY": "o-key",
        "OPENAI_BASE_URL": stub.openai_base_url,
    }
    # A server of one's own has no list price.
    assert said(gateway(env, tmp_path), "anthropic:claude-sonnet-5-5") == ("Here.", None)
    assert said(gateway(env, tmp_path), "openai:gpt-5.6") == ("Here.", None)
    assert [r.headers["authorization"] for r in stub.requests] == ["Bearer a-key", "Bearer o-key"]


def test_an_openai_base_url_needs_no_key(stub: StubServer, tmp_path: Path) -> None:
    assert said(gateway({"OPENAI_BASE_URL": stub.openai_base_url}, tmp_path), "openai:x")[0]


def test_a_server_can_be_named_by_its_url(stub: StubServer, tmp_path: Path) -> None:
    stub.default = Behaviour(text="Here.")
    assert said(gateway({}, tmp_path), f"{stub.openai_base_url}#org/model")[0] == "Here."
    assert stub.requests[0].model == "org/model"


def test_a_server_can_be_named_in_the_users_settings(stub: StubServer, tmp_path: Path) -> None:
    settings = {"base_url": stub.openai_base_url, "api_key_env": "LAB_KEY"}
    config = Config(user=Settings.model_validate({"providers": {"lab": settings}}))
    assert said(gateway({"LAB_KEY": "l"}, tmp_path, config), "lab:m")[0]
    assert stub.requests[0].headers["authorization"] == "Bearer l"
    with pytest.raises(ConfigInvalid, match="LAB_KEY, which is not set"):
        gateway({}, tmp_path, config).named(parse("lab:m"))


def test_an_unknown_provider_is_told_what_is_known(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="Known: anthropic, openai, ollama, local"):
        gateway({}, tmp_path).named(parse("antropic:x"))


def test_an_ollama_that_answers_is_used_and_costs_nothing(stub: StubServer, tmp_path: Path) -> None:
    stub.models = ("qwen3:4b", "llama4")
    stub.default = Behaviour(text="Here.")
    there = Gateway(Config(), {"OLLAMA_HOST": stub.url}, cache=tmp_path)

    async def main() -> str:
        return str((await there.choice()).name)

    assert run(main) == "ollama:qwen3:4b"
    assert said(Gateway(Config(), {"OLLAMA_HOST": stub.url}, cache=tmp_path), "ollama:qwen3:4b") == (
        "Here.",
        0.0,
    )


def test_nothing_at_all_leaves_the_embedded_model(tmp_path: Path) -> None:
    there = gateway({}, tmp_path)

    async def main() -> str:
        return str((await there.choice(Speaker("ask", "the-coach"))).name)

    assert run(main) == "local"
    assert there.weights(parse("local")).tiny


def test_weights_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(NoLocalModel, match=r"gone\.gguf"):
        gateway({"MOOT_LOCAL_MODEL": str(tmp_path / "gone.gguf")}, tmp_path).named(parse("local"))


def test_the_workspace_is_heard_before_the_user(tmp_path: Path) -> None:
    config = Config(
        workspace=Settings.model_validate({"models": {"default": "ollama:w"}}),
        user=Settings.model_validate({"models": {"default": "ollama:u", "roles": {"brief": "ollama:b"}}}),
    )

    async def main() -> list[str]:
        there = gateway({}, tmp_path, config)
        flagged = gateway({}, tmp_path, config, flag="local")
        return [
            str((await there.choice()).name),
            str((await there.choice(Speaker("brief"))).name),
            str((await flagged.choice(Speaker("brief"))).name),
        ]

    assert run(main) == ["ollama:w", "ollama:b", "local"]
