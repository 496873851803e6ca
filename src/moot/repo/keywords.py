"""Which words of a wish are worth looking for in code, and what an occurrence of one looks like there.

Knows English endings, words that say nothing, and how identifiers are put together. Refuses to know any file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

MOST_KEYWORDS = 12

_MOST_WORDS = 2_000
_SHORTEST, _LONGEST = 3, 60
_LEAST_STEM = 4

_UNTELLING_WORDS = """
about above add added adding after again all allow already also always and another any anybody are based
because been before being below best better between both but can cannot case change changes could
currently does doing done down during each easily easy either else enable ensure etc even ever every
everything existing feature few first for from full get gets give given good had has have having help her
here his how however implement improve into issue its itself just keep kind know last later less let like
likely little look made make makes making many may maybe might more most much must need needed needs
never new next not nothing now off often old once one only onto other others our out over own people per
please possible problem proper properly provide quickly rather really remove same see should show simple
since some someone something soon still such support sure take than that the their them then there these
they thing things this those through time too try two under until upon use used useful user users uses
using very via want wants was way ways well were what when where whether which while who whole why will
wish with within without work working works would year yes yet you your
"""
_UNTELLING_TOO = """
able according across actually against ago almost alone along although among anyone anything anyway apart
around ask asks asked aside away back became become becomes behind beside besides beyond big bit bring brings
call came care certain certainly clear clearly come comes coming consider day days did different either
enough especially everyone exactly except expect fact far feel find finds forth found further general getting
goes going gone got great hard hardly hello hence him himself hope idea important indeed inside instead
interested involve keeps known large least leave left lets lies long longer lost lot lots main mainly matter
mean means meant mine mostly myself namely near nearly neither nice nobody none nor often okay one's ought
ours outside particular past perhaps place plus point probably put quite reason recent recently regarding
right said say says second seem seems seen sense several shall she small sometimes somehow somewhere sort
start started starts step stop tell tends thank thanks themselves thereby though three throughout thus till
today together told toward towards turn turned twice type unless unlike usually various wanted week went
whatever whenever wherever whoever whose wrong yesterday
"""
"""Words of talk rather than of the matter."""
_RISKY_WORDS = """
authentication authorization billing breaking compliance concurrency credentials cryptography deletion
downtime encryption gdpr invoice irreversible legal login migrate migration migrations money oauth outage
password passwords payment payments permission permissions personal privacy production regulatory
rollback safety secret secrets security transaction transactions
"""

_SAME = """
delete remove drop erase
config configuration settings preferences
auth authentication login
database db
directory dir folder
argument arg parameter option flag
error err failure exception
command cmd
documentation docs
environment env
repository repo
preview simulate dry-run
save write persist
begin start launch
cancel stop abort
check validate verify
terminal cli console
page frontend browser
cost price bill spending
message msg
image picture
customer client
colour color
behaviour behavior
favourite favorite
centre center
catalogue catalog
licence license
dialogue dialog
grey gray
"""
"""What programmers call by several names, a line each."""
_SAME_AS = {word: line.split() for line in _SAME.strip().split("\n") for word in line.split()}

_ISE = re.compile(r"i([sz])(?=(?:e[drs]?|ing|ations?|ers?)$)")
"""serialise, serialized, organisation: whatever is before and behind it."""

_UNTELLING = frozenset(f"{_UNTELLING_WORDS} {_UNTELLING_TOO}".split())
_RISKY = frozenset(_RISKY_WORDS.split())

_LETTER = r"[^\W\d_]"
_NOT_WORDS = re.compile(rf"\b{_LETTER}{{1,12}}n['’]t\b|['’](?:s|d|m|re|ve|ll)\b", re.IGNORECASE)
"""don't, isn't; what is left of it's, they'd, we've."""
_QUOTED = re.compile(r"`([^`\n]{2,60})`")
_WORD = re.compile(rf"{_LETTER}\w*(?:[-.]{_LETTER}\w*)*")
_PART = re.compile(rf"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|(?:(?![A-Za-z]){_LETTER})+")
_Y = re.compile(r"(?:ies|ied|y)$")
_ENDING = re.compile(r"(?:ings?|e[sd]|(?<!s)s|e)$")
# Where a word begins, also one inside an identifier: open_port, openPort, TCPPort.
_BEGINS = rf"(?:(?<!{_LETTER})|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]))"
_IMPORTS = (
    r"(?:import|from|export|use|using|mod|require\w*|#\s*include|\}\s*from"
    r"|(?:const|let|var)\b.{0,200}\brequire)"
)


@dataclass(frozen=True, slots=True)
class Keyword:
    """`core` is in every occurrence, in small letters: looking for it first is fast. `pattern` decides."""

    word: str
    core: str
    pattern: re.Pattern[str]


def keywords_of(title: str, description: str = "", names: Iterable[str] = ()) -> tuple[str, ...]:
    """What stands in backticks and other `names` of code, then the title's words, then the description's most
    frequent ones. As a name of code, a word tells something whatever it means."""
    quoted = [name.strip().lower() for name in _QUOTED.findall(f"{title} {description}")]
    in_code = [word for name in quoted if " " in name for word in _words(name) if len(word) >= _SHORTEST]
    counted = Counter(_words(description)[:_MOST_WORDS])
    # Stable: equally frequent words stay in the order of the text.
    from_description = sorted(counted, key=lambda word: -counted[word])
    telling = [
        word
        for word in (*_words(title)[:_MOST_WORDS], *from_description)
        if _SHORTEST <= len(word) <= _LONGEST and word not in _UNTELLING
    ]
    return distinct(filter(None, (*quoted, *names, *in_code, *telling)))[:MOST_KEYWORDS]


def commanded_in(text: str, entry_points: Iterable[str]) -> Iterable[str]:
    """Of `moot changes --all`, where `moot` is a command of the project: what it is told to do is code."""
    for command in dict.fromkeys(entry.partition(" = ")[0] for entry in entry_points if " = " in entry):
        yield from re.findall(rf"(?<![\w-]){re.escape(command)}\s+([a-z][\w-]+)", text)


def distinct(words: Iterable[str]) -> tuple[str, ...]:
    """Of words that differ only in their ending, the first."""
    by_stem: dict[str, str] = {}
    for word in words:
        by_stem.setdefault(_stem(word), word)
    return tuple(by_stem.values())


def risky_words(text: str) -> tuple[str, ...]:
    """Words for things where a mistake is dear, in the order of the text."""
    return tuple(dict.fromkeys(word for word in _words(text) if word in _RISKY))


def keyword(word: str) -> Keyword:
    """`port` is found in `open_port`, `openPorts` and `porting`, and not in `import` or `portable`; `sign-in`
    also as `sign_in` and `signIn`."""
    stem = _stem(word)
    endings = r"(?:y|ies|ied)" if _shortened(_Y, word) else r"(?:e|e?s|e?d|e?rs?|ings?)?"
    spelled = re.escape(stem).replace(r"\-", "[-_ ]?")
    pattern = re.compile(rf"{_BEGINS}(?i:{spelled}{endings})(?![a-z])")
    return Keyword(word, stem.split("-")[0], pattern)


def importing(name: str) -> Keyword:
    """Lines that bring in a module of that name, as far as one line shows it."""
    # Bounded, because what a program has put on one line can be a megabyte.
    pattern = rf"^\s*{_IMPORTS}\b.{{0,300}}(?<![\w-]){re.escape(name)}(?![\w-])"
    return Keyword(name, name.lower(), re.compile(pattern))


def as_keywords(words: Iterable[str]) -> tuple[Keyword, ...]:
    return tuple(map(keyword, words))


def synonyms(word: str) -> tuple[str, ...]:
    """Other words for it, as names in code have them, and how else it is spelled."""
    alike = next((found for one, found in _SAME_AS.items() if _stem(one) == _stem(word)), [])
    others = [other for other in alike if _stem(other) != _stem(word)]
    if len(word) > _LEAST_STEM + 3 and (ends := _ISE.search(word)):
        other = "z" if ends[1] == "s" else "s"
        others.append(f"{word[: ends.start(1)]}{other}{word[ends.end(1) :]}")
    return tuple(others)


def pairs_of(text: str) -> tuple[str, ...]:
    """Two words that follow each other, as one name: of `dry run`, `dry-run`."""
    words = _words(text)[:_MOST_WORDS]
    pairs = (
        f"{one}-{two}"
        for one, two in pairwise(words)
        if is_telling(one) and is_telling(two) and "-" not in one + two
    )
    return tuple(dict.fromkeys(pairs))[:MOST_KEYWORDS]


def is_telling(word: str) -> bool:
    """Whether it says anything about the matter."""
    return len(word) >= _SHORTEST and word.lower() not in _UNTELLING


def words_of(text: str) -> list[str]:
    """Its words in small letters, those of identifiers apart: `dry_run` and `dryRun` are dry and run."""
    return [word.lower() for word in _PART.findall(text)]


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_NOT_WORDS.sub(" ", text))]


def _stem(word: str) -> str:
    return _shortened(_Y, word) or _shortened(_ENDING, word) or word


def _shortened(ending: re.Pattern[str], word: str) -> str | None:
    stem = ending.sub("", word)
    return stem if stem != word and len(stem) >= _LEAST_STEM else None
