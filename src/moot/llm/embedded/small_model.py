"""How to get sensible sentences out of a model of a hundred million parameters.

Asked plainly, such a model answers with a stray word. It speaks when its sentence is begun for it, when it
is told little, and when the question stands right before its words. Nothing here knows an engine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from moot.llm.messages import Message, UserSaid
from moot.llm.protocol import Call

OPENERS = (
    "The strongest reason to do it is that",
    "What worries me most is that",
    "Before deciding, I would want to know whether",
    "My recommendation is to",
)

SAMPLING = {"temperature": 0.4, "min_p": 0.1, "repeat_penalty": 1.15, "repeat_last_n": 128}
_SENTENCE = re.compile(r"""^.*?(?<=[\w)%]{2})[.!?]["')]?(?=\s|$)""", re.DOTALL)
_GARBLED = re.compile(
    r"[A-Za-z]{19}|[A-Z]{5}|([a-z][A-Z]){2}"
    r"|(?i:\b(\w+(?: \w+){1,3})\W+\2\b|\b(\w{3,})\W+\3\W+\3\b)"
)
_NOT_PROSE = re.compile(r"[`{}<>\[\]|\\_*#]|https?:|\bAI\b|language model")
SHORT_ENDING = r'root ::= (" " [a-z]{1,12}){6,14} "."'


def short_messages(call: Call, room: int) -> list[Mapping[str, Any]]:
    """The persona's first sentence and the latest thing said: a tiny model is confused by more, and
    reading is slow without a graphics card."""
    said = [message.text for message in call.messages if isinstance(message, UserSaid)]
    system = _clipped(first_sentence(call.system) or call.system, 240)
    return [
        *([{"role": "system", "content": system}] if system else []),
        {"role": "user", "content": _clipped(said[-1] if said else "", room)},
    ]


def _clipped(text: str, room: int) -> str:
    """`text` without its middle, if it is longer than `room`. A letter outside ASCII takes more of it: the
    tokenizer spends several tokens on each."""
    weight = len(text) + 8 * sum(not letter.isascii() for letter in text)
    if weight <= room:
        return text
    half = room * len(text) // weight // 2
    return f"{text[:half]} … {text[-half:]}"


def anchor(messages: Sequence[Message]) -> str:
    """The question once more, for the model to read as its own words right before it goes on: what lies
    further back is forgotten. Nobody else sees it."""
    texts = [message.text for message in reversed(messages) if isinstance(message, UserSaid)]
    for text in texts:
        if asked := re.search(r"[^.?!\n]{10,200}\?", text):
            return f"The question is: {asked.group().strip()}"
    return f"The matter is: {_clipped(texts[0], 160)}" if texts else ""


def has_sentence(text: str) -> bool:
    # Without what comes after the stop, "1." might become "1.5".
    found = _SENTENCE.match(text)
    return found is not None and found.end() < len(text)


def first_sentence(text: str) -> str:
    found = _SENTENCE.match(text)
    return found.group() if found else ""


def is_sensible(sentence: str, known: str) -> bool:
    """Whether a sentence can be shown. `known` is what was said before, made plain: an echo is no reply,
    though a few words of the question may well come back."""
    bare = plain(sentence)
    words = bare.split()
    triples = list(zip(words, words[1:], words[2:], strict=False))
    return (
        len(words) >= 2
        and not _NOT_PROSE.search(sentence)
        and sentence.count('"') % 2 == 0
        and len(set(triples)) == len(triples)
        and (len(words) < 8 or bare not in known)
    )


def is_garbled(text: str) -> bool:
    """Whether `text` stumbles: words that are none, or the same words over and over."""
    return _GARBLED.search(text) is not None


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
