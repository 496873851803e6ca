"""Where the reply to one challenge is heard, by the one who made it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from moot.core.flow import Spoken

BROKEN_OFF = "the reply broke off, because another process had to begin it anew; ask again"
REPLACED = "another challenge was made before the reply was complete"


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of a reply to a challenge."""

    text: str


@dataclass(frozen=True, slots=True)
class Replied:
    spoken: Spoken


@dataclass(frozen=True, slots=True)
class NotReplied:
    """The reply failed, or another challenge took its place."""

    kind: str
    message: str
    retry_after: float | None = None


Heard = Word | Replied | NotReplied


class ChallengeReply:
    def __init__(self) -> None:
        self.number = 0
        """Which of the session's challenges it is; 0 until it is in the log."""
        self.ended = False
        self._heard: asyncio.Queue[Heard] = asyncio.Queue()
        self._attempt: str | None = None
        self._pieces = 0
        self._told = ""

    async def next(self) -> Heard:
        return await self._heard.get()

    def word(self, attempt: str, text: str) -> None:
        """What two attempts said is never joined: where the first has been heard, the second is no reply."""
        if self.ended:
            return
        if self._attempt != attempt:
            if self._told:
                self.failed(NotReplied("", BROKEN_OFF))
                return
            self._attempt = attempt
        self._told += text
        self._pieces += 1
        self._heard.put_nowait(Word(text))

    def words(self, attempt: str, texts: list[str]) -> None:
        """All that an attempt has said so far, some of which has been heard."""
        for text in texts[self._pieces if self._attempt == attempt else 0 :]:
            self.word(attempt, text)

    def replied(self, text: str, spoken: Spoken) -> None:
        """The whole reply: what of it was not heard yet comes first."""
        if self.ended:
            return
        told = self._told.lstrip()
        if text.startswith(told):
            if rest := text[len(told) :]:
                self._heard.put_nowait(Word(rest))
        elif told.rstrip() != text:
            self.failed(NotReplied("", BROKEN_OFF))
            return
        self.ended = True
        self._heard.put_nowait(Replied(spoken))

    def failed(self, why: NotReplied) -> None:
        if not self.ended:
            self.ended = True
            self._heard.put_nowait(why)
