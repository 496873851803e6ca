"""Line charts as SVG text: logarithmic axes, a line for each name, no library. Pure.

They stand in a README on a white or a dark page, so text and lines have a colour that is seen on both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 760, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 190, 40, 50
_COLOURS = ("#8a8a8a", "#2f81f7", "#1f9e89", "#d97706", "#c2418b", "#7c5cd6", "#b45309")
_INK = "#7d8590"


def chart(title: str, across: str, up: str, lines: Mapping[str, Points]) -> str:
    """Both axes in powers of ten. What has no points has no line."""
    drawn = {name: [(x, y) for x, y in points if x > 0 and y > 0] for name, points in lines.items()}
    drawn = {name: points for name, points in drawn.items() if points}
    if not drawn:
        raise ValueError("there is nothing to draw")
    xs = _Axis([x for points in drawn.values() for x, _ in points], _LEFT, WIDTH - _RIGHT)
    ys = _Axis([y for points in drawn.values() for _, y in points], HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="{_INK}">',
        f"<title>{escape(title)}</title>",
        f'<text x="{_LEFT}" y="20" font-size="14" font-weight="600">{escape(title)}</text>',
        *_grid(xs, ys),
        _text((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 10, across, "middle"),
        f'<text transform="rotate(-90)" x="{-(_TOP + HEIGHT - _BOTTOM) / 2:.0f}" y="16" '
        f'text-anchor="middle">{escape(up)}</text>',
    ]
    # The same colour in every chart, whoever else has figures.
    colours = {name: _COLOURS[number % len(_COLOURS)] for number, name in enumerate(lines)}
    for name, points in drawn.items():
        parts.extend(_line([(xs.place(x), ys.place(y)) for x, y in points], colours[name]))
    parts.extend(_legend({name: colours[name] for name in drawn}))
    return "\n".join([*parts, "</svg>"]) + "\n"


class _Axis:
    """From the power of ten below the least to the one above the greatest."""

    def __init__(self, values: list[float], start: float, end: float) -> None:
        self._low = math.floor(math.log10(min(values)))
        self._high = max(math.ceil(math.log10(max(values))), self._low + 1)
        self._start, self._end = start, end

    def place(self, value: float) -> float:
        share = (math.log10(value) - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)

    def marks(self) -> list[float]:
        return [10.0**power for power in range(self._low, self._high + 1)]


def _grid(xs: _Axis, ys: _Axis) -> list[str]:
    parts = []
    for mark in xs.marks():
        x = xs.place(mark)
        parts.append(_rule(x, _TOP, x, HEIGHT - _BOTTOM))
        parts.append(_text(x, HEIGHT - _BOTTOM + 18, f"{mark:,g}", "middle"))
    for mark in ys.marks():
        y = ys.place(mark)
        parts.append(_rule(_LEFT, y, WIDTH - _RIGHT, y))
        parts.append(_text(_LEFT - 8, y + 4, f"{mark:,g}", "end"))
    return parts


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{_INK}" stroke-opacity="0.25"/>'
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _line(points: list[tuple[float, float]], colour: str) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>', *dots]


def _legend(colours: Mapping[str, str]) -> list[str]:
    parts = []
    for number, (name, colour) in enumerate(colours.items()):
        y = _TOP + 12 + 20 * number
        x = WIDTH - _RIGHT + 16
        parts.append(f'<rect x="{x}" y="{y - 9}" width="12" height="12" fill="{colour}"/>')
        parts.append(_text(x + 18, y + 1, name, "start"))
    return parts
