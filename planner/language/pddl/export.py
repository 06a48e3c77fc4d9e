"""Write problems as PDDL for other planners, on the lowest level that will do, and map their plans back.

    declared problem → plain ADL → (lifted or ground) STRIPS → plain types → integer costs → legal names → text

A domain that lifted STRIPS cannot say is written ground. Uncertain actions become `probabilistic` effects (Younes and
Littman, 2004).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import Literal

from planner.compilations.cost_tables import scale_to_integers, with_tables, without_costs, without_needless_costs
from planner.compilations.object_creation import refuse_creation
from planner.compilations.passes import compile_away
from planner.compilations.types_as_predicates import with_plain_types
from planner.errors import PlanError, UnsupportedError
from planner.language.pddl.legal_names import Names, Renaming
from planner.language.pddl.number_bounds import require_bounds
from planner.language.pddl.pddl_writer import counts_costs, refuse_unsayable, split_common, write_domain, write_problem
from planner.language.pddl.plan_files import read_plan
from planner.language.pddl.sections import choose_free_name
from planner.language.pddl.timed_form import asks_for_time, compile_time
from planner.lightweight import Final, replace
from planner.limits import LimitReached, Limits
from planner.model import Literal as Literal_grounded
from planner.model.actions import Action, Outcome, When
from planner.model.constructs import CONSTRAINED, Construct
from planner.model.domain import DomainModel, Predicate
from planner.model.formulas import OPEN, TRUE, Atom, Equals, Formula, Not, Number, atoms_in, conjunction, walk
from planner.model.problem import Goal, Metric, NumericMetric, Problem, is_numeric
from planner.plan import Plan, Step
from planner.task.ground_task import GroundAction
from planner.validation.timed_replay import price_plan

_HINT = "export it with level 'adl'"


def ground_to_strips(problem: Problem, limits: Limits) -> tuple[Problem, Mapping[str, Step]]:
    """Ground `problem` to one whose facts and actions have no arguments; return it and its map back.

    The map has the step that each action stands for. Raises `UnsupportedError` where the task has conditional
    effects or axioms, which STRIPS does not know, and `LimitReached` where `limits` does not suffice.
    """
    from planner.grounding.ground import ground

    task = ground(problem, limits)
    if task.has_axioms:
        raise UnsupportedError("derived predicates, or conditions that have to be derived, in STRIPS", _HINT)
    for action in task.actions:
        if action.conditional:
            raise UnsupportedError(f"conditional effects in STRIPS, as {action.step} has them", _HINT)
    taken: set[str] = set()
    facts, goal = [choose_free_name(_format_fact(fact), taken) for fact in task.facts], task.goal
    if task.unreachable_goal is not None:
        facts, goal = ["unreachable goal"], (0,)
    taken = set()
    names = [choose_free_name(" ".join([each.step.action, *each.step.arguments]), taken) for each in task.actions]
    actions = {
        name: _make_action(name, each, facts, problem.metric) for name, each in zip(names, task.actions, strict=True)
    }
    domain = DomainModel(problem.domain.name, predicates={name: Predicate(name) for name in facts}, actions=actions)
    initial = tuple([Atom(facts[number]) for number in task.initial])
    wanted = Goal(conjunction([Atom(facts[number]) for number in goal]))
    steps = {name: each.step for name, each in zip(names, task.actions, strict=True)}
    return Problem(problem.name, domain, (), initial, wanted, {}, problem.metric), steps


def _format_fact(fact: Atom | Not) -> str:
    if isinstance(fact, Not):
        return f"not {_format_fact(fact.part)}" if isinstance(fact.part, Atom | Not) else str(fact)
    return " ".join([fact.predicate, *fact.args])


def _make_action(name: str, action: GroundAction, facts: list[str], metric: Metric | NumericMetric) -> Action:
    cost = () if metric is Metric.LENGTH else (action.step.cost,)
    provides: list[Literal_grounded] = [Atom(facts[number]) for number in action.adds]
    provides += [Not(Atom(facts[number])) for number in action.deletes]
    requires = conjunction([Atom(facts[number]) for number in action.precondition])
    return Action(name, requires=requires, provides=tuple(provides), cost=cost)


Level = Literal["strips", "adl"]

_PROOF_SECONDS: Final = 10.0
"""Time limit, in seconds, of the proof that items have one value; without it, the export is ground."""


@dataclass(frozen=True, slots=True)
class Export:
    """`source` as two PDDL texts; `written` is the problem that they define, with its legal names.

    `level` is the lowest that suffices. Costs in the files are `resolution` times those of `source`.
    """

    domain: str
    problem: str
    level: Level
    resolution: int
    source: Problem = field(repr=False)
    written: Problem = field(repr=False)
    _actions: Mapping[str, str] = field(repr=False)
    _objects: Mapping[str, str] = field(repr=False)
    _ground: Mapping[str, Step] = field(repr=False)
    _costs: dict[str, Callable[[tuple[str, ...]], Number]] = field(default_factory=dict, repr=False)
    added: frozenset[str] = frozenset()
    """Actions whose steps plans of `source` lack: they look at deadlines of goals."""

    def lift(self, step: Step) -> Step:
        """Map `step` of the files to the step of `source`, with its cost there.

        Raises `PlanError` for actions and objects that the files do not have.
        """
        name = self._actions.get(step.action.lower())
        if name is None:
            raise PlanError(f"the exported problem has no action '{step.action}'")
        if self._ground:
            ground = self._ground[name]
            return Step(ground.action, ground.arguments, self._find_cost(ground.action, ground.arguments))
        missing = [word for word in step.arguments if word.lower() not in self._objects]
        if missing:
            raise PlanError(f"the exported problem has no object '{missing[0]}'")
        arguments = tuple([self._objects[word.lower()] for word in step.arguments])
        return Step(name, arguments, self._find_cost(name, arguments))

    def read_plan(self, text: str, source: str = "<string>") -> Plan:
        """Read a plan for the files, and map it to a plan for `source`; raises `PlanError`."""
        plan = read_plan(text, self.written, source)
        kept = [number for number, step in enumerate(plan.steps) if step.action not in self.added]
        steps = tuple([self.lift(plan.steps[number]) for number in kept])
        if not plan.times:
            return Plan(steps, self.source)
        return price_plan(Plan(steps, self.source, times=tuple([plan.times[number] for number in kept])))

    def _find_cost(self, name: str, arguments: tuple[str, ...]) -> Number:
        if name not in self._costs:
            from planner.grounding.action_tables import make_price

            self._costs[name] = make_price(self.source.domain.actions[name], self.source)
        return self._costs[name](arguments)


def export(problem: Problem, level: Level | None = None, *, costs: bool = True, limits: Limits | None = None) -> Export:
    """Write `problem` as PDDL that Fast Downward, unified-planning and, on the level "strips", pyperplan read.

    Hard constraints become conditions and effects, as few planners read them. Risks and outcomes become `probabilistic`
    effects of PPDDL, which hardly any classical planner reads. Without a `level`, the lowest that says it with
    variables. With "strips", ground where nothing else will do. Without `costs` they are left out, for planners that do
    not know them; they are also where every action costs 1. Numbers are written as they are, on the level "adl"; bounds
    of functions become conditions of the actions that change them. Problems in time get durative actions, timed initial
    literals and metrics of time (PDDL 2.1, level 3, and 2.2).

    Raises `UnsupportedError` for what the level, or PDDL, cannot say, and `LimitReached` where `limits` does not
    suffice for grounding.
    """
    from planner.compilations.required_values import require_values

    refuse_creation(problem.domain, "in PDDL")
    source, problem = problem, require_values(problem)
    if asks_for_time(problem):
        return replace(_export_in_time(problem, level, costs=costs), source=source)
    hard = all(each.utility is None for each in problem.constraints)
    is_uncertain = any(action.is_uncertain for action in problem.domain.actions.values())
    if is_uncertain and level == "strips":
        raise UnsupportedError("uncertain outcomes in STRIPS", "leave out the level, or ask for 'adl'")
    numbers = is_numeric(problem)
    if numbers and level == "strips":
        raise UnsupportedError("numbers in STRIPS", "leave out the level, or ask for 'adl'")
    whole = to_plain_outcomes(problem) if is_uncertain else problem
    kept = _add_constants(compile_away(whole, *CONSTRAINED)) if problem.constraints and hard else whole
    refuse_unsayable(kept)
    limits = limits or Limits()
    plain = kept if is_uncertain else compile_away(kept, Construct.CHANGES)
    plain = with_tables(without_needless_costs(plain), limits) if costs else without_costs(plain)
    has_costs = counts_costs(plain)
    is_plain = level == "adl" or is_uncertain or numbers
    strips = None if is_plain else _compile_to_lifted_strips(plain, limits)
    steps: Mapping[str, Step] = {}
    if strips is None and level == "strips":
        strips, steps = ground_to_strips(plain, limits)
    simple = with_plain_types(strips or plain)
    chosen, factor = (require_bounds(simple), 1) if numbers else scale_to_integers(simple)
    names = Names.of(chosen)
    written = Renaming(names).problem(chosen)
    return Export(
        write_domain(written.domain, costs=has_costs, numbers=numbers),
        write_problem(written, costs=has_costs),
        "strips" if strips is not None else "adl",
        factor,
        source,
        written,
        {word: name for name, word in names.actions.items()},
        {word: name for name, word in names.objects.items()},
        steps,
    )


def _export_in_time(problem: Problem, level: Level | None, *, costs: bool) -> Export:
    if level == "strips":
        raise UnsupportedError("time in STRIPS", "leave out the level, or ask for 'adl'")
    form = compile_time(problem)
    refuse_unsayable(form.problem)
    whole = _add_constants(form.problem) if form.added else form.problem
    names = Names.of(whole)
    written = Renaming(names, in_time=True).problem(whole)
    has_costs = costs and counts_costs(written)
    numbers = is_numeric(written)
    return Export(
        write_domain(written.domain, costs=has_costs, numbers=numbers, timed=bool(written.timed)),
        write_problem(written, costs=has_costs),
        "adl",
        1,
        problem,
        written,
        {word: name for name, word in names.actions.items() if name not in form.added},
        {word: name for name, word in names.objects.items()},
        {},
        added=frozenset([names.actions[name] for name in form.added]),
    )


def _add_constants(problem: Problem) -> Problem:
    """Make constants of the objects that actions of `problem` mention."""
    formulas = [part for action in problem.domain.actions.values() for part in _conditions_and_effects(action)]
    named = {term for formula in formulas for atom in atoms_in(formula) for term in atom.args}
    equal = [part for formula in formulas for part in walk(formula) if isinstance(part, Equals)]
    named |= {term for part in equal for term in (part.left, part.right)}
    moved = tuple([each for each in problem.objects if each.name in named])
    objects = tuple([each for each in problem.objects if each.name not in named])
    domain = replace(problem.domain, constants=(*problem.domain.constants, *moved))
    return replace(problem, domain=domain, objects=objects)


def _conditions_and_effects(action: Action) -> Iterator[Formula]:
    yield action.requires
    for effect in action.effects:
        yield effect.requires
        yield from effect.provides


def _compile_to_lifted_strips(problem: Problem, limits: Limits) -> Problem | None:
    """Compile `problem` to lifted STRIPS, or return None where lifted STRIPS cannot express it."""
    from planner.compilations.strips import collect_delete_patterns, to_strips

    patterns = collect_delete_patterns(problem)
    if not patterns:
        return to_strips(problem)
    from planner.grounding.ground import find_single_valued

    limit = _PROOF_SECONDS if limits.remaining is None else min(_PROOF_SECONDS, limits.remaining)
    try:
        proved = find_single_valued(problem, patterns, Limits(limit, limits.memory_limit, limits.cancel))
    except LimitReached:
        return to_strips(problem)
    return to_strips(problem, [pattern for pattern, single in proved.items() if single])


_EXACT: Final = 60
"""Most digits of a product of two probabilities, which have up to 28 each."""
_DOCUMENTS: Final = "YAML and JSON documents say it (--to yaml)"


def to_plain_outcomes(problem: Problem) -> Problem:
    """Compile `problem` to plain ADL with outcomes that provide literals and modify open patterns only.

    A risk becomes an outcome that changes nothing. The intended outcome of each action is the first. Raises
    `UnsupportedError` for probabilities that depend on arguments, and for outcomes with different conditional effects.
    """
    if not any(action.is_uncertain for action in problem.domain.actions.values()):
        return compile_away(problem, Construct.CHANGES)
    from planner.compilations.determinization import fix_outcome

    if problem.constraints:
        raise UnsupportedError("constraints beside uncertain outcomes, in PDDL", _DOCUMENTS)
    most = max(len(action.outcomes) for action in problem.domain.actions.values())
    variants: list[Problem] = [
        compile_away(fix_outcome(problem, each), Construct.CHANGES) for each in range(max(most, 1))
    ]
    actions = {
        name: _join_outcomes(action, [each.domain.actions[name] for each in variants])
        for name, action in problem.domain.actions.items()
    }
    return replace(variants[0], domain=replace(variants[0].domain, actions=actions))


def find_unlikely(domain: DomainModel) -> list[str]:
    """Return the actions whose intended outcome is not the likeliest outcome with effects.

    PDDL has no intended outcome: our reader, for one, takes the likeliest.
    """
    found = []
    for action in domain.actions.values():
        pairs = zip(action.outcomes, split_common(action.outcomes)[1] if action.outcomes else (), strict=True)
        intended = [each.probability for each in action.outcomes if _is_intended(each, action)]
        others = [
            each.probability
            for each, rest in pairs
            if not _is_intended(each, action) and (rest.provides or rest.modifies or rest.numbers)
        ]
        if intended and others and max(others) > intended[0]:
            found.append(action.name)
    return found


def _is_intended(outcome: Outcome, action: Action) -> bool:
    of_action = (action.provides, action.modifies, action.numbers)
    return (outcome.provides, outcome.modifies, outcome.numbers) == of_action


def _join_outcomes(action: Action, variants: Sequence[Action]) -> Action:
    """Join the `variants` of `action`, one for each outcome, to an action with plain outcomes."""
    if not action.is_uncertain:
        return variants[0]
    if action.cases:
        raise UnsupportedError(f"probabilities of '{action.name}' that depend on its arguments, in PDDL", _DOCUMENTS)
    ways = variants[: max(len(action.outcomes), 1)]
    always = [tuple([each for each in way.when if not _is_retraction(each)]) for way in ways]
    if any(each != always[0] for each in always) or (action.risk and always[0]):
        construct = f"uncertain outcomes of '{action.name}' beside conditional effects that are not part of them all"
        raise UnsupportedError(f"{construct}, in PDDL", _DOCUMENTS)
    outcomes = _make_outcomes(action, ways)
    certain = replace(variants[0], provides=outcomes[0].provides, numbers=outcomes[0].numbers, when=always[0])
    return replace(certain, risk=Decimal(0), outcomes=outcomes)


def _make_outcomes(action: Action, ways: Sequence[Action]) -> tuple[Outcome, ...]:
    """Return the outcomes, the intended one first; a risk adds one without effects at the end."""
    shares = [each.probability for each in action.outcomes] or [Decimal(1)]
    intended = [_is_intended(each, action) for each in action.outcomes]
    with localcontext() as context:
        context.prec = _EXACT
        found = [
            Outcome(
                share * (1 - action.risk),
                way.provides,
                tuple(map(_make_pattern, filter(_is_retraction, way.when))),
                numbers=way.numbers,
            )
            for share, way in zip(shares, ways, strict=True)
        ]
    first = intended.index(True) if True in intended else 0
    nothing = [Outcome(action.risk)] if action.risk else []
    return (found[first], *found[:first], *found[first + 1 :], *nothing)


def _is_retraction(effect: When) -> bool:
    """Return whether `effect` retracts all facts of one pattern, whatever holds."""
    match effect.requires, effect.provides:
        case required, (Not(Atom() as atom),) if required == TRUE and effect.variables:
            return all(atom.args.count(variable.name) == 1 for variable in effect.variables)
    return False


def _make_pattern(effect: When) -> Atom:
    """Make the pattern of the facts that the retraction `effect` covers."""
    (literal,) = effect.provides
    assert isinstance(literal, Not)
    assert isinstance(literal.part, Atom)
    return literal.part.substitute({variable.name: OPEN for variable in effect.variables})


def determinize(domain: DomainModel) -> DomainModel:
    """Return `domain` with the intended outcome of each action alone: its single-outcome determinization.

    Source: Yoon, Fern and Givan (2007, "FF-Replan").
    """
    certain = {name: replace(action, outcomes=(), risk=Decimal(0), cases=()) for name, action in domain.actions.items()}
    return replace(domain, actions=certain)
