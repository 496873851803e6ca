"""The reply to one challenge, as whoever made it hears it: read from the session's frames.

Pure. Words of two attempts are never joined: a reply that is begun again may go on only where it says the
same once more.
"""

from __future__ import annotations

from moot.server.format import Payload

BROKEN_OFF = "the reply broke off, because another process had to begin it again; ask again"
REPLACED = "another challenge was made before the reply was complete"


class ChallengeReply:
    def __init__(self, number: int) -> None:
        self.number = number
        """Which of the session's challenges it replies to."""
        self.ended = False
        self._told = ""
        self._said = ""

    def read(self, frame: Payload) -> Payload | None:
        """What there is to tell, given the next frame of the session."""
        if frame["type"] == "challenge_made" and frame["challenge"] > self.number:
            return self.fail(REPLACED)
        if frame.get("challenge") != self.number:
            return None
        match frame["type"]:
            case "challenge_reply_start":
                self._said = ""
            case "challenge_reply_token":
                return self._read_words(frame)
            case "challenge_reply_complete":
                if self._said.rstrip() != self._told.rstrip():
                    return self.fail(BROKEN_OFF)
                self.ended = True
                return frame
            case "challenge_reply_error":
                self.ended = True
                return frame
        return None

    def fail(self, message: str) -> Payload:
        self.ended = True
        return {"type": "challenge_reply_error", "kind": "", "message": message, "retryAfter": None}

    def _read_words(self, frame: Payload) -> Payload | None:
        # What is kept has no white space at its ends, while what is said may.
        self._said = (self._said + frame["token"]).lstrip()
        if self._told.startswith(self._said):
            return None
        if not self._said.startswith(self._told):
            return self.fail(BROKEN_OFF)
        news, self._told = self._said[len(self._told) :], self._said
        return {**frame, "token": news}
