"""Draws graphs, charts and decompositions as SVG that needs neither a browser nor a script.

Colours are those of the light page. A graph is broken into lines that are as wide as a sheet, as pages break it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Final
from unicodedata import east_asian_width

from executor.desk.pages import document as doc
from planner.errors import InputError

INK, MUTED, LINE, EDGE, ACCENT, BAR, WARN, PAPER = (
    "#20242a", "#5a6069", "#e0ddd5", "#a9a69d", "#1d5c86", "#7ba6c4", "#7a5008", "#ffffff",
)  # fmt: skip
SHEET: Final = 1200.0
"""Width at which a graph is broken into lines, in pixels."""
HEIGHT, GAP, BETWEEN, MARGIN, GUTTER, WIDEST = 44.0, 16.0, 44.0, 34.0, 42.0, 200.0
"""Heights and distances of nodes, as on the page."""
LANE: Final = 26.0
_ROUND: Final = (60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
"""Steps of an axis of minutes, hours or days, in seconds."""
_FONT: Final = "system-ui, 'Segoe UI', 'Noto Sans', Arial, sans-serif"
_STROKES: Final = {
    "threat": f'stroke="{WARN}" stroke-dasharray="5 4"',
    "item": f'stroke="{EDGE}" stroke-dasharray="1.5 3.5"',
}


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Estimate the width of `text` in pixels: wide characters are as wide as they are high."""
    units = sum(1.0 if east_asian_width(char) in "WF" else 0.58 for char in text)
    return units * size * (1.07 if bold else 1.0)


def _cut(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """Shorten `text` until it fits into `width`."""
    if text_width(text, size, bold=bold) <= width:
        return text
    while text and text_width(f"{text}…", size, bold=bold) > width:
        text = text[:-1]
    return f"{text}…"


_UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What may stand in no XML document, however it is written."""


def _text(x: float, y: float, words: str, size: float, *, colour: str = INK, extra: str = "") -> str:
    """Return text that keeps to its own direction of writing."""
    where = f'x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}"{extra and f" {extra}"}'
    return f"<text {where}>\u2068{_escape(words)}\u2069</text>"


def _escape(words: str) -> str:
    return escape(_UNPRINTABLE.sub("\ufffd", words))


def _sheet(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    right, bottom = math.ceil(width), math.ceil(height)
    size = f'width="{right}" height="{bottom}" viewBox="0 0 {right} {bottom}"'
    heads = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="6.5" refY="4" markerWidth="8" markerHeight="8"'
        f' markerUnits="userSpaceOnUse" orient="auto"><path d="M0.5 0.8 7 4 0.5 7.2z" fill="{colour}"/></marker>'
        for name, colour in (("head", EDGE), ("head-threat", WARN))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{_FONT}" role="img">'
        f"<title>{_escape(title)}</title>"
        f'<defs>{heads}</defs><rect width="100%" height="100%" fill="{PAPER}"/>{"".join(parts)}</svg>\n'
    )


@dataclass(slots=True)
class _Layer:
    width: float = 0.0
    x: float = 0.0
    line: int = 0


@dataclass(slots=True)
class _Line:
    """A line of layers; `spans` are the heights (from, to, row) that its nodes and edges take, without gaps by row."""

    spans: list[tuple[float, float, float]]
    right: float = 0.0
    y: float = 0.0
    foot: float = 0.0

    def close_rows(self, taken: list[tuple[float, float]]) -> float:
        """Keep the heights that are `taken`; return how many rows they are."""
        rows = 0.0
        for start, end in sorted(taken):
            if self.spans and start <= self.spans[-1][1] + 0.01:
                first, before, row = self.spans[-1]
                rows += max(0.0, end - before)
                self.spans[-1] = first, max(before, end), row
            else:
                self.spans.append((start, end, rows))
                rows += end - start
        return rows

    def row_of(self, y: float) -> float:
        """Return the row of what lies at height `y`."""
        first, _, row = next(span for span in self.spans if y <= span[1] + 0.01)
        return row + y - first - 0.5


def draw_graph(page: doc.Page) -> str:
    """Return the graph of `page` as SVG; raises `InputError` where it has none."""
    graph = page.graph or (page.domain.graph if page.domain is not None else None)
    if graph is None:
        raise InputError("there is no graph to draw", hint="plans of two steps or more, and domains, have one")
    return _GraphDrawing(graph, page.title, is_whole=page.graph is None).draw()


class _GraphDrawing:
    def __init__(self, graph: doc.Graph, title: str, *, is_whole: bool) -> None:
        self.graph, self.title = graph, title
        self.widths = [self._width(each) for each in graph.nodes]
        self.layers = self._measure_layers()
        self.lines = self._break(math.inf if is_whole else SHEET)

    @staticmethod
    def _width(node: doc.GraphNode) -> float:
        number = text_width(str(node.ref), 11) + 8 if node.kind == "step" else 0
        label = number + text_width(node.label, 13, bold=True)
        return min(WIDEST, max(64.0, label + 24, text_width(node.detail, 12) + 24))

    def _measure_layers(self) -> list[_Layer]:
        layers = [_Layer() for _ in range(max(each.layer for each in self.graph.nodes) + 1)]
        for node, width in zip(self.graph.nodes, self.widths, strict=True):
            layers[node.layer].width = max(layers[node.layer].width, width)
        return layers

    def _break(self, sheet: float) -> list[_Line]:
        lines: list[_Line] = []
        x = MARGIN
        for layer in self.layers:
            if not lines or x + layer.width + MARGIN > sheet:
                lines.append(_Line([]))
                x = MARGIN
            layer.x, layer.line = x, len(lines) - 1
            x += layer.width + BETWEEN
            lines[-1].right = max(lines[-1].right, layer.x + layer.width)
        y = MARGIN
        for line, taken in zip(lines, self._taken(len(lines)), strict=True):
            line.y = y
            line.foot = y + (line.close_rows(taken) - 1) * (HEIGHT + GAP) + HEIGHT
            y = line.foot + GUTTER
        return lines

    def _taken(self, lines: int) -> list[list[tuple[float, float]]]:
        """Return the heights that nodes, and edges within one line, take in each line."""
        taken: list[list[tuple[float, float]]] = [[] for _ in range(lines)]
        for node in self.graph.nodes:
            taken[self.layers[node.layer].line].append((node.y - 0.5, node.y + 0.5))
        for edge in self.graph.edges:
            first, last = (self.layers[self.graph.nodes[each].layer].line for each in (edge.source, edge.target))
            if first == last:
                taken[first] += [(y - 0.22, y + 0.22) for _, y in edge.bends]
        return taken

    def _y(self, layer: int, y: float) -> float:
        line = self.lines[self.layers[layer].line]
        return line.y + line.row_of(y) * (HEIGHT + GAP)

    def draw(self) -> str:
        """Return the drawing."""
        far = {each.source for each in self.graph.edges if each.kind == "goal" and self._crosses_lines(each)}
        wires = [self._wire(each) for each in self.graph.edges if each.kind != "goal" or each.source not in far]
        nodes = [
            self._node(node, width, is_far=place in far)
            for place, (node, width) in enumerate(zip(self.graph.nodes, self.widths, strict=True))
        ]
        width = max(line.right for line in self.lines) + MARGIN
        return _sheet(width, self.lines[-1].foot + MARGIN, self.title, [*wires, *nodes])

    def _crosses_lines(self, edge: doc.GraphEdge) -> bool:
        first, last = (self.layers[self.graph.nodes[each].layer].line for each in (edge.source, edge.target))
        return first != last

    def _node(self, node: doc.GraphNode, width: float, *, is_far: bool) -> str:
        """Return a node; a dot stands for an edge to the goal in another line, which would cover others."""
        x, y = self.layers[node.layer].x, self._y(node.layer, node.y)
        is_goal, is_fact = node.kind == "goal", node.kind == "predicate"
        fill = INK if is_goal else "#e2edf4" if is_fact else PAPER
        round_ = 22 if is_goal or is_fact or node.kind == "end" else 8
        stroke = INK if is_goal else LINE
        place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{HEIGHT:g}" rx="{round_}"'
        parts = [f'<rect {place} fill="{fill}" stroke="{stroke}" stroke-width="1.2"/>']
        first = y + (18 if node.detail else 27)
        shift = 12.0
        if node.kind == "step":
            parts.append(_text(x + 12, first, str(node.ref), 11, colour=MUTED))
            shift += text_width(str(node.ref), 11) + 8
        label = _cut(node.label, width - shift - 10, 13, bold=True)
        at, anchor = (x + width / 2, ' text-anchor="middle"') if round_ == 22 else (x + shift, "")
        bold = f'font-weight="600"{anchor}'
        parts.append(_text(at, first, label, 13, colour=PAPER if is_goal else INK, extra=bold))
        if node.detail:
            parts.append(_text(x + 12, y + 34, _cut(node.detail, width - 22, 12), 12, colour=MUTED))
        if is_far:
            dot = f'cx="{x + width:.1f}" cy="{y + HEIGHT / 2:.1f}" r="4.5"'
            parts.append(f'<circle {dot} fill="{INK}" stroke="{PAPER}" stroke-width="1.5"/>')
        return f"<g>{''.join(parts)}</g>"

    def _wire(self, edge: doc.GraphEdge) -> str:
        source, target = self.graph.nodes[edge.source], self.graph.nodes[edge.target]
        start = self.layers[source.layer].x + self.widths[edge.source], self._y(source.layer, source.y) + HEIGHT / 2
        end = self.layers[target.layer].x - 3, self._y(target.layer, target.y) + HEIGHT / 2
        first, last = self.layers[source.layer].line, self.layers[target.layer].line
        if edge.source == edge.target:
            path, middle = _path_around(start)
        elif first == last and edge.kind != "back":
            path, middle = self._curve(edge, start, end), self._middle(edge, start, end)
        else:
            path, middle = self._path_across(edge, start, end, first, last)
        stroke = _STROKES.get(edge.kind, f'stroke="{EDGE}"')
        head = "head-threat" if edge.kind == "threat" else "head"
        label = f"<title>{_escape(edge.label)}</title>" if edge.label else ""
        wire = f'<path d="{path}" fill="none" {stroke} stroke-width="1.3" marker-end="url(#{head})">{label}</path>'
        return wire + _write_chance(edge.label, *middle) if edge.kind in ("outcome", "back") else wire

    def _middle(self, edge: doc.GraphEdge, start: tuple[float, float], end: tuple[float, float]) -> tuple[float, float]:
        """Return the middle of an edge within a line."""
        if not edge.bends:
            return (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
        layer, y = edge.bends[len(edge.bends) // 2]
        at = self.layers[layer]
        return at.x + at.width / 2, self._y(layer, y) + HEIGHT / 2

    def _curve(self, edge: doc.GraphEdge, start: tuple[float, float], end: tuple[float, float]) -> str:
        source = self.layers[self.graph.nodes[edge.source].layer]
        points = [start, (source.x + source.width, start[1])]
        for layer, y in edge.bends:
            at, height = self.layers[layer], self._y(layer, y) + HEIGHT / 2
            points += [(at.x, height), (at.x + at.width, height)]
        points.append(end)
        path = f"M{start[0]:.1f} {start[1]:.1f}"
        for (x0, y0), (x1, y1) in pairwise(points):
            if y0 == y1:
                path += f"H{x1:.1f}"
                continue
            pull = (x1 - x0) / 2
            path += f"C{x0 + pull:.1f} {y0:.1f} {x1 - pull:.1f} {y1:.1f} {x1:.1f} {y1:.1f}"
        return path

    def _path_across(
        self, edge: doc.GraphEdge, start: tuple[float, float], end: tuple[float, float], first: int, last: int
    ) -> tuple[str, tuple[float, float]]:
        """Return the path to another line, or back in one, and its middle.

        It goes along the gutter below the first line, and the one above the last line.
        """
        layer = self.layers[self.graph.nodes[edge.source].layer]
        track = (edge.source * 3 % 7 - 3) * 3
        down, into = layer.x + layer.width + BETWEEN / 3 + track / 3, max(end[0] - BETWEEN / 2, 12) + track / 3
        below = self.lines[first].foot + GUTTER / 2 + track
        points = [start, (down, start[1]), (down, below)]
        if last > first + 1 or last < first:
            above = self.lines[last].y - GUTTER / 2 + track
            points += [(10 + track / 3, below), (10 + track / 3, above), (into, above)]
        else:
            points.append((into, below))
        return round_corners([*points, (into, end[1]), end]), ((down + into) / 2, below)


def _path_around(right: tuple[float, float]) -> tuple[str, tuple[float, float]]:
    """Return a path from a node to itself, above its end on the `right`, and its middle."""
    x, y = right[0], right[1] - HEIGHT / 2
    path = f"M{x - 34:.1f} {y:.1f}C{x - 38:.1f} {y - 24:.1f} {x - 6:.1f} {y - 24:.1f} {x - 13:.1f} {y - 3:.1f}"
    return path, (x - 23, y - 22)


def _write_chance(text: str, x: float, y: float) -> str:
    """Return the probability of an outcome, on paper that hides the wire below it."""
    halo = f'text-anchor="middle" stroke="{PAPER}" stroke-width="4" paint-order="stroke"'
    return _text(x, y + 4, text, 11, colour=MUTED, extra=halo)


def round_corners(points: Sequence[tuple[float, float]]) -> str:
    """Return a path along horizontal and vertical lines with round corners."""
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for before, at, after in zip(points, points[1:], points[2:], strict=False):
        near, far = _toward(at, before), _toward(at, after)
        path += f"L{near[0]:.1f} {near[1]:.1f}Q{at[0]:.1f} {at[1]:.1f} {far[0]:.1f} {far[1]:.1f}"
    return f"{path}L{points[-1][0]:.1f} {points[-1][1]:.1f}"


def _toward(at: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Return the point 8 pixels from `at` towards `other`, or half the way."""
    length = math.hypot(other[0] - at[0], other[1] - at[1]) or 1.0
    share = min(8.0, length / 2) / length
    return at[0] + (other[0] - at[0]) * share, at[1] + (other[1] - at[1]) * share


def draw_chart(page: doc.Page) -> str:
    """Return the schedule of a plan, or the attempts of a run, as SVG; raises `InputError` where there is none."""
    bars = list(_bars(page))
    if not bars:
        raise InputError(
            "there is no chart to draw", hint="plans with durations or independent steps, and runs, have one"
        )
    names = [f"{number} {step.action}({', '.join(step.arguments)})" for number, step in enumerate(page.steps, start=1)]
    left = min(360.0, max(text_width(name, 13) for name in names) + 30)
    span = max([end for _, _, end, _ in bars], default=1) or 1
    scale = (SHEET - left - 40) / span
    parts = []
    in_rounds = page.chart is not None and page.chart.unit == "rounds"
    for at, label in _ticks(span, in_rounds=in_rounds):
        x = left + at * scale
        parts.append(f'<path d="M{x:.1f} 36V{36 + LANE * len(names) + 6:.1f}" stroke="{LINE}"/>')
        parts.append(_text(x, 26, label, 12, colour=MUTED, extra='text-anchor="middle"'))
    for place, name in enumerate(names):
        parts.append(_text(16, 40 + LANE * place + 17, _cut(name, left - 26, 13), 13))
    for number, start, end, colour in bars:
        width = max(2.0, (end - start) * scale)
        parts.append(
            f'<rect x="{left + start * scale:.1f}" y="{44 + LANE * (number - 1):.1f}" width="{width:.1f}" height="17"'
            f' rx="4" fill="{colour}"/>'
        )
    return _sheet(SHEET, 60 + LANE * len(names), page.title, parts)


def _bars(page: doc.Page) -> Iterator[tuple[int, float, float, str]]:
    """Yield the bars of a chart: the number of the step, from when to when, and the colour."""
    if page.chart is not None:
        for number, (start, end) in enumerate(zip(page.chart.starts, page.chart.ends, strict=True), start=1):
            yield number, start, end, ACCENT if number in page.chart.critical else BAR
    elif page.run is not None:
        colours = {"succeeded": "#25633f", "failed": "#9c3525", "partial": "#9c3525"}
        times = [each.time for each in page.run.events]
        for number, step in enumerate(page.steps, start=1):
            for each in step.attempts:
                yield number, times[each.begin], times[each.end], colours.get(each.status, BAR)


def _ticks(span: float, *, in_rounds: bool) -> Iterator[tuple[float, str]]:
    """Yield some round numbers from 0 to `span`, in seconds or rounds, each with its label; rounds count from 1."""
    least = span / 8
    power = 10 ** math.floor(math.log10(least))
    step = next((each for each in _ROUND if each >= least > 30), 0) if not in_rounds else 0
    step = step or max(int(in_rounds), next(each * power for each in (1, 2, 5, 10) if each * power >= least))
    for place in range(int(span / step) + 1):
        at = place * step
        if not in_rounds:
            yield at, f"{at:g} s" if step < 60 else f"{at // 3600:.0f}:{at % 3600 // 60:02.0f} h"
        elif at < span:
            yield at, f"{at + 1:g}"


def draw_tree(page: doc.Page) -> str:
    """Return the decomposition as SVG, a line for each task; raises `InputError` where there is none."""
    if page.tree is None:
        raise InputError("there is no decomposition to draw", hint="plans of hierarchical problems have one")
    rows = list(walk(page.tree))
    parts = []
    for line, (place, level) in enumerate(rows):
        node, x, y = page.tree.nodes[place], 20 + level * 22.0, 30 + line * 24.0
        parts += [f'<path d="M{24 + rail * 22} {y - 17}V{y + 7}" stroke="{LINE}"/>' for rail in range(level)]
        if node.step:
            parts.append(_text(x, y, str(node.step), 11, colour=ACCENT))
            parts.append(_text(x + text_width(str(node.step), 11) + 8, y, node.label, 13))
        else:
            by = f'<tspan dx="8" font-size="12" fill="{MUTED}">\u2068by {_escape(node.method)}\u2069</tspan>'
            label = f'<tspan font-weight="600">\u2068{_escape(node.label)}\u2069</tspan>'
            parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="13" fill="{INK}">{label}{by}</text>')
    width = max(
        20
        + level * 22
        + text_width(f"{page.tree.nodes[place].label} by {page.tree.nodes[place].method}", 13, bold=True)
        for place, level in rows
    )
    return _sheet(width + 50, 40 + len(rows) * 24, page.title, parts)


def walk(tree: doc.Tree) -> Iterator[tuple[int, int]]:
    """Yield the places of all nodes, each with its level, from the top down."""
    stack = [(place, 0) for place in reversed(tree.roots)]
    while stack:
        place, level = stack.pop()
        yield place, level
        stack.extend([(child, level + 1) for child in reversed(tree.nodes[place].children)])
