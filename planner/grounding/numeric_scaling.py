"""Make the numeric task of a ground one: values are scaled to integers, and facts of numeric effects are dropped."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, gcd, lcm

from planner.errors import UnsupportedError
from planner.grounding.numeric_meaning import NumericMeaning
from planner.lightweight import Final, replace
from planner.limits import under_limits
from planner.model.arithmetic import Key, exact_value
from planner.model.domain import DomainModel
from planner.model.formulas import Atom, Not
from planner.semantics.linear_forms import LinearForm
from planner.task.ground_task import AxiomLayer, ConditionalEffect, GroundAction, Rule, Task
from planner.task.numeric_task import LinearCondition, LinearEffect, NumericEffects, NumericTask, NumericVariable

LARGEST_SCALE: Final = 10**12
"""Largest factor by which values are scaled to integers."""


def make_numeric_task(task: Task, meaning: NumericMeaning, *, whole: bool = False) -> NumericTask:
    """Make the numeric task of `task`, whose facts for numeric effects are dropped.

    With `whole`, there are variables also for fluents that effects write and nothing reads.
    """
    number_of = {atom: number for number, atom in enumerate(meaning.atoms)}
    changes: dict[int, int] = {}
    forms: dict[int, int] = {}
    for fact, literal in enumerate(under_limits(task.facts)):
        atom = literal.part if isinstance(literal, Not) else literal
        assert isinstance(atom, Atom)
        source = number_of[atom]
        if source in meaning.effects:
            changes[fact] = source
        elif source in meaning.forms and isinstance(literal, Not):
            forms[fact] = source
    used = [meaning.forms[source] for source in forms.values()]
    used += [meaning.effects[source][2] for source in changes.values()]
    keys = dict.fromkeys(key for form in used for key in form.weights)
    keys |= dict.fromkeys([*meaning.metric, *sorted(meaning.guarded)])
    if whole:
        written = [meaning.effects[source][0] for source in changes.values()]
        keys |= dict.fromkeys(written)
        meaning.values = {**dict.fromkeys(written, 0), **meaning.values}
    scaling = Scaling(meaning, [*keys], [meaning.effects[source] for source in changes.values()])
    plain, actions, renumber = _drop_facts(task, changes)
    effects = [_effects_of(each, changes, scaling, renumber) for each in under_limits(actions)]
    made = scaling.make_task(plain, {renumber[fact]: source for fact, source in forms.items()}, effects)
    variables = {key: number for number, key in enumerate(scaling.keys)}
    metric = [(variables[key], weight / scaling.scale(key)) for key, weight in meaning.metric.items()]
    return replace(made, metric=tuple(metric))


def _drop_facts(task: Task, dropped: Collection[int]) -> tuple[Task, Sequence[GroundAction], dict[int, int]]:
    """Return `task` without the facts `dropped`, its actions as they were, and the new numbers of facts."""
    kept = [fact for fact in range(len(task.facts)) if fact not in dropped]
    renumber = {fact: number for number, fact in enumerate(kept)}

    def new(facts: Iterable[int]) -> tuple[int, ...]:
        return tuple([renumber[fact] for fact in facts if fact in renumber])

    def effect(source: ConditionalEffect) -> ConditionalEffect:
        return ConditionalEffect(new(source.condition), new(source.adds), new(source.deletes))

    actions = [
        GroundAction(
            each.step,
            new(each.precondition),
            new(each.adds),
            new(each.deletes),
            tuple([made for made in map(effect, each.conditional) if made.adds or made.deletes]),
            each.cost,
        )
        for each in under_limits(task.actions)
    ]
    layers = tuple(
        [
            AxiomLayer(
                tuple([Rule(new(rule.body), renumber[rule.head]) for rule in layer.rules]),
                tuple([(renumber[one], renumber[other]) for one, other in layer.negated]),
            )
            for layer in task.axioms
        ]
    )
    variables = [new(variable) for variable in task.variables]
    plain = replace(
        task,
        facts=tuple([task.facts[fact] for fact in kept]),
        variables=tuple([variable for variable in variables if variable]),
        mutexes=tuple([new(group) for group in task.mutexes]),
        initial=new(task.initial),
        goal=new(task.goal),
        actions=tuple(actions),
        axioms=layers,
        derived=frozenset(new(task.derived)),
    )
    return plain, task.actions, renumber


def _effects_of(
    action: GroundAction,
    changes: Mapping[int, int],
    scaling: Scaling,
    renumber: Mapping[int, int],
) -> tuple[NumericEffects, ...]:
    """Return the numeric effects of `action`; the same effect under several conditions happens once."""
    if not action.conditional and changes.keys().isdisjoint(action.adds):
        return ()
    own: dict[int, list[tuple[int, ...]]] = {}
    for fact in action.adds:
        if fact in changes:
            own.setdefault(fact, []).append(())
    for effect in action.conditional:
        for fact in effect.adds:
            if fact in changes:
                own.setdefault(fact, []).append(tuple([renumber[each] for each in effect.condition]))
    return group_effects((scaling.effect(changes[fact]), found) for fact, found in own.items())


def group_effects(
    effects: Iterable[tuple[LinearEffect | None, list[tuple[int, ...]]]],
) -> tuple[NumericEffects, ...]:
    """Group `effects`, each with the conditions under which it happens, by these; None are those that nobody reads."""
    grouped: dict[tuple[tuple[int, ...], ...], list[LinearEffect]] = {}
    for linear, conditions in effects:
        if linear is not None:
            grouped.setdefault(tuple(conditions), []).append(linear)
    return tuple([NumericEffects(conditions, tuple(effects)) for conditions, effects in grouped.items()])


class Scaling:
    """Scales fluents to integers: the value of `keys[v]` is variable v divided by its scale."""

    def __init__(
        self, meaning: NumericMeaning, keys: list[Key], effects: Sequence[tuple[Key, bool, LinearForm]]
    ) -> None:
        self.keys = keys
        self._meaning = meaning
        self._effects: dict[int, LinearEffect | None] = {}
        self._number = {key: number for number, key in enumerate(keys)}
        self._values = meaning.values
        self._scales = {key: Fraction(meaning.values[key]).denominator for key in keys}
        waiting = True
        while waiting:
            waiting = False
            for key, _, form in under_limits(effects):
                if key in self._scales:
                    waiting |= self._refine(key, form)

    def make_task(
        self, frame: Task, forms: Mapping[int, int], effects: Sequence[tuple[NumericEffects, ...]]
    ) -> NumericTask:
        """Return the numeric task of `frame` with the `effects` of its actions.

        `forms` has the numbers of its facts that are comparisons, with those of their atoms in the meaning.
        """
        meaning = self._meaning
        variables = [self.variable(key, meaning.problem.domain) for key in self.keys]
        conditions = [
            self.condition(fact, meaning.forms[source], strict=source in meaning.strict)
            for fact, source in under_limits(forms.items())
        ]
        return NumericTask(frame, tuple(variables), tuple(conditions), effects, meaning.is_priced)

    def _refine(self, key: Key, form: LinearForm) -> bool:
        """Refine the scale of `key` so that it takes values of `form`; return whether that changed it."""
        scale = self._scales[key]
        needed = lcm(scale, form.constant.denominator)
        for other, weight in form.weights.items():
            needed = lcm(needed, (weight / self._scales[other]).denominator)
        if needed == scale:
            return False
        if needed > LARGEST_SCALE:
            raise UnsupportedError(
                f"{Atom(*key)}, which may become a fraction with ever more digits, in search", "scale by whole numbers"
            )
        self._scales[key] = needed
        return True

    def scale(self, key: Key) -> int:
        """Return the factor between the value of a fluent and its variable."""
        return self._scales[key]

    def variable(self, key: Key, domain: DomainModel) -> NumericVariable:
        """Return the numeric variable for a fluent."""
        scale, function = self._scales[key], domain.functions.get(key[0])
        low, high = (None, None) if function is None else (function.low, function.high)
        return NumericVariable(
            Atom(*key),
            scale,
            int(self._values[key] * scale),
            None if low is None else ceil(exact_value(low) * scale),
            None if high is None else floor(exact_value(high) * scale),
        )

    def condition(self, fact: int, form: LinearForm, *, strict: bool) -> LinearCondition:
        """Return the condition that `form` is not negative, or positive where `strict`."""
        weights = {self._number[key]: weight / self._scales[key] for key, weight in form.weights.items()}
        factor = lcm(form.constant.denominator, *[weight.denominator for weight in weights.values()])
        whole = {variable: int(weight * factor) for variable, weight in weights.items()}
        constant = int(form.constant * factor) - strict
        divisor = gcd(*whole.values())
        terms = tuple(sorted((variable, weight // divisor) for variable, weight in whole.items()))
        return LinearCondition(fact, terms, constant // divisor)

    def effect(self, source: int) -> LinearEffect | None:
        """Return the numeric effect of a fact of the meaning; None where no condition or effect reads its fluent."""
        if source not in self._effects:
            self._effects[source] = self._make_effect(*self._meaning.effects[source])
        return self._effects[source]

    def _make_effect(self, key: Key, additive: bool, form: LinearForm) -> LinearEffect | None:
        if key not in self._number:
            return None
        scale = self._scales[key]
        terms = [
            (self._number[other], int(weight * scale / self._scales[other])) for other, weight in form.weights.items()
        ]
        return LinearEffect(self._number[key], additive, tuple(sorted(terms)), int(form.constant * scale))
