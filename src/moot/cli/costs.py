"""What a session costs, in the terminal: what it is going to be, before the first request, and what it was.

An estimate that cannot be made is not told: whatever stands in its way is said by the session itself.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from moot.cli import screen
from moot.core.bill import SessionBill
from moot.core.estimate import UNKNOWN, Estimate, estimate_next
from moot.errors import MootError

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.core.estimate import Asking
    from moot.core.flow import Flow, ModelEffect, Outcome
    from moot.core.runner import Speak, Speech


@dataclass
class Costs:
    """Of one session. `tell` shows a line while others may be waited for; `told` hears that what it is going
    to be has been said, as far as it can be."""

    moot: Moot
    flow: Flow[Any, Any]
    asking: Asking
    tell: Callable[[str], None]
    told: Callable[[], None]
    estimate: Estimate = UNKNOWN
    bill: SessionBill = field(default_factory=SessionBill)
    _is_told: bool = False

    def foretelling(self, speak: Speak) -> Speak:
        """The same, which says beforehand what is going to be asked."""

        async def foretell(effect: ModelEffect, state: Any, speech: Speech) -> Outcome:
            if not self._is_told:
                self._is_told = True
                try:
                    with suppress(MootError):
                        await self._foretell(state)
                finally:
                    self.told()
            return await speak(effect, state, speech)

        return foretell

    async def _foretell(self, state: Any) -> None:
        moot = self.moot
        self.estimate = await estimate_next(self.flow, state, self.asking, moot.library, moot.gateway)
        if self.estimate.requests:
            self.tell(f"This takes {self.estimate}.")

    async def sum_up(self) -> None:
        with suppress(MootError):
            self.bill = await self.moot.meter.bill(self.asking.account)
        if self.bill.requests:
            screen.say(f"It has cost: {self.bill}.", "dim")

    def document(self) -> dict[str, Any]:
        """What --json has of it."""
        told = _as_json(self.estimate) if self.estimate.requests else None
        return {"estimate": told, "bill": _as_json(self.bill)}


def _as_json(told: Estimate | SessionBill) -> dict[str, Any]:
    from pydantic.alias_generators import to_camel

    return {to_camel(name): value for name, value in asdict(told).items()} | {"summary": str(told)}
