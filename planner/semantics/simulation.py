"""Simulate steps by the semantics of declared actions, and explain why a condition fails.

An explanation names the smallest failing part of the condition, and the step that changed the facts in it last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter

from planner.errors import InputError, PlanError, UnsupportedError, did_you_mean
from planner.lightweight import Any, dataclass, field, replace
from planner.model import And, Atom, Comparison, Equals, Exists, Forall, Formula, Imply, Not, Or
from planner.model.actions import Action, NumericEffect
from planner.model.arithmetic import Exact, as_number
from planner.model.domain import DomainModel, cache_per_domain
from planner.model.formulas import TRUE, Number, Variable, comparisons_in, free_variables, substitute
from planner.model.problem import NumericMetric, Problem, refuse_time
from planner.plan import Step
from planner.semantics.axioms import Axioms, World
from planner.semantics.condition_solver import Binding, Compiler, Condition, Domains, Row, State, Universe
from planner.semantics.numeric_state import (
    NumberChange,
    NumericObjection,
    Values,
    change_between,
    change_of_metric,
    compute_numbers,
    describe_values,
)
from planner.semantics.step_effects import (
    MOST_KEPT,
    Changes,
    CompiledStep,
    Effect,
    StepCompiler,
    compute_changes,
    find_numeric_effects,
    spending_of,
    staleness_of,
    tests_pass,
    uses_of,
)
from planner.semantics.undefined_values import describe_undefined


@dataclass(frozen=True, slots=True, eq=False)
class FailureInspector:
    """Finds the smallest failing part of formulas that are false in `world`."""

    world: World
    universe: Universe
    compiler: Compiler

    def smallest_failure(self, formula: Formula, binding: Binding) -> Formula:
        """Return the smallest false part that makes `formula` false; a counterexample binds universal variables."""
        match formula:
            case And(parts):
                failing = next(part for part in parts if not self._holds(part, binding))
                return self.smallest_failure(failing, binding)
            case Or((part,)):
                return self.smallest_failure(part, binding)
            case Imply(_, conclusion):
                return self.smallest_failure(conclusion, binding)
            case Forall(variables, part):
                return self.smallest_failure(part, self._find_witness(variables, Not(part), binding))
            case Not(Not(part)):
                return self.smallest_failure(part, binding)
            case Not(Or(parts)):
                holding = next(part for part in parts if self._holds(part, binding))
                return self.smallest_failure(Not(holding), binding)
            case Not(And((part,))):
                return self.smallest_failure(Not(part), binding)
            case Not(Exists(variables, part)):
                return self.smallest_failure(Not(part), self._find_witness(variables, part, binding))
            case _:
                return substitute(formula, binding)

    def _holds(self, formula: Formula, binding: Binding) -> bool:
        return self.world.solver.holds(self.compiler.compile(formula), binding)

    def _find_witness(self, variables: tuple[Variable, ...], part: Formula, binding: Binding) -> Binding:
        """Return `binding` with values for `variables` for which `part` holds."""
        domains = self.universe.domains(variables)
        outer = {name: value for name, value in binding.items() if name not in domains}
        return next(self.world.solver.solutions([self.compiler.compile(part)], domains, outer))


@dataclass(frozen=True, slots=True)
class ChangeHistory:
    """Which step changed each fact, and each numeric fluent, last; `values` are those of the present state."""

    derived: frozenset[str]
    values: Values
    _last_change: dict[Atom, tuple[int | str, Step]] = field(default_factory=dict)
    _recorded: list[tuple[int | str, Step, Changes]] = field(default_factory=list)

    @property
    def last_change(self) -> dict[Atom, tuple[int | str, Step]]:
        """The number (or name) of the step that changed each fact or numeric fluent last, and the step."""
        for number, step, made in self._recorded:
            changed = (*made.added, *made.removed, *[each.fluent for each in made.numbers])
            self._last_change.update(dict.fromkeys(changed, (number, step)))
        self._recorded.clear()
        return self._last_change

    def record(self, number: int | str, step: Step, changes: Changes) -> None:
        """Record the changes of `step`; `last_change` sorts them later, since nobody asks after a valid plan."""
        self._recorded.append((number, step, changes))

    def account(self, condition: Formula) -> str:
        """Explain why the ground `condition` is false, in a clause that begins with "which" or "but"."""
        match condition:
            case Atom(predicate) | Not(Atom(predicate)) if predicate in self.derived:
                return "which is derived and does not hold in this state"
            case Atom() if condition in self.last_change:
                return f"which was retracted by {self._describe_culprit(condition)}"
            case Atom():
                return "which is false in the initial state and never provided before"
            case Not(Atom() as fact) if fact in self.last_change:
                return f"which ended when {self._describe_culprit(fact)} provided {fact}"
            case Not(Atom() as fact):
                return f"but {fact} is true in the initial state and never retracted before"
            case Equals() | Not(Equals()):
                return "which is false"
            case Comparison() | Not(Comparison()):
                known = self._describe_values(condition)
                return f"but {known}" if known else "which is false"
            case _:
                known = self._describe_values(condition)
                return f"which does not hold where {known}" if known else "which does not hold in this state"

    def _describe_values(self, condition: Formula) -> str:
        """Return the values that the ground comparisons in `condition` read, and the steps that changed them last."""
        known: dict[Atom, str] = {}
        for comparison in comparisons_in(condition):
            if not free_variables(comparison):
                for term, value in describe_values(comparison, self.values):
                    since = f" since {self._describe_culprit(term)}" if term in self.last_change else ""
                    known[term] = value + since
        return " and ".join(known.values())

    def _describe_culprit(self, fact: Atom) -> str:
        number, step = self.last_change[fact]
        return f"step {number} {step}"


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a step cannot be applied: it `misfits` the problem, or `condition` fails."""

    misfit: str = ""
    condition: Formula = TRUE


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """An action whose condition and effects are compiled."""

    action: Action
    domains: Domains
    requires: Condition
    effects: tuple[Effect, ...]
    has_numbers: bool


@cache_per_domain
def _actions_named_in_after(domain: DomainModel) -> frozenset[str]:
    return frozenset([pattern.predicate for action in domain.actions.values() for pattern in action.after])


class Rules:
    """The parts of a problem that are the same in all states: objects, actions and axioms, compiled once.

    Raises `InputError` where a derived predicate depends on its own negation, and `UnsupportedError` where facts are
    declared unknown, and for problems in time.
    """

    def __init__(self, problem: Problem) -> None:
        refuse_time(problem, "simulated step by step")
        if problem.unknown:
            raise UnsupportedError("facts declared unknown", "state in `initial` which of them hold")
        self.problem = problem
        self.universe = Universe(problem)
        self.compiler = Compiler(self.universe)
        self.axioms = Axioms(problem, self.universe)
        self.staleness = staleness_of(problem.domain)
        self.remembered = _actions_named_in_after(problem.domain)
        self._schemas: dict[str, Schema] = {}
        self._compilers: dict[str, StepCompiler] = {}
        self._compiled: dict[tuple[str, Row], CompiledStep | str] = {}
        self._latest: tuple[Step | None, CompiledStep | str] = None, ""

    def schema(self, name: str) -> Schema:
        """Return the compiled action `name`."""
        if name not in self._schemas:
            action = self.problem.domain.actions[name]
            self._schemas[name] = Schema(
                action,
                self.universe.domains(action.parameters),
                self.compiler.compile(action.requires),
                tuple([Effect.of(when, self.universe, self.compiler) for when in action.effects]),
                any(when.numbers for when in action.effects),
            )
        return self._schemas[name]

    def compile_step(self, step: Step) -> CompiledStep | str:
        """Return `step` compiled, or the message that `misfit` gives."""
        if step is self._latest[0]:  # most steps are asked about several times in a row
            return self._latest[1]
        key = step.action, step.arguments
        found = self._compiled.get(key)
        if found is None:
            if len(self._compiled) >= MOST_KEPT:
                self._compiled.clear()
            found = self.misfit(step) or self._compiler(step.action).compile_step(step.arguments)
            self._compiled[key] = found
        self._latest = step, found
        return found

    def _compiler(self, name: str) -> StepCompiler:
        if name not in self._compilers:
            schema, is_derived = self.schema(name), self.axioms.__contains__
            declared = schema.action, schema.requires, schema.effects
            self._compilers[name] = StepCompiler(self.problem, *declared, self.staleness, is_derived=is_derived)
        return self._compilers[name]

    def misfit(self, step: Step) -> str:
        """Return why no state allows `step`: it is no instance of an action, or lacks a value; "" where some may."""
        wrong = self.mismatch(step)
        if wrong:
            return wrong
        action = self.problem.domain.actions[step.action]
        return describe_undefined(self.problem, action, bind_parameters(action, step))

    def mismatch(self, step: Step) -> str:
        """Return why `step` is no instance of an action; "" where it is one."""
        action = self.problem.domain.actions.get(step.action)
        if action is None:
            hint = did_you_mean(step.action, self.problem.domain.actions)
            return f"no action is called '{step.action}'" + (f"; {hint}" if hint else "")
        if len(step.arguments) != len(action.parameters):
            return f"{action.signature} takes {len(action.parameters)} arguments, not {len(step.arguments)}"
        if action.creates:
            where = "planner.compilations.object_creation"
            return f"it creates objects: {where}.for_steps gives the problem placeholders for them"
        for parameter, argument in zip(action.parameters, step.arguments, strict=True):
            if argument not in self.universe:
                hint = did_you_mean(argument, self.universe)
                return f"no object is called '{argument}'" + (f"; {hint}" if hint else "")
            if argument not in self.universe.of_types(parameter.types):
                wanted, found = " or ".join(parameter.types), " or ".join(self.universe.types_of(argument))
                return f"its argument '{argument}' is of type {found}, but {parameter.name} wants {wanted}"
        return ""


def rules_of(problem: Problem) -> Rules:
    """Return the rules of `problem`; its domain keeps those that were asked for last. Raises what `Rules` raises."""
    known: Rules | None = problem.domain.memo.get(Rules)
    if known is None or known.problem is not problem:
        known = problem.domain.memo[Rules] = Rules(problem)
    return known


class Simulation:
    """A state that steps are applied to, beginning with the initial state of the problem and what ran before it."""

    def __init__(self, problem: Problem) -> None:
        self.rules = rules_of(problem)
        self.world = World(State(problem.initial, Values.of(problem)), self.rules.axioms)
        self.history = State(action for action in problem.ran if action.predicate in self.rules.remembered)

    def copy(self) -> Simulation:
        """Return a simulation of its own in the same state."""
        twin = Simulation.__new__(Simulation)
        twin.rules, twin.world, twin.history = self.rules, self.world.copy(), self.history.copy()
        return twin

    @property
    def problem(self) -> Problem:
        """The problem that is simulated."""
        return self.rules.problem

    @property
    def facts(self) -> frozenset[Atom]:
        """The facts that hold now, derived ones left out; takes time in proportion to their number."""
        return frozenset(self.world.state)

    @property
    def values(self) -> dict[Atom, Exact]:
        """The values of the numeric fluents that are defined now; a new mapping."""
        return {Atom(*key): value for key, value in self.world.state.values.fluents.items()}

    @property
    def problem_now(self) -> Problem:
        """The problem with the present state as its initial state, and with the actions that ran.

        The facts are in one order, however the state came about, so that searches from it choose alike. A value that is
        no finite decimal stays a fraction.
        """
        values = self.world.state.values
        numbers: dict[Atom, Any] = {
            Atom(*key): as_number(value) or value for key, value in (*values.statics.items(), *values.fluents.items())
        }
        initial = tuple(sorted(self.world.state, key=attrgetter("predicate", "args")))
        return replace(self.problem, initial=initial, values=numbers, ran=tuple(self.history))

    @property
    def inspector(self) -> FailureInspector:
        """The inspector of formulas that are false in the present state."""
        return FailureInspector(self.world, self.rules.universe, self.rules.compiler)

    def holds(self, formula: Formula) -> bool:
        """Return whether the ground `formula` holds now, derived facts included."""
        return self.world.solver.holds(self.rules.compiler.compile(formula), {})

    def find_objection(self, step: Step) -> Objection | None:
        """Return why `step` cannot be applied now; None where it can."""
        compiled = self.rules.compile_step(step)
        if isinstance(compiled, str):
            return self._find_unmet_condition(step) or Objection(compiled)
        action = self.problem.domain.actions[step.action]
        if action.after:
            missing = self._find_missing(action, compiled.binding)
            if missing is not None:
                return Objection(f"it comes after {missing}, which has not run before it")
        if tests_pass(compiled.tests, self.world.state):
            holds = self.world.solver.holds
            if not compiled.rest or all(holds(part, compiled.binding) for part in compiled.rest):
                return self._find_numeric_objection(step)
        return Objection(condition=self.inspector.smallest_failure(action.requires, compiled.binding))

    def _find_unmet_condition(self, step: Step) -> Objection | None:
        """Return the objection that a condition fails of a step that lacks a value; None for another one."""
        if self.rules.mismatch(step):
            return None
        action = self.problem.domain.actions[step.action]
        requires = substitute(action.requires, bind_parameters(action, step))
        return None if self.holds(requires) else Objection(condition=self.inspector.smallest_failure(requires, {}))

    def _find_numeric_objection(self, step: Step) -> Objection | None:
        try:
            self.numbers(step)
        except NumericObjection as objection:
            if objection.condition is None:
                return Objection(str(objection))
            return Objection(condition=objection.condition)
        return None

    def numbers(self, step: Step) -> tuple[NumberChange, ...]:
        """Return the changes of numeric fluents by `step` now. Raises `NumericObjection` where it cannot be applied."""
        effects = self.numeric_effects(step)
        return compute_numbers(self.world.state.values, effects, self.problem.domain) if effects else ()

    def numeric_effects(self, step: Step) -> list[NumericEffect]:
        """Return the ground effects on numeric fluents that `step` has now."""
        schema = self.rules.schema(step.action)
        if not schema.has_numbers:
            return []
        return find_numeric_effects(self.world, schema.effects, bind_parameters(schema.action, step))

    def changes(self, step: Step) -> Changes:
        """Return the changes that the applicable `step` would make now; none of numbers where these forbid it."""
        compiled = self.rules.compile_step(step)
        schema = self.rules.schema(step.action)
        if isinstance(compiled, CompiledStep) and compiled.fixed is not None:
            made = compiled.fixed.changes(self.world.state)
        else:
            binding = bind_parameters(schema.action, step)
            made = compute_changes(self.world, schema.effects, self.rules.staleness, binding)
        if not schema.has_numbers:
            return made
        try:
            return replace(made, numbers=self.numbers(step))
        except NumericObjection:
            return made

    def apply(self, step: Step) -> Changes:
        """Apply the applicable `step` and return its changes."""
        result = self.changes(step)
        self.world.update(result.removed, result.added, result.numbers)
        if step.action in self.rules.remembered:
            self.history.update((), [Atom(step.action, step.arguments)])
        return result

    def cost(self, step: Step) -> Number:
        """Return the exact cost of `step`, an instance of an action. Raises `InputError` where it has none.

        Where the metric is numeric, this is the change that the applicable `step` makes to it now.
        """
        declared = self.declared_cost(step)
        metric = self.problem.metric
        if isinstance(metric, NumericMetric):
            return change_of_metric(metric, self.world.state.values, self.numbers(step), declared)
        return declared

    def declared_cost(self, step: Step) -> Number:
        """Return what `step` adds to the total cost. Raises as `cost` does."""
        cost = self._compile(step).cost
        if isinstance(cost, InputError):
            raise cost
        return cost

    def cost_until(self, step: Step, after: Simulation) -> Number:
        """Return the cost of `step` from this state if it led to the state `after`. Raises as `cost` does."""
        declared, metric = self.declared_cost(step), self.problem.metric
        if not isinstance(metric, NumericMetric):
            return declared
        return change_between(metric, self.world.state.values, after.world.state.values, declared)

    def uses(self, step: Step) -> dict[str, Number]:
        """Return how much `step`, an instance of an action, uses of each resource. Raises as `cost` does."""
        action = self.problem.domain.actions[step.action]
        return uses_of(self.problem, action, self._compile(step).binding) if action.uses else {}

    def spending(self, step: Step) -> dict[str, Number]:
        """Return what budgets count of `step`, an instance of an action. Raises as `cost` does."""
        return spending_of(self.problem, self.problem.domain.actions[step.action], self._compile(step).binding)

    def _compile(self, step: Step) -> CompiledStep:
        compiled = self.rules.compile_step(step)
        if isinstance(compiled, str):
            raise PlanError(compiled)
        return compiled

    def applicable(self) -> Iterator[Step]:
        """Yield the steps that can be applied now, each once, with their costs, in order of declaration."""
        for name in self.problem.domain.actions:
            schema = self.rules.schema(name)
            found = self.world.solver.solutions([schema.requires], schema.domains, {})
            for arguments in sorted({tuple([solution[each] for each in schema.domains]) for solution in found}):
                step = Step(name, arguments)
                missing = self._find_missing(schema.action, bind_parameters(schema.action, step))
                if describe_undefined(self.problem, schema.action, bind_parameters(schema.action, step)):
                    continue
                if missing is None and self._find_numeric_objection(step) is None:
                    yield Step(name, arguments, self.cost(step))

    def _find_missing(self, action: Action, binding: Binding) -> Atom | None:
        """Return the first pattern of `after` that no step so far matches."""
        needed = (pattern.substitute(binding) for pattern in action.after)
        return next((pattern for pattern in needed if not self.history.matching(pattern)), None)


def bind_parameters(action: Action, step: Step) -> Binding:
    """Bind the parameters of `action` to the arguments of `step`."""
    return {parameter.name: value for parameter, value in zip(action.parameters, step.arguments, strict=True)}


def price_steps(problem: Problem, steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps of a valid plan with the costs that they have in the states in which they are applied."""
    simulation, priced = Simulation(problem), []
    for step in steps:
        priced.append(replace(step, cost=simulation.cost(step)))
        simulation.apply(step)
    return tuple(priced)
