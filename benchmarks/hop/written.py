"""What is common to domains in Python: actions and methods are functions of a state that GTPyhop copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from benchmarks.hop.reading import Task

Subtasks = list[Task] | None
"""What a method gives; None where it is not applicable."""
State = Any
"""GTPyhop's own class, whose attributes each domain chooses."""
Methods = Mapping[str, Callable[..., Subtasks]]


class Written(Protocol):
    """A domain in Python, made for one problem: what never changes is kept here, what changes in GTPyhop's state."""

    @property
    def actions(self) -> Sequence[Callable[..., State]]:
        """The actions by their names; each gives the state after it, or None where it is not applicable."""
        ...

    @property
    def methods(self) -> Mapping[str, Methods]:
        """The methods for each task, by the names that they have in HDDL."""
        ...


def counted(state: State) -> State:
    """Return `state` with one step more: GTPyhop leaves out of the plan what changes nothing."""
    state.steps += 1
    return state
