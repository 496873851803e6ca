"""What the program itself says at a roundtable, and whose name stands before what is said.

Knows the wording, and how a reply is stripped of names that a model wrote into it. When a line is due, the
flow decides. Lines of the lead come without their prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

FEWEST_TURNS = 3
USUAL_TURNS = 10

WARNING = "We are nearing the end of our discussion time. Any final points before we synthesize?"
LIMIT = "We have had a thorough discussion. Let me synthesize the key points from our conversation."
INACTIVITY = "Any thoughts on this, or should we wrap up?"
WRAP_UP = "Wrapping up the discussion. Let me synthesize our key points."
NOTHING_SAID = "Wrapping up the discussion. Nobody has answered yet, so there is nothing to add."
DOUBT = "Did you want to end the discussion, or continue exploring this?"
NOT_OPENED = "I could not load the step context for elaboration. Let me continue with the normal menu."
NOT_RECORDED = (
    "Elaboration completed successfully but I could not save the elaboration record to meta.json. "
    "The discussion insights are in the artifacts."
)


# -- lines ---------------------------------------------------------------------------------------


def introduction(others: Sequence[tuple[str, str]], title: str, item: str, max_turns: int) -> str:
    """`others` are all but the lead: name and role of each."""
    *before, (name, role) = others
    # The line break before the last role is the template's.
    brought = " and ".join(
        part for part in (", ".join(f"{n} ({r})" for n, r in before), f"{name}\n({role})") if part
    )
    return (
        "---\n"
        "ELABORATION MODE\n"
        "\n"
        f"Bringing {brought} into the discussion.\n"
        "\n"
        f"Topic: {title} for {item}\n"
        "\n"
        f'Turn limit: {max_turns} exchanges. Type "done" to end discussion early.\n'
        "---"
    )


def framing(title: str, summary: str, focus_question: str, first_name: str, lens: str) -> str:
    """The lead's opening, ending with a question to the first of the others."""
    return (
        f"We just covered {title}. Here is where we landed: {_sentence(summary)}\n"
        "\n"
        f"I think we could benefit from all our perspectives on this specific question: {focus_question}\n"
        "\n"
        f"{_invitation(first_name, lens)}"
    )


def plain_framing(title: str, first_name: str, lens: str) -> str:
    """The lead's opening when none was drafted."""
    return (
        f"We just covered {title}. I think we could benefit from all our perspectives on it.\n"
        "\n"
        f"{_invitation(first_name, lens)}"
    )


def plainly_framed(why: str) -> str:
    return f"The discussion opens with the step's title, because no opening was drafted: {why}"


def _invitation(first_name: str, lens: str) -> str:
    # A lens lists what somebody looks at, the most telling first; all of it would not fit into a question.
    point = lens.partition(",")[0].strip()
    article = "an" if point[:1].lower() in ("a", "e", "i", "o") else "a"
    return f"{first_name}, what is your take from {article} {point} perspective?"


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def redirect(drifter: str, subject: str, focus_question: str, where: str) -> str:
    return (
        f"{drifter} raises an interesting point about {subject}, but let us stay focused on "
        f"{_topic(focus_question)}. We can explore that when we get to {where}."
    )


def polite_redirect(focus_question: str, where: str) -> str:
    """To the user, who may ask whatever they like."""
    return f"That is a great question for {where}. For now, let us focus on {_topic(focus_question)}."


def _topic(question: str) -> str:
    return question.strip().rstrip("?.!… ")


def no_answer(name: str, why: str) -> str:
    return f"{name} could not answer: {why}"


def not_checked(why: str) -> str:
    return f"Nobody looked for contradictions in this round: {why}"


def not_updated(why: str) -> str:
    return f"Could not update the artifacts ({why}). Elaboration insights are in the synthesis summary above."


def turn_limit(value: object) -> tuple[int, str | None]:
    """The most turns, and what was wrong with the value given. None is no value."""
    if value is None:
        return USUAL_TURNS, None
    if isinstance(value, int) and not isinstance(value, bool) and value >= FEWEST_TURNS:
        return value, None
    return (
        USUAL_TURNS,
        f"max_turns has to be a whole number of at least {FEWEST_TURNS}, not {value!r:.40}: "
        f"{USUAL_TURNS} turns are taken",
    )


# -- names before what is said -------------------------------------------------------------------


def prefix(name: str, role: str) -> str:
    return f"{name} ({role}): "


def strip_own_prefix(text: str, name: str, role: str) -> str:
    """Removes the speaker's own name, however a model writes it before its words: full or first name, with
    or without a role, bold, in brackets, as a heading, more than once."""
    full = r"\s+".join(map(re.escape, name.split()))
    first = re.escape(name.split(maxsplit=1)[0])
    title = rf"(?:\s*[(（][^()（）\n]{{1,60}}[)）]|\s*[,–—-]\s*{re.escape(role)})?"
    # Without a colon, only a name that has the line to itself is a prefix.
    end = r"(?:\s*[:：](?P<after>[*_]{0,3})|[ \t]*\n)"
    named = (
        rf"[\s>#]*(?P<open>[*_]{{0,3}})\[?(?:{full}|{first})(?!\w(?<!_))(?P<inner>[*_\]]*{title}[*_\]]*){end}"
    )
    while found := re.match(named, text, re.IGNORECASE):
        opening, after = found["open"], found["after"] or ""
        closed = not opening or opening in found["inner"] or opening == after
        # Emphasis that is not the name's alone goes on over what follows.
        kept = after if not opening else "" if closed else opening
        text = kept + text[found.end() :].lstrip()
    return text.strip()


def cut_other_voices(text: str, names: Iterable[str]) -> str:
    """What stands before a line in which a model goes on as somebody else. `names` are the others' full
    names. A first name and a colon may address a colleague, so alone they are no change of voice."""
    others = "|".join(re.escape(name) for name in names)
    named = rf"(?:(?:{others})\b[*_]{{0,3}}(?:\s*\([^()\n]{{1,60}}\))?|User)"
    voice = rf"^[ \t>#]*[*_]{{0,3}}{named}[*_]{{0,3}}[ \t]*:"
    found = re.search(voice, text, re.IGNORECASE | re.MULTILINE)
    return text[: found.start()].strip() if found else text.strip()


def is_silence(text: str) -> bool:
    """Whether a reply is "(silent)", in any case and with any punctuation around, or nothing at all."""
    return re.sub(r"[\W_]+", "", text).casefold() in ("", "silent")
