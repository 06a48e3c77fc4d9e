"""Why a condition fails: its smallest part that does, and what happened to the facts in it."""

from __future__ import annotations

from planner.model import And, Atom, Equals, Exists, Forall, Formula, Imply, Not, Or, Variable
from planner.model.formulas import substitute
from planner.plan import Step
from planner.records import dataclass, field
from planner.validate.conditions import Binding, Compiler, Universe
from planner.validate.effects import Changes
from planner.validate.world import World


@dataclass(frozen=True, slots=True, eq=False)
class Inspector:
    """Takes formulas apart that fail in `world`."""

    world: World
    universe: Universe
    compiler: Compiler

    def smallest_failure(self, formula: Formula, binding: Binding) -> Formula:  # noqa: PLR0911 - a case per construct
        """Return the smallest part of `formula` whose failing makes it fail, ground where a quantifier fails for it."""
        match formula:
            case And(parts):
                failing = next(part for part in parts if not self._holds(part, binding))
                return self.smallest_failure(failing, binding)
            case Or((part,)):
                return self.smallest_failure(part, binding)
            case Imply(_, conclusion):
                return self.smallest_failure(conclusion, binding)
            case Forall(variables, part):
                return self.smallest_failure(part, self._witness(variables, Not(part), binding))
            case Not(Not(part)):
                return self.smallest_failure(part, binding)
            case Not(Or(parts)):
                holding = next(part for part in parts if self._holds(part, binding))
                return self.smallest_failure(Not(holding), binding)
            case Not(And((part,))):
                return self.smallest_failure(Not(part), binding)
            case Not(Exists(variables, part)):
                return self.smallest_failure(Not(part), self._witness(variables, part, binding))
            case _:
                return substitute(formula, binding)

    def _holds(self, formula: Formula, binding: Binding) -> bool:
        return self.world.solver.holds(self.compiler.compile(formula), binding)

    def _witness(self, variables: tuple[Variable, ...], part: Formula, binding: Binding) -> Binding:
        """Return `binding` with values for `variables` for which `part` holds."""
        domains = self.universe.domains(variables)
        outer = {name: value for name, value in binding.items() if name not in domains}
        return next(self.world.solver.solutions([self.compiler.compile(part)], domains, outer))


@dataclass(frozen=True, slots=True)
class Chronicle:
    """Which step changed each fact last."""

    derived: frozenset[str]
    _last_change: dict[Atom, tuple[int | str, Step]] = field(default_factory=dict)
    _recorded: list[tuple[int | str, Step, Changes]] = field(default_factory=list)

    @property
    def last_change(self) -> dict[Atom, tuple[int | str, Step]]:
        """The number (or name) of the step that changed each fact last, and the step."""
        for number, step, changes in self._recorded:
            self._last_change.update(dict.fromkeys((*changes.added, *changes.removed), (number, step)))
        self._recorded.clear()
        return self._last_change

    def record(self, number: int | str, step: Step, changes: Changes) -> None:
        """Take down what `step` changed; it is put in order when somebody asks, as after a valid plan nobody does."""
        self._recorded.append((number, step, changes))

    def account(self, condition: Formula) -> str:  # noqa: PLR0911 - a sentence per case
        """Return in words why the ground `condition` fails: a clause that begins with "which"."""
        match condition:
            case Atom(predicate) | Not(Atom(predicate)) if predicate in self.derived:
                return "which is derived and does not hold in this state"
            case Atom() if condition in self.last_change:
                return f"which was retracted by {self._culprit(condition)}"
            case Atom():
                return "which is false in the initial state and never provided before"
            case Not(Atom() as fact) if fact in self.last_change:
                return f"which ended when {self._culprit(fact)} provided {fact}"
            case Not(Atom() as fact):
                return f"but {fact} is true in the initial state and never retracted before"
            case Equals() | Not(Equals()):
                return "which is false"
            case _:
                return "which does not hold in this state"

    def _culprit(self, fact: Atom) -> str:
        number, step = self.last_change[fact]
        return f"step {number} {step}"
