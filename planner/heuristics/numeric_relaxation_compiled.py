"""The relaxation of a numeric task as arrays for the kernels."""

from __future__ import annotations

from collections.abc import Sequence

from planner.heuristics.numeric_demands_kernel import DemandRoom, NumericDemands
from planner.heuristics.numeric_relaxation_kernel import NumericRelaxed, NumericRoom
from planner.jit.arrays import empty_index, flatten, index, words, zeros
from planner.jit.common_kernel import NOTHING
from planner.lightweight import dataclass, field
from planner.limits import under_limits
from planner.task.numeric_task_compiled import LARGEST_SUM, NumericSpace


@dataclass(slots=True)
class _Operators:
    """The relaxed operators: parallel lists."""

    preconditions: list[list[int]] = field(default_factory=list)
    adds: list[tuple[int, ...]] = field(default_factory=list)
    effects: list[list[int]] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)

    def add(self, needed: Sequence[int], adds: tuple[int, ...], effects: list[int], action: int) -> None:
        """Add an operator; `effects` are the numbers of its numeric effects."""
        self.preconditions.append(list(dict.fromkeys(needed)))
        self.adds.append(adds)
        self.effects.append(effects)
        self.actions.append(action)


@dataclass(frozen=True, slots=True)
class NumericRelaxation:
    """The relaxation of a task, and working memory for its explorations."""

    relaxed: NumericRelaxed
    room: NumericRoom
    demands: NumericDemands
    memory: DemandRoom


def relax_numeric(space: NumericSpace, costs: Sequence[int]) -> NumericRelaxation:
    """Return the relaxation of a task whose actions have these `costs`."""
    operators = _list_operators(space)
    facts = len(space.source.task.facts)
    needed: list[list[int]] = [[] for _ in range(facts)]
    for operator, preconditions in enumerate(under_limits(operators.preconditions)):
        for fact in preconditions:
            needed[fact].append(operator)
    helps = _list_helps(space, operators)
    by_start, by = flatten([[effect for effect, _ in each.by] for own in helps for each in own])
    changers = _list_changers(space, operators)
    changer_start, changer = flatten([[operator for operator, _ in each] for each in changers])
    relaxed = NumericRelaxed(
        *flatten(operators.preconditions),
        *flatten(operators.adds),
        *flatten(needed),
        *flatten([[each.condition for each in own] for own in helps]),
        words(each.steady for own in helps for each in own),
        by_start,
        by,
        words(factor for own in helps for each in own for _, factor in each.by),
        words(0 if action == NOTHING else costs[action] for action in operators.actions),
        index(operators.actions),
        index(each.fact for each in space.source.conditions),
        changer_start,
        changer,
        words(amount for each in changers for _, amount in each),
    )
    memory = DemandRoom(
        zeros(len(space.source.variables)), zeros(len(operators.actions)), zeros(len(space.source.conditions))
    )
    return NumericRelaxation(
        relaxed, _make_room(space, operators, relaxed), _list_demands(space, operators, helps), memory
    )


def _list_demands(space: NumericSpace, operators: _Operators, helps: list[list[_Help]]) -> NumericDemands:
    number_of = {each.fact: number for number, each in enumerate(space.source.conditions)}
    drains: list[list[tuple[int, int]]] = []
    for needed, numbers in under_limits(zip(operators.preconditions, operators.effects, strict=True)):
        own = []
        for number in [number_of[fact] for fact in needed if fact in number_of]:
            weights = dict(space.source.conditions[number].terms)
            effects = [space.effects[effect] for effect in numbers if space.effects[effect].variable in weights]
            drain = -sum([weights[each.variable] * each.constant for each in effects])
            if drain > 0 and all(each.additive and not each.terms for each in effects):
                own.append((number, min(drain, LARGEST_SUM)))
        drains.append(own)
    drains[-1] = [(number_of[fact], 0) for fact in space.source.task.goal if fact in number_of]
    drain_start, drained = flatten([[number for number, _ in each] for each in drains])
    helpers: list[list[tuple[int, int]]] = [[] for _ in space.source.conditions]
    numbered = enumerate((operator, each) for operator, own in enumerate(helps) for each in own)
    for index_of_help, (operator, each) in under_limits(numbered):
        helpers[each.condition].append((index_of_help, operator))
    helper_start, helper = flatten([[one for one, _ in each] for each in helpers])
    return NumericDemands(
        drain_start,
        drained,
        words(drain for each in drains for _, drain in each),
        *flatten(operators.effects),
        helper_start,
        helper,
        index(operator for each in helpers for _, operator in each),
    )


def _list_operators(space: NumericSpace) -> _Operators:
    task, operators = space.source.task, _Operators()
    effect = 0
    for number, (action, changes) in enumerate(under_limits(zip(task.actions, space.source.changes, strict=True))):
        own: list[int] = []
        guarded: list[tuple[tuple[int, ...], list[int]]] = []
        for each in changes:
            numbers = [*range(effect, effect + len(each.effects))]
            effect += len(each.effects)
            if () in each.conditions:
                own += numbers
            else:
                guarded += [(condition, numbers) for condition in each.conditions]
        operators.add(action.precondition, action.adds, own, number)
        for part in action.conditional:
            if part.adds:
                operators.add((*action.precondition, *part.condition), part.adds, [], number)
        for condition, numbers in guarded:
            operators.add((*action.precondition, *condition), (), numbers, number)
    for layer in task.axioms:
        for rule in layer.rules:
            operators.add(rule.body, (rule.head,), [], NOTHING)
        for fact, _ in layer.negated:
            operators.add((), (fact,), [], NOTHING)
    operators.add(task.goal, (), [], NOTHING)
    return operators


@dataclass(frozen=True, slots=True)
class _Help:
    """What an operator does for a condition: so much each time, or the effects `by`, each times a factor."""

    condition: int
    steady: int
    by: tuple[tuple[int, int], ...]


def _list_helps(space: NumericSpace, operators: _Operators) -> list[list[_Help]]:
    """Return by operator the conditions that its effects may help."""
    readers: list[list[tuple[int, int]]] = [[] for _ in space.source.variables]
    for number, condition in enumerate(space.source.conditions):
        for variable, weight in condition.terms:
            readers[variable].append((number, weight))
    found = []
    for numbers in under_limits(operators.effects):
        own: dict[int, list[tuple[int, int]]] = {}
        for number in numbers:
            effect = space.effects[number]
            sign = 0 if not effect.additive or effect.terms else effect.constant
            for reader, weight in readers[effect.variable]:
                if len(numbers) > 1 or sign * weight >= 0:
                    own.setdefault(reader, []).append((number, weight))
        helps = [_make_help(space, condition, by) for condition, by in own.items()]
        found.append([each for each in helps if each is not None])
    return found


def _make_help(space: NumericSpace, condition: int, by: list[tuple[int, int]]) -> _Help | None:
    effects = [space.effects[number] for number, _ in by]
    if all(each.additive and not each.terms for each in effects):
        steady = sum(weight * each.constant for each, (_, weight) in zip(effects, by, strict=True))
        return _Help(condition, min(steady, LARGEST_SUM), ()) if steady > 0 else None
    return _Help(condition, 0, tuple(by))


def _list_changers(space: NumericSpace, operators: _Operators) -> list[list[tuple[int, int]]]:
    """Return by variable the operators that add a constant to it, for variables that effects read."""
    read = {variable for each in space.effects for variable, _ in each.terms}
    found: list[list[tuple[int, int]]] = [[] for _ in space.source.variables]
    for operator, numbers in enumerate(operators.effects):
        for number in numbers:
            effect = space.effects[number]
            if effect.variable in read and effect.additive and not effect.terms:
                found[effect.variable].append((operator, effect.constant))
    return found


def _make_room(space: NumericSpace, operators: _Operators, relaxed: NumericRelaxed) -> NumericRoom:
    facts, many = len(space.source.task.facts), len(operators.actions)
    missing = index(map(len, operators.preconditions))
    coding = space.packing.coding
    for first in coding.first:  # the facts that hold in the state whose words are all 0
        if coding.fact[first] != NOTHING:
            for place in range(relaxed.needed_start[coding.fact[first]], relaxed.needed_start[coding.fact[first] + 1]):
                missing[relaxed.needed[place]] -= 1
    queue = facts + len(relaxed.effect) + len(relaxed.helped) + 1
    actions = len(space.source.task.actions)
    return NumericRoom(
        state=zeros(space.words),
        at_first=missing,
        value=zeros(facts),
        supporter=empty_index(facts),
        times=zeros(facts),
        before=empty_index(facts),
        wanted=zeros(facts),
        missing=index([0]) * many,
        total=zeros(many),
        used=zeros(many),
        planned=zeros(actions),
        repeated=zeros(actions),
        short=zeros(len(space.source.conditions)),
        key=zeros(queue),
        heap=empty_index(queue),
        stack=empty_index(facts + 1),
        member=empty_index(many),
        many=index([0]),
    )
