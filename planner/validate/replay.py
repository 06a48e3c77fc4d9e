"""A plan that is applied step by step, with a verdict where it breaks and at its end."""

from __future__ import annotations

from collections.abc import Iterator

from planner.errors import InputError
from planner.model import COST, Constraint, Formula, Number, Problem, SoftGoal
from planner.model.formulas import conjuncts
from planner.plan import Step, exact_sum, name_as_written
from planner.validate.constraints import Watches
from planner.validate.effects import Changes
from planner.validate.reasons import Chronicle
from planner.validate.simulation import Objection, Simulation
from planner.validate.verdict import Verdict


class Replay:
    """The state after the steps so far (`simulation`), what they cost, used and changed, and constraints so far."""

    def __init__(self, problem: Problem, start: Simulation | None = None) -> None:
        self.simulation = Simulation(problem) if start is None else start.copy()
        self._watches = Watches(self.simulation)
        self.chronicle = Chronicle(problem.domain.derived)
        self._costs: list[Number] = []
        self._uses: list[dict[str, Number]] = []
        self._latest: Step | None = None

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
        self._watches.look(self.simulation, step)
        changes = self.simulation.apply(step)
        self._watches.look(self.simulation)
        (self._latest,) = name_as_written([step], self.simulation.problem)
        self.chronicle.record(len(self._costs), self._latest, changes)
        return changes

    @property
    def broken(self) -> Verdict | None:
        """Why no plan goes on from here: a constraint is broken."""
        constraint = self._watches.broken
        if constraint is None:
            return None
        number = len(self._costs) or None
        start = "the initial state" if number is None else f"step {number} {self._latest}"
        reason = f"{start} breaks the constraint '{constraint}'"
        return Verdict(valid=False, cost=self.cost, reason=reason, failing_step=number, constraint=constraint)

    def _rejected(self, step: Step, objection: Objection) -> Verdict:
        number = len(self._costs) + 1
        (written,) = name_as_written([step], self.simulation.problem)
        start = f"step {number} {written}: "
        if objection.misfit:
            return Verdict(valid=False, cost=self.cost, reason=start + objection.misfit, failing_step=number)
        condition = objection.condition
        reason = f"{start}requires {condition}, {self.chronicle.account(condition)}"
        return Verdict(valid=False, cost=self.cost, reason=reason, failing_step=number, condition=condition)

    def end(self, claimed: Number | None) -> Verdict:
        """Return the verdict on a plan that ends here and claims this cost, if any."""
        cost = self.cost
        if self.broken is not None:
            return self.broken
        unmet = tuple(self._unmet_goals())
        if unmet:
            parts = "; ".join(f"{condition}, {self.chronicle.account(condition)}" for condition in unmet)
            return Verdict(valid=False, cost=cost, reason=f"at the end, the goal requires {parts}", unmet=unmet)
        missing = next(self._watches.unmet, None)
        if missing is not None:
            reason = f"at the end, the constraint '{missing}' is not met"
            return Verdict(valid=False, cost=cost, reason=reason, constraint=missing)
        if claimed is not None and claimed != cost:
            return Verdict(valid=False, cost=cost, reason=f"the plan claims cost {claimed}, but its steps cost {cost}")
        passed = "; ".join(self._passed_budgets())
        if passed:
            return Verdict(valid=False, cost=cost, reason=passed)
        return Verdict(valid=True, cost=cost, forgone=tuple(self._forgone()))

    def _forgone(self) -> Iterator[SoftGoal | Constraint]:
        for wish in self.simulation.problem.goal.soft:
            if not self.simulation.holds(wish.condition):
                yield wish
        yield from self._watches.forgone

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
