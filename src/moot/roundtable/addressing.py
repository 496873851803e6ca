"""What somebody at a roundtable wants when they type something: to end it, or to hear whom.

Knows the words and their order of precedence; what then happens, the flow decides. Ending is read from what
the message is about, not from a word in it: "exit codes" and "I'm not done yet" end nothing. A message that
might be meant either way is `doubtful`: asking costs less than ending a discussion by mistake.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["exit", "doubtful", "direct", "group", "default", "nothing"]


@dataclass(frozen=True, slots=True)
class Reading:
    """`addressed` are persona ids, in the order in which the message turns to them."""

    kind: Kind
    addressed: tuple[str, ...] = ()


def read_input(text: str, first_names: Mapping[str, str]) -> Reading:
    """`first_names` is persona id → first name."""
    plain = _normalize(text)
    if not plain:
        return Reading("nothing")
    ending = _read_ending(plain, [_normalize(name) for name in first_names.values()])
    return Reading(ending) if ending else read_address(text, first_names)


def read_address(text: str, first_names: Mapping[str, str]) -> Reading:
    """To whom a message turns that is known not to end the discussion."""
    plain = _normalize(text)
    if addressed := tuple(dict.fromkeys(_find_addressed(plain, first_names))):
        return Reading("direct", addressed)
    return Reading("group" if _GROUP.search(plain) else "default")


def read_reply_to_doubt(text: str, first_names: Mapping[str, str]) -> Literal["exit", "stay", "new"]:
    """What an answer to "end the discussion, or continue?" means; a `new` one is a message of its own."""
    plain = _normalize(text)
    if not plain or (len(plain.split()) <= _SHORT and _STAY.search(plain)):
        return "stay"
    if len(plain.split()) <= _SHORT and _END.search(plain) and not _NEGATED.search(plain):
        return "exit"
    # Whoever has been asked and still speaks of ending means it.
    return "exit" if read_input(text, first_names).kind in ("exit", "doubtful") else "new"


def says_only_end(text: str, first_names: Mapping[str, str]) -> bool:
    """Whether a message that ends the discussion says nothing besides: "B it is, and we are done" does."""
    return len(_bare_clauses(_normalize(text), [_normalize(name) for name in first_names.values()])) < 2


_SHORT = 6
_NEGATED = re.compile(r"\b(?:not|never|don't|do not)\b")
_STAY = re.compile(
    r"\b(?:continue|go on|going|keep|carry on|explor\w+|stay)\b|^(?:no|nope|nah|not yet)[.!]?$"
)
_END = re.compile(r"\b(?:end|stop|finish|quit)\b|^(?:yes|yeah|yep|yup|sure|please|ok|okay)\b")


def _normalize(text: str) -> str:
    """In one case and one spelling of apostrophes and spaces."""
    text = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES).casefold()
    shown = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    return " ".join(shown.split())


_APOSTROPHES = str.maketrans("’‘ʼ`´", "'''''")

# -- whom ----------------------------------------------------------------------------------------

_GROUP = re.compile(r"(?<!\w)(?:you all|everyone|all of you|team|what do you think)(?!\w|'s\b)")


def _find_addressed(plain: str, first_names: Mapping[str, str]) -> Iterator[str]:
    names = {persona: re.escape(_normalize(name)) for persona, name in first_names.items()}
    # A part of a double name is somebody else.
    calls = sorted(
        (found.start(), p) for p, n in names.items() for found in re.finditer(rf"(?<![\w-]){n}[,?]", plain)
    )
    for persona, name in names.items():
        # "Alex is right. Jordan, what does it cost?" speaks of Alex, and to Jordan.
        if re.match(rf"\W*{name}(?:[,: ]|$)", plain) and not (calls and re.match(rf"\W*{name} {_OF}", plain)):
            yield persona
    for _, persona in calls:
        yield persona


_OF = r"(?:is|was|isn't|wasn't|has|had|said|says|thinks|wants|makes|means|seems)\b"
"""What follows the name of somebody who is spoken of."""


# -- whether to end ------------------------------------------------------------------------------

_WRAP = r"wrap(?: (?:it|this|that|things))? up"
_WORD = re.compile(rf"(?<![\w-])(?<!\bwell )(?:done|exit|back|{_WRAP})(?![\w-])")
_THIS = (
    r"(?:(?:our|the|this|that|your) )?(?:\w+ )?"
    r"(?:discussion|conversation|elaboration(?: mode)?|roundtable|round table|session|debate|talk|chat)"
)
_SELF = r"(?:i'm|i am|we're|we are)(?: all)?"
_WILL = (
    r"(?:let's|let us|(?:we|i)(?: can| will| should|'ll| want to|'d like to| would like to| have to| need to)"
    r"|(?:it's |it is )?time to|you can|ready to)"
)

_BARE = re.compile(rf"done|exit|back|{_WRAP}|{_SELF} done")
"""An end in so many words: with other things around it, it might be meant otherwise."""

_CLEAR = re.compile(
    rf"(?:{_WILL} )?{_WRAP}(?: (?:{_THIS}\b.*|here|now|this|today))?"
    rf"|(?:{_WILL} )?exit(?: {_THIS}.*)?"
    rf"|(?:(?:{_WILL} )?(?:go |get |head )?)?back to the (?:\w+ )?menu"
    rf"|{_SELF} done(?: (?:with {_THIS}.*|discussing|talking|here))?"
    rf"|done (?:with {_THIS}.*|discussing|talking|here)"
)
"""An end that can hardly mean anything else."""

_UNSURE = re.compile(
    rf"(?:{_SELF}|(?:are|am) (?:we|i)|(?:we|i) (?:\w+ )?be)(?: \w+){{0,2}} done\b"
    rf"|\b(?:we|i|let's|us)\b(?: \w+){{0,4}} {_WRAP}\b"
    rf"|(?:\b(?:we|i|let's|let us|to)\b(?: \w+){{0,2}} )?(?:go|head|get) back"
    rf"|\b(?:we|i|let's)\b(?: \w+){{0,2}} exit(?: {_THIS})?$"
    r"|(?:almost|nearly|about|maybe|perhaps|probably) done"
    r"|done with (?:this|that|it|these)"
    rf"|^{_WRAP}\b"
)

_ELSEWHERE = re.compile(r"\bback (?:to|and|into|on|over|up|button|in|end)\b")
"""A place to go back to, such as the API, is no wish to leave."""

_FILLER = (
    r"ok|okay|well|so|alright|all right|right|yes|yeah|yep|no|great|good|nice|thanks(?: \w+)?(?: for .+)?"
    r"|thank you(?: \w+)?(?: for .+)?|please|now|then|cool|fine|perfect|and|oh|um|hm+|hey|hi|everyone"
    r"|team|folks|all|both|guys|for now|for today|here|i think|i believe|i'd say"
    r"|that's enough|(?:that's|that is) (?:it|all)(?: from me)?|(?:good|great) (?:points|discussion|stuff)"
    r"|let's call it|just|actually|really|sorry"
)
_HEDGED = re.compile(
    r"\b(?:maybe|perhaps|probably|almost|nearly|guess|might|could|may|should|unless|suppose)\b"
)
_OTHERWISE = re.compile(r"\b(?:not|never|n't|\w+n't|before|until|till|when|whenever|once|after|if|while)\b")


def _read_ending(plain: str, names: list[str]) -> Literal["exit", "doubtful"] | None:
    if not _WORD.search(plain) or not (clauses := _bare_clauses(plain, names)):
        return None
    weights = [_weigh(clause, asked) for clause, asked in clauses]
    if len(clauses) == 1:
        return weights[0]
    asks = any(asked for _, asked in clauses)
    # The last thing said is what is wanted, as long as it is said in so many words and nothing is asked.
    if weights[-1] == "exit" and not asks and " " in clauses[-1][0]:
        return "exit"
    return "doubtful" if any(weights) else None


def _bare_clauses(plain: str, names: list[str]) -> list[tuple[str, bool]]:
    """Each with whether it is a question, without what is only said around it."""
    filler = re.compile("|".join([_FILLER, *map(re.escape, names)]))
    bare = ((_strip_filler(clause, filler), asked) for clause, asked in _split_clauses(plain))
    return [(clause, asked) for clause, asked in bare if clause]


def _split_clauses(plain: str) -> Iterator[tuple[str, bool]]:
    """Each with whether it is a question."""
    for found in re.finditer(r"([^,.;:!?…—–]+)([,.;:!?…—–]*)", re.sub(r"\s-+\s", ", ", plain)):
        yield re.sub(r"^[\W_]+|[\W_]+$", "", found[1]), "?" in found[2]


def _strip_filler(clause: str, filler: re.Pattern[str]) -> str:
    """Without what is only said around it."""
    while clause:
        if filler.fullmatch(clause):
            return ""
        words = clause.split()
        for length in range(min(3, len(words) - 1), 0, -1):
            if filler.fullmatch(" ".join(words[:length])):
                clause = " ".join(words[length:])
                break
            if filler.fullmatch(" ".join(words[-length:])):
                clause = " ".join(words[:-length])
                break
        else:
            return clause
    return clause


def _weigh(clause: str, asked: bool) -> Literal["exit", "doubtful"] | None:
    word = _WORD.search(clause)
    if not word or _OTHERWISE.search(clause[: word.start()]):
        return None
    if _BARE.fullmatch(clause) or _CLEAR.fullmatch(clause):
        return "doubtful" if asked or _HEDGED.search(clause) else "exit"
    return "doubtful" if _UNSURE.search(clause) and not _ELSEWHERE.search(clause) else None
