"""Gathers what a person gives: files, folders, pages, standard input, what they paste or upload.

Every item is taken whole or left out, with the reason. Nothing is sent from here. Refuses to know which
session the items are for, and who may give what: the reach says so.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from moot.evidence import files, urls
from moot.evidence.bounds import STANDARD, Bounds, in_words
from moot.evidence.files import Place, Reach
from moot.evidence.items import Evidence
from moot.evidence.reading import NotTaken, read, shown
from moot.llm.messages import Tokens
from moot.llm.metering import IMAGE_TOKENS, tokens_of
from moot.llm.prices import Pricing, usd
from moot.repo.secrets import is_private

STDIN = "-"
_PASTED = "pasted text"
_MOST_SAID = 20
"""Of what is left out of a folder, as many are named; the others are counted."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


# -- what is given, and what came of it ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Offer:
    """Something that a person gives: a `path`, a `url`, or `data` under a name."""

    path: str = ""
    url: str = ""
    name: str = ""
    data: bytes | None = None

    @classmethod
    def typed(cls, words: str) -> Offer:
        """As a command line has it: PATH, DIR, URL or -."""
        return cls(url=words) if _SCHEME.match(words) else cls(path=words)

    @property
    def shown(self) -> str:
        if self.data is not None:
            return shown(self.name) or _PASTED
        if self.path == STDIN:
            return "standard input"
        return shown(urls.without_secrets(self.url) if self.url else self.path) or "an item without a name"


@dataclass(frozen=True, slots=True)
class LeftOut:
    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.name} left out: {self.why}"


@dataclass(frozen=True, slots=True)
class Gathered:
    items: tuple[Evidence, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def tokens(self) -> int:
        """About as many as one reading of all items takes."""
        return sum(map(tokens_in, self.items))

    def within(self, bounds: Bounds, already: Sequence[Evidence]) -> Gathered:
        """The same for a session that has been given more meanwhile."""
        shelf = _Shelf(bounds, list(already))
        for item in self.items:
            try:
                shelf.add(item)
            except NotTaken as refused:
                shelf.leave_out(item.name, refused.why)
        return Gathered(tuple(shelf.items), (*self.left_out, *shelf.left_out))

    async def weigh(self, pricing: Pricing | None = None) -> Weighed:
        """By the price of a model, where it is known."""
        if pricing is None or not self.items:
            return Weighed(self)
        await pricing.load()
        return Weighed(self, usd(pricing.nano_usd(Tokens(self.tokens))))


NOTHING = Gathered()


@dataclass(frozen=True, slots=True)
class Weighed:
    """What was gathered, and what one reading of it costs; None where no price is known."""

    gathered: Gathered
    cost_usd: float | None = None

    @property
    def summary(self) -> str:
        """`4 items, 21,300 tokens, about $0.07; notes.pdf left out: 12.3 MB, at most 10 MB are taken`"""
        items, left_out, cost = self.gathered.items, self.gathered.left_out, self.cost_usd
        if not items and not left_out:
            return "no items"
        parts = ["1 item" if len(items) == 1 else f"{len(items) or 'no'} items"]
        if items:
            parts.append(f"{_rounded(self.gathered.tokens):,} tokens")
        if cost:
            parts.append("under $0.01" if cost < 0.01 else f"about ${cost:,.2f}")
        return "; ".join([", ".join(parts), *map(str, left_out)])


def tokens_in(item: Evidence) -> int:
    """About as many as one item has."""
    return IMAGE_TOKENS if item.image else tokens_of(item.text)


def _rounded(tokens: int) -> int:
    """To three figures."""
    step: int = 10 ** max(0, len(str(tokens)) - 3)
    return round(tokens / step) * step


# -- gathering -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Intake:
    """For one person on one surface."""

    workspace: Path
    reach: Reach
    bounds: Bounds = STANDARD
    fetch: Callable[[str, Bounds], urls.Fetching] = urls.fetch
    stdin: Callable[[int], bytes] = files.read_stdin

    async def gather(self, offers: Iterable[Offer], already: Sequence[Evidence] = ()) -> Gathered:
        """In the order in which they are given. `already` is what the session has."""
        shelf = _Shelf(self.bounds, list(already))
        for offer in offers:
            try:
                await self._take(offer, shelf)
            except NotTaken as refused:
                shelf.leave_out(offer.shown, refused.why)
        return shelf.gathered()

    async def mentioned(self, text: str, already: Sequence[Evidence] = ()) -> Gathered:
        """What a text names as `@path`, where there is such a path in the workspace. Anything else stays
        text, such as a person's name or an address."""
        named = [path for path in mentions(text) if files.exists_in(self.workspace, path)]
        confined = replace(self, reach=Reach.WORKSPACE)
        given = {item.origin for item in already}
        return await confined.gather([Offer(path=path) for path in named if path not in given], already)

    async def _take(self, offer: Offer, shelf: _Shelf) -> None:
        bounds = self.bounds
        if offer.data is not None:
            name = offer.shown
            shelf.add(await asyncio.to_thread(read, offer.data, name, name, bounds))
        elif offer.url:
            page = await self.fetch(offer.url, bounds)
            html, name = page.is_html, offer.shown
            item = await asyncio.to_thread(read, page.data, name, page.url, bounds, html=html)
            shelf.add(item)
        elif offer.path == STDIN and self.reach is Reach.ANYWHERE:
            data = await asyncio.to_thread(self.stdin, bounds.file)
            shelf.add(await asyncio.to_thread(read, data, offer.shown, offer.shown, bounds))
        else:
            place = await asyncio.to_thread(files.find, offer.path, self.workspace, self.reach)
            if place.is_folder:
                await asyncio.to_thread(self._take_folder, place, shelf)
            else:
                shelf.add(await asyncio.to_thread(self._read_file, place))

    def _read_file(self, place: Place) -> Evidence:
        data = files.read_bytes(place.real, self.bounds.file)
        return read(data, PurePosixPath(place.origin).name, place.origin, self.bounds)

    def _take_folder(self, place: Place, shelf: _Shelf) -> None:
        """Its text files, as many as are taken of one folder; what is no text is counted, all else is
        named."""
        taken = no_text = more = private = 0
        refused: list[LeftOut] = []
        for file in files.files_of(place, self.workspace):
            if is_private(file.origin):
                private += 1
                continue
            if taken == self.bounds.folder or shelf.is_full:
                more += 1
                continue
            try:
                item = self._read_file(file)
                if item.image:
                    no_text += 1
                    continue
                shelf.add(item)
                taken += 1
            except NotTaken as why:
                refused.append(LeftOut(shown(file.origin), why.why))
        shelf.left_out.extend(refused[:_MOST_SAID])
        counts = (
            (more, f"more, because {self.bounds.folder} of a folder are taken: name those that matter"),
            (len(refused[_MOST_SAID:]), "others"),
            (private, "private by their names"),
            (no_text, "images: name those that matter"),
        )
        said = [f"{count:,} {what}" for count, what in counts if count]
        if said:
            shelf.leave_out(f"{shown(place.origin)}/, of its files", "; ".join(said))
        elif not taken and not refused:
            shelf.leave_out(shown(place.origin), "is a folder without files that belong to it")


@dataclass(slots=True)
class _Shelf:
    """What is taken, within the bounds of a session."""

    bounds: Bounds
    already: list[Evidence]
    items: list[Evidence] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        return len(self.already) + len(self.items) >= self.bounds.items

    def add(self, item: Evidence) -> None:
        """Raises NotTaken where it would be one too many, or is there."""
        every = [*self.already, *self.items]
        same = next((one for one in every if one.sha256 == item.sha256), None)
        if same is not None:
            there = "is given already" if same.origin == item.origin else f"is the same as {same.name}"
            raise NotTaken(there)
        bounds = self.bounds
        if len(every) >= bounds.items:
            raise NotTaken(f"a session takes {bounds.items} items, and has them")
        if item.image:
            images = [one.image for one in every if one.image]
            if len(images) >= bounds.images:
                raise NotTaken(f"a session takes {bounds.images} images, and has them")
            _check_room("images", sum(map(len, images)), len(item.image), bounds.all_images)
        else:
            _check_room("text", sum(_size(one) for one in every), _size(item), bounds.all_text)
        self.items.append(item)

    def leave_out(self, name: str, why: str) -> None:
        self.left_out.append(LeftOut(name, why))

    def gathered(self) -> Gathered:
        return Gathered(tuple(self.items), tuple(self.left_out))


def _check_room(what: str, there: int, more: int, most: int) -> None:
    if there + more > most:
        raise NotTaken(
            f"{in_words(more)}, and a session takes {in_words(most)} of {what}, of which {in_words(there)} "
            "are used"
        )


def _size(item: Evidence) -> int:
    return len(item.text.encode())


# -- what a text names ---------------------------------------------------------------------------

_MENTION = re.compile(r"""(?<![\w@./-])@(?:"([^"\n]{1,500})"|([^\s"@,;:!?()<>\[\]{}'`|]{1,500}))""")
_TRAILING = ".…"


def mentions(text: str) -> tuple[str, ...]:
    """What may be a path in `@path`, or `@"a path with spaces"`, once each."""
    return tuple(dict.fromkeys(_paths(text)))


def _paths(text: str) -> Iterator[str]:
    for quoted, plain in _MENTION.findall(text):
        if path := quoted or plain.rstrip(_TRAILING):
            yield path
