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
from moot.roundtable.state import USER, RoundtableState

THE_USER, ALL = "User", "All"

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


def stated_decisions(state: RoundtableState) -> tuple[Decision, ...]:
    """The sentences in which somebody said that something is decided, word for word."""
    return tuple(
        Decision(sentence, _RATIONALE, _attribution(state, said.speaker))
        for said in state.discussion
        for sentence in sentences(said.text)
        if _STATED.search(sentence) and not _NOT_STATED.search(sentence) and not sentence.endswith("?")
    )


def faults(state: RoundtableState, synthesis: Synthesis) -> tuple[str, ...]:
    """Empty if the synthesis may stand as it is."""
    return (*_attribution_faults(state, synthesis), *_decision_faults(state, synthesis))


def _attribution_faults(state: RoundtableState, synthesis: Synthesis) -> Iterator[str]:
    for number, insight in enumerate(synthesis.insights, start=1):
        if not insight.by:
            yield f"Insight {number} is attributed to nobody."
        for name in insight.by:
            if _known(state, name) is None:
                yield f"Insight {number} is attributed to {name[:80]!r}, who has not spoken."
    for number, decision in enumerate(synthesis.decisions, start=1):
        for name in _parts(decision.stated_by):
            if _known(state, name) is None:
                yield f"Decision {number} is attributed to {name[:80]!r}, who has not spoken."


def _decision_faults(state: RoundtableState, synthesis: Synthesis) -> Iterator[str]:
    for decision in _missing(state, synthesis):
        yield f"A decision of the discussion is missing: {decision.decision}"


def left_out(state: RoundtableState, synthesis: Synthesis) -> tuple[str, ...]:
    """What `corrected` cannot keep: an insight that nobody who spoke has brought is nobody's, least of all
    everybody's."""
    return tuple(
        f"Insight {number} is left out, because nobody who spoke is named for it: {insight.text}"
        for number, insight in enumerate(synthesis.insights, start=1)
        if not _names(state, insight.by)
    )


def corrected(state: RoundtableState, synthesis: Synthesis) -> Synthesis:
    """Names in one spelling, those who did not speak left out, and every decision that was stated."""
    return msgspec.structs.replace(
        synthesis,
        insights=tuple(
            Insight(names, insight.text)
            for insight in synthesis.insights
            if (names := _names(state, insight.by))
        ),
        decisions=(
            *(
                msgspec.structs.replace(
                    decision, stated_by="/".join(_names(state, _parts(decision.stated_by)))
                )
                for decision in synthesis.decisions
            ),
            *_missing(state, synthesis),
        ),
    )


def _names(state: RoundtableState, given: tuple[str, ...]) -> tuple[str, ...]:
    known = tuple(dict.fromkeys(name for each in given if (name := _known(state, each))))
    return (ALL,) if ALL in known else known


def _known(state: RoundtableState, name: str) -> str | None:
    """The name as an attribution spells it, if it is that of somebody who spoke."""
    spellings = {"all": ALL, "everyone": ALL}
    for speaker in state.spoke:
        if speaker == USER:
            spellings |= {"user": THE_USER, "the user": THE_USER}
        else:
            persona = state.speakers[speaker]
            forms = (persona.first_name, persona.name, persona.id, f"{persona.name} ({persona.role})")
            spellings |= {form.casefold(): persona.first_name for form in forms}
    return spellings.get(name.strip(" []").casefold())


def _parts(names: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in re.split(r"[/,&]|\band\b", names) if part.strip())


def _attribution(state: RoundtableState, speaker: str) -> str:
    return THE_USER if speaker == USER else state.first_names[speaker]


def _missing(state: RoundtableState, synthesis: Synthesis) -> tuple[Decision, ...]:
    present = [_stems(f"{decision.decision} {decision.rationale}") for decision in synthesis.decisions]
    missing: list[Decision] = []
    for decision in stated_decisions(state):
        stems = _stems(decision.decision)
        if not any(_alike(stems, other) for other in present):
            missing.append(decision)
            present.append(stems)
    return tuple(missing)


def _alike(stated: frozenset[str], written: frozenset[str]) -> bool:
    fewer = min(len(stated), len(written))
    return fewer > 0 and len(stated & written) / fewer >= _ALIKE


def _stems(text: str) -> frozenset[str]:
    words = {word[:_STEM] for word in re.findall(r"\w+", text.casefold())}
    return frozenset(words - _UNIMPORTANT)
