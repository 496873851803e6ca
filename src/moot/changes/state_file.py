"""What STATE.yaml says of a change: a mapping ⇄ values, and the entries that are added to it.

Knows the fields, which of them other tools may leave out, and how totals come from calls. Refuses to know the
file and what a phase or a verdict leads to. Fields that are not known here are left alone.

The `note_…` functions change the mapping in place, so that several of them make one write. A list that is
still empty is replaced by a new one: what has been read as `[]` would go on as one ever longer line.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, ValidationError

from moot.changes import review_block
from moot.changes.dispositions import Disposition, Placed
from moot.changes.phases import Phase
from moot.changes.points import Covered
from moot.changes.review_block import Verdict
from moot.core.flow import Usage
from moot.errors import InvalidInput
from moot.files import timestamps
from moot.files.frontmatter import LINE_BREAK
from moot.llm.messages import Tokens
from moot.llm.prices import total_usd
from moot.text.faults import fault_of, field_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SCHEMA_VERSION = "2.0"

_KNOWN_MAJOR = 2
# Sums of prices in binary fractions have digits that nobody was charged for.
_COST_DIGITS = 10

Data = MutableMapping[str, Any]


class InvalidField(Exception):
    """A field says what it cannot say; the name and line of the file are for the caller to add."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


# -- what a field can say ------------------------------------------------------------------------


def as_text(value: Any) -> Any:
    """A number that somebody has not quoted, as the text that it was meant to be."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(getattr(value, "literal", value)) if is_number else value


def _phase(value: Any) -> Any:
    value = as_text(value)
    if isinstance(value, str) and value not in list(Phase):
        raise ValueError(f"{value[:80]!r} is none of {', '.join(Phase)}")
    return value


def _schema(version: str) -> str:
    major = version.partition(".")[0]
    if not (major.isascii() and major.isdigit()):
        raise ValueError(f"{version[:80]!r} is no version")
    if int(major[:9]) > _KNOWN_MAJOR:
        raise ValueError(
            f"it was written by a newer version (schema {version[:20]}; this one knows {_KNOWN_MAJOR}.x)"
        )
    return version


def _verdict(value: Any) -> Any:
    try:
        return review_block.as_verdict(value) if isinstance(value, str) else value
    except InvalidInput as error:
        raise ValueError(error.problem) from None


def _as_count(value: Any) -> Any:
    """Another tool lists the findings where this one counts them."""
    return len(value) if isinstance(value, list) else value


_Word = Annotated[str, BeforeValidator(as_text)]
_Count = Annotated[int, Field(ge=0, strict=True)]
_Cost = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Stated = Annotated[Verdict, BeforeValidator(_verdict)]


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt with a model or a reviewer, whatever came of it. Without a timestamp it was made now.
    `looked_at` is what was read for it in the workspace, `left_out` what would not have fitted."""

    step: _Word
    model: _Word = ""
    tokens_in: _Count = 0
    tokens_out: _Count = 0
    cost_usd: _Cost | None = None
    duration_ms: _Count = 0
    outcome: _Word = ""
    timestamp: _Word = ""
    looked_at: tuple[_Word, ...] = ()
    left_out: tuple[_Word, ...] = ()

    @classmethod
    def of(
        cls, step: str, model: str, used: Tokens, cost_usd: float | None, took: int, outcome: str = "ok"
    ) -> Call:
        return cls(step, model, used.input_tokens, used.output_tokens, cost_usd, took, outcome)

    @classmethod
    def of_usage(cls, step: str, usage: Usage) -> Call:
        return cls(
            step,
            usage.model,
            usage.input_tokens,
            usage.output_tokens,
            usage.cost_usd,
            usage.duration_ms,
            "ok",
            looked_at=usage.looked_at,
            left_out=usage.left_out,
        )


@dataclass(frozen=True, slots=True)
class Totals:
    """`cost_usd` is the sum of the costs that are known, or None if none is."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class SessionTokens:
    """What the reviewer's session has used up in all its runs."""

    tokens_in: _Count = 0
    tokens_out: _Count = 0


@dataclass(frozen=True, slots=True)
class Validation:
    """One run of the local checks. Without a timestamp it was made now."""

    step: _Word
    valid: bool = False
    errors: Annotated[_Count, BeforeValidator(_as_count)] = 0
    warnings: Annotated[_Count, BeforeValidator(_as_count)] = 0
    timestamp: _Word = ""


@dataclass(frozen=True, slots=True)
class Checksum:
    hash: _Word
    validated_at: _Word = ""


PERSON = "person"
"""The `engine` of an approval that is the person's own."""


@dataclass(frozen=True, slots=True)
class RecordedReview:
    """`hash` is that of its block in proposal.md, `reviewed` that of what was reviewed, and `files` that of
    each file of it. Records of earlier versions have no `reviewed`. One of a person has no block, and
    `because`. `withdrawn` is when it ceased to count. `coverage` is what it says of the design's points,
    `looked_at` what was read for it, `dispositions` what it says of issues that were open before, and
    `placed` where its own were found."""

    hash: _Word
    verdict: _Stated
    at: _Word = ""
    engine: _Word = ""
    id: _Word = ""
    model: _Word = ""
    run: _Word = ""
    reviewed: _Word = ""
    files: Mapping[_Word, _Word] = field(default_factory=dict)
    because: _Word = ""
    withdrawn: _Word = ""
    coverage: tuple[Covered, ...] = ()
    looked_at: tuple[_Word, ...] = ()
    dispositions: tuple[Disposition, ...] = ()
    placed: tuple[Placed, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """A challenge under way, or one that was killed. A review counts only if it was made in one."""

    id: _Word
    engine: _Word = ""
    model: _Word = ""
    at: _Word = ""


@dataclass(frozen=True, slots=True)
class Dismissal:
    """An issue that the person has decided not to follow: its number in the review of that id. `id` is its
    own; `accepted`: it holds, and its risk is taken."""

    review: _Word
    issue: _Count
    description: _Word = ""
    because: _Word = ""
    at: _Word = ""
    id: _Word = ""
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """The person's own words, with which they had something done: a draft, or a revision."""

    step: _Word
    text: _Word
    at: _Word = ""
    round: _Count = 1


@dataclass(frozen=True, slots=True)
class Worked:
    """What came of one attempt at a task: what the coding agent said, and what went wrong, if it did.
    `before`, `after` and `left` are what git calls the workspace: before the first attempt at the task, when
    the agent had ended this one, and when the tests had, too. `size` is how much it has changed, `tests` the
    command that has passed, `review` the session of the review."""

    task: _Word
    said: _Word = ""
    problem: _Word = ""
    at: _Word = ""
    before: _Word = ""
    after: _Word = ""
    left: _Word = ""
    size: _Word = ""
    tests: _Word = ""
    review: _Word = ""
    verdict: _Word = ""
    by: _Word = ""


@dataclass(frozen=True, slots=True)
class Known:
    """What a living specification said of something that the change touches when that was last checked."""

    file: _Word
    name: _Word
    hash: _Word


@dataclass(frozen=True, slots=True)
class Abandoned:
    because: _Word = ""
    at: _Word = ""


@dataclass(frozen=True, slots=True)
class ChangeState:
    """`totals` are the sums of `calls`. `reviews` is None where the file has no such field: then another tool
    has written it. `merging` is when its specifications began to be merged."""

    change_id: _Word
    schema_version: Annotated[_Word, AfterValidator(_schema)] = SCHEMA_VERSION
    created_at: _Word = ""
    updated_at: _Word = ""
    phase: Annotated[Phase, BeforeValidator(_phase)] = Phase.PROPOSED
    iteration: _Count = 1
    last_action: _Word | None = None
    session_id: _Word | None = None
    session_engine: _Word | None = None
    session_tokens: SessionTokens = SessionTokens()
    verdict: _Stated | None = None
    checksums: Mapping[_Word, Checksum] = field(default_factory=dict)
    validations: tuple[Validation, ...] = ()
    calls: tuple[Call, ...] = ()
    totals: Totals = Totals()
    reviews: tuple[RecordedReview, ...] | None = None
    run: Run | None = None
    dismissed: tuple[Dismissal, ...] = ()
    said: tuple[Said, ...] = ()
    work: tuple[Worked, ...] = ()
    abandoned: Abandoned | None = None
    living: tuple[Known, ...] = ()
    merging: _Word = ""


_STATE = TypeAdapter(ChangeState)


# -- entries to values ---------------------------------------------------------------------------


def read(data: Mapping[str, Any], change_id: str) -> ChangeState:
    """What the mapping says; a field that is missing or null has its first value. Raises InvalidField."""
    fields = {"change_id": change_id} | _plain(data)
    telemetry = fields.pop("telemetry", {})
    if not (isinstance(telemetry, Mapping) and isinstance(telemetry.get("totals", {}), Mapping)):
        raise InvalidField("telemetry", "it, or the totals in it, is not a mapping")
    fields.pop("totals", None)
    fields["calls"] = telemetry.get("calls", ())
    try:
        state = _STATE.validate_python(fields)
    except ValidationError as error:
        first = error.errors()[0]
        name, *inside = map(str, first["loc"])
        within = field_of(inside)
        where = f"{within}: " if within else ""
        raise InvalidField("telemetry" if name == "calls" else name, where + fault_of(first)) from None
    return replace(state, totals=_sum_up(state.calls))


def _plain(value: Any) -> Any:
    """Without nulls, and with keys that are texts: YAML has others too."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value


# -- values to entries ---------------------------------------------------------------------------


def begin(data: Data, change_id: str, at: str) -> None:
    """The fields of a new state, in the order in which people read them."""
    data.update(
        change_id=change_id,
        schema_version=SCHEMA_VERSION,
        created_at=at,
        updated_at=at,
        phase=str(Phase.PROPOSED),
        iteration=1,
        last_action=None,
        session_id=None,
        verdict=None,
        checksums={},
        validations=[],
        telemetry={"calls": [], "totals": asdict(Totals())},
        reviews=[],
    )


def note_call(data: Data, call: Call) -> None:
    telemetry = _ensure(data, "telemetry")
    entry = _stamp(call, "timestamp")
    for name in ("looked_at", "left_out"):
        if listed := list(entry.pop(name)):
            entry[name] = listed
    _add(telemetry, "calls", entry)
    _ensure(telemetry, "totals").update(asdict(read(data, "").totals))


def note_validation(data: Data, validation: Validation) -> None:
    _add(data, "validations", _stamp(validation, "timestamp"))


def note_checksum(data: Data, file: str, checksum: Checksum) -> None:
    _ensure(data, "checksums")[file] = asdict(checksum)


def note_review(data: Data, review: RecordedReview) -> None:
    """Fields that say nothing are left out."""
    entry = _stamp(review) | {"verdict": str(review.verdict)}
    entry["coverage"] = [asdict(one) | {"state": str(one.state)} for one in review.coverage]
    entry["dispositions"] = [asdict(one) | {"state": str(one.state)} for one in review.dispositions]
    entry["placed"] = [asdict(one) for one in review.placed]
    entry["looked_at"] = list(review.looked_at)
    first = {"id": review.id} if review.id else {}
    _add(data, "reviews", first | {key: value for key, value in entry.items() if value or key == "hash"})


def drop_review(data: Data, run: str) -> None:
    """The record of a review whose block never came into being."""
    kept = [entry for entry in data.get("reviews") or () if entry.get("run") != run]
    if len(kept) != len(data.get("reviews") or ()):
        data["reviews"] = kept


def note_model(data: Data, run: str, model: str) -> None:
    """A reviewing program says only at its end which model it has used."""
    for entry in data.get("reviews") or ():
        if model and entry.get("run") == run:
            entry["model"] = model


def note_run(data: Data, run: Run) -> None:
    data["run"] = _stamp(run)


def end_run(data: Data) -> None:
    data.pop("run", None)


def withdraw_last_review(data: Data) -> None:
    if data.get("reviews"):
        data["reviews"][-1]["withdrawn"] = timestamps.now()


def note_dismissal(data: Data, dismissal: Dismissal) -> None:
    entry = _stamp(dismissal)
    for name in ("id", "accepted"):
        if not entry[name]:
            del entry[name]
    _add(data, "dismissed", entry)


def note_said(data: Data, said: Said) -> None:
    """What was said already, when the same was begun before and did not get to its end, is noted once."""
    last = (data.get("said") or [{}])[-1]
    if (last.get("step"), last.get("text"), last.get("round")) != (said.step, said.text, said.round):
        _add(data, "said", _stamp(said))


def note_living(data: Data, known: Sequence[Known]) -> None:
    if known or data.get("living"):
        data["living"] = [asdict(one) for one in known]


def note_work(data: Data, worked: Worked) -> None:
    _add(data, "work", {key: value for key, value in _stamp(worked).items() if value})


def note_session(data: Data, engine: str, session_id: str | None, tokens: SessionTokens) -> None:
    data.update(session_id=session_id, session_engine=engine, session_tokens=asdict(tokens))


def review_hash(block: str) -> str:
    """The same whatever line ends a checkout gives the file."""
    return text_hash(LINE_BREAK.sub("\n", block))


def text_hash(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest()


def _sum_up(calls: Sequence[Call]) -> Totals:
    cost = total_usd(call.cost_usd for call in calls)
    return Totals(
        calls=len(calls),
        tokens_in=sum(call.tokens_in for call in calls),
        tokens_out=sum(call.tokens_out for call in calls),
        cost_usd=None if cost is None else round(cost, _COST_DIGITS),
        duration_ms=sum(call.duration_ms for call in calls),
    )


def _stamp(value: DataclassInstance, stamp: str = "at") -> dict[str, Any]:
    entry = asdict(value)
    entry[stamp] = entry[stamp] or timestamps.now()
    return entry


def _ensure(data: Data, key: str) -> Data:
    if not data.get(key):
        data[key] = {}
    opened: Data = data[key]
    return opened


def _add(data: Data, key: str, entry: dict[str, Any]) -> None:
    if data.get(key):
        data[key].append(entry)
    else:
        data[key] = [entry]
