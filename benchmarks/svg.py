"""Elements of SVG and HTML as text."""

from __future__ import annotations

import re
from html import escape
from typing import Final

UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What may stand in no XML document, however it is written."""


def text(value: object) -> str:
    """Return `value` as text between tags or in an attribute."""
    return escape(UNPRINTABLE.sub("\ufffd", str(value)))


def element(name: str, *children: str, **attributes: object) -> str:
    """Return an element; `_` in names of attributes stands for `-`, at their end for nothing, and numbers are rounded.

    Children are elements, or text that has been through `text`.
    """
    words = (f' {key.rstrip("_").replace("_", "-")}="{text(_short(value))}"' for key, value in attributes.items())
    return f"<{name}{''.join(words)}>{''.join(children)}</{name}>"


def _short(value: object) -> object:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """Return a straight line."""
    return element("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)


def label(x: float, y: float, words: object, anchor: str = "middle") -> str:
    """Return a piece of text, `anchor` saying which of its points is at x."""
    return element("text", text(words), x=float(x), y=float(y), text_anchor=anchor)


def steps(points: list[tuple[float, float]], class_: str, title: str) -> str:
    """Return a line that goes from point to point along the axes, first across, then up or down."""
    (x, y), *others = points
    path = f"M{x:.1f} {y:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in others)
    return element("path", element("title", text(title)), d=path, class_=class_)


def drawing(width: float, height: float, title: str, *children: str) -> str:
    """Return a whole drawing that shrinks with the page; `title` is for those who cannot see it."""
    return element(
        "svg",
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        role="img",
        aria_label=title,
    )
