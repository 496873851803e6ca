"""Files that other people and tools write too: an update changes what it changes and leaves the rest.

Knows locking, line ends and damage, once for all formats; json_text and yaml_text know the formats. Refuses
to know what any field means. A text that does not parse is reported with its line and never written over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

from moot.errors import FileDamaged, NotFound
from moot.files import atomic
from moot.files.json_text import JsonText
from moot.files.parsing import ParseError
from moot.files.yaml_text import YamlText

Change = Callable[[MutableMapping[str, Any]], None]

_BOM = "\ufeff"
_EMPTY = "{}\n"


class _Document:
    """A mapping in a file: `data` is what it says, and may be changed in place inside `update`; `text` is
    what is there."""

    _format: ClassVar[type[JsonText] | type[YamlText]]

    def __init__(self, text: str, path: Path) -> None:
        self.text = text
        with _reporting(path):
            self._parsed = self._format(_plain(text))
            self._unchanged = self._parsed.compose()

    @classmethod
    def read(cls, text: str, path: Path) -> dict[str, Any]:
        """What the text of the file at `path` says. To be changed it has to be kept as it is spelled, too,
        which takes several times as long."""
        with _reporting(path):
            return cls._format.read(_plain(text))

    @classmethod
    def load(cls, path: Path) -> dict[str, Any]:
        text = atomic.read(path)
        if text is None:
            raise NotFound("file", str(path))
        return cls.read(text, path)

    @classmethod
    def update(cls, path: Path, change: Change, *, timeout: float = atomic.LOCK_SECONDS) -> Self:
        """Changes the file under its lock and returns the result. A missing file begins as an empty mapping.

        Values that are changed in place keep the comments in them; a mapping or list that is replaced
        as a whole does not. An exception in `change` leaves the file as it was.
        """
        with atomic.locked(path, timeout):
            text = atomic.read(path)
            document = cls(_EMPTY if text is None else text, path)
            change(document.data)
            rendered = document._render()
            if rendered != text:
                atomic.write_atomic(path, rendered)
                document.text = rendered
        return document

    @property
    def data(self) -> dict[str, Any]:
        return self._parsed.data

    def _render(self) -> str:
        composed = self._parsed.compose()
        if composed == self._unchanged:
            return self.text
        if "\r\n" in self.text:
            composed = composed.replace("\n", "\r\n")
        return _BOM + composed if self.text.startswith(_BOM) else composed


class YamlDocument(_Document):
    _format = YamlText


class JsonDocument(_Document):
    _format = JsonText


def _plain(text: str) -> str:
    return text.removeprefix(_BOM).replace("\r\n", "\n")


@contextmanager
def _reporting(path: Path) -> Iterator[None]:
    try:
        yield
    except ParseError as error:
        raise FileDamaged(str(path), error.problem, error.line) from None
    except RecursionError:
        raise FileDamaged(str(path), "it is nested too deeply") from None
    except Exception as error:
        # ruamel raises more than it documents: a ValueError for `!!int x`, a TypeError for an odd key.
        raise FileDamaged(str(path), str(error)) from error
