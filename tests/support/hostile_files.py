"""Files that mean harm: PDFs and images, made by hand."""

from __future__ import annotations

import struct
import zlib


def pdf(*pages: str, stream: bytes | None = None) -> bytes:
    """Each page says one line; or the one page has this stream, packed."""
    contents = [f"BT /F1 12 Tf 72 720 Td ({words}) Tj ET".encode() for words in pages]
    packed = b""
    if stream is not None:
        contents, packed = [zlib.compress(stream, 9)], b" /Filter /FlateDecode"
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for content in contents:
        kids.append(f"{len(objects) + 1} 0 R")
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            b"/Contents %d 0 R >>" % (len(objects) + 2)
        )
        objects.append(b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(content), packed, content))
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>".encode()
    written, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, start=1):
        places.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return written + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF"
        % (len(objects) + 1, table, len(objects) + 1, len(written))
    )


def png(width: int = 2, height: int = 2, words: bytes = b"") -> bytes:
    """Grey; `words` are a comment."""
    rows = b"".join(b"\0" + b"\x80" * width for _ in range(height)) if width * height < 1_000_000 else b"\0"
    comment = _chunk(b"tEXt", b"Comment\0" + words) if words else b""
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + comment
        + _chunk(b"IDAT", zlib.compress(rows))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
