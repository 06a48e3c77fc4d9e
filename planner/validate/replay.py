"""A plan that is applied step by step, with a verdict where it breaks and at its end."""

from __future__ import annotations

from collections.abc import Iterator

from planner.errors import InputError
from planner.model import COST, Formula, Number, Problem
from planner.model.formulas import conjuncts
from planner.plan import Step, exact_sum
from planner.validate.effects import Changes
from planner.validate.reasons import Chronicle
from planner.validate.simulation import Objection, Simulation
from planner.validate.verdict import Verdict


class Replay:
    """The state after the steps so far (`simulation`), what they cost, used and changed."""

    def __init__(self, problem: Problem) -> None:
        self.simulation = Simulation(problem)
        self.chronicle = Chronicle(problem.domain.derived)
        self._costs: list[Number] = []
        self._uses: list[dict[str, Number]] = []

    @property
    def cost(self) -> Number:
        """The exact cost of the steps so far."""
        return exact_sum(self._costs)

    @property
    def uses(self) -> dict[str, Number]:
        """What the steps so far use of each resource that one of them names."""
        names = dict.fromkeys(name for used in self._uses for name in used)
        return {name: exact_sum(used.get(name, 0) for used in self._uses) for name in names}

    def objection(self, step: Step) -> Verdict | None:
        """Return why `step` cannot be the next one; None where it can."""
        found = self.simulation.objection(step)
        if found is None:
            try:
                self.simulation.cost(step)
                self.simulation.uses(step)
            except InputError as error:
                found = Objection(str(error))
        return None if found is None else self._rejected(step, found)

    def apply(self, step: Step) -> Changes:
        """Apply `step`, to which there is no objection, and return what it changed."""
        self._costs.append(self.simulation.cost(step))
        self._uses.append(self.simulation.uses(step))
        changes = self.simulation.apply(step)
        self.chronicle.record(len(self._costs), step, changes)
        return changes

    def _rejected(self, step: Step, objection: Objection) -> Verdict:
        number = len(self._costs) + 1
        start = f"step {number} {step}: "
        if objection.misfit:
            return Verdict(valid=False, cost=self.cost, reason=start + objection.misfit, failing_step=number)
        condition = objection.condition
        reason = f"{start}requires {condition}, {self.chronicle.account(condition)}"
        return Verdict(valid=False, cost=self.cost, reason=reason, failing_step=number, condition=condition)

    def end(self, claimed: Number | None) -> Verdict:
        """Return the verdict on a plan that ends here and claims this cost, if any."""
        cost = self.cost
        unmet = tuple(self._unmet_goals())
        if unmet:
            parts = "; ".join(f"{condition}, {self.chronicle.account(condition)}" for condition in unmet)
            return Verdict(valid=False, cost=cost, reason=f"at the end, the goal requires {parts}", unmet=unmet)
        if claimed is not None and claimed != cost:
            return Verdict(valid=False, cost=cost, reason=f"the plan claims cost {claimed}, but its steps cost {cost}")
        passed = "; ".join(self._passed_budgets())
        return Verdict(valid=not passed, cost=cost, reason=passed)

    def _passed_budgets(self) -> Iterator[str]:
        """Yield what the steps take more of than a budget allows, in words."""
        uses = self.uses
        for name, budget in self.simulation.problem.budgets.items():
            taken = self.cost if name == COST else uses.get(name, 0)
            if taken > budget:
                what = f"costs {taken}" if name == COST else f"uses {taken} of {name}"
                yield f"the plan {what}, and the budget is {budget}"

    def _unmet_goals(self) -> Iterator[Formula]:
        for part in conjuncts(self.simulation.problem.goal.hard):
            if not self.simulation.holds(part):
                yield self.simulation.inspector.smallest_failure(part, {})
