"""What every flow is made of: events, effects, outcomes, and three pure functions.

    advance(state, event)          -> state     what just happened, folded in; an illegal event raises
    pending(state)                 -> effects   everything that the world is now asked to do
    record(state, effect, outcome) -> event     what an effect led to, as a past-tense value

`pending` is derived from the state alone, so nothing is lost by a crash: fold the events, ask `pending`,
go on. A reply that was half said is no event; it is simply asked for again. Flows never wait, read no
clock, open no file and know no prompt text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args

import msgspec

from moot.errors import IllegalMove, InvalidInput
from moot.text.characters import strip_controls_in_json

if TYPE_CHECKING:
    from moot.core.ledger import Decided

S = TypeVar("S")
E = TypeVar("E", bound="Event")
T = TypeVar("T")
R_co = TypeVar("R_co", bound="Event", covariant=True)


class Event(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Something that has happened. Its JSON form, tagged with the class's name, is what a log keeps."""


class Replaced(Event, frozen=True):
    """In no log: tells listeners that the log says something else now than what had happened so far, because
    somebody has changed the file that it is in."""


# -- effects: what the world is asked to do ------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AskPersona:
    """Let a persona speak. `key` tells two askings of the same persona apart."""

    persona: str
    prompt: str
    key: str


class Takes(StrEnum):
    """Whether words belong to a choice."""

    NOTHING = "nothing"
    OPTIONAL_TEXT = "optional text"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that the person may choose. `id` is the word that comes back; by which letter, number or
    button it is chosen, the surface decides. `label` says what it does. `suggestions` are texts that may be
    taken over as they are. One that is `in_person` nobody may hand on: the person chooses it themselves."""

    id: str
    label: str
    takes: Takes = Takes.NOTHING
    suggestions: tuple[str, ...] = ()
    in_person: bool = False


def numbered(word: str, things: Iterable[T]) -> dict[str, T]:
    """Ids for things that are told apart by their place: word-1, word-2 and so on."""
    return {f"{word}-{place}": thing for place, thing in enumerate(things, start=1)}


@dataclass(frozen=True, slots=True)
class AskPerson:
    """Ask the person. `expects` says in a few words what may be answered: one of the `choices` or, with
    `free_text`, words of their own. An `optional` question may be left unanswered: then the flow rests where
    it is and can be taken up again. `hint` is what else may be said, shown below the choices. An
    `interrupting` one is put while others speak: nobody has to answer it; whoever does interrupts them."""

    step: str
    expects: str
    key: str
    choices: tuple[Choice, ...] = ()
    optional: bool = False
    hint: str = ""
    interrupting: bool = False
    free_text: bool = False

    def check(self, answer: PersonAnswered) -> None:
        """Refuses a choice that is not offered, and words where none are taken."""
        offered = {choice.id: choice for choice in self.choices}
        if answer.choice is None:
            if not self.free_text:
                raise InvalidInput("answer", f"has to be one of: {', '.join(offered)}")
            return
        if answer.choice not in offered:
            known = f": {', '.join(offered)}" if offered else ""
            raise InvalidInput("choice", f"{answer.choice[:80]!r} is none of those offered{known}")
        takes, words = offered[answer.choice].takes, answer.text.strip()
        if words and takes is Takes.NOTHING:
            raise InvalidInput("choice", f"{answer.choice!r} takes no words")
        if not words and takes is Takes.TEXT:
            raise InvalidInput("choice", f"{answer.choice!r} needs words")


@dataclass(frozen=True, slots=True)
class DraftReply:
    """Have a typed reply drafted: the prompt decides its shape."""

    prompt: str
    key: str


@dataclass(frozen=True, slots=True)
class Task(Generic[R_co]):
    """Something that the program does outside, such as reading or writing files. Each format declares its
    own, with the event that it leads to: `class WriteDesign(Task[DesignWritten])`. After a crash it may be
    asked for once more, so doing it twice must be the same as doing it once."""

    key: str

    def event_of(self, done: TaskDone) -> R_co:
        """What came of it: an event of a kind that the task leads to."""
        (base,) = vars(type(self))["__orig_bases__"]
        (kinds,) = get_args(base)
        assert isinstance(done.value, kinds), f"{self} cannot lead to {done.value}"
        event: R_co = done.value
        return event


ModelEffect = AskPersona | DraftReply
Effect = ModelEffect | AskPerson | Task[Any]


# -- outcomes: what performing an effect led to --------------------------------------------------


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """The bill of one reply, kept with it: model, tokens, cost where the price is known, time. Of the input,
    `cached_tokens` were read from the provider's cache, and `kept_tokens` written to it. `left_out` names
    what the model was not told, because it would not have fitted, and `looked_at` what it has read by
    itself."""

    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    duration_ms: int
    cut_short: bool = msgspec.field(default_factory=bool)
    """Always written, as logs of earlier versions have it."""
    cached_tokens: int = 0
    kept_tokens: int = 0
    left_out: tuple[str, ...] = ()
    looked_at: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PersonaSpoke:
    text: str
    spoken: Usage


@dataclass(frozen=True, slots=True)
class PersonaFailed:
    """`kind` is the name of the error's class: what went wrong is data, not prose. `retry_after` is how many
    seconds the provider asked to wait, where it did."""

    kind: str
    message: str
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class PersonAnswered:
    """With the id of what was chosen, and the words that belong to it; without one, words of their own."""

    text: str = ""
    choice: str | None = None


@dataclass(frozen=True, slots=True)
class PersonGave:
    """Instead of an answer, or before it, what the person gives to know or corrects: the events that it is.
    The flow is where it was, so that without an answer in `then`, it asks the same again."""

    events: tuple[Event, ...]
    then: PersonAnswered | None = None


@dataclass(frozen=True, slots=True)
class Drafted:
    """A typed reply that has been validated. `returned`: the first was not valid, so the model has been asked
    twice already."""

    value: Any
    spoken: Usage
    returned: bool = False


@dataclass(frozen=True, slots=True)
class DraftFailed:
    """`raw` is what the model wrote, where it wrote something that could not be used."""

    kind: str
    message: str
    raw: str = ""
    retry_after: float | None = None


def failure(effect: ModelEffect, kind: str, message: str, retry_after: float | None = None) -> Outcome:
    """What an effect leads to that goes to a model, where there is no reply."""
    if isinstance(effect, AskPersona):
        return PersonaFailed(kind, message, retry_after)
    return DraftFailed(kind, message, "", retry_after)


@dataclass(frozen=True, slots=True)
class TaskDone:
    """What came of it: the event that the task leads to."""

    value: Any


@dataclass(frozen=True, slots=True)
class TaskFailed:
    """`kind` is the name of the error's class."""

    kind: str
    message: str


Outcome = (
    PersonaSpoke | PersonaFailed | Drafted | DraftFailed | PersonAnswered | PersonGave | TaskDone | TaskFailed
)


# -- a flow --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flow(Generic[S, E]):
    """A format's state machine. `events` is the union of its events, for reading them back from a log;
    `make_event` is given answers only that were offered, and no task that is done: that has its event."""

    name: str
    initial: S
    events: Any
    advance: Callable[[S, E], S]
    pending: Callable[[S], tuple[Effect, ...]]
    make_event: Callable[[S, Effect, Outcome], E]
    ledger: Callable[[S], tuple[Decided, ...]] = lambda _: ()
    """What was decided so far, with the person's corrections."""

    def record(self, state: S, effect: Effect, outcome: Outcome) -> E:
        if isinstance(effect, AskPerson) and isinstance(outcome, PersonAnswered):
            effect.check(outcome)
        if isinstance(effect, Task) and isinstance(outcome, TaskDone):
            event: E = effect.event_of(outcome)
            return event
        return self.make_event(state, effect, outcome)

    def fold(self, events: Iterable[E]) -> S:
        state = self.initial
        for event in events:
            state = self.advance(state, event)
        return state

    def encode(self, event: E) -> bytes:
        return msgspec.json.encode(event)

    def decode(self, body: bytes) -> E:
        decoded: E = msgspec.json.decode(body, type=self.events)
        return decoded

    def decode_stored(self, body: bytes) -> E:
        """Of a stored session: earlier versions kept control characters as they came."""
        return self.decode(strip_controls_in_json(body))


Table = dict[tuple[Any, type[Event]], Any]
"""All transitions of a flow in one literal: (step, event) → step, or → a tuple of the steps among which the
state decides. The documentation is drawn from it."""


def next_step(table: Table, step: Any, event: Event) -> Any:
    """Where an event leads, as the table says, or IllegalMove naming the events that this step takes."""
    try:
        return table[step, type(event)]
    except KeyError:
        allowed = tuple(kind.__name__ for at, kind in table if at == step)
        raise IllegalMove(type(event).__name__, str(step), allowed) from None


def check_step(target: Any, step: Any) -> None:
    """A step to which the table does not lead is a mistake of ours."""
    targets = target if isinstance(target, tuple) else (target,)
    assert step in targets, f"{step} is none of the steps that this event leads to: {targets}"
