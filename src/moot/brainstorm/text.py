"""What the brainstormer has laid out, in words: for the conversation, for prompts and for screens.

Knows no prompt and no screen: plain lines, numbered as the menus number them.
"""

from __future__ import annotations

from collections.abc import Sequence

from moot.brainstorm.events import DEFERRED, Approach, Level, Part, Question, Section, Triage

LEVEL_NAMES: dict[Level, str] = {
    "straightforward": "Straightforward",
    "exploration": "Needs exploration",
    "complex": "Complex",
}

LONGEST_SHOWN = 80
"""Characters of an answer in a menu."""


def triage(proposal: Triage) -> str:
    lines = [f"Assessment: {LEVEL_NAMES[proposal.level]}", proposal.reasoning]
    if proposal.suggested_skips:
        lines.append(f"Can be skipped: {', '.join(proposal.suggested_skips)}")
    if proposal.splits:
        lines += ["Independent pieces, each a workflow of its own (this one keeps the first):"]
        lines += parts(proposal.splits, "Workflow")
    if proposal.batches:
        lines += ["Batches, one after the other:", *parts(proposal.batches, "Batch")]
    return "\n".join(lines)


def parts(of: Sequence[Part], kind: str, start: int = 1) -> list[str]:
    return [f"  {kind} {number}: {part.title} – {part.description}" for number, part in enumerate(of, start)]


def questions(asked: Sequence[Question]) -> str:
    return "\n".join(
        f"  {number}. {question_with_options(each)}" for number, each in enumerate(asked, start=1)
    )


def question(asked: Question) -> str:
    """With its state before it."""
    return f"[{question_state(asked)}] {asked.text}"


def question_with_options(asked: Question) -> str:
    """For whoever works with it: an answer is understood by what else could have been answered."""
    if not asked.options:
        return question(asked)
    return f"{question(asked)} (options: {' | '.join(asked.options)})"


def question_line(asked: Question) -> str:
    """For a menu: of a long answer only the beginning, so that the question is still in sight."""
    answer = " ".join(asked.answer.split())
    if asked.answered and len(answer) > LONGEST_SHOWN:
        return f"[answered: {answer[: LONGEST_SHOWN - 1]}…] {asked.text}"
    return question(asked)


def question_state(asked: Question) -> str:
    if asked.answered:
        return f"answered: {asked.answer}"
    return "deferred" if asked.answer == DEFERRED else "unanswered"


def approaches(offered: Sequence[Approach], recommendation: str, because: str) -> str:
    lines = []
    for number, each in enumerate(offered, start=1):
        mark = " (recommended)" if each.id == recommendation else ""
        many = "" if each.task_estimate == 1 else "s"
        tasks = f" About {each.task_estimate} task{many}." if each.task_estimate else ""
        lines.append(f"  {number}. {each.title}{mark}: {each.summary}{tasks}")
        if each.tradeoffs:
            lines.append(f"     Tradeoffs: {each.tradeoffs}")
    if because:
        lines.append(f"Recommended because {because}")
    return "\n".join(lines)


def sections(shown: Sequence[Section]) -> str:
    return "\n\n".join(f"## {each.title}\n\n{each.content}" for each in shown)
