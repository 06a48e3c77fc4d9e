"""Draws the decomposition of a plan as a tree for the terminal: tasks, their methods, and the steps."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add

from htn.model import Decomposition, Node, fold_up
from planner.lightweight import TYPE_CHECKING, Final
from planner.plan import Plan, StepTime

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

DEPTH: Final = 25
"""Default number of drawn levels: deeper ones would exceed the width of a terminal."""


def tree_of(plan: Plan, *, depth: int | None = DEPTH) -> Tree:
    """Return the decomposition of `plan` as a `rich` tree; None draws all levels.

    One line replaces the tasks below the last level; it says how many steps they have. `rich` takes a long time to
    print thousands of levels; `draw_tree` does not.
    """
    from rich.tree import Tree

    tree: Decomposition = plan.tree
    counts = _count_steps(tree.nodes)
    top = Tree(_styled_text(plan.problem.name, "bold"))
    stack = [(place, top, 1) for place in reversed(tree.roots)]
    while stack:
        place, above, level = stack.pop()
        node = tree.nodes[place]
        branch = above.add(_style_node(node))
        if depth is not None and level >= depth and node.children:
            branch.add(_styled_text(_describe_below(counts[place]), "dim"))
        else:
            stack.extend([(child, branch, level + 1) for child in reversed(node.children)])
    return top


def draw_tree(plan: Plan, *, depth: int | None = DEPTH) -> str:
    """Draw the same tree as plain text, without colours, in time linear in its length.

    After each 25 levels, the tasks below become a tree of their own after the others; `… [2]` refers to it.
    """
    tree: Decomposition = plan.tree
    drawing = _Drawing(tree.nodes, depth, plan.times)
    drawing.lines.append(plan.problem.name)
    drawing.draw(tree.roots, 0)
    for number, (place, level) in enumerate(drawing.later, start=1):
        drawing.lines += ["", f"[{number}] {_describe_node(tree.nodes[place])}"]
        drawing.draw(tree.nodes[place].children, level)
    return "".join(f"{line}\n" for line in drawing.lines)


class _Drawing:
    """Lines so far; `later` holds the nodes whose children do not fit below them, each with its level."""

    def __init__(self, nodes: Sequence[Node], depth: int | None, times: Sequence[StepTime] = ()) -> None:
        self.lines: list[str] = []
        self.later: list[tuple[int, int]] = []
        self._nodes = nodes
        self._depth = depth
        self._times = times
        self._counts = _count_steps(nodes)

    def draw(self, children: Sequence[int], level: int) -> None:
        """Draw the tasks `children` of a task at `level`, and the tasks below them."""
        nodes, lines, last = self._nodes, self.lines, level + DEPTH
        stack = [(place, "", place == children[-1], level + 1) for place in reversed(children)]
        while stack:
            place, start, is_last, level = stack.pop()
            children = nodes[place].children
            line = f"{start}{'└── ' if is_last else '├── '}{_describe_node(nodes[place], self._times)}"
            start += "    " if is_last else "│   "
            if children and level == self._depth:
                lines += [line, f"{start}└── {_describe_below(self._counts[place])}"]
            elif children and level == last:
                self.later.append((place, level))
                lines.append(f"{line}  … [{len(self.later)}]")
            else:
                lines.append(line)
                stack.extend([(child, start, child == children[-1], level + 1) for child in reversed(children)])


def _describe_below(steps: int) -> str:
    return f"… {steps} step{'' if steps == 1 else 's'} below"


def _describe_node(node: Node, times: Sequence[StepTime] = ()) -> str:
    if node.step is not None:
        when = f"  {times[node.step].start} to {times[node.step].end} s" if times else ""
        return f"{node.step + 1}. {node.task}{when}"
    return f"{node.task}  by {node.method}"


def _style_node(node: Node) -> Text:
    if node.step is not None:
        return _styled_text(f"{node.step + 1}. ", "cyan", str(node.task), "green")
    return _styled_text(str(node.task), "bold", f"  by {node.method}", "dim")


def _styled_text(*parts: str) -> Text:
    """Join texts, each followed by its style."""
    from rich.text import Text

    return Text.assemble(*zip(parts[::2], parts[1::2], strict=True), no_wrap=True, overflow="ellipsis")


def _count_steps(nodes: Sequence[Node]) -> list[int]:
    """Count the steps below each node."""
    return fold_up(nodes, [int(node.step is not None) for node in nodes], add)
