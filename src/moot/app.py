"""moot put together: workspace, configuration, personas, models and sessions, for a surface to use.

Everything is found or made when it is first needed, so that a command pays only for what it uses. Surfaces
talk to this module and to values; they never reach a provider or a database themselves.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import platformdirs

from moot.errors import (
    ConfigInvalid,
    InvalidInput,
    MootError,
    NoBackup,
    NotFound,
)
from moot.files.layout import Workspace, find_workspace, settings_text

S = TypeVar("S")
E = TypeVar("E", bound="Event")

if TYPE_CHECKING:
    from moot.config import Config
    from moot.core.flow import Event, Flow
    from moot.core.model_effects import Prompts, Sight
    from moot.core.runner import Listener, Person, Runner, Speak
    from moot.core.spending import Meter
    from moot.core.stored import Standing
    from moot.evidence.files import Reach
    from moot.evidence.gather import Gathered, Intake, Weighed
    from moot.llm.embedded.weights import Entry, Pulled, Weights
    from moot.llm.names import ModelName, Speaker
    from moot.llm.prices import Pricing
    from moot.llm.registry import Gateway
    from moot.personas.library import Library, Persona
    from moot.server import Drives, Format, Hub, Service
    from moot.server.lease import LeasedSession
    from moot.store.ledger import Line
    from moot.store.people import People
    from moot.store.sessions import Session, Store


MAX_TITLE = 200


@dataclass(frozen=True, slots=True)
class Options:
    """What a surface was told. None is "not said"."""

    workspace: Path | None = None
    model: str | None = None
    database: str | None = None
    agentd: bool = False
    """Changes are where the tool of that name has them."""


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """Which model would speak now, why it is that one, and what is special about it."""

    name: str
    reason: str
    tiny: bool
    weights: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """Who takes part in a session: the models' prompts, the person, and whoever listens."""

    prompts: Prompts
    person: Person
    listener: Listener
    format: Format[Any, Any] | None = None
    """For a format whose words others may watch."""


@dataclass(frozen=True)
class Conversation(Generic[S, E]):
    """A stored session, ready to run."""

    session: Session
    runner: Runner[S, E]
    model: str
    tiny: bool
    close: Callable[[], Awaitable[None]]
    """Lets others go on with it. Done at the latest when the process ends."""

    @property
    def state(self) -> S:
        return self.runner.state


class Moot:
    """One per process; made by `opened`."""

    def __init__(self, options: Options, env: Mapping[str, str], stack: AsyncExitStack) -> None:
        self._options = options
        self._env = env
        self._stack = stack
        self._store: Store | None = None
        self._hub: Hub | None = None
        self._library: tuple[object, Library] | None = None
        self._leased: weakref.WeakSet[LeasedSession[Any, Any]] = weakref.WeakSet()

    # -- what is there -----------------------------------------------------------------------

    @cached_property
    def workspace(self) -> Workspace:
        return find_workspace(Path.cwd(), self._options.workspace, agentd=self._options.agentd)

    @property
    def model_wished(self) -> str | None:
        """What --model said."""
        return self._options.model

    @property
    def agentd(self) -> bool:
        return self._options.agentd

    @property
    def env(self) -> Mapping[str, str]:
        return self._env

    @cached_property
    def user_config_file(self) -> Path:
        return platformdirs.user_config_path("moot") / "config.toml"

    @cached_property
    def user_tests_file(self) -> Path:
        """Which test commands the person has confirmed, and where."""
        return platformdirs.user_data_path("moot") / "tests.json"

    @cached_property
    def config(self) -> Config:
        from moot import config

        files = (self.workspace.config_file, self.user_config_file)
        workspace, user = ((str(file), settings_text(file)) for file in files)
        return config.combine(workspace, user)

    @property
    def library(self) -> Library:
        """As the files of the workspace say now: they are read again when one of them has changed."""
        from moot.personas.library import load_library, stamps

        root = self.workspace.library
        seen = stamps(root / "personas", root / "panels")
        if self._library is None or self._library[0] != seen:
            self._library = (seen, load_library(root))
        return self._library[1]

    @cached_property
    def weights_folder(self) -> Path:
        return platformdirs.user_cache_path("moot") / "models"

    @cached_property
    def database(self) -> str:
        from moot.store.database import sqlite_url

        said = self._options.database or self._env.get("MOOT_DATABASE")
        return said or sqlite_url(platformdirs.user_data_path("moot") / "moot.sqlite3")

    @property
    def database_file(self) -> Path | None:
        """The SQLite file, where sessions are kept in one."""
        from moot.store.sqlite_file import sqlite_file

        return sqlite_file(self.database)

    @property
    def shared_database(self) -> bool:
        """Whether several processes may serve from the database."""
        return self.database.startswith(("postgresql:", "postgresql+", "postgres:"))

    @cached_property
    def gateway(self) -> Gateway:
        from moot.llm.registry import Gateway

        gateway = Gateway(
            self.config, self._env, cache=self.weights_folder, flag=self._options.model, meter=self.meter
        )
        self._stack.push_async_callback(gateway.close)
        return gateway

    async def store(self) -> Store:
        if self._store is None:
            from moot.store.sessions import open_store

            workspace = str(self.workspace.root.resolve())
            self._store = await self._stack.enter_async_context(open_store(self.database, workspace))
            self._stack.push_async_callback(self.meter.close)
            self._stack.push_async_callback(self._give_back_leases)
        return self._store

    @cached_property
    def meter(self) -> Meter:
        """Counts what models cost, and stops at what the user allows to be spent."""
        from moot.core.spending import Meter
        from moot.llm import names

        def pricing(model: str) -> Pricing:
            try:
                return self.gateway.pricing(names.parse(model))
            except ConfigInvalid:
                # A program is known by its name alone.
                return self.gateway.pricing(names.ModelName(model, ""))

        return Meter(self.store, self.config.user.limits, pricing)

    @asynccontextmanager
    async def hub(
        self,
        services: Iterable[Service[Any, Any]],
        grace: float | None = None,
        work: Drives = "all",
        *,
        for_all: bool = False,
    ) -> AsyncIterator[Hub]:
        """What serves sessions of these formats live, in this process. `grace` is the configuration's where
        it is not given. One that is there `for_all` serves all formats, for everybody in this process who
        needs one: two would each believe that they hold the other's leases."""
        from moot.server import Hub

        if self._hub is not None:
            yield self._hub
            return
        user = self.config.user
        settings = user.server if grace is None else user.server.model_copy(update={"grace_seconds": grace})
        hub = Hub(await self.store(), services, settings, user.limits, work)
        await hub.start()
        self._hub = hub if for_all else None
        try:
            yield hub
        finally:
            self._hub = None
            await hub.close()

    async def people(self, admin_token: str | None = None) -> People:
        from moot.store.people import People

        return People(await self.store(), admin_token)

    def back_up(self, target: Path, *, force: bool) -> None:
        """Copies the database to a file, while others use it."""
        from moot.store.sqlite_file import back_up

        file = self.database_file
        if file is None:
            raise NoBackup(self.shared_database, str(target))
        back_up(file, target.absolute(), force=force)

    def telemetry(self) -> AbstractAsyncContextManager[None]:
        """While it lasts, this process reports what it does, to whom the user's settings or the environment
        name, and in its log."""
        import logging

        from moot import telemetry
        from moot.extras import TELEMETRY
        from moot.telemetry import logs, watch

        endpoint, env, lines = self.config.user.telemetry.endpoint, self._env, logs.wanted()
        if watch.asked_for(endpoint, env):
            if TELEMETRY.is_installed:
                return telemetry.started(lambda: watch.exporting(endpoint, env, lines=lines))
            missing = f"telemetry is configured, but not installed: run `{TELEMETRY.install}`"
            if endpoint:
                raise ConfigInvalid(self.config.user_file, f"telemetry.endpoint: {missing}")
            # Variables may be meant for everything on a machine: moot works without.
            logging.getLogger("moot").warning(missing)
        return telemetry.started((lambda: watch.Watch(lines=True)) if lines else None)

    def system_prompt(self, persona: Persona) -> str:
        """What a model that answers as this persona is told about who it is."""
        from moot.prompts.template import system_prompt

        return system_prompt(persona, whole_answer=True)

    def new_persona(self, persona_id: str, name: str | None) -> Path:
        """Writes a persona file to fill in. One that is there is left alone."""
        from moot.personas.library import write_scaffold

        return write_scaffold(self.workspace, persona_id, name)

    # -- models ------------------------------------------------------------------------------

    async def model_in_use(self, speaker: Speaker | None = None) -> ModelInUse:
        """Which model would speak. Raises what would stand in its way."""
        choice = await self.gateway.choice(speaker)
        await self.gateway.check(choice.name)
        if not choice.name.is_local:
            return ModelInUse(str(choice.name), choice.reason, tiny=False)
        weights = self.gateway.weights(choice.name)
        return ModelInUse(str(choice.name), choice.reason, weights.tiny, str(weights.path))

    def intake(self, reach: Reach) -> Intake:
        """What takes evidence, for somebody whose paths may lead so far."""
        from moot.evidence.gather import Intake

        return Intake(self.workspace.root, reach)

    async def weigh(self, gathered: Gathered, model: str = "") -> Weighed:
        """How much evidence it is, what one reading by a model costs, and what was left out."""
        from moot.llm import names

        try:
            name = names.parse(model) if model else (await self.gateway.choice(None)).name
            pricing = self.gateway.pricing(name)
        except MootError:
            # That there is no model is for whoever asks it to say.
            pricing = None
        return await gathered.weigh(pricing)

    async def warm_up(self) -> None:
        """Loads what the board's first word would wait for."""
        from moot.llm.names import Speaker

        await self.gateway.warm_up(Speaker("advisor"))

    def other_speakers(self) -> list[Speaker]:
        """Roles and personas that have a wish of their own."""
        from moot.llm.names import Speaker

        settings = (self.config.workspace.models, self.config.user.models)
        roles = sorted({role for models in settings for role in models.roles})
        personas = {persona for models in settings for persona in models.personas}
        own = {p.id: p.model for p in self.library.personas if p.model or p.id in personas}
        return [Speaker(role) for role in roles] + [Speaker("", id_, model) for id_, model in own.items()]

    @property
    def catalogue(self) -> Sequence[Entry]:
        from moot.llm.embedded.weights import CATALOGUE

        return CATALOGUE

    def pulled(self) -> Sequence[Weights]:
        from moot.llm.embedded.weights import pulled_weights

        return pulled_weights(self.weights_folder)

    async def pull(
        self, name: str, progress: Callable[[int, int], None], sha256: str | None = None
    ) -> Pulled:
        """`sha256` is a checksum that the caller knows from elsewhere."""
        from moot.extras import EMBEDDED, require
        from moot.llm.embedded import weights

        require(EMBEDDED)
        known = {entry.name: entry for entry in weights.CATALOGUE}
        if name not in known:
            raise NotFound("model", name, tuple(known))
        entry = replace(known[name], sha256=sha256) if sha256 else known[name]
        endpoint = self._env.get("HF_ENDPOINT") or weights.HUB
        return await weights.pull(entry, self.weights_folder, progress, endpoint)

    # -- sessions ----------------------------------------------------------------------------

    async def sessions(
        self, flows: Iterable[Flow[Any, Any]], limit: int, *, everywhere: bool = False, search: str = ""
    ) -> list[Standing]:
        """Pinned ones first, then the newest, of this workspace or of all; one that cannot be read, or is of
        none of these flows, does not hide the others."""
        from moot.core.stored import standing

        store, known = await self.store(), {flow.name: flow for flow in flows}
        found = await store.sessions(limit=limit, everywhere=everywhere, search=search)
        logs = [(session, await store.events(session.id)) for session in found]
        # Those whose events are in the workspace's files have a list of their own.
        kept = [(session, logged) for session, logged in logs if not logged or logged[0].body]
        return [standing(known.get(session.format), session, logged) for session, logged in kept]

    async def session(self, session_id: str) -> Session:
        """By its id, or by an unmistakable beginning of it."""
        return await (await self.store()).session(session_id)

    async def change_session(
        self, session: Session, *, title: str | None = None, pinned: bool | None = None
    ) -> None:
        """An empty title takes the given one back: then it is called by what it is about."""
        name = None if title is None else " ".join(title.split())
        if name is not None and len(name) > MAX_TITLE:
            raise InvalidInput("title", f"has {len(name):,} characters; at most {MAX_TITLE:,} are taken")
        await (await self.store()).change_head(session.id, name=name, pinned=pinned)

    async def delete_session(self, session: Session) -> None:
        """For good. What it has cost stays in the ledger."""
        await (await self.store()).delete(session.id)

    async def folded(self, flow: Flow[S, E], session: Session) -> S:
        """A session's state."""
        from moot.core.stored import fold

        return fold(flow, session, await (await self.store()).events(session.id))

    async def begin(
        self, flow: Flow[S, E], title: str, opening: list[E], model: ModelName, part: Part
    ) -> Conversation[S, E]:
        """A new session. What is wrong with its opening, or its model, is found before anything is stored."""
        flow.fold(opening)
        self.gateway.named(model)
        bodies = [flow.encode(event) for event in opening]
        session = await (await self.store()).create(flow.name, title, bodies)
        return await self._conversation(flow, session, model, part)

    async def take_up(self, flow: Flow[S, E], session_id: str | None, part: Part) -> Conversation[S, E]:
        """A session taken up again: by id, or, without one, the latest."""
        from moot.llm import names

        store = await self.store()
        if session_id is None:
            latest = await store.sessions(flow.name, limit=1, pinned_first=False)
            if not latest:
                raise NotFound(f"{flow.name} session", "")
            session = latest[0]
        else:
            session = await store.session(session_id)
        if session.format != flow.name:
            raise NotFound(f"{flow.name} session", session.id)
        state: Any = await self.folded(flow, session)
        # --model wins; else a session keeps to the model that it began with, so that the voices stay.
        return await self._conversation(flow, session, names.parse(self._options.model or state.model), part)

    async def _conversation(
        self, flow: Flow[S, E], session: Session, model: ModelName, part: Part
    ) -> Conversation[S, E]:
        from moot.server.lease import LeasedSession
        from moot.server.sight import sight_of

        tiny = self.gateway.named(model).small
        leased = LeasedSession(
            await self.store(),
            session.id,
            flow,
            speak=await self.speaking(model, part.prompts, session.id, sight_of(self, session)),
            person=part.person,
            listener=part.listener,
            format=part.format,
            tiny=tiny,
        )
        self._leased.add(leased)
        await leased.resume()
        return Conversation(session, leased.runner, str(model), tiny, leased.close)

    async def _give_back_leases(self) -> None:
        for leased in list(self._leased):
            await leased.close()

    async def speaking(
        self, model: ModelName, prompts: Prompts, session: str, sight: Sight | None = None
    ) -> Speak:
        """A performer of the model effects of one session, on whose account they are. What lives in the
        workspace's files may look into all of them."""
        from moot.core.model_effects import on_account, speaking

        sight = sight or self.look
        return on_account(session, speaking(lambda: self.library, self.gateway, model, prompts, sight))

    async def look(self) -> Path:
        """The folder that a model may look into on behalf of whoever may use the workspace."""
        return self.workspace.root

    async def spending(self) -> dict[str, list[Line]]:
        """What models have cost: by day, and of today by session and by model."""
        from moot.store.ledger import Ledger, today

        await self.meter.settle_abandoned()
        ledger = Ledger(await self.store())
        return {
            "days": await ledger.report("day"),
            "sessions": await ledger.report("session", today()),
            "models": await ledger.report("model", today()),
        }

    def account(self, what: str) -> str:
        """The name of what lives in this workspace's files, as a session that models are paid for."""
        return f"{what} in {self.workspace.root}"


@asynccontextmanager
async def opened(options: Options, env: Mapping[str, str] | None = None) -> AsyncIterator[Moot]:
    async with AsyncExitStack() as stack:
        yield Moot(options, os.environ if env is None else env, stack)
