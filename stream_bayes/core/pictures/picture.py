"""Pictures as values: shapes with colours, and their SVG.

Colours and sizes are attributes of each element. An SVG needs no style sheet, so it is drawn where a content security
policy forbids styles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from stream_bayes.core.pictures.text import number_text, shortened

__all__ = [
    "BLUE",
    "GREY",
    "INK",
    "MARGIN",
    "ORANGE",
    "PALE",
    "Curve",
    "Label",
    "Picture",
    "Polygon",
    "Rectangle",
    "Shape",
]

# Okabe and Ito (2008): distinct in all kinds of colour vision.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"
INK, PALE = "#222222", "#f6f7f9"
FONT = "'DejaVu Sans', Verdana, Arial, sans-serif"
MARGIN = 8.0

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A filled rectangle; `hint` is shown while a pointer rests on it."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    stroke: str | None = None
    line_width: float = 1.0
    radius: float = 0.0
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """Text on one line, cut with an ellipsis to `width`. `y` is the base line; `anchor` is start, middle or end."""

    x: float
    y: float
    text: str
    size: float
    width: float
    fill: str = INK
    anchor: str = "start"
    is_bold: bool = False


@dataclass(frozen=True, slots=True)
class Curve:
    """A line through points: straight and curved pieces in turn, as in `Layout.paths`."""

    points: tuple[Point, ...]
    stroke: str
    width: float = 1.2
    is_dashed: bool = False
    opacity: float = 1.0
    hint: str = ""

    def pieces(self) -> list[tuple[str, tuple[Point, ...]]]:
        """Return the pieces after the first point: `("L", (end,))` or `("C", (control, control, end))`."""
        pieces: list[tuple[str, tuple[Point, ...]]] = []
        for index, (one, other) in enumerate(zip(self.points, self.points[1:], strict=False)):
            if index % 2 == 0 or one[0] == other[0]:
                if one != other:
                    pieces.append(("L", (other,)))
            else:
                middle = (one[1] + other[1]) / 2
                pieces.append(("C", ((one[0], middle), (other[0], middle), other)))
        return pieces


@dataclass(frozen=True, slots=True)
class Polygon:
    """A filled shape with straight sides."""

    points: tuple[Point, ...]
    fill: str
    opacity: float = 1.0


Shape: TypeAlias = Rectangle | Label | Curve | Polygon


@dataclass(frozen=True, slots=True)
class Picture:
    """Shapes in the order in which they are painted.

    Examples
    --------
    >>> Picture(10, 10, (Rectangle(0, 0, 10, 10, BLUE),), "a <square>").svg().startswith('<svg xmlns="http://www.w3.org')
    True
    """

    width: float  # width and height are without the margin
    height: float
    shapes: Sequence[Shape]
    title: str  # one line that stands for the picture where it cannot be seen

    def svg(self) -> str:
        """Return the picture as an SVG document."""
        width, height = number_text(self.width + 2 * MARGIN), number_text(self.height + 2 * MARGIN)
        box = f"{number_text(-MARGIN)} {number_text(-MARGIN)} {width} {height}"
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="{box}" '
            f'role="img" font-family="{FONT}">',
            f"<title>{escape(self.title)}</title>",
            f'<rect x="{number_text(-MARGIN)}" y="{number_text(-MARGIN)}" width="{width}" height="{height}" '
            'fill="#ffffff"/>',
            *map(_element, self.shapes),
            "</svg>",
        ]
        return "\n".join(lines) + "\n"


def _element(shape: Shape) -> str:
    if isinstance(shape, Rectangle):
        return _rectangle(shape)
    if isinstance(shape, Label):
        anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
        weight = ' font-weight="bold"' if shape.is_bold else ""
        return (
            f'<text x="{number_text(shape.x)}" y="{number_text(shape.y)}" font-size="{number_text(shape.size)}" '
            f'fill="{shape.fill}"{anchor}{weight}>{escape(shortened(shape.text, shape.width, shape.size))}</text>'
        )
    if isinstance(shape, Polygon):
        points = " ".join(f"{number_text(x)},{number_text(y)}" for x, y in shape.points)
        return f'<polygon points="{points}" fill="{shape.fill}"{_opacity(shape.opacity)}/>'
    return _curve(shape)


def _rectangle(shape: Rectangle) -> str:
    stroke = (
        ""
        if shape.stroke is None
        else f' stroke="{shape.stroke}" stroke-width="{number_text(shape.line_width)}"'
    )
    radius = f' rx="{number_text(shape.radius)}"' if shape.radius else ""
    return (
        f'<rect x="{number_text(shape.x)}" y="{number_text(shape.y)}" width="{number_text(shape.width)}" '
        f'height="{number_text(shape.height)}" fill="{shape.fill}"{stroke}{radius}{_hint(shape.hint, "rect")}'
    )


def _curve(shape: Curve) -> str:
    d = [f"M{_pair(shape.points[0])}", *(f"{kind}{' '.join(map(_pair, to))}" for kind, to in shape.pieces())]
    dashed = ' stroke-dasharray="5 4"' if shape.is_dashed else ""
    return (
        f'<path d="{"".join(d)}" fill="none" stroke="{shape.stroke}" stroke-width="{number_text(shape.width)}"'
        f"{dashed}{_opacity(shape.opacity)}{_hint(shape.hint, 'path')}"
    )


def _hint(hint: str, tag: str) -> str:
    """Return the end of an element, with the hint within."""
    return f"><title>{escape(hint)}</title></{tag}>" if hint else "/>"


def _opacity(opacity: float) -> str:
    return "" if opacity == 1.0 else f' opacity="{number_text(opacity)}"'


def _pair(point: Point) -> str:
    return f"{number_text(point[0])},{number_text(point[1])}"
