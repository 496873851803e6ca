"""Every exception that moot raises on purpose.

    MootError
    ├── UserMistake            the person's move: correct the input and try again
    │   ├── InvalidInput           a value that cannot be taken (names the field)
    │   ├── InvalidId              an id outside ^[a-z0-9][a-z0-9-]*$
    │   ├── UnsafePath             a path that would leave its root
    │   ├── NotFound               a persona, panel, session, … of that name does not exist
    │   ├── AlreadyThere           it exists and would have been overwritten
    │   ├── NoBackup               a database that its own programs copy
    │   ├── IllegalMove            the flow cannot take this event in this state
    │   ├── SessionMoved           another process has carried the session on in the meantime
    │   ├── KeyReused              an idempotency key that came with another request before
    │   ├── LimitReached           more at once, or more spending, than the configuration allows
    │   ├── WindowTooSmall         more has to be said to a model than it takes
    │   ├── SessionStopped         a session that was being watched could not go on
    │   ├── ProposalInvalid        a change whose files lack what a review needs (carries the findings)
    │   ├── NotApproved            a change that nobody has approved as it is (names what has changed)
    │   ├── ReviewNotTaken         a review that does not count: no run of moot's, or its second one
    │   ├── DecisionNotPossible    what the person decides about a change does not fit what was found
    │   ├── SpecsContradict        what a change does to the living specifications does not fit them
    │   ├── ModelTooSmall          a model that is known to be too small to review
    │   ├── PatchInvalid           a diff that cannot be read (names the line)
    │   ├── UncommittedWork        a commit would take along what somebody else has not committed
    │   ├── AnswersExhausted       --answers (or a missing terminal) left a question open
    │   ├── NotInstalled           an optional part of moot (says how to install it)
    │   └── ConfigInvalid          moot.toml or a model name makes no sense
    ├── ModelMisbehaved        the model's move: asked again, then shown
    │   ├── DraftInvalid           a typed reply that did not validate (carries the raw text)
    │   ├── ReplyEmpty             a reply without a word
    │   ├── ReplyRefused           the model declined to answer
    │   └── ToolLoopTooLong        it kept calling tools instead of answering
    ├── ProviderFailed         the provider's move: retried where that can help
    │   ├── Unreachable            no connection, DNS failure, connect time-out
    │   ├── StreamBroken           the reply stopped in the middle (cut, or ended without an end)
    │   ├── StreamStalled          the reply went silent in the middle
    │   ├── ReplyTooLarge          the reply is far larger than what was asked for
    │   ├── RateLimited            429 (carries Retry-After)
    │   ├── ProviderDown           408, 409, 5xx, 529 (carries Retry-After)
    │   ├── KeyRefused             401, 403, or no key at all
    │   ├── RequestRejected        400, 404, 413, 422: sending it again cannot help
    │   ├── NoLocalModel           no weights, or weights that do not load
    │   ├── AgentMissing           the coding agent that was asked for is not there
    │   ├── ReviewerMissing        the reviewing program is not installed, or cannot be started
    │   ├── ReviewerTimedOut       it was stopped because it took too long
    │   └── ReviewerCrashed        it ended without having finished
    └── WorkspaceDamaged       a file has to be fixed by hand; it is left as it is
        ├── FileDamaged            does not parse (names file and line)
        ├── DefinitionInvalid      a persona, panel or step file with a bad field
        ├── LockTimeout            another process holds the file
        ├── Busy                   another process works on the change or workflow (says which)
        ├── StillEnding            what a killed process had started for it has not ended yet
        ├── GitRefused             git would not commit
        └── StoreFailed            the database of sessions cannot be read or written

Errors carry data. Their text says what happened and to what; what to do next is for a surface to
say, because a terminal and a page offer different next steps. No error repeats a key or a password.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from moot.text.masking import mask


class MootError(Exception):
    """Anything that moot itself raises. Its text and its data are masked here, for all surfaces at once."""

    def __init__(self, text: str = "") -> None:
        super().__init__(mask(text))

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, mask(value) if isinstance(value, str) else value)


# -- the person's move ---------------------------------------------------------------------------


class UserMistake(MootError):
    """The person can correct this."""


class InvalidInput(UserMistake):
    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class InvalidId(InvalidInput):
    def __init__(self, field: str, value: str) -> None:
        super().__init__(
            field,
            f"{value[:80]!r} is not an id: use lower-case letters, digits and hyphens, "
            "beginning with a letter or digit, at most 64 characters",
        )
        self.value = value


class UnsafePath(UserMistake):
    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"path {path[:200]!r} is not allowed: {problem}")
        self.path = path
        self.problem = problem


class NotFound(UserMistake):
    def __init__(self, kind: str, name: str, known: tuple[str, ...] = ()) -> None:
        super().__init__(f"{kind.capitalize()} '{name}' not found" if name else f"There is no {kind}")
        self.kind = kind
        self.name = name
        self.known = known


class AlreadyThere(UserMistake):
    def __init__(self, kind: str, name: str, path: Path | None = None) -> None:
        super().__init__(f"{kind.capitalize()} '{name}' already exists" + (f": {path}" if path else ""))
        self.kind = kind
        self.name = name


class NoBackup(UserMistake):
    def __init__(self, postgresql: bool, target: str) -> None:
        super().__init__(
            "PostgreSQL has its own program for backups" if postgresql else "This database is no file"
        )
        self.postgresql = postgresql
        self.target = target


class IllegalMove(UserMistake):
    """Raised by flows; the state is unchanged."""

    def __init__(self, event: str, step: str, allowed: tuple[str, ...] = ()) -> None:
        super().__init__(f"{event} is not possible at step '{step}'")
        self.event = event
        self.step = step
        self.allowed = allowed


class NotNow(UserMistake):
    """Possible at another moment; the message says why not at this one."""


class NotAllowed(UserMistake):
    """Somebody else may: the message says who."""


class SessionMoved(UserMistake):
    def __init__(self, session: str) -> None:
        super().__init__(f"Session '{session}' was carried on by another process in the meantime")
        self.session = session


class KeyReused(UserMistake):
    def __init__(self, key: str) -> None:
        super().__init__(f"Idempotency-Key '{key[:80]}' came with another request before: use a new one")


class LimitReached(UserMistake):
    def __init__(self, problem: str, retry_after: float | None) -> None:
        super().__init__(problem)
        self.retry_after = retry_after


class WindowTooSmall(UserMistake):
    """What a model has to be told to answer at all is more than it takes."""

    def __init__(self, model: str, window: int, needed: int) -> None:
        super().__init__(
            f"{model} takes {window:,} tokens at once, and this needs about {needed:,}: choose a model that "
            "takes more, or give it less"
        )
        self.window = window
        self.needed = needed


class SessionStopped(UserMistake):
    pass


class ProposalInvalid(UserMistake):
    def __init__(self, change_id: str, findings: tuple[str, ...]) -> None:
        super().__init__(f"Change '{change_id}' is not ready for a review:\n  " + "\n  ".join(findings))
        self.change_id = change_id


class NotApproved(UserMistake):
    """`changed` names the files that are no longer what was approved."""

    def __init__(self, change_id: str, problem: str, changed: tuple[str, ...] = ()) -> None:
        files = f": {', '.join(changed)}" if changed else ""
        super().__init__(f"Change '{change_id}' is not approved as it is: {problem}{files}")
        self.change_id = change_id
        self.problem = problem
        self.changed = changed


class ReviewNotTaken(UserMistake):
    def __init__(self, problem: str) -> None:
        super().__init__(f"The review was not appended: {problem}")


class DecisionNotPossible(UserMistake):
    def __init__(self, change_id: str, problem: str) -> None:
        super().__init__(f"Change '{change_id}': {problem}")


class SpecsContradict(UserMistake):
    def __init__(self, change_id: str, problems: tuple[str, ...], *, begun: bool = False) -> None:
        merged = "what was not merged before is not" if begun else "nothing was merged"
        super().__init__(
            f"The specifications of '{change_id}' do not fit what holds, and {merged}:\n"
            + "".join(f"  {problem}\n" for problem in problems)
            + "Reopen the change, bring its specifications in line with moot/specs, and have it challenged "
            "again; or change moot/specs by hand; or abandon the change, which archives it without merging"
        )
        self.change_id = change_id
        self.problems = problems


class ModelTooSmall(UserMistake):
    def __init__(self, model: str, problem: str = "it is too small to judge anything") -> None:
        super().__init__(f"{model} reviews nothing: {problem}")


class PatchInvalid(UserMistake):
    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"The patch, line {line}: {problem}")
        self.line = line
        self.problem = problem


class UncommittedWork(UserMistake):
    def __init__(self, problem: str) -> None:
        super().__init__(f"The workspace has uncommitted work: {problem}")


class AnswersExhausted(UserMistake):
    def __init__(self, step: str, expected: str, *, scripted: bool) -> None:
        wanted = f"step '{step}' needs an answer ({expected})"
        nobody = f"There is no terminal to ask on, and {wanted}: give replies with --answers FILE"
        super().__init__(f"{wanted}, but the answers file has no reply left" if scripted else nobody)


class ConfigInvalid(UserMistake):
    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.where = where


class NotInstalled(UserMistake):
    """`extra` is what stands in the brackets of `moot[…]`."""

    def __init__(self, extra: str, title: str, install: str) -> None:
        super().__init__(f"{title[:1].upper()}{title[1:]} is not installed: run `{install}`")
        self.extra = extra


# -- the model's move ----------------------------------------------------------------------------


class ModelMisbehaved(MootError):
    """The model answered, but not with what was asked for."""


class DraftInvalid(ModelMisbehaved):
    def __init__(self, shape: str, problem: str, raw: str) -> None:
        super().__init__(f"the model's reply is no valid {shape}: {problem}")
        self.problem = problem
        self.raw = raw


class ReplyEmpty(ModelMisbehaved):
    def __init__(self, model: str, *, at_limit: bool = False) -> None:
        why = ": it reached its token limit before the first one, probably by thinking" if at_limit else ""
        super().__init__(f"{model} replied without a word{why}")


class ReplyRefused(ModelMisbehaved):
    def __init__(self, model: str, explanation: str = "") -> None:
        super().__init__(f"{model} declined to answer" + (f": {explanation}" if explanation else ""))


class ToolLoopTooLong(ModelMisbehaved):
    def __init__(self, model: str, rounds: int) -> None:
        super().__init__(f"{model} called tools {rounds} times in a row without answering")


# -- the provider's move -------------------------------------------------------------------------


class ProviderFailed(MootError):
    """No whole reply could be had. `retriable` says whether the same request may succeed later."""

    retriable = False

    def __init__(
        self, model: str, problem: str, *, status: int | None = None, retry_after: float | None = None
    ) -> None:
        wait = f" (it asks to wait {retry_after:.0f} s)" if retry_after and retry_after >= 1 else ""
        super().__init__(f"{model}: {problem}{wait}")
        self.model = model
        self.problem = problem
        self.status = status
        self.retry_after = retry_after
        self.used: tuple[int, int, int] | None = None
        """Tokens read, written and cached, where a program has said what its failure has used."""
        self.cost_usd: float | None = None


class Unreachable(ProviderFailed):
    retriable = True


class StreamBroken(ProviderFailed):
    retriable = True


class StreamStalled(ProviderFailed):
    retriable = True


class ReplyTooLarge(ProviderFailed):
    """Not retried: what was sent, and paid for, would be sent once more."""


class RateLimited(ProviderFailed):
    retriable = True


class ProviderDown(ProviderFailed):
    retriable = True


class KeyRefused(ProviderFailed):
    def naming(self, variable: str) -> KeyRefused:
        """The same, with the environment variable that the key came from and what to do about it."""
        if not variable or variable in self.problem:
            return self
        problem = (
            f"the provider refused the key in {variable} ({self.problem}). "
            f"Put a valid key into {variable}, start moot again, and ask again"
        )
        return KeyRefused(self.model, problem, status=self.status, retry_after=self.retry_after)


class RequestRejected(ProviderFailed):
    pass


class NoLocalModel(ProviderFailed):
    pass


class AgentMissing(ProviderFailed):
    pass


class ReviewerMissing(ProviderFailed):
    pass


class ReviewerTimedOut(ProviderFailed):
    retriable = True


class ReviewerCrashed(ProviderFailed):
    retriable = True


# -- a damaged workspace -------------------------------------------------------------------------


class WorkspaceDamaged(MootError):
    """A file cannot be used as it is. Nothing was written to it."""


class FileDamaged(WorkspaceDamaged):
    def __init__(self, file: str, problem: str, line: int | None = None) -> None:
        super().__init__(f"{file}{f', line {line}' if line else ''}: {problem}")
        self.file = file
        self.problem = problem
        self.line = line


class DefinitionInvalid(FileDamaged):
    """`field` is the dotted name of the front-matter field or the body section."""

    def __init__(self, file: str, field: str, problem: str, line: int | None = None) -> None:
        super().__init__(file, f"{field}: {problem}", line)
        self.field = field


class GitRefused(WorkspaceDamaged):
    def __init__(self, problem: str) -> None:
        super().__init__(f"git refused: {problem}")


class StoreFailed(WorkspaceDamaged):
    def __init__(self, database: str, problem: str) -> None:
        super().__init__(f"the sessions in {database} cannot be used: {problem}")
        self.problem = problem


class LockTimeout(WorkspaceDamaged):
    def __init__(self, file: str, seconds: float) -> None:
        super().__init__(f"{file} is held by another process (waited {seconds:g} s)")
        self.file = file
        self.seconds = seconds


class Busy(WorkspaceDamaged):
    """`since` is an ISO 8601 time in UTC. Who holds it is not always known."""

    def __init__(
        self,
        change: str,
        doing: str = "used",
        pid: int | None = None,
        host: str = "",
        since: str = "",
        *,
        kind: str = "change",
    ) -> None:
        who = "another process" if pid is None else f"process {pid}"
        where = f" on {host}" if host else ""
        when = f" since {since[11:19]} UTC" if since else ""
        super().__init__(f"{kind.capitalize()} '{change}' is being {doing} by {who}{where}{when}")
        self.change = change
        self.doing = doing
        self.pid = pid
        self.host = host
        self.since = since


class StillEnding(WorkspaceDamaged):
    def __init__(self, name: str, *, kind: str = "change") -> None:
        super().__init__(
            f"What an earlier run on {kind} '{name}' had started has not ended yet: it was killed"
        )
