"""What bytes say: text, the text of a PDF, or an image. Whole, or not at all, with the reason.

Nothing is guessed: what is no UTF-8 or UTF-16 text, no PDF and no image that models take is left out. Looks
for secrets before anybody else sees the text. Refuses to know where the bytes come from.
"""

from __future__ import annotations

import codecs
import hashlib
import re
import struct
from pathlib import PurePosixPath

from moot.evidence import apart
from moot.evidence.bounds import Bounds, in_words
from moot.evidence.items import Evidence
from moot.text.characters import strip_controls
from moot.text.masking import mask
from moot.text.secrets import MOST_NAMED, find_secrets

LONGEST_NAME = 200

_MEDIA_TYPES = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".json": "application/json",
    ".html": "text/html",
    ".htm": "text/html",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_TAGS = re.compile("[\U000e0000-\U000e007f]")
"""Invisible copies of ASCII, in which orders to a model are hidden from the person."""
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_WORDS_IN_BYTES = re.compile(rb"[\t\x20-\x7e]{16,}")
_LINE_ENDS = re.compile(r"\r\n?|\u2028|\u2029|\x85")


class NotTaken(Exception):
    """Why something is no evidence, in words for the person. Never holds what was read."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def read(data: bytes, name: str, origin: str, bounds: Bounds, *, html: bool = False) -> Evidence:
    """One item. `html` says that it came as a page, whose text is wanted and not its source. Raises
    NotTaken. It may take a while: not for the loop's thread."""
    if len(data) > bounds.file:
        raise NotTaken(f"{in_words(len(data))}, at most {in_words(bounds.file)} are taken")
    digest = hashlib.sha256(data).hexdigest()
    name, origin = shown(name), shown(origin)
    if (kind := image_kind(data)) is not None:
        _check_image(data, kind, bounds)
        return Evidence(name, origin, digest, kind, image=data)
    if data.startswith(b"%PDF-"):
        text, media_type = _converted("pdf", data, bounds), "application/pdf"
    elif html:
        text, media_type = _converted("html", _decoded(data).encode(), bounds), "text/html"
    else:
        text = _decoded(data)
        media_type = _MEDIA_TYPES.get(PurePosixPath(name).suffix.lower(), "text/plain")
    text = _plain(text)
    if not text.strip():
        raise NotTaken("is empty")
    if (size := len(text.encode())) > bounds.text:
        raise NotTaken(f"{in_words(size)} of text, at most {in_words(bounds.text)} are taken")
    check_no_secret(text)
    return Evidence(name, origin, digest, media_type, text)


def check_no_secret(text: str) -> None:
    """Raises NotTaken, which says where one is and what it looks like. Characters that nobody sees do not
    hide it."""
    found = find_secrets(_UNSEEN.sub("", text))
    if not found:
        return
    first, lines = found[0], {one.line for one in found}
    more = "more than " if len(found) == MOST_NAMED else ""
    places = "line" if len(lines) == 1 else f"{more}{len(lines)} lines, first line"
    raise NotTaken(f"{places} {first.line} looks like {first.kind}; take it out, or give only what is needed")


def shown(name: str) -> str:
    """A name as it may be shown and sent: one line, without a key that an address may have in it."""
    plain = " ".join(mask(strip_controls(name.replace("\n", " "))).split())
    plain = plain.encode("utf-8", "replace").decode()
    return plain if len(plain) <= LONGEST_NAME else f"{plain[: LONGEST_NAME - 1]}…"


# -- text ----------------------------------------------------------------------------------------


def _decoded(data: bytes) -> str:
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    if encoding != "utf-16" and b"\0" in data:
        raise NotTaken("is neither text nor a PDF, nor an image that models take (png, jpeg, gif, webp)")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NotTaken(f"line {line} is not UTF-8 text") from None


def _plain(text: str) -> str:
    """One kind of line end, and nothing that acts on a terminal, or that only a model reads. A last line end
    begins no further line."""
    return _TAGS.sub("", strip_controls(_LINE_ENDS.sub("\n", text))).removesuffix("\n")


def _converted(kind: str, data: bytes, bounds: Bounds) -> str:
    try:
        return apart.text_of(kind, data, bounds)
    except apart.Unreadable as unreadable:
        raise NotTaken(str(unreadable)) from None


# -- images --------------------------------------------------------------------------------------


def image_kind(data: bytes) -> str | None:
    """By its first bytes, whatever its name says."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def _check_image(data: bytes, kind: str, bounds: Bounds) -> None:
    if len(data) > bounds.image:
        raise NotTaken(f"an image of {in_words(len(data))}, at most {in_words(bounds.image)} are taken")
    size = image_size(data, kind)
    if size is None or 0 in size:
        raise NotTaken("is a damaged image")
    if max(size) > bounds.pixels:
        raise NotTaken(f"an image of {size[0]:,} × {size[1]:,} pixels, at most {bounds.pixels:,} are taken")
    # What is written beside the pixels is sent with them.
    found = find_secrets("\n".join(words.decode() for words in _WORDS_IN_BYTES.findall(data)))
    if found:
        raise NotTaken(f"what is written in the image's file looks like {found[0].kind}")


def image_size(data: bytes, kind: str) -> tuple[int, int] | None:
    """Width and height in pixels, as its header says; None where the header is damaged."""
    try:
        match kind:
            case "image/png":
                return struct.unpack(">II", data[16:24]) if data[12:16] == b"IHDR" else None
            case "image/gif":
                return struct.unpack("<HH", data[6:10])
            case "image/webp":
                return _webp_size(data)
            case _:
                return _jpeg_size(data)
    except (struct.error, IndexError):
        return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack("<I", data[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            # Three bytes each; unpacked, because half of one is damaged.
            low, high, low_2, high_2 = struct.unpack("<HBHB", data[24:30])
            return (high << 16 | low) + 1, (high_2 << 16 | low_2) + 1
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    place = 2
    while data[place] == 0xFF:
        marker = data[place + 1]
        if marker == 0xFF:
            place += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        (length,) = struct.unpack(">H", data[place + 2 : place + 4])
        place += 2 + max(2, length)
    return None
