"""A hierarchical plan drawn as a tree in the terminal: tasks, the methods that did them, and the steps."""

from __future__ import annotations

from collections.abc import Sequence

from htn.plan import Decomposition, Node
from planner.annotations import TYPE_CHECKING, Final
from planner.plan import Plan

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

DEPTH: Final = 25
"""So many levels are drawn unless more are asked for: further ones would stand beyond the edge of a terminal."""


def tree_of(plan: Plan, *, depth: int | None = DEPTH) -> Tree:
    """Return the decomposition of `plan` for `rich` to print; None draws all levels.

    What is below the last level is one line that says how many steps it has.
    """
    from rich.tree import Tree  # noqa: PLC0415 - loaded only where something is drawn

    tree: Decomposition = plan.tree
    counts = _steps_below(tree.nodes)
    top = Tree(_label(plan.problem.name, "bold"))
    stack = [(place, top, 1) for place in reversed(tree.roots)]
    while stack:
        place, above, level = stack.pop()
        node = tree.nodes[place]
        branch = above.add(_described(node))
        if depth is not None and level >= depth and node.children:
            branch.add(_label(f"… {counts[place]} step{'' if counts[place] == 1 else 's'} below", "dim"))
        else:
            stack.extend([(child, branch, level + 1) for child in reversed(node.children)])
    return top


def drawn(plan: Plan, *, depth: int | None = DEPTH) -> str:
    """Return the same as plain text, a line for each task, without colours."""
    from io import StringIO  # noqa: PLC0415 - as above

    from rich.console import Console  # noqa: PLC0415 - as above

    levels = len(plan.tree.nodes) + 1 if depth is None else depth
    longest = max((len(_described(node).plain) for node in plan.tree.nodes), default=0)
    width = 4 * (levels + 2) + longest + len(plan.problem.name) + 40
    console = Console(file=StringIO(), width=width, color_system=None, force_terminal=False, legacy_windows=False)
    with console.capture() as capture:
        console.print(tree_of(plan, depth=depth))
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _described(node: Node) -> Text:
    if node.step is not None:
        return _label(f"{node.step + 1}. ", "cyan", str(node.task), "green")
    return _label(str(node.task), "bold", f"  by {node.method}", "dim")


def _label(*parts: str) -> Text:
    """Return texts, each followed by its style, as one."""
    from rich.text import Text  # noqa: PLC0415 - as above

    return Text.assemble(*zip(parts[::2], parts[1::2], strict=True), no_wrap=True, overflow="ellipsis")


def _steps_below(nodes: Sequence[Node]) -> list[int]:
    """Return how many steps each node came to."""
    above = {child: place for place, node in enumerate(nodes) for child in node.children}
    counts = [int(node.step is not None) for node in nodes]
    waits_for = [len(node.children) for node in nodes]
    ready = [place for place, number in enumerate(waits_for) if not number]
    for place in ready:
        parent = above.get(place)
        if parent is not None:
            counts[parent] += counts[place]
            waits_for[parent] -= 1
            if not waits_for[parent]:
                ready.append(parent)
    return counts
