"""Childsnack: sandwiches for children, some of whom take no gluten."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.hop.reading import Words, initial
from benchmarks.hop.written import Methods, State, Subtasks, counted


class Snacks:
    """Whoever takes gluten gets what has some, so that the rest is left for the others."""

    def __init__(self, state: State, problem: Words) -> None:
        facts = initial(problem)
        self.allergic = {child for (child,) in facts["allergic_gluten"]}
        self.place = dict(facts["waiting"])
        self.pure = {name for kind in ("bread", "content") for (name,) in facts[f"no_gluten_{kind}"]}
        state.bread = [name for (name,) in facts["at_kitchen_bread"]]
        state.content = [name for (name,) in facts["at_kitchen_content"]]
        state.new = [name for (name,) in facts["notexist"]]
        state.tray = dict(facts["at"])
        state.made = {}
        state.on = {}

    @property
    def actions(self) -> list[Callable[..., State]]:
        """The actions by their names."""
        return [
            self.make_sandwich_no_gluten,
            self.make_sandwich,
            self.put_on_tray,
            self.move_tray,
            self.serve_sandwich_no_gluten,
            self.serve_sandwich,
        ]

    @property
    def methods(self) -> dict[str, Methods]:
        """Two for the only task."""
        return {"serve": {"m0_serve": self.without_gluten, "m1_serve": self.with_gluten}}

    def without_gluten(self, state: State, child: str) -> Subtasks:
        """Return how to serve a child that takes none."""
        return self.served(state, child, "_no_gluten", pure=True) if child in self.allergic else None

    def with_gluten(self, state: State, child: str) -> Subtasks:
        """Return how to serve a child that takes some."""
        return None if child in self.allergic else self.served(state, child, "", pure=False)

    def served(self, state: State, child: str, kind: str, *, pure: bool) -> Subtasks:
        """Return the steps with the first of everything that will do."""
        bread = next((name for name in state.bread if (name in self.pure) is pure), None)
        content = next((name for name in state.content if (name in self.pure) is pure), None)
        tray = next((name for name, place in state.tray.items() if place == "kitchen"), None)
        if bread is None or content is None or tray is None or not state.new:
            return None
        one, place = state.new[0], self.place[child]
        return [
            (f"make_sandwich{kind}", one, bread, content),
            ("put_on_tray", one, tray),
            ("move_tray", tray, "kitchen", place),
            (f"serve_sandwich{kind}", one, child, tray, place),
            ("move_tray", tray, place, "kitchen"),
        ]

    def make_sandwich_no_gluten(self, state: State, one: str, bread: str, content: str) -> State:
        """Make one of what has no gluten."""
        return self.make_sandwich(state, one, bread, content) if {bread, content} <= self.pure else None

    def make_sandwich(self, state: State, one: str, bread: str, content: str) -> State:
        """Make one of what is in the kitchen."""
        if one not in state.new or bread not in state.bread or content not in state.content:
            return None
        state.new.remove(one)
        state.bread.remove(bread)
        state.content.remove(content)
        state.made[one] = {bread, content} <= self.pure
        return counted(state)

    def put_on_tray(self, state: State, one: str, tray: str) -> State:
        """Put a sandwich on a tray, both in the kitchen."""
        if one not in state.made or one in state.on or state.tray[tray] != "kitchen":
            return None
        state.on[one] = tray
        return counted(state)

    def move_tray(self, state: State, tray: str, origin: str, target: str) -> State:
        """Take a tray elsewhere, or nowhere."""
        if state.tray[tray] != origin:
            return None
        state.tray[tray] = target
        return counted(state)

    def serve_sandwich_no_gluten(self, state: State, one: str, child: str, tray: str, place: str) -> State:
        """Serve what has no gluten."""
        return self.serve_sandwich(state, one, child, tray, place) if state.made[one] else None

    def serve_sandwich(self, state: State, one: str, child: str, tray: str, place: str) -> State:
        """Serve a sandwich from a tray where the child waits."""
        if state.on.get(one) != tray or state.tray[tray] != place or self.place[child] != place:
            return None
        state.on[one] = child
        return counted(state)
