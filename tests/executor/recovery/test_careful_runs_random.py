"""Random runs with irreversible steps, handlers that fail in every way, and observers that are blind or disagree.

What handlers really did is kept beside the run: no run ends by an exception, does what is irreversible twice, undoes
anything by an irreversible step, or repeats one of which nobody can see what it did.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from executor import ExecutionPolicy, Executor, RunOutcome, World
from executor.testing import run_virtual
from planner import Domain
from planner.errors import PlanError

RUNS = 15
"""Runs in one test."""


class Desk:
    """A random domain, whose handlers note what they do; `truth` has the facts, and `twice` what was done again."""

    def __init__(self, dice: random.Random) -> None:
        self.dice, self.domain, self.truth = dice, Domain("desk"), set[str]()
        self.calls, self.twice = Counter[str](), list[str]()
        self.provides: dict[str, str] = {}
        self.irreversible = set[str]()
        size = dice.randint(2, 5)
        for number in range(size):
            self._declare(number)
        self.world = World(self.domain)
        self.blind = {f"f{number}" for number in range(size) if dice.random() < 0.3}
        for number in range(size):
            self._observe(f"f{number}")
        for name in self.domain.model.actions:
            policy = ExecutionPolicy(
                timeout=5,
                retries=dice.choice([None, 0, 2]),
                backoff=dice.choice([0, 1]),
                jitter=0,
                on_error=dice.choice(["patch", "patch", "continue"]),
            )
            self.world.handler(name, policy=policy)(self._handler(name))
        self.goal = [f"f{number}" for number in range(size) if dice.random() < 0.7] or ["f0"]

    def _declare(self, number: int) -> None:
        requires = [f"f{each}" for each in range(number) if self.dice.random() < 0.35]
        tags = ["irreversible"] if self.dice.random() < 0.5 else []
        name = f"a{number}"
        self.domain.action(name, requires=requires, provides=[f"f{number}"], tags=tags)
        self.provides[name] = f"f{number}"
        if tags:
            self.irreversible.add(name)
        elif self.dice.random() < 0.7:
            self.domain.action(f"u{number}", requires=[f"f{number}"], provides=[f"not f{number}"])

    def _observe(self, fact: str) -> None:
        conclusive = self.dice.random() < 0.6
        if fact in self.blind:
            return
        self.world.observer(fact, conclusive=conclusive)(lambda: fact in self.truth)
        if self.dice.random() < 0.2:
            self.world.observer(fact, conclusive=conclusive)(lambda: self.dice.random() < 0.5)

    def _handler(self, name: str) -> Callable[[], Awaitable[bool | None]]:
        async def handler() -> bool | None:
            await asyncio.sleep(self.dice.choice([0, 1, 3]))
            chance = self.dice.random()
            self.calls[name] += 1
            if name in self.irreversible and self.provides[name] in self.truth:
                self.twice.append(name)
            if chance < 0.75:
                self._do(name)
            if chance < 0.6:
                return None
            if chance < 0.75:
                raise OSError("it was done")
            if chance < 0.85:
                return False
            if chance < 0.95:
                raise OSError("it was not done")
            await asyncio.sleep(1000)
            return None

        return handler

    def _do(self, name: str) -> None:
        if name in self.provides:
            self.truth.add(self.provides[name])
        else:
            self.truth.discard(f"f{name[1:]}")

    def run(self) -> RunOutcome:
        executor = Executor(
            self.world,
            model=self.dice.choice(["sequential", "parallel", "dag", "reactive"]),
            ask=self.dice.choice(["later", None, lambda _: None]),
        )
        outcome: RunOutcome = run_virtual(executor.run(self.domain.problem(goal=self.goal)))
        return outcome


@pytest.mark.parametrize("first", range(0, 150, RUNS))
def test_what_is_irreversible_is_done_once(first: int) -> None:
    for seed in range(first, first + RUNS):
        desk = Desk(random.Random(seed))
        try:
            outcome = desk.run()
        except PlanError:  # a step rests on what nobody can observe: nothing is begun
            assert desk.blind, seed
            assert not desk.calls, seed
            continue
        assert desk.twice == [], seed
        assert outcome.succeeded or outcome.reason, seed
        undone = {each.step.action for each in outcome.steps if each.plan.undoes}
        assert not undone & desk.irreversible, seed
        unseen = {name for name in desk.irreversible if desk.provides[name] in desk.blind}
        assert all(desk.calls[name] <= 1 for name in unseen), seed
