"""A task as assignments to finite-domain variables, each with exactly one value at a time (Helmert, 2009).

Where none of a variable's facts may hold, "none of them" is a value of its own. One more variable has the value `TRUE`
only. Derived facts are no values: conditions on them count as possible, which is sound, as a pair is given up only
where nothing can make it true. Facts that are pairwise mutex become the values of one variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from planner.grounding.joins import batches
from planner.grounding.mutex_groups import Group, partition_facts
from planner.lightweight import Final, dataclass, replace
from planner.task.ground_task import GroundAction, State, Task, bits, facts_of
from planner.task.packed_task_compiled import find_optional_variables, variables_of

TRUE: Final = 0
"""The value that holds in every state."""
NONE: Final = -1
"""The fact that the value "none of them" stands for, and the variable of a derived fact."""
BATCH: Final = 500
"""Actions that are translated between two looks at limits."""

Values = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """Where all values of `condition` hold, `before` (None: any other value of the variable) becomes `after`."""

    condition: Values
    before: int | None
    after: int


@dataclass(frozen=True, slots=True)
class Operator:
    """An action of the task.

    `before` holds where it is applied, `after` holds then. `changes` are all that may happen; what is not `gone`, and
    held before, may hold still.
    """

    before: Values
    after: Values
    changes: tuple[Change, ...]
    gone: Values


@dataclass(frozen=True, slots=True)
class Assignments:
    """A task on values. Those of variable v are `variables[v]`; value w belongs to `variable_of[w]`.

    `value_of[f]` stands for fact f (`TRUE` for a derived one), and `facts[w]` is the fact of value w, or `NONE`.
    `operators` are by number of the action; None where one can never be applied.
    """

    variables: list[range]
    variable_of: list[int]
    facts: list[int]
    value_of: list[int]
    initial: Values
    goal: Values
    operators: list[Operator | None]
    groups: list[State]

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.facts)

    def befores(self, change: Change) -> Sequence[int]:
        """Return the values that may become another one by `change`."""
        if change.before is not None:
            return (change.before,)
        return [value for value in self.variables[self.variable_of[change.after]] if value != change.after]


def translate_task(task: Task, check: Callable[[], None]) -> Assignments:
    """Return `task` on values; `check` raises when a limit is reached meanwhile."""
    variables, facts, variable_of = [range(1)], [NONE], [0]
    value_of = [TRUE] * len(task.facts)
    vague = find_optional_variables(task, variables_of(task))
    for number, group in enumerate(task.variables):
        first = len(facts)
        for fact in group:
            value_of[fact] = len(facts)
            facts.append(fact)
        if number in vague:
            facts.append(NONE)
        variable_of += [len(variables)] * (len(facts) - first)
        variables.append(range(first, len(facts)))
    initial = {variable_of[value_of[fact]]: value_of[fact] for fact in task.initial}
    translate = _Translator(task, variables, variable_of, value_of)
    operators: list[Operator | None] = []
    for batch in batches(task.actions, BATCH):
        check()
        operators += map(translate.translate_action, batch)
    return Assignments(
        variables,
        variable_of,
        facts,
        value_of,
        tuple([initial.get(number, values[-1]) for number, values in enumerate(variables)]),
        translate.values_of(task.goal),
        operators,
        [bits([value_of[fact] for fact in group]) for group in task.mutexes if not task.derived.intersection(group)],
    )


class _Translator:
    """Translates actions."""

    def __init__(self, task: Task, variables: list[range], variable_of: list[int], value_of: list[int]) -> None:
        self._derived = task.derived
        self._variables, self._variable_of, self._value_of = variables, variable_of, value_of

    def values_of(self, facts: Iterable[int]) -> Values:
        """Return the values of the `facts` that are not derived."""
        return tuple([self._value_of[fact] for fact in facts if fact not in self._derived])

    def translate_action(self, action: GroundAction) -> Operator | None:
        """Return the operator of an action; None where it needs two values of a variable."""
        needed = self._by_variable(self.values_of(action.precondition))
        if needed is None:
            return None
        parts = _Parts(self._variables, self._variable_of, needed)
        sure = {*action.precondition}
        adds, deletes = {*action.adds}, {*action.deletes}
        depending = []
        for effect in action.conditional:
            if sure.issuperset(effect.condition):
                adds.update(effect.adds)
                deletes.update(effect.deletes)
            else:
                depending.append(effect)
        parts.may_add = {self._variable_of[value] for effect in depending for value in self.values_of(effect.adds)}
        parts.take_sure_effects(self.values_of(sorted(adds)), self.values_of(sorted(deletes - adds)))
        for effect in depending:
            condition = self.values_of(effect.condition)
            exact = self._derived.isdisjoint(set(effect.condition) - sure)
            held = self._by_variable((*needed.values(), *condition))
            if held is not None:
                parts.take_dependent_effect(
                    held, self.values_of(effect.adds), self.values_of(effect.deletes), exact=exact
                )
        return parts.finish()

    def _by_variable(self, values: Iterable[int]) -> dict[int, int] | None:
        """Return `values` by variable; None where two are of the same one."""
        held: dict[int, int] = {}
        for value in values:
            if held.setdefault(self._variable_of[value], value) != value:
                return None
        return held


class _Parts:
    """Collects what an action does that needs the values `needed`, by variable.

    Its effects that depend on what holds `may_add` values of some variables.
    """

    def __init__(self, variables: list[range], variable_of: list[int], needed: dict[int, int]) -> None:
        self._variables, self._variable_of, self._needed = variables, variable_of, needed
        self.may_add: set[int] = set()
        self._assigned: dict[int, int] = {}
        self._changes: list[Change] = []
        self._gone: set[int] = set()

    def take_sure_effects(self, adds: Values, deletes: Values) -> None:
        """Take the effects that happen whatever else holds."""
        for value in adds:
            self._assign(self._variable_of[value], value)
        deleted: dict[int, list[int]] = {}
        for value in deletes:
            if self._variable_of[value] not in self._assigned:
                deleted.setdefault(self._variable_of[value], []).append(value)
        for variable, values in deleted.items():
            before, none = self._needed.get(variable), self._variables[variable][-1]
            whole = before in values if before is not None else len(values) == len(self._variables[variable]) - 1
            if whole and variable not in self.may_add:
                self._assign(variable, none)
            else:
                for value in values:
                    self._delete(value, self._needed, exact=True)

    def take_dependent_effect(self, held: dict[int, int], adds: Values, deletes: Values, *, exact: bool) -> None:
        """Take an effect that happens where `held` holds, and only there if that is `exact`."""
        condition = tuple([value for variable, value in held.items() if self._needed.get(variable) != value])
        for value in adds:
            variable = self._variable_of[value]
            if variable in self._assigned:
                continue
            self._changes.append(Change(condition, held.get(variable), value))
            if exact and condition == (held.get(variable),) and condition != (value,):
                self._gone.update(condition)
        added = {self._variable_of[value] for value in adds}
        for value in deletes:
            if self._variable_of[value] not in added | self._assigned.keys():
                self._delete(value, held, exact=exact)

    def _assign(self, variable: int, value: int) -> None:
        self._assigned[variable] = value
        before = self._needed.get(variable)
        if before != value:
            self._changes.append(Change((), before, value))
            self._gone.update(set(self._variables[variable]) - {value} if before is None else {before})

    def _delete(self, value: int, held: dict[int, int], *, exact: bool) -> None:
        """Take the delete of a value where `held` holds: it matters where the value holds, too."""
        variable = self._variable_of[value]
        if held.get(variable, value) != value:
            return
        more = held | {variable: value}
        condition = tuple([each for place, each in more.items() if self._needed.get(place) != each])
        self._changes.append(Change(condition, value, self._variables[variable][-1]))
        if exact and set(condition) <= {value}:
            self._gone.add(value)

    def finish(self) -> Operator:
        """Return what was collected."""
        changed = {self._variable_of[change.after] for change in self._changes}
        kept = [value for variable, value in self._needed.items() if variable not in changed]
        after = (TRUE, *self._assigned.values(), *[value for value in kept if value not in self._assigned.values()])
        before = (TRUE, *self._needed.values())
        return Operator(before, after, tuple(self._changes), tuple(sorted(self._gone)))


MOST_GROUPS: Final = 1_500
"""Variables up to which larger ones are searched for, which then takes a second."""
FEW: Final = 64
"""Candidates that are compared as the next fact of a group; of more, the first one is taken."""


def merge_variables(task: Task, unreachable: Callable[[int], State]) -> Task:
    """Return `task` with fewer, larger variables if states take fewer bits then, and with all mutex groups found.

    `unreachable` returns, for a fact, the facts that are never reached together with it, as bits.
    """
    if len(task.variables) > MOST_GROUPS:
        return task
    rows = [unreachable(fact) for fact in range(len(task.facts))]
    never = bits(task.derived)
    groups = list(dict.fromkeys([_widen(group, rows, never) for group in task.variables]))
    larger = [group for group in groups if len(group) > 1]
    task = replace(task, mutexes=tuple(dict.fromkeys([*task.mutexes, *larger])))
    facts = [fact for group in task.variables for fact in group]
    other = replace(
        task, variables=tuple(partition_facts(sorted(larger, key=lambda group: (-len(group), group)), facts))
    )
    return other if _count_bits(other) < _count_bits(task) else task


def _widen(group: Group, rows: Sequence[State], never: State) -> Group:
    """Return a group that has all of `group`, and to which nothing can be added."""
    members, left = [*group], ~never
    for fact in group:
        left &= rows[fact] & ~(1 << fact)
    left &= ~bits(group)
    while left > 0:
        best = max(_candidates_of(left), key=lambda fact: (left & rows[fact]).bit_count())
        members.append(best)
        left &= rows[best] & ~(1 << best)
    return tuple(sorted(members))


def _candidates_of(state: State) -> list[int]:
    """Return all facts of `state` if they are few, else the first one."""
    return facts_of(state if state.bit_count() <= FEW else state & -state)


def _count_bits(task: Task) -> int:
    """Return how many bits the variables of `task` take."""
    vague = find_optional_variables(task, variables_of(task))
    return sum([(len(group) - (number not in vague)).bit_length() or 1 for number, group in enumerate(task.variables)])
