"""Fluents with few values as finite-domain variables: the classical task that a numeric task is where all have few.

Each value of a fluent that is reached becomes a fact, and these facts are one variable. An action becomes one ground
action for each combination of the values that it reads, so that the values after it, its cost, and the comparisons
that change are known. A comparison of one fluent that somebody needs without reading the fluent keeps its fact, which
each change of the fluent writes. For comparisons of several fluents in the goal, free actions at the end of a plan test
the values.

The values are those of a relaxation in which every combination of values that were reached, whatever the facts, is
reached as well. They are closed under all actions, so that the plans of both tasks are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

from planner.lightweight import TYPE_CHECKING, Final, dataclass, replace
from planner.limits import under_limits
from planner.model.arithmetic import show_number
from planner.model.formulas import Atom, Not
from planner.plan import Step
from planner.task.ground_task import AxiomLayer, ConditionalEffect, GroundAction, Rule, Task
from planner.task.numeric_invariants import bound_variables
from planner.task.numeric_ranges import Form, add, change_of
from planner.task.numeric_task_compiled import find_opposites

if TYPE_CHECKING:
    from planner.task.numeric_task import LinearCondition, NumericEffects, NumericTask, NumericVariable

MOST_VALUES: Final = 500
"""Most values of a fluent."""
MOST_ACTIONS: Final = 40_000
"""Most ground actions that are made: with more, LM-cut evaluates a few states in a second."""
MOST_COMBINATIONS: Final = 200_000
"""Most combinations of values that are looked at: a second."""
BATCH: Final = 1_000
"""Combinations or actions between two pauses."""
VALUE: Final = "@value"
"""The predicate of the facts that fluents have values."""
TESTED: Final = "@tested"
"""The predicate of the facts how much of the goal has been tested; after the first test, only tests are applicable."""
WITHIN: Final = "@within-bounds"
"""The fact that no change under a condition has left the bounds of a fluent."""
NO_ACTION: Final = -1
"""What a test of the goal stands for."""

Literal = tuple["LinearCondition", bool]
"""A linear condition, and whether it must hold or fail."""


@dataclass(frozen=True, slots=True)
class EnumeratedTask:
    """The classical `task` of a numeric one; its action a stands for action `actions[a]` there, or for `NO_ACTION`."""

    task: Task
    actions: list[int]


Maybe = tuple[tuple[tuple[int, ...], ...], dict[int, Form]]
"""Conjunctions of facts, and the values that variables have after an action where one of them holds."""


@dataclass(frozen=True, slots=True)
class _Split:
    """An action of the numeric task that is split by the values of the variables that it `reads`.

    The values must meet `tests`; `needs` are its other facts. `after` has the values that it writes, as forms over the
    variables read, and `maybe` those that it writes only where all facts of one of some conjunctions hold. A step adds
    `price` to what the action costs.
    """

    action: int
    needs: tuple[int, ...]
    tests: tuple[Literal, ...]
    reads: tuple[int, ...]
    after: dict[int, Form]
    maybe: tuple[Maybe, ...]
    price: Form


@dataclass(frozen=True, slots=True)
class _Instance:
    """A split action with the values of the variables that it reads, and then of those that it writes.

    Where a change that may happen would leave the bounds of a variable, `maybe` has None.
    """

    split: _Split
    before: tuple[int, ...]
    after: tuple[int, ...]
    maybe: tuple[tuple[int, ...] | None, ...]


class NumberEnumeration:
    """Makes the classical task of `source`, where a step costs `weights` times what it adds to each variable as well.

    `steps` does the work; `result` is the task then, or None with the `reason` why there is none.
    """

    def __init__(self, source: NumericTask, weights: Sequence[int] = ()) -> None:
        self.result: EnumeratedTask | None = None
        self.reason = ""
        self._source = source
        self._weights = weights or [0] * len(source.variables)
        self._literals = find_literals(source)
        self._values: list[list[int]] = []
        self._known: list[set[int]] = []
        self._instances: list[_Instance] = []

    def steps(self) -> Iterator[None]:
        """Enumerate the values, and make the task, with pauses."""
        after = [
            _forms_after([each for each in changes if _is_sure(each)]) for changes in under_limits(self._source.changes)
        ]
        prices = [self._price(each) for each in under_limits(after)]
        kept = self._find_kept_variables(prices)
        self._source = bound_variables(self._source, {number for number, is_kept in enumerate(kept) if is_kept})
        for variable, is_kept in zip(self._source.variables, kept, strict=True):
            self._values.append([variable.initial] if is_kept else [])
            self._known.append({variable.initial})
        self.reason = self._find_objection(kept)
        if self.reason:
            return
        yield
        splits = self._split_actions(after, prices, kept)
        for count, (split, combination) in enumerate(self._combine_values(splits)):
            if len(self._instances) > MOST_ACTIONS or count > MOST_COMBINATIONS:
                self.reason = "there are too many combinations of values"
            if self.reason or not self._take(split, combination):
                return
            if not count % BATCH:
                yield
        yield from self._make_task()

    def _price(self, after: Mapping[int, Form]) -> Form:
        """Return what an action adds to the sum of the variables times their weights."""
        total: Form = ({}, 0)
        for variable, form in after.items():
            if self._weights[variable]:
                total = add(total, add(form, ({variable: 1}, 0), -1), self._weights[variable])
        return total

    def _find_kept_variables(self, prices: Iterable[Form]) -> list[bool]:
        """Return for each variable whether its value matters: for a condition, a bound, a cost or one that matters."""
        kept = [each.low is not None or each.high is not None for each in self._source.variables]
        waiting = [variable for variable, is_kept in enumerate(kept) if is_kept]

        def keep(variables: Iterable[int]) -> None:
            for variable in variables:
                if not kept[variable]:
                    kept[variable] = True
                    waiting.append(variable)

        for condition in self._source.conditions:
            keep(_variables_of(condition))
        for weights, _ in under_limits(prices):
            keep(weights)
        writers: list[list[Form]] = [[] for _ in kept]
        for changes in under_limits(self._source.changes):
            for each in changes:
                for variable, form in _forms_after([each]).items():
                    writers[variable].append(form)
        while waiting:
            for weights, _ in writers[waiting.pop()]:
                keep(weights)
        return kept

    def _find_objection(self, kept: Sequence[bool]) -> str:
        """Return why not all values can be enumerated, as far as that is seen at once."""
        together = [set(_variables_of(each)) for each in self._find_written_conditions()]
        for changes in under_limits(self._source.changes):
            written = [{effect.variable for effect in each.effects if kept[effect.variable]} for each in changes]
            for each, own in zip(changes, written, strict=True):
                if _is_sure(each):
                    continue
                if any(self._weights[effect.variable] for effect in each.effects):
                    return "a step changes the metric under a condition"
                linked = own.union(*[group for group in together if group & own])
                if sum([not linked.isdisjoint(other) for other in written]) > 1:
                    return "a change of a number under a condition depends on another change"
        for number, variable in enumerate(self._source.variables):
            if kept[number] and (variable.low is None or variable.high is None):
                return f"{variable.fluent} has no bound"
        return ""

    def _split_actions(
        self, after: Sequence[Mapping[int, Form]], prices: Sequence[Form], kept: Sequence[bool]
    ) -> list[_Split]:
        task, found = self._source.task, []
        written = self._find_written_conditions()
        for number, action in enumerate(under_limits(task.actions)):
            forms = {variable: form for variable, form in after[number].items() if kept[variable]}
            maybe = [
                (each.conditions, {variable: form for variable, form in _forms_after([each]).items() if kept[variable]})
                for each in self._source.changes[number]
                if not _is_sure(each)
            ]
            all_forms = [form for part in (forms, *[own for _, own in maybe]) for form in part.values()]
            changed = {variable for part in (forms, *[own for _, own in maybe]) for variable in part}
            reads = {variable for weights, _ in (*all_forms, prices[number]) for variable in weights}
            literals = {fact: self._literals[fact] for fact in action.precondition if fact in self._literals}
            for condition in written:
                if not changed.isdisjoint(_variables_of(condition)):
                    reads.update(_variables_of(condition))
            for condition, _ in literals.values():
                if len(condition.terms) > 1:
                    reads.update(_variables_of(condition))
            tested = {fact for fact, (condition, _) in literals.items() if reads.issuperset(_variables_of(condition))}
            found.append(
                _Split(
                    number,
                    tuple([fact for fact in action.precondition if fact not in tested]),
                    tuple([literals[fact] for fact in sorted(tested)]),
                    tuple(sorted(reads)),
                    forms,
                    tuple([each for each in maybe if each[1]]),
                    prices[number],
                )
            )
        return found

    def _find_written_conditions(self) -> list[LinearCondition]:
        """Return the conditions on several variables whose facts actions must write, as axioms or effects read them."""
        task = self._source.task
        read = {fact for layer in task.axioms for rule in layer.rules for fact in rule.body}
        read.update(
            [
                fact
                for action in under_limits(task.actions)
                for effect in action.conditional
                for fact in effect.condition
            ]
        )
        for changes in under_limits(self._source.changes):
            read.update([fact for each in changes for conjunction in each.conditions for fact in conjunction])
        found = [self._literals[fact][0] for fact in sorted(read) if fact in self._literals]
        return [each for each in dict.fromkeys(found) if len(each.terms) > 1]

    def _combine_values(self, splits: Sequence[_Split]) -> Iterator[tuple[_Split, tuple[int, ...]]]:
        """Yield each combination of values that an action may read, until there are no new ones."""
        visited: list[list[int] | None] = [None] * len(splits)
        is_growing = True
        while is_growing:
            is_growing = False
            for number, split in enumerate(under_limits(splits)):
                sizes, old = [len(self._values[variable]) for variable in split.reads], visited[number]
                if sizes == old:
                    continue
                is_growing, visited[number] = True, sizes
                for combination in self._new_combinations(split.reads, sizes, old):
                    yield split, combination

    def _new_combinations(
        self, reads: Sequence[int], sizes: Sequence[int], old: Sequence[int] | None
    ) -> Iterator[tuple[int, ...]]:
        """Yield the combinations of the first values, as many as `sizes` say, of which not all are `old`."""
        values = [self._values[variable][:size] for variable, size in zip(reads, sizes, strict=True)]
        if old is None:
            yield from product(*values)
            return
        for place, (own, size) in enumerate(zip(values, old, strict=True)):  # the first new value is at `place`
            before = [each[: old[at]] for at, each in enumerate(values[:place])]
            yield from product(*before, own[size:], *values[place + 1 :])

    def _take(self, split: _Split, combination: tuple[int, ...]) -> bool:
        """Take an action with these values if it is applicable; return whether the fluents still take few values."""
        values = dict(zip(split.reads, combination, strict=True))
        if not _meets(split.tests, values):
            return True
        after = self._values_after(split.after, values)
        if after is None:
            return True
        maybe = tuple([self._values_after(forms, values) for _, forms in split.maybe])
        self._instances.append(_Instance(split, combination, after, maybe))
        for forms, own in ((split.after, after), *zip([forms for _, forms in split.maybe], maybe, strict=True)):
            for variable, value in zip(forms, own or (), strict=own is not None):
                self._note_value(variable, value)
        return not self.reason

    def _values_after(self, forms: Mapping[int, Form], values: Mapping[int, int]) -> tuple[int, ...] | None:
        """Return the values that are written; None where one leaves its bounds."""
        found = tuple([_evaluate(form, values) for form in forms.values()])
        variables = self._source.variables
        return found if all(map(_keeps_bounds, [variables[each] for each in forms], found)) else None

    def _note_value(self, variable: int, value: int) -> None:
        if value not in self._known[variable]:
            self._known[variable].add(value)
            self._values[variable].append(value)
            if len(self._values[variable]) > MOST_VALUES:
                self.reason = f"{self._source.variables[variable].fluent} takes too many values"

    def _make_task(self) -> Iterator[None]:
        """Make the classical task of the instances that were found."""
        tests = self._find_goal_tests()
        if sum([len(each) for each in tests.values()]) + len(self._instances) > MOST_ACTIONS:
            self.reason = "there are too many combinations of values that meet the goal"
            return
        maker = _TaskMaker(self._source, self._literals, self._values, self._instances, tests)
        for count, instance in enumerate(self._instances):
            if not maker.add_action(instance):
                self.reason = "a step may improve the metric"
                return
            if not count % BATCH:
                yield
        self.result = maker.finish()

    def _find_goal_tests(self) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
        """Return, by the variables of comparisons of several in the goal, the values that meet these."""
        together: dict[tuple[int, ...], list[Literal]] = {}
        for fact in self._source.task.goal:
            if fact in self._literals and len(self._literals[fact][0].terms) > 1:
                together.setdefault(_variables_of(self._literals[fact][0]), []).append(self._literals[fact])
        found = {}
        for variables, literals in together.items():
            own: list[tuple[int, ...]] = []
            for count, combination in enumerate(product(*[self._values[variable] for variable in variables])):
                if _meets(literals, dict(zip(variables, combination, strict=True))):
                    own.append(combination)
                if count >= MOST_COMBINATIONS or len(own) > MOST_ACTIONS:
                    self.reason = "there are too many combinations of values that meet the goal"
                    own = [()] * (MOST_ACTIONS + 1)
                    break
            found[variables] = own
        return found


def find_literals(source: NumericTask) -> dict[int, Literal]:
    """Return the conditions by their facts, and by the facts that they fail."""
    opposite = find_opposites(source.task)
    found: dict[int, Literal] = {}
    for each in source.conditions:
        found |= {each.fact: (each, True), opposite[each.fact]: (each, False)}
    return found


def _is_sure(changes: NumericEffects) -> bool:
    """Return whether the changes happen whenever the action is applied."""
    return () in changes.conditions


def _forms_after(changes: Iterable[NumericEffects]) -> dict[int, Form]:
    """Return the values that variables have after all these `changes`."""
    found: dict[int, Form] = {}
    for each in changes:
        for effect in each.effects:
            before: Form = found.get(effect.variable, ({effect.variable: 1}, 0))
            found[effect.variable] = add(before if effect.additive else ({effect.variable: 1}, 0), change_of(effect))
    return found


def _variables_of(condition: LinearCondition) -> tuple[int, ...]:
    return tuple([variable for variable, _ in condition.terms])


def _evaluate(form: Form, values: Mapping[int, int]) -> int:
    return int(form[1] + sum([weight * values[variable] for variable, weight in form[0].items()]))


def _meets(literals: Iterable[Literal], values: Mapping[int, int]) -> bool:
    """Return whether `values` meet all `literals`."""
    return all(
        (sum([weight * values[variable] for variable, weight in condition.terms]) + condition.constant >= 0) is wanted
        for condition, wanted in literals
    )


def _keeps_bounds(variable: NumericVariable, value: int) -> bool:
    return (variable.low is None or value >= variable.low) and (variable.high is None or value <= variable.high)


class _TaskMaker:
    """Makes the classical task of split actions, over the `values` of variables, with `tests` of the goal.

    All facts that anybody needs are numbered first, as actions must write them.
    """

    def __init__(
        self,
        source: NumericTask,
        literals: Mapping[int, Literal],
        values: Sequence[Sequence[int]],
        instances: Sequence[_Instance],
        tests: Mapping[tuple[int, ...], Sequence[tuple[int, ...]]],
    ) -> None:
        self._source, self._literals, self._values, self._tests = source, literals, values, tests
        task = source.task
        self._names: list[Atom | Not] = []
        self._number: dict[int, int] = {}
        for fact in range(len(task.facts)):
            if fact not in literals:
                self._keep(fact)
        self._value_facts = [
            {value: self._make_value_fact(variable, value) for value in taken}
            for variable, taken in zip(source.variables, values, strict=True)
        ]
        is_guarded = any(None in each.maybe for each in instances)
        self._alive = [self._make_fact(WITHIN)] if is_guarded else []
        self._stages = [self._make_fact(TESTED, str(place)) for place in range(len(tests) + 1)] if tests else []
        goal = [fact for fact in task.goal if fact not in literals or len(literals[fact][0].terms) == 1]
        found = self._resolve(goal)
        self._goal = (*(map(self._keep, goal) if found is None else found), *self._stages[-1:], *self._alive)
        splits = {each.split.action: each.split for each in instances}
        self._needs = {number: self._resolve(split.needs) for number, split in splits.items()}
        self._guards = {
            number: [[self._resolve(each) for each in conjunctions] for conjunctions, _ in split.maybe]
            for number, split in splits.items()
        }
        self._conditional = {
            number: [
                (condition, effect)
                for effect in action.conditional
                if (condition := self._resolve(effect.condition)) is not None
            ]
            for number, action in [(number, task.actions[number]) for number in splits]
        }
        self._layers = tuple([self._resolve_layer(layer) for layer in task.axioms])
        self._read: list[list[tuple[int, Literal]]] = [[] for _ in values]
        """The facts of conditions that are kept, by variable."""
        for fact, number in self._number.items():
            if fact in literals:
                for variable in _variables_of(literals[fact][0]):
                    self._read[variable].append((number, literals[fact]))
        self._actions: list[GroundAction] = []
        self._sources: list[int] = []

    def _keep(self, fact: int) -> int:
        """Return the number of a fact of the numeric task."""
        if fact not in self._number:
            self._number[fact] = len(self._names)
            self._names.append(self._source.task.facts[fact])
        return self._number[fact]

    def _make_fact(self, predicate: str, *arguments: str) -> int:
        self._names.append(Atom(predicate, arguments))
        return len(self._names) - 1

    def _make_value_fact(self, variable: NumericVariable, value: int) -> int:
        return self._make_fact(VALUE, str(variable.fluent), show_number(Fraction(value, variable.scale)))

    def _resolve(self, facts: Iterable[int]) -> tuple[int, ...] | None:
        """Return `facts` of the numeric task as facts of this one; None if no value meets the conditions among them.

        Conditions on one variable that a single value meets are the fact of this value.
        """
        found, alone = list[int](), dict[int, list[int]]()
        for fact in facts:
            if fact in self._literals and len(self._literals[fact][0].terms) == 1:
                alone.setdefault(self._literals[fact][0].terms[0][0], []).append(fact)
            else:
                found.append(self._keep(fact))
        for variable, own in alone.items():
            literals = [self._literals[fact] for fact in own]
            fits = [value for value in self._values[variable] if _meets(literals, {variable: value})]
            if not fits:
                return None
            if len(fits) == 1:
                found.append(self._value_facts[variable][fits[0]])
            elif len(fits) < len(self._values[variable]):
                found += [self._keep(fact) for fact in own]
        return tuple(sorted(set(found)))

    def _resolve_layer(self, layer: AxiomLayer) -> AxiomLayer:
        rules = [(self._resolve(rule.body), rule.head) for rule in layer.rules]
        return AxiomLayer(
            tuple([Rule(body, self._number[head]) for body, head in rules if body is not None]),
            tuple([(self._number[one], self._number[other]) for one, other in layer.negated]),
        )

    def add_action(self, instance: _Instance) -> bool:
        """Add the ground action of an instance that changes anything; return False if its cost is negative."""
        split, needs = instance.split, self._needs[instance.split.action]
        action = self._source.task.actions[split.action]
        values = dict(zip(split.reads, instance.before, strict=True))
        cost = action.cost + _evaluate(split.price, values)
        if cost < 0:
            return False
        if needs is None:
            return True
        adds, deletes = (
            set(map(self._number.__getitem__, action.adds)),
            set(map(self._number.__getitem__, action.deletes)),
        )
        after = values | dict(zip(split.after, instance.after, strict=True))
        for variable in split.after:
            self._write(variable, values, after, adds, deletes)
        own = [self._effect(*each) for each in self._conditional[split.action]]
        own += self._find_maybe_effects(instance, values)
        if adds or deletes or own:
            precondition = {*needs, *[self._value_facts[variable][value] for variable, value in values.items()]}
            precondition.update(self._stages[:1])
            self._add(
                GroundAction(
                    action.step,
                    tuple(sorted(precondition)),
                    tuple(sorted(adds)),
                    tuple(sorted(deletes - adds)),
                    tuple(own),
                    cost,
                ),
                split.action,
            )
        return True

    def _effect(self, condition: tuple[int, ...], effect: ConditionalEffect) -> ConditionalEffect:
        number = self._number
        return ConditionalEffect(
            condition,
            tuple(sorted(number[fact] for fact in effect.adds)),
            tuple(sorted(number[fact] for fact in effect.deletes)),
        )

    def _find_maybe_effects(self, instance: _Instance, before: Mapping[int, int]) -> Iterator[ConditionalEffect]:
        """Yield the changes of numbers under conditions; what would leave bounds makes the goal unreachable instead."""
        guards = self._guards[instance.split.action]
        for (_, forms), conjunctions, own in zip(instance.split.maybe, guards, instance.maybe, strict=True):
            adds, deletes = set[int](), {*self._alive} if own is None else set[int]()
            after = {**before, **dict(zip(forms, own or (), strict=own is not None))}
            for variable in forms if own is not None else ():
                self._write(variable, before, after, adds, deletes)
            for conjunction in conjunctions:
                if conjunction is not None and (adds or deletes):
                    yield ConditionalEffect(conjunction, tuple(sorted(adds)), tuple(sorted(deletes - adds)))

    def _write(
        self, variable: int, before: Mapping[int, int], after: Mapping[int, int], adds: set[int], deletes: set[int]
    ) -> None:
        """Note the facts that change with `variable`."""
        old, new, facts = before.get(variable), after[variable], self._value_facts[variable]
        if old == new:
            return
        adds.add(facts[new])
        deletes.update([facts[old]] if old is not None else [fact for value, fact in facts.items() if value != new])
        for fact, literal in self._read[variable]:
            alone = len(literal[0].terms) == 1
            holds = _meets([literal], after)
            if old is None or not alone or holds is not _meets([literal], before):
                (adds if holds else deletes).add(fact)

    def _add(self, action: GroundAction, source: int) -> None:
        self._actions.append(action)
        self._sources.append(source)

    def finish(self) -> EnumeratedTask:
        """Add the tests of the goal, and return the task."""
        for place, (variables, combinations) in enumerate(self._tests.items()):
            stage, step = self._stages[place], Step(TESTED, (str(place),), 0)
            for values in combinations:
                needed = [self._value_facts[variable][value] for variable, value in zip(variables, values, strict=True)]
                self._add(GroundAction(step, (*sorted(needed), stage), (stage + 1,), (stage,), (), 0), NO_ACTION)
        task, number = self._source.task, self._number
        groups = [tuple(facts.values()) for facts in self._value_facts if facts]
        groups += [tuple(each) for each in (self._stages, self._alive) if each]
        partition = [tuple([number[fact] for fact in group if fact in number]) for group in task.variables]
        mutexes = [tuple([number[fact] for fact in group if fact in number]) for group in task.mutexes]
        initial = [number[fact] for fact in task.initial if fact in number]
        for facts, variable in zip(self._value_facts, self._source.variables, strict=True):
            initial += [facts[variable.initial]] if facts else []
        made = replace(
            task,
            facts=tuple(self._names),
            variables=(*[group for group in partition if group], *groups),
            mutexes=(*[group for group in mutexes if len(group) > 1], *groups),
            initial=tuple(sorted([*initial, *self._stages[:1], *self._alive])),
            goal=tuple(sorted(self._goal)),
            actions=tuple(self._actions),
            axioms=self._layers,
            derived=frozenset([number[fact] for fact in task.derived]),
        )
        return EnumeratedTask(made, self._sources)
