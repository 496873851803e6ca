"""How much is measured: enough to mean something, or just enough to see that everything runs."""

from __future__ import annotations

from dataclasses import dataclass

from bench.fast_stub import Script

_WHOLE = Script(tokens=200, pace=100, first_token_delay=0.2, brief_tokens=200)
_STEADY = Script(tokens=150, pace=50, first_token_delay=0.2)
_SLOW = Script(tokens=5, pace=1, first_token_delay=0.2, brief_tokens=2)


@dataclass(frozen=True, slots=True)
class Effort:
    rounds: int = 5
    whole: Script = _WHOLE
    """A board as people have it: eight advisors and a brief."""
    steady: Script = _STEADY
    levels: tuple[int, ...] = (2, 4, 8, *range(16, 96, 16), *range(96, 321, 8))
    """Boards at once, until they are no longer in time."""
    window: float = 1.5
    windows: int = 4
    idle: int = 100
    grown: tuple[int, ...] = (1, 3, 10, 30, 100, 300, 1000)
    slow: Script = _SLOW
    """A token a second: with a thousand boards, eight thousand a second."""
    patience: float = 12.0
    """How often its limit a board may take, with many beside it, before it is given up."""

    @property
    def limit(self) -> float:
        return 2 * (self.whole.first_token_delay + (self.whole.tokens - 1) / self.whole.pace)


FULL = Effort()
QUICK = Effort(
    rounds=1,
    whole=Script(tokens=20, pace=100, first_token_delay=0.1, brief_tokens=20),
    steady=Script(tokens=20, pace=50, first_token_delay=0.1),
    levels=(1, 2),
    window=0.3,
    windows=1,
    idle=10,
    grown=(1, 3),
    slow=Script(tokens=2, pace=4, first_token_delay=0.1, brief_tokens=2),
)
