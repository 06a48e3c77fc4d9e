"""Whose turn it is in a room: one errand at a time, the most urgent first, the oldest of these."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from executor.agent.proposals import Proposal
from planner.model import Atom
from planner.records import dataclass, field


@dataclass(slots=True, eq=False)
class Task:
    """An errand in this process: what is to be done for it, in which run, and whether it has to give way."""

    number: int
    proposal: Proposal
    priority: int = 0
    run: str = ""
    gives_way: bool = False
    """Whether its run was interrupted for something more urgent."""
    is_displaced: bool = False
    """Whether that cannot be had together with it."""
    left_at: frozenset[Atom] | None = None
    """The facts that held when its run stopped, where that is known."""


@dataclass(slots=True, eq=False)
class Agenda:
    """The tasks of one room; `interrupt` has a run stop at the end of a step."""

    interrupt: Callable[[str], bool]
    waiting: list[Task] = field(default_factory=list)
    at_work: Task | None = None
    _changed: asyncio.Event = field(init=False, default_factory=asyncio.Event)

    @property
    def tasks(self) -> list[Task]:
        """All tasks that are not over."""
        return [*([self.at_work] if self.at_work is not None else []), *self.waiting]

    async def turn(self, task: Task) -> None:
        """Wait until it is the turn of `task`; what is less urgent gives way at the end of a step."""
        self.waiting.append(task)
        self._yield()
        try:
            while self.at_work is not None or self._first() is not task:
                self._changed.clear()
                await self._changed.wait()
            self.at_work = task
        finally:
            self.waiting.remove(task)
            self._changed.set()

    def began(self, task: Task, run: str) -> None:
        """Note in which run a task is at work."""
        task.run = run
        self._yield()

    def _yield(self) -> None:
        """Have the task at work give way, if something more urgent waits."""
        now = self.at_work
        if now is not None and now.run and any(each.priority > now.priority for each in self.waiting):
            now.gives_way = self.interrupt(now.run)

    def over(self, task: Task) -> None:
        """Note that `task` is at work no more."""
        if self.at_work is task:
            self.at_work = None
        self._changed.set()

    def _first(self) -> Task:
        return min(self.waiting, key=lambda each: (-each.priority, each.number))
