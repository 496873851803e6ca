"""Whether a synthesis is true to its discussion: who is said to have said it, and what was decided.

Knows how to find fault and how to put right what a second draft still gets wrong. Finds only decisions that
were stated in so many words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from moot.roundtable.insights import Decision, Insight, Synthesis
from moot.roundtable.replies import sentences
from moot.roundtable.state import RoundtableState

ALL = "All"

_STATED = re.compile(
    r"\b(?:let['’]?s go with|let us go with|decided|we agree to)\b|\bdecision:", re.IGNORECASE
)
_NOT_STATED = re.compile(
    r"(?:\b(?:not|never|be|if|once|until|when|whether|before|unless|who|nobody|how)|n['’]t) (?:\w+ ){0,3}"
    r"(?:decided|agree to|go with)\b",
    re.IGNORECASE,
)
_RATIONALE = "Stated in the discussion"

# Enough of a word to know it by in another form.
_STEM = 5
_ALIKE = 0.5
_UNIMPORTANT = frozenset(
    re.findall(
        r"\w+",
        "a agree an and are as at be by decid decis for from go i in is it its let of on or our s so that "
        "the then this to us use we will with",
    )
)


def find_stated_decisions(state: RoundtableState) -> tuple[Decision, ...]:
    """The sentences in which somebody said that something is decided, word for word."""
    return tuple(
        Decision(sentence, _RATIONALE, state.attributions[said.speaker])
        for said in state.discussion
        for sentence in sentences(said.text)
        if _STATED.search(sentence) and not _NOT_STATED.search(sentence) and not sentence.endswith("?")
    )


def find_faults(state: RoundtableState, synthesis: Synthesis) -> tuple[str, ...]:
    """Empty if the synthesis may stand as it is."""
    missing = (
        f"A decision of the discussion is missing: {decision.decision}"
        for decision in _find_unmentioned(state, synthesis)
    )
    return (*_find_misattributions(state, synthesis), *missing)


def _find_misattributions(state: RoundtableState, synthesis: Synthesis) -> Iterator[str]:
    for number, insight in enumerate(synthesis.insights, start=1):
        if not insight.by:
            yield f"Insight {number} is attributed to nobody."
        for name in insight.by:
            if _spell_name(state, name) is None:
                yield f"Insight {number} is attributed to {name[:80]!r}, who has not spoken."
    for number, decision in enumerate(synthesis.decisions, start=1):
        for name in _split_names(decision.stated_by):
            if _spell_name(state, name) is None:
                yield f"Decision {number} is attributed to {name[:80]!r}, who has not spoken."


def find_left_out(state: RoundtableState, synthesis: Synthesis) -> tuple[str, ...]:
    """What `correct` cannot keep: an insight that nobody who spoke has brought is nobody's, least of all
    everybody's."""
    return tuple(
        f"Insight {number} is left out, because nobody who spoke is named for it: {insight.text}"
        for number, insight in enumerate(synthesis.insights, start=1)
        if not _spell_names(state, insight.by)
    )


def correct(state: RoundtableState, synthesis: Synthesis) -> Synthesis:
    """Names in one spelling, those who did not speak left out, and every decision that was stated."""
    insights = [Insight(_spell_names(state, insight.by), insight.text) for insight in synthesis.insights]
    decisions = [
        msgspec.structs.replace(
            decision, stated_by="/".join(_spell_names(state, _split_names(decision.stated_by)))
        )
        for decision in synthesis.decisions
    ]
    return msgspec.structs.replace(
        synthesis,
        insights=tuple(insight for insight in insights if insight.by),
        decisions=(*decisions, *_find_unmentioned(state, synthesis)),
    )


def _spell_names(state: RoundtableState, given: tuple[str, ...]) -> tuple[str, ...]:
    known = tuple(dict.fromkeys(name for each in given if (name := _spell_name(state, each))))
    return (ALL,) if ALL in known else known


def _spell_name(state: RoundtableState, name: str) -> str | None:
    """The name as an attribution spells it, if it is that of somebody who spoke."""
    spellings = {"all": ALL, "everyone": ALL}
    for speaker in state.spoke:
        forms: tuple[str, ...] = ("user", "the user")
        if persona := state.speakers.get(speaker):
            forms = (persona.first_name, persona.name, persona.id, f"{persona.name} ({persona.role})")
        spellings |= {form.casefold(): state.attributions[speaker] for form in forms}
    return spellings.get(name.strip(" []").casefold())


def _split_names(names: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in re.split(r"[/,&]|\band\b", names) if part.strip())


def _find_unmentioned(state: RoundtableState, synthesis: Synthesis) -> tuple[Decision, ...]:
    """What was decided, and is not in the synthesis."""
    present = [_stems(f"{decision.decision} {decision.rationale}") for decision in synthesis.decisions]
    missing: list[Decision] = []
    for decision in find_stated_decisions(state):
        stems = _stems(decision.decision)
        if not any(_are_alike(stems, other) for other in present):
            missing.append(decision)
            present.append(stems)
    return tuple(missing)


def _are_alike(stated: frozenset[str], written: frozenset[str]) -> bool:
    fewer = min(len(stated), len(written))
    return fewer > 0 and len(stated & written) / fewer >= _ALIKE


def _stems(text: str) -> frozenset[str]:
    words = {word[:_STEM] for word in re.findall(r"\w+", text.casefold())}
    return frozenset(words - _UNIMPORTANT)
