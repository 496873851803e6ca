"""What bytes say: whole, or not at all with the reason, whatever the bytes are."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.evidence.bounds import STANDARD, in_words
from moot.evidence.html_text import convert
from moot.evidence.items import Evidence
from moot.evidence.reading import NotTaken, image_kind, image_size, read
from tests.support.hostile_files import pdf, png


def taken(data: bytes, name: str = "a.txt") -> Evidence:
    return read(data, name, name, STANDARD)


@pytest.mark.parametrize(
    "data",
    [
        "Miete\nfällt\n".encode(),
        "\ufeffMiete\nfällt\n".encode(),
        "Miete\r\nfällt\r\n".encode(),
        "Miete\rfällt".encode(),
        "Miete\u2028fällt".encode(),
        "Miete\nfällt\n".encode("utf-16"),
        b"\xfe\xff" + "Miete\nfällt".encode("utf-16-be"),
    ],
)
def test_a_text_has_the_same_lines_however_it_is_written(data: bytes) -> None:
    assert taken(data).lines == ["Miete", "fällt"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.md", "text/markdown"),
        ("A.CSV", "text/csv"),
        ("a.json", "application/json"),
        ("a.py", "text/plain"),
        ("a.ipynb", "text/plain"),
        ("a.html", "text/html"),
    ],
)
def test_a_file_is_its_source_whatever_it_is(name: str, kind: str) -> None:
    item = taken(b"<b>one</b>", name)
    assert (item.media_type, item.text) == (kind, "<b>one</b>")


def test_a_pdf_is_its_pages_each_below_its_number() -> None:
    item = taken(pdf("Rents fall.", "", "By a tenth."), "a.pdf")
    assert item.media_type == "application/pdf"
    assert item.lines == ["[page 1]", "Rents fall.", "", "[page 3]", "By a tenth."]


def test_a_pdf_without_text_and_one_of_too_many_pages() -> None:
    with pytest.raises(NotTaken, match=r"without text .*: give its pages as images"):
        taken(pdf(""), "a.pdf")
    with pytest.raises(NotTaken, match="is a PDF of 3 pages, at most 2 are taken"):
        read(pdf("a", "b", "c"), "a.pdf", "a.pdf", replace(STANDARD, pages=2))


def test_a_page_is_what_a_reader_sees() -> None:
    html = """<html><head><title>Rents</title><style>p {}</style></head><body>
        <h1>Rents &amp; more</h1><p>They <b>fall</b>,<br>by a tenth.</p><script>x()</script><!-- no -->
        <ul><li>one<li>two</ul><table><tr><th>year<th>rent<tr><td>2025<td>9</table>
        <pre>as
  it is</pre><img alt="a curve"></body></html>"""
    assert [line for line in convert(html).split("\n") if line] == [
        "Rents",
        "# Rents & more",
        "They fall,",
        "by a tenth.",
        "- one",
        "- two",
        "year | rent",
        "2025 | 9",
        "as",
        "  it is",
        "[image: a curve]",
    ]


def test_the_text_may_be_as_long_as_is_taken_and_no_longer() -> None:
    bounds = replace(STANDARD, text=10, file=12)
    assert read(b"x" * 10, "a", "a", bounds).text == "x" * 10
    with pytest.raises(NotTaken, match="11 bytes of text, at most 10 bytes are taken"):
        read(b"x" * 11, "a", "a", bounds)
    with pytest.raises(NotTaken, match="13 bytes, at most 12 bytes are taken"):
        read(b"x" * 13, "a", "a", bounds)


# -- images --------------------------------------------------------------------------------------

JPEG = b"\xff\xd8\xff\xe0\x00\x04JF\xff\xc0\x00\x0b\x08" + struct.pack(">HH", 30, 40) + b"\x01\x01\x11\x00"
WEBP = b"RIFF\x00\x00\x00\x00WEBP"
IMAGES = {
    "png": (png(40, 30), "image/png"),
    "gif": (b"GIF89a" + struct.pack("<HH", 40, 30), "image/gif"),
    "jpeg": (JPEG, "image/jpeg"),
    "webp, lossy": (WEBP + b"VP8 " + bytes(10) + struct.pack("<HH", 40, 30), "image/webp"),
    "webp, lossless": (WEBP + b"VP8L" + bytes(5) + struct.pack("<I", 39 | 29 << 14), "image/webp"),
    "webp, extended": (WEBP + b"VP8X" + bytes(8) + b"\x27\0\0\x1d\0\0", "image/webp"),
}


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_is_known_by_its_first_bytes_and_measured(name: str) -> None:
    data, kind = IMAGES[name]
    assert image_kind(data) == kind
    assert image_size(data, kind) == (40, 30)
    item = taken(data, "called.txt")
    assert (item.media_type, item.image, item.text) == (kind, data, "")


@pytest.mark.parametrize("name", IMAGES)
def test_half_an_image_is_damaged(name: str) -> None:
    data, kind = IMAGES[name]
    half = data[: 14 if name == "jpeg" else 8 if name == "gif" else 22]
    assert image_size(half, kind) is None
    with pytest.raises(NotTaken, match="is a damaged image"):
        taken(half)


def test_an_image_may_be_as_large_as_is_taken_and_no_larger() -> None:
    assert read(png(40, 30), "a", "a", replace(STANDARD, pixels=40)).image
    with pytest.raises(NotTaken, match="40 × 30 pixels, at most 39 are taken"):
        read(png(40, 30), "a", "a", replace(STANDARD, pixels=39))
    size = len(png())
    assert read(png(), "a", "a", replace(STANDARD, image=size)).image
    with pytest.raises(NotTaken, match=f"an image of {size} bytes, at most {size - 1} bytes"):
        read(png(), "a", "a", replace(STANDARD, image=size - 1))


# -- whatever it is ------------------------------------------------------------------------------

_BEGINNINGS = (b"", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", *(data[:12] for data, _ in IMAGES.values()))


@given(st.sampled_from(_BEGINNINGS), st.binary(max_size=200), st.text(max_size=40))
def test_nothing_but_an_item_or_a_reason_ever_comes_of_bytes(begins: bytes, data: bytes, name: str) -> None:
    try:
        item = taken(begins + data, name)
    except NotTaken:
        return
    assert bool(item.image) != bool(item.text)
    assert "\r" not in item.text
    assert "\n" not in item.name


@given(st.text(max_size=300))
def test_whatever_a_page_says_there_is_a_text_of_it(html: str) -> None:
    assert convert(html) == convert(html).strip()


@given(st.integers(0, 10**9))
def test_a_size_in_words_is_never_less_than_it_is(size: int) -> None:
    number, unit = in_words(size).replace(",", "").split()
    assert float(number) * {"bytes": 1, "KB": 1_000, "MB": 1_000_000}[unit] >= size
