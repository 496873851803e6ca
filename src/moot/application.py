"""moot put together: workspace, configuration, personas, models and sessions, for a surface to use.

Everything is found or made when it is first needed, so that a command pays only for what it uses. Surfaces
talk to this module and to values; they never reach a provider or a database themselves.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from moot.errors import AlreadyThere, NotFound
from moot.workspace.layout import Workspace, find_workspace

if TYPE_CHECKING:
    from moot.config import Config
    from moot.flows.ask import AskEvent, AskState
    from moot.gateway.gateway import Gateway
    from moot.gateway.names import ModelName
    from moot.gateway.weights import Entry, Weights
    from moot.personas import Library, Persona
    from moot.runner import Listener, Person, Runner
    from moot.store import Logged, Session, Store


@dataclass(frozen=True, slots=True)
class Options:
    """What a surface was told. None is "not said"."""

    workspace: Path | None = None
    model: str | None = None
    database: str | None = None


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """Which model would speak now, why it is that one, and what is special about it."""

    name: str
    reason: str
    tiny: bool
    weights: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """A session and where it stands."""

    session: Session
    step: str
    turns: int


@dataclass(frozen=True, slots=True)
class AskConversation:
    """A conversation with one persona, ready to run."""

    session: Session
    runner: Runner[AskState, AskEvent]
    model: str
    tiny: bool

    @property
    def state(self) -> AskState:
        return self.runner.state


class Moot:
    """One per process; made by `opened`."""

    def __init__(self, options: Options, env: Mapping[str, str], stack: AsyncExitStack) -> None:
        self._options = options
        self._env = env
        self._stack = stack
        self._store: Store | None = None

    # -- what is there -----------------------------------------------------------------------

    @cached_property
    def workspace(self) -> Workspace:
        return find_workspace(Path.cwd(), self._options.workspace)

    @cached_property
    def user_config_file(self) -> Path:
        return platformdirs.user_config_path("moot") / "config.toml"

    @cached_property
    def config(self) -> Config:
        from moot import config

        return config.load(self.workspace.config_file, self.user_config_file)

    @cached_property
    def library(self) -> Library:
        from moot.personas import load_library

        return load_library(self.workspace.personas.parent)

    @cached_property
    def weights_folder(self) -> Path:
        return platformdirs.user_cache_path("moot") / "models"

    @cached_property
    def database(self) -> str:
        from moot.store import sqlite_url

        said = self._options.database or self._env.get("MOOT_DATABASE")
        return said or sqlite_url(platformdirs.user_data_path("moot") / "moot.sqlite3")

    @property
    def database_file(self) -> Path | None:
        """The SQLite file, where sessions are kept in one."""
        scheme, _, path = self.database.partition(":///")
        return Path(path) if scheme == "sqlite" and path else None

    @cached_property
    def gateway(self) -> Gateway:
        from moot.gateway.gateway import Gateway

        gateway = Gateway(self.config, self._env, cache=self.weights_folder, flag=self._options.model)
        self._stack.push_async_callback(gateway.close)
        return gateway

    async def store(self) -> Store:
        if self._store is None:
            from moot.store import open_store

            self._store = await self._stack.enter_async_context(open_store(self.database))
        return self._store

    def system_prompt(self, persona: Persona) -> str:
        """What a model is told about who it is."""
        from moot.prompting import system_prompt

        return system_prompt(persona)

    def new_persona(self, persona_id: str, name: str | None) -> Path:
        """Writes a persona file to fill in. One that is there is left alone."""
        from moot.personas import scaffold
        from moot.workspace.paths import valid_id
        from moot.workspace.writing import write_atomic

        file = self.workspace.personas / f"{valid_id(persona_id, 'persona id')}.md"
        if file.exists():
            raise AlreadyThere("persona", persona_id, file)
        write_atomic(file, scaffold(persona_id, name or persona_id.replace("-", " ").title()))
        return file

    # -- models ------------------------------------------------------------------------------

    async def model_in_use(self) -> ModelInUse:
        choice = await self.gateway.choice()
        if not choice.name.is_local:
            return ModelInUse(str(choice.name), choice.reason, tiny=False)
        weights = self.gateway.weights(choice.name)
        return ModelInUse(str(choice.name), choice.reason, weights.tiny, str(weights.path))

    @property
    def catalogue(self) -> Sequence[Entry]:
        from moot.gateway.weights import CATALOGUE

        return CATALOGUE

    def pulled(self) -> Sequence[Weights]:
        from moot.gateway.weights import pulled_weights

        return pulled_weights(self.weights_folder)

    async def pull(self, name: str, progress: Callable[[int, int], None]) -> Path:
        from moot.gateway import weights

        known = {entry.name: entry for entry in weights.CATALOGUE}
        if name not in known:
            raise NotFound("model", name, tuple(known))
        endpoint = self._env.get("HF_ENDPOINT") or weights.HUB
        return await weights.pull(known[name], self.weights_folder, progress, endpoint)

    # -- sessions ----------------------------------------------------------------------------

    async def sessions(self) -> list[Standing]:
        """Newest first."""
        store = await self.store()
        return [_standing(s, await store.events(s.id)) for s in await store.sessions()]

    async def new_ask(
        self, persona: str, question: str | None, person: Person, listener: Listener
    ) -> AskConversation:
        """A new conversation with one persona. A wrong persona or question is found before anything is
        stored."""
        from moot.flows.ask import ASK, AskOpened, QuestionAsked
        from moot.gateway.names import Speaker

        found = self.library.persona(persona)
        choice = await self.gateway.choice(Speaker("ask", found.id, found.model))
        opening: list[AskEvent] = [AskOpened(found.id, str(choice.name))]
        if question is not None:
            opening.append(QuestionAsked(question))
        ASK.fold(opening)
        tiny = self.gateway.named(choice.name).small
        session = await (await self.store()).create("ask", question or found.name)
        runner = await self._ask_runner(session, choice.name, person, listener)
        for event in opening:
            await runner.put(event)
        return AskConversation(session, runner, str(choice.name), tiny)

    async def resumed_ask(
        self, session_id: str | None, person: Person, listener: Listener
    ) -> AskConversation:
        """A conversation taken up again: by id, or, without one, the latest."""
        from moot.flows.ask import ASK
        from moot.gateway import names

        store = await self.store()
        if session_id is None:
            latest = await store.sessions(ASK.name, limit=1)
            if not latest:
                raise NotFound("session", "latest")
            session = latest[0]
        else:
            session = await store.session(session_id)
        if session.format != ASK.name:
            raise NotFound("ask session", session.id)
        state = ASK.fold([ASK.decode(logged.body) for logged in await store.events(session.id)])
        # --model wins; else a conversation keeps to the model that it began with, so that the voice stays.
        name = names.parse(self._options.model or state.model)
        runner = await self._ask_runner(session, name, person, listener)
        await runner.resume()
        return AskConversation(session, runner, str(name), self.gateway.named(name).small)

    async def _ask_runner(
        self, session: Session, model: ModelName, person: Person, listener: Listener
    ) -> Runner[AskState, AskEvent]:
        from moot import prompting
        from moot.flows.ask import ASK
        from moot.runner import Runner, StoredLog
        from moot.speaking import Prompts, speaking

        prompts = Prompts({"ask/answer": prompting.ask_answer})
        speak = speaking(self.library, self.gateway, model, prompts)
        log = StoredLog(await self.store(), session.id, ASK)
        return Runner(ASK, log, speak=speak, person=person, listener=listener)


@asynccontextmanager
async def opened(options: Options, env: Mapping[str, str] | None = None) -> AsyncIterator[Moot]:
    async with AsyncExitStack() as stack:
        yield Moot(options, os.environ if env is None else env, stack)


def _standing(session: Session, logged: Sequence[Logged]) -> Standing:
    from moot.flows.ask import ASK

    flows: dict[str, Any] = {ASK.name: ASK}
    flow = flows[session.format]
    state = flow.fold([flow.decode(entry.body) for entry in logged])
    return Standing(session, str(state.step), len(state.conversation))
