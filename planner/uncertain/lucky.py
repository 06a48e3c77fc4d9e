"""Plans for the outcomes that one likes best, from any state, within what is left of the budgets."""

from __future__ import annotations

import time
from fractions import Fraction
from math import ceil, log

from planner.annotations import Final
from planner.budgets.allowance import Allowance
from planner.budgets.strategy import searching, within
from planner.budgets.surrogates import Spending
from planner.model import COST
from planner.records import replace
from planner.search import Run, Space
from planner.search.run import Steps
from planner.strategy import automatic
from planner.task import INFINITY, State, facts_of
from planner.uncertain.exact import Check
from planner.uncertain.process import NOTHING, Process
from planner.uncertain.purse import Left
from planner.workplace import Workplace

FINE: Final = 1024
"""Prices are in parts of a unit of the costs; a step that costs nothing has a price of one part."""
SECONDS: Final = 1.0
"""One plan is looked for no longer than this;"""
PATIENCE: Final = 10
"""better plans no longer than so many times what the first one took."""


class Lucky:
    """Plans of a process. By action: `choice_of` is the choice that may come out so, `prices` what that is charged."""

    def __init__(self, process: Process, check: Check) -> None:
        self._process, self._check = process, check
        task = process.task
        self.choice_of = [-1] * len(task.actions)
        self.prices = [INFINITY] * len(task.actions)
        self._tries = [Fraction(1)] * len(task.actions)
        for number, choice in enumerate(process.choices):
            for share, action in choice.branches:
                if action != NOTHING:
                    self.choice_of[action], self._tries[action] = number, 1 / Fraction(share)
                    self.prices[action] = ceil((choice.cost * FINE + 1) * self._tries[action])
        self._kept = [action for action, choice in enumerate(self.choice_of) if choice >= 0]

    def plan(self, state: State, left: Left, end: float | None) -> list[int] | None:
        """Return the actions of a cheap plan from `state`, None where there is none, or none is found in time.

        It leaves room in the budgets for what unlikely outcomes take on the average, if there is such a plan.
        """
        if self._process.task.unreachable_goal is not None:
            return None
        careful = self._found(state, left, end, self.prices, average=True) if left else None
        return careful or self._found(state, left, end, self.prices, average=False)

    def others(self, state: State, left: Left, end: float | None) -> list[list[int]]:
        """Return further plans: one that spares what is scarce, and one that is likely to come out as it is."""
        models = [self._sure()]
        if left:
            models.append([price + dear for price, dear in zip(self.prices, self._scarcity(left), strict=True)])
        found = [self._found(state, left, end, prices, average=False) for prices in models]
        return [plan for plan in found if plan]

    def _sure(self) -> list[int]:
        """Return prices by which the likeliest plan is the cheapest."""
        return [
            ceil(FINE * FINE * log(tries)) + self.prices[action] if self.choice_of[action] >= 0 else INFINITY
            for action, tries in enumerate(self._tries)
        ]

    def _scarcity(self, left: Left) -> list[int]:
        """Return what actions take of what is `left`, as prices: all of one budget is as dear as all together."""
        whole = sum([self.prices[action] for action in self._kept])
        purse = self._process.purse
        return [
            ceil(whole * tries * sum([Fraction(amount, have or 1) for amount, have in zip(amounts, left, strict=True)]))
            for amounts, tries in zip(purse.amounts, self._tries, strict=True)
        ]

    def _found(
        self, state: State, left: Left, end: float | None, prices: list[int], *, average: bool
    ) -> list[int] | None:
        actions = [replace(self._process.task.actions[action], cost=prices[action]) for action in self._kept]
        task = replace(self._process.task, actions=tuple(actions), initial=tuple(facts_of(state)))
        workplace = Workplace(task, Space(task), Run(), self._check)
        steps = self._within(workplace, left, average=average) if left else automatic(workplace, "anytime")
        began = time.monotonic()
        until = began + SECONDS if end is None else min(began + SECONDS, end)
        while time.monotonic() < until:
            known = workplace.run.plan
            try:
                next(steps)
            except StopIteration:
                break
            if known is None and workplace.run.plan is not None:
                now = time.monotonic()
                until = min(until, now + PATIENCE * (now - began))
        plan = workplace.run.plan
        return None if plan is None else [self._kept[action] for action in plan]

    def _within(self, workplace: Workplace, left: Left, *, average: bool) -> Steps:
        """Search within what is `left` of the budgets, for what steps take, or what they take on the `average`."""
        purse, allowances = self._process.purse, list[Allowance]()
        for place, name in enumerate(purse.names):
            amounts = [purse.amounts[action][place] for action in self._kept]
            if average:
                tries = [self._tries[action] for action in self._kept]
                amounts = [ceil(amount * times) for amount, times in zip(amounts, tries, strict=True)]
            allowances.append(Allowance(name, amounts, left[place], 0, 1))
        cost = Allowance(COST, workplace.space.costs, INFINITY, 0, 1)
        return within(workplace, Spending(workplace.run, allowances, cost, searching(workplace)), "anytime")
