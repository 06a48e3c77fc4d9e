"""What executions may spend: budgets on the cost and on resources, as integers."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from planner.annotations import Final
from planner.budgets.allowance import Allowance, allowances, cost_allowance
from planner.model import COST, Number, Problem
from planner.plan import exact
from planner.records import dataclass
from planner.task import Task

Left = tuple[int, ...]
"""What is left of each budget, in its own units."""


@dataclass(frozen=True, slots=True)
class Purse:
    """The budgets: their `names`, that on the cost first, `resolutions`, what is in them (`full`).

    `amounts` are what each action takes from each.
    """

    names: tuple[str, ...] = ()
    resolutions: tuple[int, ...] = ()
    full: Left = ()
    amounts: tuple[Left, ...] = ()

    @classmethod
    def of(cls, problem: Problem, task: Task) -> Purse:
        """Return the budgets of `problem`; raises `InputError` where a static value is missing."""
        kept: list[Allowance] = [cost_allowance(problem, task)] if COST in problem.budgets else []
        kept += allowances(problem, task)
        if not kept:
            return EMPTY
        return cls(
            tuple([each.name for each in kept]),
            tuple([each.resolution for each in kept]),
            tuple([each.most for each in kept]),
            tuple(zip(*[each.uses for each in kept], strict=True)),
        )

    def after(self, action: int, left: Left) -> Left | None:
        """Return what is left after `action`; None where it takes too much."""
        rest = tuple([have - want for have, want in zip(left, self.amounts[action], strict=True)])
        return None if any(each < 0 for each in rest) else rest

    def left_of(self, spent: Mapping[str, Number]) -> Left:
        """Return what is left when so much was spent of each; what is not named was not touched."""
        return tuple(
            [
                full - int(Decimal(spent.get(name, 0)) * resolution)
                for name, resolution, full in zip(self.names, self.resolutions, self.full, strict=True)
            ]
        )

    def shown(self, left: Left) -> dict[str, Number]:
        """Return what is left in the problem's terms."""
        triples = zip(self.names, self.resolutions, left, strict=True)
        return {name: exact(Decimal(units) / resolution) for name, resolution, units in triples}


EMPTY: Final = Purse()
