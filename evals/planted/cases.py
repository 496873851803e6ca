"""Facts, where each is planted, and what only it can answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from evals.person import Turn
from evals.prose import Groups
from evals.workspaces import VANLOAD

Format = Literal["ask", "board", "analysis", "brainstorm", "change"]


@dataclass(frozen=True)
class Planted:
    """`fact` is how it was put; `wanted` are the words of it that have to be said during the moment `probe`.
    `subject` is what the session is about. Evidence is name and text; `cites` wants it to be cited."""

    id: str
    format: Format
    fact: str
    wanted: Groups
    subject: str
    turns: Sequence[Turn] = ()
    evidence: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    cites: bool = False
    looks_at: str = ""
    """The file in which the fact stands, where it is in none of the words."""


PROBE = "probe"

# -- ask -----------------------------------------------------------------------------------------

_LEASE = "We rent the hall in Brunnau for 1,460 euros a month, and the lease ends on 14 April."
CONTRACT = """Lease of the hall at Brunnau, Mill Lane 3

1. The tenant pays the rent on the third working day of a month.
2. The tenant may give notice with eleven weeks to the end of a month.
3. The landlord repairs the roof; the tenant repairs the boiler, up to 640 euros in a year.
4. Instruments may stay over night at the tenant's risk.
"""

ASK = (
    Planted(
        id="ask-first-question",
        format="ask",
        fact=_LEASE,
        wanted=(("14 April", "April 14", "14th of April", "April 14th"), ("1,460", "1460", "1.460")),
        subject="the-pragmatist",
        turns=(
            Turn("question", f"{_LEASE} The choir has shrunk. Should we look for another place?"),
            Turn("follow-up", "What would you ask the landlord first?"),
            Turn("follow-up", "And how would you tell the choir?"),
            Turn("follow-up", "On which date does our lease end, and what do we pay a month?", during=PROBE),
        ),
    ),
    Planted(
        id="ask-evidence",
        format="ask",
        fact="The tenant may give notice with eleven weeks to the end of a month.",
        wanted=(("eleven", "11"),),
        subject="the-analyst",
        evidence={"lease.txt": CONTRACT},
        cites=True,
        turns=(
            Turn("question", "Is there anything in the lease that should worry a choir that shrinks?"),
            Turn("follow-up", "How many weeks of notice do we have to give?", during=PROBE),
        ),
    ),
)

# -- board ---------------------------------------------------------------------------------------

_MOVE = "Should the choir leave the hall in Brunnau for the school's gym, which costs nothing?"
_TREASURER = "Our treasurer, Mrs Adlgasser, steps down on 9 February."
_SUPPLIER = "This is new: the school told me yesterday that the gym is closed for repairs from 3 June."

BOARD = (
    Planted(
        id="board-answer",
        format="board",
        fact=_TREASURER,
        wanted=(("Adlgasser",), ("9 February", "February 9", "9th of February", "February 9th")),
        subject=_MOVE,
        turns=(
            Turn("answers", _TREASURER),
            Turn("answers", choice="convene"),
            Turn("challenge", "Who steps down, and on which day? You were told that before.", during=PROBE),
        ),
    ),
    Planted(
        id="board-challenge",
        format="board",
        fact=_SUPPLIER,
        wanted=(("3 June", "June 3", "3rd of June", "June 3rd"),),
        subject=_MOVE,
        turns=(
            Turn("answers", choice="convene"),
            Turn("challenge", _SUPPLIER),
            Turn("challenge", choice="brief|next", during=PROBE),
            Turn("review", choice="brief"),
        ),
    ),
    Planted(
        id="board-evidence",
        format="board",
        fact="the tenant repairs the boiler, up to 640 euros in a year",
        wanted=(("640",),),
        subject=_MOVE,
        evidence={"lease.txt": CONTRACT},
        cites=True,
        turns=(
            Turn("answers", choice="convene"),
            Turn(
                "challenge",
                "Up to how much a year does the boiler cost us, by the lease that you were given?",
                during=PROBE,
            ),
        ),
    ),
)

# -- analysis and roundtable ---------------------------------------------------------------------

_ITEM = "Late orders"
_DEPOT = "The depot at Haidhof has no signal at all, and 14 of the customers order from there."
_PENALTY = "One thing you could not know: a lost order costs us 27 euros, by the contract with the co-op."
_CLERK = "Ms Obermaier at the desk writes late orders into a green book, page by page."
_ABOUT = "Customers who order after the close are turned away. The co-op wants this solved by 21 May."


def _analysis(name: str, fact: str, wanted: Groups, *turns: Turn, about: str = "", at: str = "") -> Planted:
    return Planted(name, "analysis", fact, wanted, f"{_ITEM}\n{about}", turns, files=VANLOAD, looks_at=at)


def _asked(question: str) -> Turn:
    return Turn("menu", question, during=PROBE)


_ON = Turn("menu", choice="continue")
ANALYSIS = (
    _analysis(
        "analysis-answer",
        _DEPOT,
        (("Haidhof",), ("14", "fourteen")),
        Turn("00-01", _DEPOT),
        _ON,
        _asked("Which depot did I say has no signal, and how many customers order from there?"),
    ),
    _analysis(
        "analysis-description",
        _ABOUT,
        (("21 May", "May 21", "21st of May", "May 21st"),),
        _ON,
        _asked("By when does the co-op want this, as I wrote at the beginning?"),
        about=_ABOUT,
    ),
    _analysis(
        "analysis-feedback",
        _PENALTY,
        (("27", "twenty-seven"),),
        Turn("menu", _PENALTY),
        _ON,
        _asked("What does a lost order cost us, as I told you at the step before?"),
    ),
    _analysis(
        "analysis-after-roundtable",
        _CLERK,
        (("Obermaier",), ("green",)),
        Turn("menu", choice="elaborate"),
        Turn("roundtable", _CLERK),
        Turn("roundtable", choice="done"),
        _ON,
        _asked("Who writes late orders down, and into what, as I said at the roundtable?"),
    ),
    _analysis(
        "roundtable-knows-answer",
        _DEPOT,
        (("Haidhof",),),
        Turn("00-01", _DEPOT),
        Turn("menu", choice="elaborate"),
        Turn("roundtable", "Jordan, which depot did I say has no signal?", during=PROBE),
        Turn("roundtable", choice="done"),
    ),
    _analysis(
        "analysis-three-phases-later",
        _DEPOT,
        (("Haidhof",), ("14", "fourteen")),
        Turn("00-01", _DEPOT),
        *(Turn("menu", choice="skip-phase") for _ in range(3)),
        _asked("Which depot has no signal, and how many customers order from there? I said it at the start."),
    ),
    _analysis(
        "analysis-readme",
        "It listens on port 8451.",
        (("8451", "8,451"),),
        _asked("Before I go on: on which port does it listen, by its README?"),
        at="README.md",
    ),
)

# -- brainstorm ----------------------------------------------------------------------------------

_IDEA = "Tell a customer by what time their van will be there"
_FILE = (
    "The times have to be written to a file called nightly-slots.tsv, because the co-op's printer reads that."
)
_LAKE = "You should know that the lake route has no bridge until October, so it takes 95 minutes."


def _brainstorm(name: str, fact: str, wanted: Groups, *turns: Turn, at: str = "") -> Planted:
    return Planted(name, "brainstorm", fact, wanted, _IDEA, turns, files=VANLOAD, looks_at=at)


_DEEPER = Turn("triage", choice="exploration|agree")
BRAINSTORM = (
    _brainstorm(
        "brainstorm-comment",
        _LAKE,
        (("95", "ninety-five"),),
        Turn("triage", _LAKE, choice="discuss"),
        _DEEPER,
        Turn("questions", "How long does the lake route take, as I said?", choice="discuss", during=PROBE),
    ),
    _brainstorm(
        "brainstorm-design",
        _FILE,
        (("nightly-slots.tsv",),),
        Turn("triage", _FILE, choice="discuss"),
        _DEEPER,
        Turn("questions", choice="finish"),
        Turn("approaches", choice="agree", during=PROBE),
    ),
    _brainstorm(
        "brainstorm-function-body",
        'FALLBACK = "1999-09-09"',
        (("1999-09-09",),),
        Turn(
            "triage",
            "What exactly does parse_due give for a date that does not exist, such as 2026-02-31?",
            choice="discuss",
            during=PROBE,
        ),
        at="vanload/dates.py",
    ),
    _brainstorm(
        "brainstorm-silent-loss",
        "a van that is full is passed over in silence, and its order is lost",
        (
            ("lost", "dropped", "silently", "in silence", "disappears", "vanishes", "discarded"),
            ("40", "forty"),
        ),
        Turn(
            "triage",
            "What happens in assign to an order whose van is full, and when is it full?",
            choice="discuss",
            during=PROBE,
        ),
        at="vanload/routes.py",
    ),
)

# -- change --------------------------------------------------------------------------------------

CHANGE = (
    Planted(
        id="change-description",
        format="change",
        fact="the message has to be 'the van has gone' and the exit code 64",
        wanted=(("the van has gone",), ("64",)),
        subject="Refuse an order for a day that is over: the message has to be 'the van has gone' and the "
        "exit code 64.",
        files=VANLOAD,
    ),
    Planted(
        id="change-function-body",
        format="change",
        fact="TOO_LATE = 75",
        wanted=(("75",),),
        subject="An order with more crates than are allowed ends the command with the very exit code that "
        "`vanload/__main__.py` has for an order that is too late. Name the code as a number in the "
        "specification.",
        files=VANLOAD,
        looks_at="vanload/__main__.py",
    ),
)

CASES = (*ASK, *BOARD, *ANALYSIS, *BRAINSTORM, *CHANGE)
