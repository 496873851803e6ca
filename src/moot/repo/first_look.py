"""What a text is about in the code: the bodies of the functions that it names, or that its words lead to.

Beside the report (report.py), which tells where things are, these are the things themselves: whole functions,
each a source of its own, so that a model argues about the code and not about the names of files. Everything
in it was found there; the same workspace and the same text always give the same sources, within bounds on
everything. Private, hidden and generated files are never read. Refuses to know what becomes of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

from moot.llm.context import BYTES_PER_TOKEN, size_of
from moot.llm.messages import Source
from moot.repo import keywords as wording
from moot.repo import listing, search
from moot.repo.bodies import Body, bodies
from moot.repo.filenames import is_prose, is_test
from moot.repo.keywords import Keyword
from moot.repo.listing import Survey

TOKENS = 12_000
MOST_BODIES = 12
MOST_LINES = 250
"""Of one body. Of what is longer, the parts are candidates of their own."""
MOST_TEXT = 40_000

_LARGEST_CLASS = 80
_MOST_FILES = 80
_MOST_OF_A_FILE = 4
"""Of those that were not named: several places tell more than all of one."""
_MOST_NAMED_OTHERS = 12
_ASKED_FOR = 100.0
_IN_TITLE = 3
"""How much a word in a function's or a file's name weighs against one in its body."""
_SAID_LATER, _MEANT, _PAIR = 0.6, 0.4, 2.0
"""How much a word weighs that is not in the wish's first clause, one that only means the same, and two words
that are one name."""
_CLAUSE = re.compile(r"[.:;!?]\s|,\s|\n| – | - |\b(?:so that|because)\b")
_QUOTED = re.compile(r"`([^`\n]{2,120})`")
_CODE = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*(?=\()|[A-Za-z_$][\w$.]*")
_KIND = r"(?:function|method|class|struct|type|interface|trait|module|routine|procedure)"
_SAID_TO_BE = (
    re.compile(rf"\b{_KIND}\s+([A-Za-z_]\w*)", re.IGNORECASE),
    re.compile(rf"\b([A-Za-z_]\w*)\s+{_KIND}\b", re.IGNORECASE),
)
_CASED = re.compile(r"[a-z0-9][A-Z]|[A-Za-z]_[A-Za-z]|^_\w")


@dataclass(frozen=True, slots=True)
class _Candidate:
    file: str
    body: Body
    text: str
    score: float


def first_look(root: Path, about: str, tokens: int = TOKENS, besides: str = "") -> tuple[Source, ...]:
    """The likeliest first: whole bodies of functions, and by their names those that did not fit. What two
    texts are about takes turns: one with few words of its own does not lose the code of the other."""
    root = root.resolve()
    seen = search.look(root)
    files = [file for file in seen.files if search.may_be_read(file) and not is_prose(file)]
    ranked = [_ranked(root, seen, files, text[:MOST_TEXT]) for text in (about, besides) if text.strip()]
    found: dict[tuple[str, Body], _Candidate] = {}
    for one in chain.from_iterable(zip_longest(*ranked)):
        if one is not None:
            found.setdefault((one.file, one.body), one)
    return _within(tuple(found.values()), tokens)


def _ranked(root: Path, seen: Survey, files: Sequence[str], about: str) -> list[_Candidate]:
    commanded = (word.replace("-", "_") for word in wording.commanded_in(about, seen.entry_points))
    exact = tuple(dict.fromkeys((*named_in(about), *commanded)))
    named = [file for file in listing.named_files(seen, about) if file in set(files)]
    first, _, rest = about.strip().partition("\n")
    words = wording.keywords_of(first, rest)
    meant = [other for word in words for other in wording.synonyms(word) if other not in words]
    wished = wording.keywords_of(_CLAUSE.split(first.strip(), maxsplit=1)[0])
    pairs = wording.pairs_of(about)
    weights = {
        **dict.fromkeys(wording.as_keywords(meant), _MEANT),
        **{wording.keyword(word): 1.0 if word in wished else _SAID_LATER for word in words},
        **dict.fromkeys(wording.as_keywords(pairs), _PAIR),
    }
    texts = _likely_texts(root, files, exact, named, tuple(weights))
    rarity = _rarity(weights, texts.values())
    found = [one for file, text in texts.items() for one in _candidates(file, text, exact, named, rarity)]
    return sorted(found, key=lambda one: (-one.score, is_test(one.file), one.file, one.body.first))


def named_in(about: str) -> tuple[str, ...]:
    """Names of code in a text, in its order: in backticks, called, spelled as code is, or said to be one."""
    found: dict[str, None] = {}
    for quoted in _QUOTED.findall(about):
        for name in _CODE.findall(quoted):
            found.update(dict.fromkeys(_last(name)))
    for name in _CODE.findall(about):
        called = f"{name}(" in about
        if called or _CASED.search(name):
            found.update(dict.fromkeys(_last(name)))
    for pattern in _SAID_TO_BE:
        for name in pattern.findall(about):
            if wording.is_telling(name):
                found.update(dict.fromkeys(_last(name)))
    return tuple(found)


def _last(name: str) -> list[str]:
    """`Shop.price` is asked for as `price`, and as what it is a part of."""
    return [part for part in re.split(r"\.|::|#", name)[::-1] if len(part) > 1]


def _likely_texts(
    root: Path, files: Sequence[str], exact: Iterable[str], named: Sequence[str], words: Sequence[Keyword]
) -> dict[str, str]:
    """Those with a name or a word in them, the ones with most of them first."""
    cores = [word.core for word in words]
    wanted = tuple(exact)
    ranked: list[tuple[tuple[int, int, bool, str], str, str]] = []
    for file, text in listing._texts(root, files):
        if search.is_generated(text):
            continue
        small, path = text.lower(), file.lower()
        names = sum(name in text for name in wanted)
        counted = sum(core in small for core in cores) + 2 * sum(core in path for core in cores)
        if names or counted or file in named:
            order = (-(names + (file in named)), -counted, is_test(file), file)
            ranked.append((order, file, text))
    ranked.sort(key=lambda one: one[0])
    return {file: text for _, file, text in ranked[:_MOST_FILES]}


def _rarity(weights: Mapping[Keyword, float], texts: Iterable[str]) -> Mapping[Keyword, float]:
    """What a word weighs: the less, the more files have it."""
    small = [text.lower() for text in texts]
    counts = {word: sum(word.core in text for text in small) for word in weights}
    return {word: weight / (1 + counts[word]) ** 0.5 for word, weight in weights.items()}


def _candidates(
    file: str, text: str, exact: Sequence[str], named: Sequence[str], rarity: Mapping[Keyword, float]
) -> Iterable[_Candidate]:
    lines = text.split("\n")
    in_path = _found_in(file, rarity)
    for body in bodies(file, text):
        if body.lines > (_LARGEST_CLASS if body.is_class else MOST_LINES):
            continue
        own = "\n".join(lines[body.first - 1 : body.last])
        within = _found_in(own, rarity)
        inside = sum(within.values())
        in_name = _found_in(body.name, rarity)
        titles = in_path | _found_in(body.path, rarity)
        share = len(in_name) / max(1, len(wording.words_of(body.name)))
        score = _IN_TITLE * (sum(titles.values()) + share * sum(in_name.values())) + inside
        # One word of the wish is in many places; where several are together is what it is about. Tests
        # and what they prepare have them all.
        score *= 1 / 3 if is_test(file) else max(1, len(within))
        if file in named:
            score += _ASKED_FOR
        if body.name in exact:
            # Whatever its words: it was asked for by its name, and the first that was is the first.
            score += 1_000 * _ASKED_FOR - _ASKED_FOR * exact.index(body.name)
        if body.name in exact or file in named or (titles and inside):
            yield _Candidate(file, body, own, score)


def _found_in(text: str, rarity: Mapping[Keyword, float]) -> dict[Keyword, float]:
    small = text.lower()
    return {word: one for word, one in rarity.items() if word.core in small and word.pattern.search(text)}


def _within(found: Sequence[_Candidate], tokens: int) -> tuple[Source, ...]:
    sources: list[Source] = []
    taken: list[_Candidate] = []
    others: list[str] = []
    left = tokens
    for one in found:
        if any(_holds(other, one) or _holds(one, other) for other in taken):
            continue
        source = _source(one)
        cost = -(-size_of(source.text) // BYTES_PER_TOKEN)
        alike = sum(other.file == one.file for other in taken)
        is_one_of_many = one.score < _ASKED_FOR and alike >= _MOST_OF_A_FILE
        if len(taken) < MOST_BODIES and cost <= left and not is_one_of_many:
            left -= cost
            taken.append(one)
            sources.append(source)
        elif len(others) < _MOST_NAMED_OTHERS:
            others.append(f"- {_called(one)}")
    if sources and others:
        listed = "\n".join(others)
        told = f"These may be concerned as well; their bodies are not given here:\n{listed}"
        told = f"<code-not-shown>\n{told}\n</code-not-shown>"
        sources.append(Source("names of further functions that may be concerned", told))
    return tuple(sources)


def _holds(one: _Candidate, other: _Candidate) -> bool:
    return one.file == other.file and one.body.first <= other.body.first and other.body.last <= one.body.last


def _called(one: _Candidate) -> str:
    shown = one.body.path if one.body.is_class else f"{one.body.path}()"
    return f"{shown} in {one.file}:{one.body.first}-{one.body.last}"


def _source(one: _Candidate) -> Source:
    """Its lines are numbered, so that none of them can pass for the end of the code."""
    width = len(str(one.body.last))
    lines = one.text.split("\n")
    numbered = "\n".join(f"{number:>{width}}| {line}" for number, line in enumerate(lines, one.body.first))
    text = f'<code file="{one.file}" lines="{one.body.first}-{one.body.last}">\n{numbered}\n</code>'
    return Source(f"body of {_called(one)}", text)
