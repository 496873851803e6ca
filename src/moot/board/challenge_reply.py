"""The reply to one challenge, as whoever made it hears it: read from the session's frames.

Pure. Words of two attempts are never joined: a reply that is begun again may go on only where it says the
same once more.
"""

from __future__ import annotations

from moot.board import wire
from moot.board.wire import ReplyFrame, SessionFrame
from moot.server.format import Looked

BROKEN_OFF = "the reply broke off, because another process had to begin it again; ask again"
REPLACED = "another challenge was made before the reply was complete"


class ChallengeReply:
    """`number` is which of the session's challenges it replies to."""

    def __init__(self, persona: str, number: int) -> None:
        self.persona = persona
        self.number = number
        self.ended = False
        self._told = ""
        self._said = ""

    def read(self, frame: SessionFrame | None) -> ReplyFrame | None:
        """What there is to tell, given the next frame of the session."""
        match frame:
            case wire.ChallengeMade(challenge=later) if later > self.number:
                return self.fail(REPLACED)
            case wire.ChallengeReplyStart(challenge=self.number):
                self._said = ""
            case wire.ChallengeReplyToken(challenge=self.number, token=token):
                return self._read_words(token)
            case wire.ChallengeReplyComplete(challenge=self.number):
                if not self._is_the_same:
                    return self.fail(BROKEN_OFF)
                self.ended = True
                return frame
            case Looked(persona_id=self.persona, key=key) if key == str(self.number):
                return frame
            case wire.ChallengeReplyError(challenge=self.number):
                self.ended = True
                return frame
        return None

    @property
    def _is_the_same(self) -> bool:
        """What is kept has no white space at its ends, while what is said may."""
        return self._said.rstrip() == self._told.rstrip()

    def fail(self, message: str) -> ReplyFrame:
        self.ended = True
        return wire.ChallengeReplyError(self.persona, self.number, "", message, None)

    def _read_words(self, token: str) -> ReplyFrame | None:
        self._said = (self._said + token).lstrip()
        if self._told.startswith(self._said):
            return None
        if not self._said.startswith(self._told):
            return None if self._is_the_same else self.fail(BROKEN_OFF)
        news, self._told = self._said[len(self._told) :], self._said
        return wire.ChallengeReplyToken(self.persona, self.number, news)
