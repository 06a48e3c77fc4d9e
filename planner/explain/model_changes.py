"""The smallest changes of actions that give an unsolvable problem a plan, with that plan.

    a condition dropped   an action no longer requires a part of its `requires`
    an effect added       an action also provides a fact about its parameters
    an action added       it needs what holds about the objects of missing facts, and gives these facts

The first two are found by planning, as changes of facts are (Göbelbecker, Keller, Eyerich, Brenner and Nebel, 2010;
for actions, Lin, Grastien and Bercher, 2023): a fact for each candidate switches it on, and may be assumed at a price
before the first step. A change counts once, however often the plan uses the action.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, permutations

from planner.compilations import reserve_name
from planner.compilations.passes import compile_away
from planner.explain.excuses import (
    DEEPER,
    PRICE,
    UNNAMED,
    Assumption,
    add_assumptions,
    assume_prefix,
    bound_assumptions,
    split_plan,
)
from planner.explain.smallest_change import Change, FewestFound, add_missing_values
from planner.lightweight import Any, Final, dataclass, replace
from planner.limits import Limits, Stop
from planner.model import Action, Atom, Formula, Problem, TypeHierarchy
from planner.model.actions import When
from planner.model.constructs import Construct, has
from planner.model.domain import Predicate, lists_patterns
from planner.model.formulas import Or, Variable, atoms_in, conjunction, conjuncts, unmarked
from planner.model.problem import is_numeric, is_temporal, seal_like
from planner.options import ANY_PLAN, SolveOptions
from planner.plan import Plan, Result, Status
from planner.problem_kinds import resolve_classical
from planner.semantics.simulation import price_steps
from planner.validation.validate import check_steps

MOST_EFFECTS: Final = 200
"""Most effects that are candidates."""
SHARES: Final = (0.5, 0.7, 1.0)
"""The parts of the time that is left for conditions, effects and a new action."""


@dataclass(frozen=True, slots=True)
class ActionChange:
    """A change of the action `name`: a part of its condition that it does not require, or a fact that it also gives."""

    name: str
    dropped: Formula | None = None
    added: Atom | None = None

    def __str__(self) -> str:
        if self.dropped is not None:
            return f"{self.name} did not require {unmarked(self.dropped)}"
        return f"{self.name} also provided {unmarked(self.added)}"

    def apply(self, action: Action, switch: Formula | None = None) -> Action:
        """Return the changed action; with a `switch`, changed only where that holds."""
        if self.dropped is not None:
            parts = [part for part in conjuncts(action.requires) if part != self.dropped]
            optional = [] if switch is None else [Or((self.dropped, switch))]
            return replace(action, requires=conjunction([*parts, *optional]))
        assert self.added is not None
        if switch is None:
            return replace(action, provides=(*action.provides, self.added))
        return replace(action, when=(*action.when, When(switch, (self.added,))))

    def to_dict(self) -> dict[str, Any]:
        """Return the change as JSON-ready data."""
        kind = "requires" if self.dropped is not None else "provides"
        text = unmarked(self.dropped if self.dropped is not None else self.added)
        return {"action": self.name, "change": "dropped" if self.dropped is not None else "added", kind: text}


@dataclass(frozen=True, slots=True)
class NewAction:
    """The shape of an action that is missing: what it `needs`, and what it `gives`."""

    action: Action

    def __str__(self) -> str:
        gives = ", ".join(map(unmarked, self.action.provides))
        needs = ", ".join(map(unmarked, conjuncts(self.action.requires)))
        return f"there were an action ({self._parameters}) that gives {gives}{f' and needs {needs}' if needs else ''}"

    @property
    def _parameters(self) -> str:
        return ", ".join([f"{each.name.removeprefix('?')}: {'|'.join(each.types)}" for each in self.action.parameters])

    def to_dict(self) -> dict[str, Any]:
        """Return the shape as JSON-ready data."""
        return {
            "parameters": {each.name.removeprefix("?"): list(each.types) for each in self.action.parameters},
            "needs": [unmarked(part) for part in conjuncts(self.action.requires)],
            "gives": [unmarked(each) for each in self.action.provides],
        }


@dataclass(frozen=True, slots=True)
class ModelChange:
    """Changes of actions with which `plan` solves the problem; `plan.problem` is the changed one.

    No fewer than `at_least` changes of the same kind suffice, among those that were considered.
    """

    changes: tuple[ActionChange | NewAction, ...]
    plan: Plan
    at_least: int

    @property
    def proved_smallest(self) -> bool:
        """Whether no smaller set of changes of this kind suffices."""
        return len(self.changes) <= self.at_least

    def lines(self) -> Iterator[str]:
        """Yield lines for people."""
        known = "" if self.proved_smallest or len(self.changes) == 1 else " (fewer may do)"
        yield f"{' and '.join(map(str, self.changes))}{known}; then a plan costs {self.plan.cost}:"
        yield from (f"  {line}" for line in str(self.plan).splitlines())

    def to_dict(self) -> dict[str, Any]:
        """Return the change as JSON-ready data."""
        return {
            "changes": [each.to_dict() for each in self.changes],
            "at_least": self.at_least,
            "proved_smallest": self.proved_smallest,
            "plan": self.plan.to_dict(),
        }


def find_model_changes(
    problem: Problem, limits: Limits, missing: Iterable[str] = (), facts: Change | None = None
) -> tuple[ModelChange, ...]:
    """Return the smallest changes of actions that are found within `limits`, at most one of each kind.

    `problem` is proved to have no plan. Facts of the predicates `missing` are the first that are added; `facts` is a
    change of facts that would help, from which the shape of a new action follows. Nothing is found for problems in
    time, with new objects, or with unknown facts. Raises `InputError` for mistakes in the problem.
    """
    problem = resolve_classical(problem, "find_model_changes", "ask about its part without tasks: problem.classical")
    domain = problem.domain
    if is_temporal(problem) or has(problem, Construct.UNKNOWN, Construct.CREATION) or lists_patterns(domain):
        return ()
    missing = frozenset(missing)
    drops, effects, new = (limits.share(part) for part in SHARES)
    found = [
        _search(problem, dict(_droppable(problem, missing)), drops),
        _search(problem, dict(islice(_addable(problem, missing), MOST_EFFECTS)), effects),
        None if facts is None else _shape_action(problem, facts, new),
    ]
    return tuple([each for each in found if each is not None])


def _droppable(problem: Problem, missing: frozenset[str]) -> Iterator[tuple[ActionChange, int]]:
    """Yield the changes that drop one part of the condition of an action, with their prices: missing ones are cheap."""
    for action in problem.domain.actions.values():
        for part in dict.fromkeys(conjuncts(action.requires)):
            is_missing = any(atom.predicate in missing for atom in atoms_in(part))
            yield ActionChange(action.name, dropped=part), PRICE if is_missing else PRICE + UNNAMED


def _addable(problem: Problem, missing: frozenset[str]) -> Iterator[tuple[ActionChange, int]]:
    """Yield the changes that add an effect, with their prices: facts that some condition or the goal reads.

    Missing ones come first, then those that are no part of the goal.
    """
    domain, hierarchy = problem.domain, TypeHierarchy(problem.domain.types)
    wanted = [atom.predicate for atom in atoms_in(problem.goal.hard)]
    read = [atom.predicate for action in domain.actions.values() for atom in atoms_in(action.requires)]
    names = [name for name in dict.fromkeys([*read, *wanted]) if name not in domain.derived]
    for name in sorted(names, key=lambda name: (name not in missing, name in wanted)):
        price = PRICE + (UNNAMED if name in missing and name not in wanted else DEEPER)
        for action in domain.actions.values():
            given = {literal for literal in action.provides if isinstance(literal, Atom)}
            for atom in _bind(domain.predicates[name], action.parameters, hierarchy):
                if atom not in given:
                    yield ActionChange(action.name, added=atom), price


def _bind(predicate: Predicate, parameters: Sequence[Variable], hierarchy: TypeHierarchy) -> Iterator[Atom]:
    """Yield the atoms of `predicate` about different ones of these parameters."""
    for chosen in permutations(parameters, len(predicate.parameters)):
        pairs = zip(chosen, predicate.parameters, strict=True)
        if all(all(hierarchy.is_a((kind,), wanted.types) for kind in mine.types) for mine, wanted in pairs):
            yield Atom(predicate.name, tuple([each.name for each in chosen]))


def _search(problem: Problem, prices: Mapping[ActionChange, int], limits: Limits) -> ModelChange | None:
    """Return the smallest set of these changes that gives a plan, as far as it is found within `limits`."""
    from planner.solve import answer

    candidates = list(prices)
    if not candidates or limits.remaining == 0:
        return None
    taken = {*problem.domain.predicates}
    switches = [Atom(reserve_name(f"change {number}", taken)) for number in range(len(candidates))]
    switched = _switch(problem, dict(zip(candidates, switches, strict=True)))
    plain = switched if is_numeric(problem) else compile_away(switched, Construct.CHANGES)
    made = [Assumption(switch, price=prices[each]) for each, switch in zip(candidates, switches, strict=True)]
    prefix = assume_prefix(plain)
    enough = FewestFound(lambda plan: len(split_plan(plan.steps, prefix, made)[0]), 1)
    options = SolveOptions().within(limits, cancel=Stop(limits.cancel, enough.is_over), on_progress=enough.watch)
    result = answer(add_missing_values(add_assumptions(plain, made)), options)
    if result.plan is None:
        return None
    assumed, steps = split_plan(result.plan.steps, prefix, made)
    chosen = [candidates[made.index(each)] for each in assumed if isinstance(each, Assumption)]
    return _make_change(problem, chosen, Plan(tuple(steps), problem), result)


def _switch(problem: Problem, switches: Mapping[ActionChange, Atom]) -> Problem:
    """Return the problem in which each change is made where its switch holds."""
    actions = dict(problem.domain.actions)
    for change, switch in switches.items():
        actions[change.name] = change.apply(actions[change.name], switch)
    predicates = {switch.predicate: Predicate(switch.predicate) for switch in switches.values()}
    domain = replace(problem.domain, actions=actions, predicates={**problem.domain.predicates, **predicates})
    return seal_like(replace(problem, domain=domain), problem)


def _make_change(problem: Problem, chosen: Sequence[ActionChange], plan: Plan, result: Result) -> ModelChange | None:
    """Return the change with its plan, checked on the changed problem; None where it does not work after all."""
    kept = list(chosen)
    for each in chosen:
        fewer = [other for other in kept if other is not each]
        if check_steps(_change_actions(problem, fewer), plan.steps).valid:
            kept = fewer
    changed = _change_actions(problem, kept)
    if not kept or not check_steps(changed, plan.steps).valid:
        return None
    at_least = max(1, bound_assumptions(result.lower_bound or 0))
    return ModelChange(tuple(kept), Plan(price_steps(changed, plan.steps), changed), min(at_least, len(kept)))


def _change_actions(problem: Problem, changes: Iterable[ActionChange]) -> Problem:
    """Return the problem with changed actions, in which costs that have no value are 0."""
    actions = dict(problem.domain.actions)
    for change in changes:
        actions[change.name] = change.apply(actions[change.name])
    changed = replace(problem, domain=replace(problem.domain, actions=actions))
    return seal_like(add_missing_values(changed), problem)


def _shape_action(problem: Problem, facts: Change, limits: Limits) -> ModelChange | None:
    """Return the action that would give the assumed facts, and needs what holds about their objects at the start."""
    from planner.solve import answer

    assumed = [each.literal for each in facts.assumptions if isinstance(each, Assumption)]
    gives = [each for each in assumed if isinstance(each, Atom)]
    if len(gives) < len(facts.assumptions) or not gives or facts.uses_goal:
        return None
    action = _lift(problem, gives)
    domain = replace(problem.domain, actions={**problem.domain.actions, action.name: action})
    changed = seal_like(add_missing_values(replace(problem, domain=domain)), problem)
    result = answer(changed, ANY_PLAN.within(limits))
    if result.status is Status.UNSUPPORTED or result.plan is None:
        return None
    return ModelChange((NewAction(action),), replace(result.plan, problem=changed), 1)


def _lift(problem: Problem, gives: Sequence[Atom]) -> Action:
    """Return an action that gives these facts; its parameters stand for their objects, and have their types."""
    objects = list(dict.fromkeys(arg for fact in gives for arg in fact.args))
    types = {item.name: item.types for item in problem.all_objects}
    names = _name_parameters([types[each][0] for each in objects])
    binding = dict(zip(objects, names, strict=True))
    needs = [
        fact.substitute(binding)
        for fact in problem.initial
        if fact.args and set(fact.args) <= set(objects) and fact not in gives
    ]
    name = reserve_name("new", {*problem.domain.actions})
    parameters = tuple([Variable(binding[each], types[each]) for each in objects])
    return Action(name, parameters, conjunction(needs), tuple([fact.substitute(binding) for fact in gives]))


def _name_parameters(types: Sequence[str]) -> list[str]:
    """Return a name for each parameter, after its type, with a number where there are several."""
    several = {name for name in types if types.count(name) > 1}
    return [
        f"?{name.lower()}{types[: place + 1].count(name) if name in several else ''}"
        for place, name in enumerate(types)
    ]
