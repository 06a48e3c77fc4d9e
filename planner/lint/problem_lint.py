"""Lint a domain or a problem: report likely mistakes without planning.

For a problem, relaxed reachability, with every outcome and every value of unknown facts, finds actions that never apply
and goals that nothing achieves. Constraints, budgets, the deadline and sensing are checked, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.compilations.creation_rounds import add_enough_placeholders
from planner.compilations.determinization import OutcomeOf, determinize
from planner.compilations.normal_form import NormalProblem, normalise
from planner.compilations.object_creation import for_steps
from planner.compilations.unread_numbers import relax_unread
from planner.grounding.joins import Row
from planner.grounding.reachability import Database, Reachability, SchemaRules, axiom_rules, schema_rules
from planner.lightweight import Final, replace
from planner.limits import LimitReached, Limits
from planner.lint.action_lint import check_action, check_arguments, check_single_values, find_contradiction
from planner.lint.balance_lint import check_balances, check_divisors
from planner.lint.cost_lint import MOST, check_amounts, check_costs, check_free_actions, check_values
from planner.lint.findings import (
    Finding,
    Level,
    check_predicates,
    check_stale,
    check_types,
    check_undeclared,
    check_unmentioned,
    collect_usage,
    conjoined_atoms,
    givers_of,
    wanted_atoms,
)
from planner.lint.given_back_lint import check_given_back
from planner.lint.inverse_lint import check_inverses
from planner.lint.item_lint import check_functional, check_goal_values, check_items
from planner.lint.likeness_lint import check_likeness
from planner.lint.metric_lint import check_endless_metric, check_given_goals
from planner.lint.number_lint import check_number_reach, check_numbers
from planner.lint.pair_lint import check_copies, check_kept, check_moves, check_pairs, check_undoing
from planner.lint.parameter_lint import check_parameters
from planner.lint.proof_lint import add_causes, check_exclusive_conditions, judge_by_proof
from planner.lint.role_lint import check_facts, check_roles
from planner.lint.timed_lint import (
    check_early_conditions,
    check_ended,
    check_late_numbers,
    check_moments,
    check_throughout,
    check_time,
    check_units,
    flatten_moments,
    with_timed_effects,
)
from planner.lint.trap_lint import (
    check_dead_ends,
    check_goal_given,
    check_lost_goals,
    check_useless,
    find_relevant_actions,
)
from planner.model.actions import Action, Constraint, ConstraintKind, Done, Happening
from planner.model.domain import DomainModel, TypeHierarchy, lists_patterns, resources_of, uncertain_actions
from planner.model.formulas import (
    OPEN,
    Atom,
    Exists,
    Forall,
    Object,
    Variable,
    atoms_in,
    comparisons_in,
    conjuncts,
    free_variables,
    is_variable,
    literals_in,
    unmarked,
)
from planner.model.problem import Problem, is_temporal
from planner.model.unknown_numbers import find_unread, known_fact
from planner.plan import StoppedBy
from planner.problem_kinds import AnyProblem, check_classical
from planner.semantics.simulation import Simulation
from planner.semantics.snap_actions import make_snap_problem

if TYPE_CHECKING:
    from planner.explain.single_repairs import Repair

_SUPPOSE: Final = "@suppose-"
_LISTED: Final = "@listed-"
"""Begins the names of objects that stand for those that turn up."""
MOST_STEPS: Final = 3000
"""Ground actions of a problem in which dead ends, and two values of an item in the goal, are looked for."""


REACH_SHARE: Final = 0.5
"""Part of the time of a check in which relaxed reachability has to come to its end."""


@dataclass(frozen=True, slots=True)
class Possible:
    """The reachable actions, by name, and facts of the delete relaxation.

    `undefined` has rows of the schemas that apply to reachable facts but for an amount without a value.
    """

    normal: NormalProblem
    actions: frozenset[str]
    facts: Database
    schemas: tuple[SchemaRules, ...]
    undefined: tuple[tuple[SchemaRules, list[Row]], ...] = ()

    def holds(self, pattern: Atom) -> bool:
        """Return whether some fact that `pattern` covers is reachable; variables match everything."""
        rows = self.facts.relation(pattern.predicate).rows
        if pattern.is_ground:
            return pattern.args in rows
        template = [None if is_variable(arg) else arg for arg in pattern.args]
        return any(all(wanted in (None, arg) for wanted, arg in zip(template, row, strict=True)) for row in rows)

    def has_any(self, predicate: str) -> bool:
        """Return whether `predicate` has reachable facts."""
        return predicate in self.facts.growing or bool(self.facts.relation(predicate).rows)


def relax(problem: Problem, limits: Limits) -> Possible:
    """Compute relaxed reachability in `problem`, with every outcome, all unknown facts, and all that may be listed.

    Raises `LimitReached`.
    """
    source = _add_listed(problem) if lists_patterns(problem.domain) else problem
    source = _provide_unknown_facts(source) if source.unknown else source
    ways: Mapping[str, OutcomeOf] = {}
    if uncertain_actions(problem.domain):
        found = determinize(source)
        source, ways = found.problem, found.ways
    normal = normalise(source)
    schemas, axioms = schema_rules(normal), axiom_rules(normal)
    database = Database(normal.problem, normal.fluent | normal.derived)
    rules = [rule for schema in schemas for rule in schema.reachable]
    reachability = Reachability(database, limits)
    reachability.run([*rules, *(axiom.rule for axiom in axioms)])
    undefined = tuple([(each, reachability.find_undefined(each.rule, MOST)) for each in schemas])
    applied = [schema.schema.action.name for schema in schemas if schema.rule.found.rows]
    names = frozenset([ways[name].action if name in ways else name for name in applied])
    return Possible(normal, names, database, tuple(schemas), undefined)


def _add_listed(problem: Problem) -> Problem:
    """Add to `problem` an object for each type that listings may name, and leave the items of listings unknown."""
    lists = [pattern for action in problem.domain.actions.values() for pattern in action.lists]
    patterns = [Atom(x.predicate, tuple([OPEN if is_variable(arg) else arg for arg in x.args])) for x in lists]
    kinds = {kind.types: None for each in patterns for kind in problem.domain.predicates[each.predicate].parameters}
    listed = [Object(f"{_LISTED}{number}", types) for number, types in enumerate(kinds)]
    unknown = tuple(dict.fromkeys([*problem.unknown, *patterns]))
    return replace(problem, objects=(*problem.objects, *listed), unknown=unknown)


def _provide_unknown_facts(problem: Problem) -> Problem:
    """Add actions to `problem` that provide its unknown facts."""
    suppositions = {}
    for number, pattern in enumerate(problem.unknown):
        kinds = problem.domain.predicates[pattern.predicate].parameters
        args = [f"?x{place}" if arg == OPEN else arg for place, arg in enumerate(pattern.args)]
        variables = [Variable(arg, kind.types) for arg, kind in zip(args, kinds, strict=True) if is_variable(arg)]
        name = f"{_SUPPOSE}{number}"
        suppositions[name] = Action(name, tuple(variables), provides=(Atom(pattern.predicate, tuple(args)),))
    domain = replace(problem.domain, actions={**problem.domain.actions, **suppositions})
    return replace(problem, domain=domain, unknown=())


def check_reach(problem: Problem, reach: Possible) -> Iterator[Finding]:
    """Yield the actions that never apply in `problem`, and the goal facts that no action achieves.

    Reachability ignores deletes, so that every finding is certain, but some may be missing.
    """
    members = TypeHierarchy(problem.domain.types).objects_by_type(_add_listed(problem).all_objects)
    lacking = {rules.schema.action.name for rules, rows in reach.undefined if rows}
    for action in problem.domain.actions.values():
        if action.name in reach.actions or action.name in lacking:
            continue
        if find_contradiction(action.requires) is None:
            yield from _explain_never_applies(action, members, reach, problem)
    yield from _check_wholes(problem)
    yield from _check_unread(problem, reach)
    yield from _check_goal(problem, reach)


def _check_wholes(problem: Problem) -> Iterator[Finding]:
    """Yield actions that need a fact of all objects, where nothing gives such facts and no objects have them all."""
    usage = collect_usage(problem.domain)
    unsure = {each.predicate for each in problem.unknown}
    for action in problem.domain.actions.values():
        for part in conjuncts(action.requires):
            literals = [*literals_in(part)] if isinstance(part, Forall) else []
            needed = [atom for atom, truth in literals if truth]
            falling = [atom for atom, truth in literals if not truth and atom.predicate in usage.ended]
            changes = any(x.predicate in usage.provided or x.predicate in unsure for x in needed)
            if not needed or falling or changes or any(True for _ in comparisons_in(part)) or problem.timed:
                continue
            free = free_variables(part)
            whole = Exists(tuple([each for each in action.parameters if each.name in free]), part)
            if not Simulation(for_steps(replace(problem, unknown=()), [])).holds(whole if free else part):
                message = f"it can never apply: {unmarked(part)}, which does not hold, and no action gives such a fact"
                hint = f"should it be not {unmarked(needed[0])}?" if needed[0].predicate in usage.ended else ""
                place = f"action {action.name}"
                yield Finding(Level.HINT, "never-applies", place, message, hint, "requires", needed[0])


def _explain_never_applies(
    action: Action, members: dict[str, list[str]], reach: Possible, problem: Problem
) -> Iterator[Finding]:
    """Yield why `action` never applies, unless a predicate has no facts at all: that is a finding itself."""
    place = f"action {action.name}"
    empty = [parameter for parameter in action.parameters if not any(members.get(name) for name in parameter.types)]
    missing = [atom for atom in conjoined_atoms(action.requires) if not reach.holds(atom)]
    if empty:
        message = f"it can never apply: there is no object for {empty[0]}"
        name = empty[0].name.removeprefix("?")
        hint = _suggest_type(action, empty[0], problem)
        yield Finding(Level.HINT, "empty-type", place, message, hint, "parameters", name)
    elif all(reach.has_any(atom.predicate) for atom in missing):
        reason, when = "no objects satisfy all of what it requires", "neither initially nor after any action"
        if missing:
            reason, when = f"no fact matches {missing[0]}", _describe_lack(missing[0], problem)
        message, part = f"it can never apply: {reason}, {when}", missing[0] if missing else ""
        yield Finding(Level.HINT, "never-applies", place, message, "", "requires", part)


def _describe_lack(atom: Atom, problem: Problem) -> str:
    """Return why no fact that `atom` covers is ever true, where none is stated."""
    givers = [each.name for each in givers_of(problem.domain).get(atom.predicate, ())]
    if not givers:
        return "neither initially nor after any action"
    more = f" and {len(givers) - 1} more" if len(givers) > 1 else ""
    return f"initially, and after no step that can be done: action {givers[0]}{more} would provide it"


def _suggest_type(action: Action, parameter: Variable, problem: Problem) -> str:
    """Return which object stands in an initial fact where `parameter`, whose type has no object, would."""
    kinds = {each.name: each.types for each in problem.all_objects}
    for atom in conjoined_atoms(action.requires):
        for place in [n for n, arg in enumerate(atom.args) if arg == parameter.name]:
            fact = next((x for x in problem.initial if x.predicate == atom.predicate), None)
            if fact is not None and fact.args[place] in kinds:
                types, wanted = " or ".join(kinds[fact.args[place]]), " or ".join(parameter.types)
                return (
                    f"{fact} is stated, and {fact.args[place]} is of type {types}, which is no {wanted}: should it be?"
                )
    return ""


def _check_goal(problem: Problem, reach: Possible) -> Iterator[Finding]:
    clash = find_contradiction(problem.goal.hard)
    if clash is not None:
        yield Finding(Level.ERROR, "contradicting-goal", "goal", f"it contradicts itself ({clash})")
        return
    for atom in reach.normal.goal.atoms:
        if not reach.holds(atom):
            written = reach.normal.written.get(atom, atom)
            part = next(atoms_in(written), atom)
            yield Finding(Level.ERROR, "unreachable-goal", "goal", f"nothing can bring about {written}", part=part)


def check_demands(problem: Problem) -> Iterator[Finding]:
    """Yield the findings about the budgets, the deadline and the sensing of `problem`."""
    yield from _check_budgets(problem)
    yield from _check_deadline(problem)
    yield from _check_sensing(problem)


def check_constraints(problem: Problem, reach: Possible) -> Iterator[Finding]:
    """Yield the constraints of `problem` that no plan keeps, and those that every plan keeps."""
    if problem.constraints:
        known = for_steps(replace(problem, unknown=()), [])
        start = Simulation(make_snap_problem(known).problem if is_temporal(known) else known)
        unsure = {*problem.domain.derived, *(each.predicate for each in problem.unknown)} if problem.unknown else set()
        for constraint in problem.constraints:
            yield from _find_broken(constraint, start, unsure) or _find_idle(constraint, reach)


def _find_broken(constraint: Constraint, start: Simulation, unsure: set[str]) -> list[Finding]:
    """Return the finding that the initial state breaks `constraint`, if it does for certain: without `unsure` facts."""
    match constraint.kind:
        case ConstraintKind.ALWAYS:
            condition, bad, what = constraint.what, False, "it does not hold in the initial state"
        case ConstraintKind.AT_MOST if constraint.times == 0:
            condition, bad, what = constraint.what, True, "it is so in the initial state already"
        case ConstraintKind.BEFORE if constraint.other is not None:
            condition, bad, what = constraint.other, True, f"{constraint.other} in the initial state already"
        case _:
            return []
    if isinstance(condition, Done) or not unsure.isdisjoint(atom.predicate for atom in atoms_in(condition)):
        return []
    return [_report_unkept(constraint, "broken-constraint", what)] if start.holds(condition) is bad else []


def _find_idle(constraint: Constraint, reach: Possible) -> Iterator[Finding]:
    """Yield a happening of `constraint` that never happens."""
    kind, what, other = constraint.kind, constraint.what, constraint.other
    if kind is ConstraintKind.ALWAYS:
        return
    impossible = _is_impossible(what, reach)
    if kind is ConstraintKind.SOMETIME:
        if impossible:
            yield _report_unkept(constraint, "unreachable-constraint", "nothing can bring it about")
    elif other is not None and _is_impossible(other, reach):
        yield _report(Level.HINT, constraint, "idle-constraint", f"{other} can never be: it asks for nothing")
    elif impossible and kind is ConstraintKind.BEFORE:
        message = f"{what} can never be, so that {other} may not, either"
        yield _report(Level.WARNING, constraint, "forbidding-constraint", message)
    elif impossible:
        yield _report(Level.HINT, constraint, "idle-constraint", f"{what} can never be: it asks for nothing")


def _is_impossible(happening: Happening, reach: Possible) -> bool:
    if isinstance(happening, Done):
        return happening.action.predicate not in reach.actions
    if find_contradiction(happening) is not None:
        return True
    return any(not reach.holds(atom) for atom in conjoined_atoms(happening))


def _report_unkept(constraint: Constraint, rule: str, message: str) -> Finding:
    """Make the finding that no plan keeps `constraint`: an error unless it is soft."""
    return _report(Level.ERROR if constraint.utility is None else Level.WARNING, constraint, rule, message)


def _report(level: Level, constraint: Constraint, rule: str, message: str) -> Finding:
    return Finding(level, rule, f"constraint '{constraint}'", message)


def _check_budgets(problem: Problem) -> Iterator[Finding]:
    used = resources_of(problem.domain)
    if any(name in problem.budgets for name in used):
        for name in used:
            if name not in problem.budgets:
                message = "actions use it, and it has no budget, though other resources do"
                yield Finding(Level.HINT, "no-budget", f"resource {name}", message)


def _check_deadline(problem: Problem) -> Iterator[Finding]:
    if problem.deadline is None:
        return
    actions = problem.domain.actions.values()
    untimed = [action.name for action in actions if action.duration is None]
    if len(untimed) == len(actions):
        message = "no action has a duration: every plan takes no time"
        yield Finding(Level.WARNING, "untimed-deadline", "deadline", message)
    elif untimed:
        others = f" and {len(untimed) - 1} more" if len(untimed) > 1 else ""
        message = f"{untimed[0]}{others} without a duration: such steps take no time"
        yield Finding(Level.HINT, "untimed-action", "deadline", message)


def _check_sensing(problem: Problem) -> Iterator[Finding]:
    unknown = {pattern.predicate for pattern in problem.unknown}
    for action in problem.domain.actions.values():
        looks = [pattern for pattern in action.senses if pattern not in action.lists]
        if looks and unknown.isdisjoint(pattern.predicate for pattern in looks):
            message = f"it senses {unmarked(action.senses[0])}, and no such fact is declared unknown"
            yield Finding(Level.HINT, "nothing-to-sense", f"action {action.name}", message)
        unread = find_unread(problem) if action.measures else []
        if action.measures and not any(_may_measure(pattern, term) for pattern in action.measures for term in unread):
            message = f"it senses {unmarked(action.measures[0])}, and no such number is declared unknown"
            yield Finding(Level.HINT, "nothing-to-sense", f"action {action.name}", message)


def _may_measure(pattern: Atom, term: Atom) -> bool:
    """Return whether a step may measure `term`, whose action measures `pattern`."""
    opened = [OPEN if is_variable(arg) else arg for arg in pattern.args]
    return Atom(pattern.predicate, tuple(opened)).matches(term)


def _check_unread(problem: Problem, reach: Possible) -> Iterator[Finding]:
    """Yield the unknown numbers that some action or the goal reads, and that no step can tell."""
    untold = [term for term in find_unread(problem) if not reach.holds(known_fact(term))]
    read = {atom.predicate for action in problem.domain.actions.values() for atom in atoms_in(action.requires)}
    read |= {atom.predicate for atom in atoms_in(problem.goal.hard)}
    for term in untold:
        if known_fact(term).predicate in read:
            message = f"{term} is unknown, and no step that can be done tells it: what reads it can never be done"
            hint = f"let an action that can be done sense {term}"
            yield Finding(Level.WARNING, "untold-number", "unknown", message, hint, part=term)


def check_domain(domain: DomainModel) -> list[Finding]:
    """Lint `domain` without objects; return the findings, the worst first."""
    times = [*check_throughout(domain), *check_units(domain), *check_kept(domain), *check_moments(domain)]
    domain = flatten_moments(domain)
    found = [*times, *_check_declarations(domain, None), *check_undeclared(domain), *check_items(domain)]
    return _merge_breaches(sort_by_level(found))


def check_problem(
    problem: Problem, limits: Limits | None = None, *, prove: bool = True, search: bool = True
) -> list[Finding]:
    """Lint `problem` and its domain; return the findings, the worst first.

    With `prove`, a short search looks for a proof that there is no plan; with `search`, others look for dead ends and
    for facts that exclude each other. Raises `LimitReached`, and `InputError` for what is no classical problem.
    """
    check_classical(problem, "check_problem", "htn.problem_kind.check(problem, limits) checks it")
    limits = limits or Limits()
    source, domain = problem, problem.domain
    times = [*check_time(problem), *check_throughout(domain), *check_kept(domain), *check_moments(domain)]
    times += [*check_ended(problem), *check_late_numbers(problem), *check_early_conditions(problem)]
    problem = replace(problem, domain=flatten_moments(problem.domain))
    found = [
        *times,
        *_check_declarations(problem.domain, problem),
        *check_unmentioned(problem),
        *check_demands(problem),
        *check_items(problem.domain, problem),
        *check_moves(problem),
        *check_facts(problem),
        *check_goal_given(problem),
        *check_lost_goals(problem),
        *check_given_goals(problem),
        *check_endless_metric(problem),
        *check_divisors(problem),
        *check_useless(problem),
    ]
    enough = add_enough_placeholders(problem)
    reach = _relax_in_part(enough, limits) if enough is not None else None
    if enough is not None and reach is None:
        message = "it is too large to find out in this time what can be reached: only its declarations are checked"
        unexplored = Finding(Level.HINT, "unexplored", f"problem {problem.name}", message, "raise the time limit")
        return _merge_breaches(sort_by_level([*found, unexplored]))
    parts = Parts()
    if enough is not None and reach is not None:
        found += [*check_reach(enough, reach), *check_constraints(problem, reach)]
        numbers = relax_unread(problem) if find_unread(problem) else problem
        found += check_number_reach(numbers, reach.actions) if numbers is not None else ()
        found += check_amounts(problem, reach.undefined, reach.actions)
        found += check_values(problem, reach.schemas)
        if not any(each.rule == "no-value" and each.level is Level.ERROR for each in found):
            with parts.check("the values of items"):
                found += check_costs(enough, reach.schemas)
                found += check_single_values(enough, limits)
                found += check_functional(enough, limits)
            size = sum(len(each.rule.found.rows) for each in reach.schemas)
            if size <= MOST_STEPS and search:
                with parts.check("facts that exclude each other"):
                    found += check_goal_values(enough, limits, reach.holds)
                    known = {each.place for each in found if each.rule == "contradicting-requires"}
                    clashes = check_exclusive_conditions(enough, reach.schemas, limits)
                    found += [each for each in clashes if each.place not in known]
                with parts.check("dead ends"):
                    found += check_dead_ends(problem, limits, lambda each: _is_hopeless(each, limits))
    with parts.check("whether there is a plan"):
        found = add_causes(found, enough or problem, problem, limits)
        if prove:
            relevant = find_relevant_actions(problem)
            found = judge_by_proof(source, found, limits, relevant, repairs=lambda: _repairs(source), judge=_look_again)
    return _merge_breaches(sort_by_level([*found, *parts.tell(problem.name)]))


class Parts:
    """The parts of a check that a limit of time or memory ended: what was found until then is kept."""

    def __init__(self) -> None:
        self._left: list[str] = []

    @contextmanager
    def check(self, what: str) -> Iterator[None]:
        """Keep what is found in the block if a limit ends it; a check that is called off ends."""
        try:
            yield
        except LimitReached as limit:
            if limit.stopped_by is StoppedBy.CANCELLED:
                raise
            self._left.append(what)

    def tell(self, name: str) -> Iterator[Finding]:
        """Yield what remained unchecked in the problem `name`."""
        if self._left:
            message = f"time or memory ended before this was checked: {', '.join(self._left)}"
            yield Finding(Level.HINT, "unexplored", f"problem {name}", message, "raise the time limit")


def _relax_in_part(problem: Problem, limits: Limits) -> Possible | None:
    """Compute relaxed reachability in `REACH_SHARE` of the time; None where that does not suffice."""
    try:
        return relax(with_timed_effects(problem), limits.share(REACH_SHARE))
    except LimitReached as limit:
        if limit.stopped_by is StoppedBy.CANCELLED:
            raise
        return None


def _repairs(problem: Problem) -> Sequence[Repair]:
    from planner.explain.single_repairs import list_repairs

    return list_repairs(problem)


def _look_again(problem: AnyProblem, limits: Limits) -> list[Finding]:
    """Lint a repaired problem, without a proof that there is a plan."""
    assert isinstance(problem, Problem)
    return check_problem(problem, limits, prove=False, search=False)


def _is_hopeless(problem: Problem, limits: Limits) -> bool:
    """Return whether the goal of `problem` is out of reach even if no fact ever ended."""
    reach = relax(problem, limits)
    return any(not reach.holds(atom) for atom in reach.normal.goal.atoms)


def _merge_breaches(findings: list[Finding]) -> list[Finding]:
    """Leave out that an item may have several values where the action or fact is known that gives it a second one."""
    broken = {each.place for each in findings if each.rule == "contradicting-requires" and each.field == "throughout"}
    findings = [x for x in findings if x.place not in broken or x.field == "throughout" or x.rule not in _CLASHES]
    known = {str(each.part).partition("(")[0] for each in findings if each.rule in _BREACHES}
    if any(each.rule == "unlike-pair" for each in findings):  # items are lost where such a pair is broken
        findings = [each for each in findings if each.rule not in _DOUBTS or _is_doubt(each)]
    known |= {str(x.part).partition("(")[0] for x in findings if x.rule == "several-values" and _is_doubt(x)}
    return [
        each
        for each in findings
        if each.rule != "several-values" or _is_doubt(each) or str(each.part).partition("(")[0] not in known
    ]


def _is_doubt(finding: Finding) -> bool:
    """Return whether `finding` says that the problem itself speaks against the one value of an item."""
    return finding.message.endswith("have several")


_CLASHES: Final = frozenset({"contradicting-requires", "never-applies"})
_DOUBTS: Final = frozenset({"several-values", "unproved-functional"})
_BREACHES: Final = frozenset({"second-value", "not-functional", "two-initial-values", "unproved-functional"})


def _check_declarations(domain: DomainModel, problem: Problem | None) -> Iterator[Finding]:
    yield from check_arguments(domain)
    for action in domain.actions.values():
        yield from check_action(action, domain)
    uses = collect_usage(domain)
    yield from check_predicates(domain, uses, problem)
    yield from check_stale(domain, uses, problem)
    yield from check_pairs(domain)
    yield from check_numbers(domain, problem)
    yield from check_roles(domain, problem)
    yield from check_free_actions(domain, problem)
    wanted = frozenset(atom.predicate for atom in wanted_atoms(problem)) if problem else frozenset[str]()
    yield from check_given_back(domain, wanted)
    yield from check_undoing(domain)
    yield from check_inverses(domain)
    yield from check_likeness(domain)
    yield from check_copies(domain)
    yield from check_parameters(domain)
    yield from check_balances(domain)
    yield from check_types(domain)


def sort_by_level(findings: list[Finding]) -> list[Finding]:
    """Sort `findings` by their levels, and otherwise keep their order."""
    order = list(Level)
    return sorted(findings, key=lambda finding: order.index(finding.level))
