"""Writes graphs, charts and decompositions as text for Graphviz (DOT) and Mermaid."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from executor.desk.pages import document as doc
from executor.desk.pages.drawings import walk
from planner.errors import InputError

CHANCES: Final = ("outcome", "back")
"""Kinds of edges of policies, whose labels are probabilities."""


def dot_graph(page: doc.Page) -> str:
    """Return the graph of `page` in DOT; raises `InputError` where it has none."""
    graph = _graph_of(page)
    styles = {"threat": ' style="dashed"', "item": ' style="dotted"'}
    lines = [
        f"  n{place} [label={_dot_text(_node_label(node))}{_dot_shape(node)}];"
        for place, node in enumerate(graph.nodes)
    ]
    lines += [
        f"  n{edge.source} -> n{edge.target}"
        f" [{'label' if edge.kind in CHANCES else 'tooltip'}={_dot_text(edge.label)}{styles.get(edge.kind, '')}];"
        for edge in graph.edges
    ]
    return _dot(page.title, "LR", lines)


def dot_tree(page: doc.Page) -> str:
    """Return the decomposition of `page` in DOT; raises `InputError` where it has none."""
    tree = _tree_of(page)
    lines = []
    for place, _ in walk(tree):
        node = tree.nodes[place]
        shape = "" if node.step else " shape=plaintext"
        lines.append(f"  n{place} [label={_dot_text(_task_label(node))}{shape}];")
        lines += [f"  n{place} -> n{child};" for child in node.children]
    return _dot(page.title, "TB", lines)


def _dot(title: str, direction: str, lines: list[str]) -> str:
    head = (
        f'  graph [rankdir={direction} fontname="Helvetica"];\n  node [shape=box style=rounded fontname="Helvetica"];'
    )
    return "\n".join([f"digraph {_dot_text(title)} {{", head, *lines, "}", ""])


def _dot_text(text: str) -> str:
    """Return `text` quoted for DOT; a line break stays one."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\r", " ").replace("\n", "\\n")
    return f'"{quoted}"'


def _dot_shape(node: doc.GraphNode) -> str:
    return {"goal": " shape=oval", "end": " shape=oval", "predicate": " shape=oval"}.get(node.kind, "")


def mermaid_graph(page: doc.Page) -> str:
    """Return the graph of `page` as a Mermaid flowchart; raises `InputError` where it has none."""
    graph = _graph_of(page)
    lines = [f"  n{place}{_mermaid_box(node)}" for place, node in enumerate(graph.nodes)]
    lines += [
        f"  n{edge.source} {'-.->' if edge.kind in ('threat', 'item') else '-->'}{_mermaid_chance(edge)} n{edge.target}"
        for edge in graph.edges
    ]
    return "\n".join(["flowchart LR", *lines, ""])


def mermaid_tree(page: doc.Page) -> str:
    """Return the decomposition of `page` as a Mermaid flowchart; raises `InputError` where it has none."""
    tree = _tree_of(page)
    lines = []
    for place, _ in walk(tree):
        node = tree.nodes[place]
        lines.append(f'  n{place}["{_mermaid_text(_task_label(node))}"]')
        lines += [f"  n{place} --> n{child}" for child in node.children]
    return "\n".join(["flowchart TB", *lines, ""])


def mermaid_chart(page: doc.Page) -> str:
    """Return the schedule of `page` as a Mermaid Gantt chart; raises `InputError` where it has none."""
    chart = page.chart
    if chart is None:
        raise InputError("there is no schedule to write", hint="plans with durations or independent steps have one")
    lines = []
    begin = datetime.fromisoformat(chart.origin[:19]) if chart.origin else datetime(2000, 1, 1)  # noqa: DTZ001 - drawn alone
    for number, (step, *times) in enumerate(zip(page.steps, chart.starts, chart.ends, strict=True), start=1):
        name = _mermaid_text(f"{number} {step.action}({', '.join(step.arguments)})").replace(":", "#58;")
        state = "crit, " if number in chart.critical else ""
        moments = [(begin + timedelta(seconds=float(each))).isoformat("T", "milliseconds") for each in times]
        lines.append(f"  {name} :{state}s{number}, {', '.join(moments)}")
    axis = "%H:%M" if chart.origin or max(chart.ends) >= 3600 else "%M:%S"  # the seconds of an hour
    return "\n".join(["gantt", "  dateFormat YYYY-MM-DDTHH:mm:ss.SSS", f"  axisFormat {axis}", *lines, ""])


def _mermaid_box(node: doc.GraphNode) -> str:
    text = _mermaid_text(_node_label(node))
    return f'(["{text}"])' if node.kind in ("goal", "end", "predicate") else f'["{text}"]'


def _mermaid_chance(edge: doc.GraphEdge) -> str:
    return f'|"{_mermaid_text(edge.label)}"|' if edge.kind in CHANCES else ""


def _mermaid_text(text: str) -> str:
    """Return `text` with the characters that mean something to Mermaid or HTML as entities."""
    return "".join(_mermaid_char(char) for char in text)


def _mermaid_char(char: str) -> str:
    if char == "\n":
        return "<br>"
    return f"#{ord(char)};" if char in '"#;<>&`\\[]{}|' or not char.isprintable() else char


def _node_label(node: doc.GraphNode) -> str:
    number = f"{node.ref} " if node.kind == "step" else ""
    return f"{number}{node.label}" + (f"\n{node.detail}" if node.detail else "")


def _task_label(node: doc.TreeNode) -> str:
    return f"{node.step} {node.label}" if node.step else f"{node.label}\nby {node.method}"


def _graph_of(page: doc.Page) -> doc.Graph:
    graph = page.graph or (page.domain.graph if page.domain is not None else None)
    if graph is None:
        raise InputError("there is no graph to write", hint="plans of two steps or more, and domains, have one")
    return graph


def _tree_of(page: doc.Page) -> doc.Tree:
    if page.tree is None:
        raise InputError("there is no decomposition to write", hint="plans of hierarchical problems have one")
    return page.tree
