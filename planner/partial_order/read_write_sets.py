"""The read and write sets of the steps of a valid plan, as they ran.

A step reads a set of literals that suffices for its conditions, whatever else holds. Literals of derived atoms are
traced to base facts: a true one by one proof, a false one by a false literal in each instance of an axiom that might
derive it (an unfounded set: Van Gelder, Ross and Schlipf, 1991).

A constraint counts as an item that steps write: steps that touch the facts of its conditions, and steps that it covers,
keep their order. So its conditions begin and end to hold in one order, which decides whether it is kept, but for one
case: if a condition may not hold after another one, and both hold in one state, all steps stay in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from planner.errors import PlanError
from planner.lightweight import Final, dataclass, replace
from planner.model.actions import Action, Constraint, ConstraintKind, Done
from planner.model.constructs import CONSTRAINED, Construct, has
from planner.model.domain import DomainModel, numeric_fluents
from planner.model.formulas import (
    OPEN,
    Atom,
    Comparison,
    Formula,
    atoms_in,
    comparisons_in,
    conjunction,
    is_variable,
    with_conjuncts,
)
from planner.model.problem import Goal, Problem, SoftGoal, is_numeric, refuse_time
from planner.partial_order.number_order import NO_NUMBERS, NumberAccess
from planner.plan import Plan, Step
from planner.semantics import condition_solver
from planner.semantics.axioms import Axioms, Rule, World, function_named, name_function
from planner.semantics.condition_solver import Binding, Condition, Domains, Row, State
from planner.semantics.constraint_monitors import covers
from planner.semantics.numeric_state import Values
from planner.semantics.simulation import Simulation, bind_parameters
from planner.semantics.step_effects import Changes, CompiledStep, Test, split_condition
from planner.validation.validate import Replay, apply_suppositions, check_steps
from planner.validation.verdict import Verdict


class PossibleSolver(condition_solver.Solver):
    """Decides whether a condition may hold in some state: `table` has the facts of any, `certain` those of all.

    `statics` are the values of static functions. Comparisons that read `fluents` hold if `hopeful`, and fail otherwise.
    """

    def __init__(
        self,
        table: Callable[[str], condition_solver.Table],
        certain: Callable[[str], condition_solver.Table],
        statics: Values,
        fluents: frozenset[str],
        *,
        hopeful: bool,
    ) -> None:
        super().__init__(table, statics)
        self._certain = certain
        self._fluents = fluents
        self._hopeful = hopeful
        self.opposite = self

    def decide(self, condition: Condition, binding: Binding) -> bool:
        """Return whether `condition`, without free variables, may hold."""
        match condition:
            case condition_solver.Lookup(predicate, args, False):
                return tuple([binding.get(arg, arg) for arg in args]) not in self._certain(predicate).rows
            case condition_solver.Never(domains, part, free):
                return not self.opposite.holds(condition_solver.Some(domains, part, free), binding)
            case condition_solver.Compare(comparison) if any(
                each.predicate in self._fluents for each in comparison.functions
            ):
                return self._hopeful
            case _:
                return super().decide(condition, binding)


def make_possible_world(possible: Iterable[Atom], certain: Iterable[Atom], axioms: Axioms, problem: Problem) -> World:
    """Return the world of all states of `problem` between the facts `certain` and the facts `possible`."""
    upper, lower = World(State(possible), axioms), World(State(certain), axioms)
    statics, fluents = Values(Values.of(problem).statics, {}), numeric_fluents(problem.domain)
    upper.solver = may = PossibleSolver(upper.table, lower.table, statics, fluents, hopeful=True)
    lower.solver = must = PossibleSolver(lower.table, upper.table, statics, fluents, hopeful=False)
    may.opposite, must.opposite = must, may
    return upper


Literals = dict[tuple[Atom, bool], None]
"""Atoms and whether they hold, as an ordered set."""
Reads = dict[tuple[Atom | Comparison, bool], None]
"""Atoms and ground comparisons, and whether they hold, as an ordered set."""


class RankedWorld(World):
    """A world that ranks derived facts by the order of derivation, so that no proof is circular."""

    def __init__(self, state: State, axioms: Axioms) -> None:
        super().__init__(state, axioms)
        self._ranks: dict[Atom, int] = {}
        self._next = 0

    def enter(self, predicate: str, row: Row) -> None:
        """Add a derived fact, after those that it is derived from."""
        super().enter(predicate, row)
        self._ranks[Atom(predicate, row)] = self._next = self._next + 1

    def rank(self, fact: Atom) -> int:
        """Return the rank of `fact`; 0 for base facts."""
        return self._ranks[fact] if fact.predicate in self.axioms else 0


class ReadTracer:
    """Traces conditions in `world` to base literals; `possible` covers all states (see `make_possible_world`)."""

    def __init__(self, world: RankedWorld, possible: World) -> None:
        self._world = world
        self._possible = possible

    def trace(self, condition: Condition, binding: Binding, *, holds: bool) -> Reads:
        """Return base literals and comparisons that suffice for `condition` to hold, or not, as it does now."""
        found = self._literals(condition, binding, holds=holds)
        assert found is not None, "asked why something holds that does not"
        queue, base = list(found), Reads()
        seen = set(queue)
        while queue:
            fact, wanted = queue.pop()
            if isinstance(fact, Comparison) or fact.predicate not in self._world.axioms:
                base[fact, wanted] = None
                continue
            more = self._proof(fact) if wanted else self._refutation(fact)
            fresh = [literal for literal in more if literal not in seen]
            seen.update(fresh)
            queue.extend(fresh)
        return base

    def instances(self, condition: Condition, domains: Domains, binding: Binding) -> Iterator[Binding]:
        """Yield every instance of `condition` that may hold in a state that counts."""
        return self._possible.solver.solutions([condition], domains, binding)

    def _literals(
        self, condition: Condition, binding: Binding, *, holds: bool, before: int | None = None
    ) -> Reads | None:
        """Return sufficient literals; None if there are none, or only ones derived later than `before`."""
        match condition:
            case condition_solver.Lookup(predicate, args, positive):
                fact = Atom(predicate, tuple([binding.get(arg, arg) for arg in args]))
                return self._literal(fact, positive is holds, before)
            case condition_solver.Same():
                return Reads() if self._world.solver.holds(condition, binding) is holds else None
            case condition_solver.Compare(comparison, positive):
                if self._world.solver.holds(condition, binding) is not holds:
                    return None
                return {(comparison.substitute(binding), positive is holds): None}
            case condition_solver.All(parts) | condition_solver.Either(parts):
                found = (self._literals(part, binding, holds=holds, before=before) for part in parts)
                return _union(found) if isinstance(condition, condition_solver.All) is holds else _smallest(found)
            case condition_solver.Some(domains, part) | condition_solver.Never(domains, part):
                if isinstance(condition, condition_solver.Some) is holds:
                    witnesses = self._world.solver.solutions([part], domains, binding)
                    found = (self._literals(part, each, holds=True, before=before) for each in witnesses)
                    return next((literals for literals in found if literals is not None), None)
                candidates = self.instances(part, domains, binding)
                return _union(self._literals(part, each, holds=False, before=before) for each in candidates)

    def _literal(self, fact: Atom, wanted: bool, before: int | None) -> Reads | None:
        if (fact.args in self._world.table(fact.predicate).rows) is not wanted:
            return None
        if wanted and before is not None and self._world.rank(fact) >= before:
            return None
        return {(fact, wanted): None}

    def _proof(self, fact: Atom) -> Reads:
        """Return literals that derive `fact` by one axiom; derived ones among them were derived earlier."""
        before = self._world.rank(fact)
        proofs = (
            self._literals(rule.condition, binding, holds=True, before=before) for rule, binding in self._rules(fact)
        )
        return next(proof for proof in proofs if proof is not None)

    def _refutation(self, fact: Atom) -> Reads:
        """Return literals by which no axiom derives `fact`, given that the negated ones among them hold."""
        reasons = _union(self._literals(rule.condition, binding, holds=False) for rule, binding in self._rules(fact))
        assert reasons is not None, "asked why a fact is not derived that is"
        return reasons

    def _rules(self, fact: Atom) -> Iterator[tuple[Rule, Binding]]:
        for rule in self._world.axioms.needed(fact.predicate)[-1].rules:
            if rule.predicate == fact.predicate and all(
                value in domain for value, domain in zip(fact.args, rule.domains.values(), strict=True)
            ):
                yield rule, dict(zip(rule.domains, fact.args, strict=True))


def _union(parts: Iterable[Reads | None]) -> Reads | None:
    found = Reads()
    for part in parts:
        if part is None:
            return None
        found |= part
    return found


def _smallest(parts: Iterable[Reads | None]) -> Reads | None:
    return min((part for part in parts if part is not None), key=len, default=None)


Positions = tuple[int, ...]


class Patterns:
    """An index of patterns by the arguments that they bind; tables are made when they are first needed."""

    def __init__(self, patterns: Iterable[Atom]) -> None:
        self._kinds: dict[tuple[str, int], dict[Positions, list[Atom]]] = {}
        for pattern in patterns:
            kinds = self._kinds.setdefault((pattern.predicate, len(pattern.args)), {})
            kinds.setdefault(bound_positions(pattern), []).append(pattern)
        self._tables: dict[tuple[str, Positions, Positions], dict[tuple[str, ...], list[Atom]]] = {}

    def overlapping(self, other: Atom) -> Iterator[Atom]:
        """Yield the patterns that share a fact with `other`; see `overlap`."""
        kinds = self._kinds.get((other.predicate, len(other.args)))
        if kinds:
            theirs = bound_positions(other)
            for mine, patterns in kinds.items():
                common = mine if len(theirs) == len(other.args) else tuple([i for i in mine if i in theirs])
                table = self._tables.get((other.predicate, mine, common))
                if table is None:
                    table = self._tables[other.predicate, mine, common] = {}
                    for pattern in patterns:
                        table.setdefault(tuple([pattern.args[i] for i in common]), []).append(pattern)
                yield from table.get(tuple([other.args[i] for i in common]), ())


def bound_positions(pattern: Atom) -> Positions:
    """Return the places of the arguments of `pattern` that are not open."""
    return tuple([i for i, arg in enumerate(pattern.args) if arg != OPEN])


def overlap(one: Atom, other: Atom) -> bool:
    """Return whether some fact matches both patterns."""
    return (
        one.predicate == other.predicate
        and len(one.args) == len(other.args)
        and all(OPEN in (mine, theirs) or mine == theirs for mine, theirs in zip(one.args, other.args, strict=True))
    )


def functions_compared(condition: Formula) -> Iterator[Atom]:
    """Yield the function terms in the comparisons of `condition`."""
    return (term for comparison in comparisons_in(condition) for term in comparison.functions)


_COUNTING: Final = frozenset({ConstraintKind.ALWAYS, ConstraintKind.SOMETIME, ConstraintKind.AT_MOST})


def harden_wishes(problem: Problem, forgone: Iterable[SoftGoal | Constraint]) -> Problem:
    """Return `problem` with its wishes as hard goals and constraints, without those `forgone`."""
    lost = tuple(forgone)
    granted = [wish.condition for wish in problem.goal.soft if wish not in lost]
    kept = [each for each in problem.constraints if each.utility is None or each not in lost]
    hard = with_conjuncts(problem.goal.hard, *granted) if granted else problem.goal.hard
    return replace(problem, goal=Goal(hard), constraints=tuple([replace(each, utility=None) for each in kept]))


def add_constraint_items(problem: Problem, steps: Sequence[Step], changes: Sequence[Changes]) -> list[Changes]:
    """Return the `changes` of `steps`, with an item for each hard constraint of `problem` that a step may affect."""
    items: list[list[Atom]] = [[] for _ in steps]
    simulation = Simulation(problem)
    for constraint in problem.constraints:
        for place in _affecting_steps(constraint, simulation, steps, changes):
            items[place].append(Atom(f"'{constraint}'"))
    return [
        replace(each, modified=(*each.modified, *dict.fromkeys(more))) if more else each
        for each, more in zip(changes, items, strict=True)
    ]


def _affecting_steps(
    constraint: Constraint, simulation: Simulation, steps: Sequence[Step], changes: Sequence[Changes]
) -> Iterator[int]:
    """Yield the places of the steps that must stay in order for `constraint`; a count of steps needs no order."""
    if constraint.kind in _COUNTING and isinstance(constraint.what, Done):
        return
    patterns = [pattern for each in constraint.conditions for pattern in read_patterns(each, simulation)]
    everything = _conditions_meet(constraint, simulation, steps)
    for place, (step, change) in enumerate(zip(steps, changes, strict=True)):
        numbers = [each.fluent for each in change.numbers]
        written = (*change.provided, *change.retracted, *change.modified, *numbers)
        touches = any(overlap(pattern, item) for pattern in patterns for item in written)
        if (
            everything
            or touches
            or any(isinstance(each, Done) and covers(each, step) for each in constraint.happenings)
        ):
            yield place


def read_patterns(condition: Formula, simulation: Simulation) -> Iterator[Atom]:
    """Yield the patterns of base facts and of functions that `condition` reads."""
    axioms, domain = simulation.rules.axioms, simulation.problem.domain
    for atom in atoms_in(condition):
        if atom.predicate not in axioms:
            yield Atom(atom.predicate, tuple([OPEN if is_variable(arg) else arg for arg in atom.args]))
            continue
        for name in axioms.reads(atom.predicate):
            declared = domain.predicates.get(name) or domain.functions[function_named(name)]
            yield Atom(function_named(name), (OPEN,) * len(declared.parameters))
    for term in functions_compared(condition):
        yield Atom(term.predicate, tuple([OPEN if is_variable(arg) else arg for arg in term.args]))


def _conditions_meet(constraint: Constraint, simulation: Simulation, steps: Sequence[Step]) -> bool:
    """Return whether `constraint` forbids a condition after another one, and both hold in one state of the plan."""
    if constraint.kind is not ConstraintKind.NEVER_AFTER or len(constraint.conditions) < 2:
        return False
    both, now = conjunction(constraint.conditions), simulation.copy()
    if now.holds(both):
        return True
    for step in steps:
        now.apply(step)
        if now.holds(both):
            return True
    return False


GOAL: Final = Step("goal")
NO_CHANGES: Final = Changes((), (), (), (), ())


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """What one step reads and writes.

    `reads` are literals that suffice for the step to be applicable and to have its effects; `ran` are patterns of
    actions that must have run before it. `looks` are unknown facts that it observes and that later steps rest on.
    `numbers` is what it reads and writes of numeric fluents.
    """

    step: Step
    reads: Literals
    changes: Changes
    ran: tuple[Atom, ...]
    looks: tuple[Atom, ...] = ()
    numbers: NumberAccess = NO_NUMBERS


def find_accesses(problem: Problem, plan: Plan) -> list[Access]:
    """Return the accesses of the steps of `plan`, and last those of the goal with the granted wishes.

    Steps that affect a constraint write it as an item. Raises `PlanError` for an invalid plan, and `UnsupportedError`
    for a problem in time.
    """
    refuse_time(problem, "ordered step by step")
    problem, suppositions = apply_suppositions(problem, plan)
    if has(problem, Construct.SOFT_GOALS, *CONSTRAINED):
        problem = harden_wishes(problem, _find_forgone(problem, plan))
    reads, changes = _replay(problem, plan.steps)
    numbers = [NO_NUMBERS] * len(reads)
    if is_numeric(problem):
        traced, numbers = _trace_numbers(problem, plan.steps, reads, changes)
        reads = list(traced)
    elif None in reads:
        reads = list(map(_only_literals, _trace_reads(Simulation(problem), plan.steps, reads, changes)))
    if problem.constraints:
        changes = add_constraint_items(problem, plan.steps, changes)
    actions = problem.domain.actions
    histories = [_required_history(actions[step.action], step) for step in plan.steps]
    looks: list[tuple[Atom, ...]] = [()] * (len(plan.steps) + 1)
    for each in suppositions:
        if each.seen is not None:
            looks[each.seen - 1] += (each.fact,)
    every = zip((*plan.steps, GOAL), reads, (*changes, NO_CHANGES), (*histories, ()), looks, numbers, strict=True)
    return [Access(step, known or Literals(), *others) for step, known, *others in every]


def _find_forgone(problem: Problem, plan: Plan) -> tuple[SoftGoal | Constraint, ...]:
    verdict = check_steps(replace(problem, deadline=None), plan.steps)  # when a plan ends is asked of its order
    _check_valid(verdict)
    return verdict.forgone


def _replay(problem: Problem, steps: Sequence[Step]) -> tuple[list[Literals | None], list[Changes]]:
    """Return what steps and the goal read, None where it is not plain to see, and what the steps change."""
    replay = Replay(problem)
    simulation = replay.simulation
    reads: list[Literals | None] = []
    changes = []
    for step in steps:
        _check_valid(replay.find_objection(step))
        ready = simulation.rules.compile_step(step)
        is_plain = isinstance(ready, CompiledStep) and ready.fixed is not None and not ready.rest
        reads.append(_as_literals(ready.tests) if isinstance(ready, CompiledStep) and is_plain else None)
        changes.append(replay.apply(step))
    _check_valid(replay.judge_end(None))
    rules = simulation.rules
    lookups, rest = split_condition(rules.compiler.compile(problem.goal.hard), rules.axioms.__contains__)
    goal = _as_literals([(each.predicate, each.args, each.positive) for each in lookups])
    return [*reads, None if rest else goal], changes


def _as_literals(tests: Sequence[Test]) -> Literals:
    """Return `tests` as literals, the last first, as `ReadTracer` gives them."""
    return {(Atom(predicate, row), positive): None for predicate, row, positive in reversed(tests)}


def _check_valid(verdict: Verdict | None) -> None:
    if verdict is not None and not verdict.valid:
        raise PlanError(f"only a valid plan has an order: {verdict.reason}")


def _trace_numbers(
    problem: Problem, steps: Sequence[Step], known: Sequence[Literals | None], changes: Sequence[Changes]
) -> tuple[list[Literals], list[NumberAccess]]:
    """Return the reads of facts by the steps and by the goal, and their accesses to numbers."""
    from planner.partial_order.number_reads import NumberReader

    simulation, reader = Simulation(problem), NumberReader(problem)
    facts, numbers = [], []
    reads_of = _trace_reads(simulation, steps, known, changes)
    for step, reads in zip((*steps, None), reads_of, strict=True):
        compared = [(each, holds) for each, holds in reads if isinstance(each, Comparison)]
        effects = [] if step is None else simulation.numeric_effects(step)
        numbers.append(reader.read(simulation.world.state.values, compared, effects))
        facts.append(_only_literals(reads))
    return facts, numbers


def _only_literals(reads: Reads) -> Literals:
    return {(each, holds): None for each, holds in reads if isinstance(each, Atom)}


def _trace_reads(
    simulation: Simulation, steps: Sequence[Step], known: Sequence[Literals | None], all_changes: Sequence[Changes]
) -> Iterator[Reads]:
    """Yield the reads of the steps and of the goal: those `known`, else those traced in the states of the plan.

    `simulation` is in the state before the step whose reads come next.
    """
    problem, axioms = simulation.problem, simulation.rules.axioms
    simulation.world = world = RankedWorld(State(problem.initial, Values.of(problem)), axioms)
    provided = {fact for changes in all_changes for fact in changes.provided}
    removed = {fact for changes in all_changes for fact in changes.removed}
    initial = dict.fromkeys(problem.initial)
    certain = initial.keys() - removed
    tracer = ReadTracer(world, make_possible_world(initial | dict.fromkeys(provided), certain, axioms, problem))
    for step, reads in zip(steps, known, strict=False):
        yield _trace_step(simulation, tracer, step) if reads is None else Reads(reads.items())
        simulation.apply(step)
    goal, hard = known[-1], simulation.rules.compiler.compile(problem.goal.hard)
    yield tracer.trace(hard, {}, holds=True) if goal is None else Reads(goal.items())


def _trace_step(simulation: Simulation, tracer: ReadTracer, step: Step) -> Reads:
    """Return reads that suffice for `step` to be applicable, and for each conditional effect to occur or not."""
    schema = simulation.rules.schema(step.action)
    binding = bind_parameters(schema.action, step)
    reads = tracer.trace(schema.requires, binding, holds=True)
    for effect in schema.effects:
        for instance in tracer.instances(effect.condition, effect.domains, binding):
            comes = simulation.world.solver.holds(effect.condition, instance)
            reads |= tracer.trace(effect.condition, instance, holds=comes)
    return reads


def _required_history(action: Action, step: Step) -> tuple[Atom, ...]:
    binding = bind_parameters(action, step)
    return tuple([pattern.substitute(binding) for pattern in action.after])


def find_base_patterns(domain: DomainModel) -> dict[str, tuple[Atom, ...]]:
    """Find, for each derived predicate, open patterns of the base predicates and functions that it may depend on."""
    reads: dict[str, set[tuple[str, int]]] = {}
    for axiom in domain.axioms:
        found = {(atom.predicate, len(atom.args)) for atom in atoms_in(axiom.condition)}
        found |= {(name_function(term.predicate), len(term.args)) for term in functions_compared(axiom.condition)}
        reads.setdefault(axiom.predicate, set()).update(found)
    for below in reads.values():
        waiting = [name for name, _ in below]
        while waiting:
            more = reads.get(waiting.pop(), set()) - below
            below.update(more)
            waiting += [name for name, _ in more]
    return {
        name: tuple([Atom(function_named(base), (OPEN,) * size) for base, size in sorted(below) if base not in reads])
        for name, below in reads.items()
    }
