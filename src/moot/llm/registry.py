"""Which model speaks, and the providers behind it: made on first use, one per server, kept until closed."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moot.config import Config
from moot.errors import ConfigInvalid, KeyRefused, MootError, Unreachable
from moot.extras import EMBEDDED, require
from moot.llm import names, prices
from moot.llm.eyesight import takes_images
from moot.llm.metering import UNMETERED, Meter
from moot.llm.model import Model
from moot.llm.names import Choice, ModelName, Speaker, Wishes
from moot.llm.prices import Pricing
from moot.llm.protocol import Provider
from moot.llm.retries import Patience
from moot.llm.windows import window_of
from moot.text.masking import protect_environment

if TYPE_CHECKING:
    from moot.llm.embedded.weights import Weights

_OLLAMA_SECONDS = 0.5
_OLLAMA_BYTES = 1024 * 1024
_NO_KEY = "none"
"""Sent to servers that want no key, because the SDK wants one."""


_BASES = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL"}
_PROGRAMS = {"codex": "openai", "claude": "anthropic", "command": None}
"""Reviewers and coding agents, and whose models they use."""


class Gateway:
    """`flag` is what --model said; `cache` is where pulled weights lie."""

    def __init__(
        self,
        config: Config,
        env: Mapping[str, str],
        *,
        cache: Path,
        flag: str | None = None,
        meter: Meter = UNMETERED,
    ) -> None:
        protect_environment(env)
        self._config = config
        self._env = env
        self._flag = flag
        self._cache = cache
        self._meter = meter
        self._providers: dict[str, Provider] = {}
        self._ollama: list[str] | None = None
        self._prices: asyncio.Future[None] | None = None

    async def choice(self, speaker: Speaker | None = None) -> Choice:
        config = self._config
        wishes = [
            Wishes(file, s.models.default, s.models.roles, s.models.personas, trusted)
            for file, s, trusted in (
                (config.workspace_file, config.workspace, False),
                (config.user_file, config.user, True),
            )
        ]
        chosen = names.choose(speaker or Speaker(), flag=self._flag, env=self._env, wishes=wishes)
        if chosen is not None:
            return chosen
        found = await self.ollama_models()
        if found:
            where = f"an Ollama answers at {names.ollama_url(self._env)}"
            return Choice(ModelName("ollama", found[0]), where)
        return Choice(ModelName(names.LOCAL, ""), "no key, no Ollama and no setting was found")

    async def model(self, speaker: Speaker) -> Model:
        return self.named((await self.choice(speaker)).name)

    def named(self, name: ModelName) -> Model:
        """The one door to a model, so that what it costs is counted. Raises where that cannot be known and a
        limit in dollars is set."""
        settings = self._config.user.gateway
        provider = self._provider(name)
        pricing = self.pricing(name)
        if self._config.user.limits.usd and not pricing.is_known:
            raise self.not_priced(str(name))
        if pricing.listed_by and self._prices is None:
            # Loading prices takes half a second of CPU: begun now, while the model thinks.
            self._prices = asyncio.ensure_future(asyncio.to_thread(prices.warm_up))
        small = name.is_local and self.weights(name).tiny
        return Model(
            name,
            provider,
            small=small,
            pricing=pricing,
            window=window_of(name, self._config.user.windows.get(str(name))),
            sees=takes_images(name, self._config.user.images.get(str(name))),
            meter=self._meter,
            patience=Patience(retries=settings.retries),
            key_variable=self._key_variable(name),
            # A model of very few parameters would talk of it.
            today=None if small else date.today,
        )

    def pricing(self, name: ModelName) -> Pricing:
        """The user's own price first; a server of one's own has prices that nobody else knows. A reviewer or
        a coding agent stands in a provider's place."""
        own_prices = self._config.user.prices
        if name.provider in _PROGRAMS:
            own = own_prices.get(str(name)) or own_prices.get(name.provider)
            return Pricing(name.model, _PROGRAMS[name.provider] if name.model else None, own)
        own = own_prices.get(str(name))
        is_theirs = name.provider in _BASES and not self._env.get(_BASES[name.provider])
        listed_by = name.provider if is_theirs else None
        on_loopback = name.provider == "ollama" and names.is_loopback(names.ollama_url(self._env))
        return Pricing(name.model, listed_by, own, free=name.is_local or on_loopback)

    def not_priced(self, what: str) -> ConfigInvalid:
        config = self._config
        return ConfigInvalid(
            config.user_file,
            f"[limits] {config.user.limits.usd} cannot be kept, because nobody knows what {what} costs: "
            f'set its price under [prices."{what}"], as input = and output =, in dollars for a million '
            "tokens, or limit tokens instead, with session_tokens and day_tokens",
        )

    def _provider(self, name: ModelName) -> Provider:
        key = str(name) if name.is_local else name.provider
        if key not in self._providers:
            self._providers[key] = self._make(name)
        return self._providers[key]

    def _make(self, name: ModelName) -> Provider:
        env, stall = self._env, self._config.user.gateway.stall_seconds
        if name.is_local:
            require(EMBEDDED)
            from moot.llm.embedded.engine import LocalProvider

            return LocalProvider(self.weights(name))
        if name.provider == "anthropic":
            from moot.llm.anthropic import AnthropicProvider

            return AnthropicProvider(
                api_key=self._key(name, "ANTHROPIC_API_KEY"),
                base_url=env.get("ANTHROPIC_BASE_URL"),
                stall_seconds=stall,
            )
        from moot.llm.openai import OpenAIProvider

        server: dict[str, Any]
        if name.provider == "openai":
            base = env.get("OPENAI_BASE_URL")
            key = self._key(name, "OPENAI_API_KEY") or (_NO_KEY if base else None)
            server = {"base_url": base, "api_key": key, "compatible": bool(base)}
        elif name.provider == "ollama":
            server = {"base_url": f"{names.ollama_url(env)}/v1", "api_key": _NO_KEY, "compatible": True}
        elif name.is_url:
            key = self._key(name, "MOOT_API_KEY") or _NO_KEY
            server = {"base_url": name.provider, "api_key": key, "compatible": True}
        else:
            server = self._configured(name)
        return OpenAIProvider(**server, stall_seconds=stall)

    def _key_variable(self, name: ModelName) -> str:
        """Where the key for a model comes from; empty where it needs none."""
        if name.provider == "anthropic":
            token_only = self._env.get("ANTHROPIC_AUTH_TOKEN") and not self._env.get("ANTHROPIC_API_KEY")
            return "ANTHROPIC_AUTH_TOKEN" if token_only else "ANTHROPIC_API_KEY"
        if name.provider == "openai":
            return "OPENAI_API_KEY"
        if name.is_url:
            return "MOOT_API_KEY"
        configured = self._config.user.providers.get(name.provider)
        return (configured.api_key_env or "") if configured else ""

    def _key(self, name: ModelName, variable: str) -> str | None:
        """A key as it can stand in a header; what cannot is a mistake in the variable."""
        key = self._env.get(variable, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise KeyRefused(str(name), f"{variable} holds something that cannot be a key")
        return key or None

    def _configured(self, name: ModelName) -> dict[str, Any]:
        config = self._config
        settings = config.user.providers.get(name.provider)
        if settings is None:
            known = ["anthropic", "openai", "ollama", "local", *config.user.providers]
            raise ConfigInvalid(
                "model",
                f"{name}: there is no provider '{name.provider}'. Known: {', '.join(known)}; "
                f"add another under [providers.{name.provider}] in {config.user_file}",
            )
        key = self._key(name, settings.api_key_env) if settings.api_key_env else _NO_KEY
        if not key:
            raise ConfigInvalid(
                config.user_file,
                f"providers.{name.provider}.api_key_env names {settings.api_key_env}, which is not set",
            )
        return {"base_url": settings.base_url, "api_key": key, "compatible": True}

    def weights(self, name: ModelName) -> Weights:
        """What the embedded model would run on."""
        from moot.llm.embedded.weights import find_weights

        configured = name.model or self._env.get("MOOT_LOCAL_MODEL") or self._config.user.local.model
        return find_weights(configured or None, self._cache)

    async def ollama_models(self) -> list[str]:
        """What an Ollama on this machine offers; nothing where none answers at once. Asked only once."""
        if self._ollama is None:
            self._ollama = await _list_ollama(names.ollama_url(self._env))
        return self._ollama

    async def warm_up(self, speaker: Speaker) -> None:
        """Loads what the first word would otherwise wait for. What stands in its way is told by then."""
        with contextlib.suppress(MootError):
            name = (await self.choice(speaker)).name
            await self._provider(name).prepare()
            self.named(name)
            if self._prices is not None:
                await self._prices

    async def check(self, name: ModelName) -> None:
        """Raises what would stand in the way of this model's first word, as far as can be told without asking
        it for one."""
        self.named(name)
        keys = {"anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "openai": ("OPENAI_API_KEY",)}
        wanted = keys.get(name.provider, ())
        own_server = name.provider == "openai" and self._env.get("OPENAI_BASE_URL")
        if wanted and not own_server and not any(self._env.get(variable) for variable in wanted):
            raise KeyRefused(str(name), f"{wanted[0]} is not set")
        if name.provider == "ollama":
            offered = await self.ollama_models()
            where = names.ollama_url(self._env)
            if not offered:
                raise Unreachable(str(name), f"no Ollama answers at {where}")
            if name.model not in offered and f"{name.model}:latest" not in offered:
                raise Unreachable(str(name), f"the Ollama at {where} has only {', '.join(offered)}")

    async def close(self) -> None:
        for provider in self._providers.values():
            await provider.close()
        self._providers.clear()
        if self._prices is not None:
            await self._prices


async def _list_ollama(url: str) -> list[str]:
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=_OLLAMA_SECONDS)
    told = bytearray()
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, auto_decompress=False) as session,
            session.get(f"{url}/api/tags", headers={"Accept-Encoding": "identity"}) as answer,
        ):
            async for chunk in answer.content.iter_any():
                told += chunk
                if len(told) > _OLLAMA_BYTES:
                    return []
        return [str(model["name"]) for model in json.loads(told)["models"]]
    except (aiohttp.ClientError, OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
