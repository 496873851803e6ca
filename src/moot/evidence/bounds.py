"""How much evidence is taken, and how a size is put in words. What is larger is left out whole, and said."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """Sizes in bytes. An image's is what providers take when it is written as base64."""

    items: int = 40
    """Of one session."""
    file: int = 10_000_000
    """Of what is read of a file, a page or standard input; what a compressed page unpacks to."""
    text: int = 600_000
    """Of one item's text."""
    all_text: int = 2_000_000
    image: int = 3_932_160
    images: int = 20
    all_images: int = 12_000_000
    pixels: int = 8_000
    """Of an image's longer side."""
    folder: int = 30
    """Files of one folder."""
    pages: int = 1_000
    """Of a PDF."""
    seconds: float = 20
    """For a page from the network, or a PDF."""
    redirects: int = 5


STANDARD = Bounds()


def in_words(size: int) -> str:
    """`12.3 MB`, `600 KB`, `12 bytes`. Never rounded down, so that it is never less than a bound that it
    exceeds."""
    for unit, name in ((1_000_000, "MB"), (1_000, "KB")):
        if size >= unit:
            tenths = -(-size * 10 // unit)
            return f"{tenths / 10:,.1f}".removesuffix(".0") + f" {name}"
    return f"{size} bytes"
