"""The meaning of the facts that stand for comparisons and numeric effects while a numeric problem is ground.

A comparison is a linear form that must not be negative. Comparisons that are constant are evaluated here; the others
become facts of the task. An action that would leave a fluent's bounds requires that it does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from planner.compilations.number_abstraction import VIOLATES, NumberAbstraction, Requirement
from planner.errors import InputError, UnsupportedError
from planner.grounding.instantiate import RawAction, RawEffect, RawRule, parts_of
from planner.grounding.numeric_guards import Guards
from planner.grounding.simplify import RawTask
from planner.lightweight import Final
from planner.limits import under_limits
from planner.model.actions import NumericEffect
from planner.model.arithmetic import Exact, Key, as_number, exact_value
from planner.model.domain import is_internal
from planner.model.formulas import Atom, Comparison, Expression, Formula, Not, Number, functions_in
from planner.model.problem import TOTAL_COST, NumericMetric, Problem
from planner.semantics.linear_forms import ZERO, LinearForm, Undefined, linear_form

DEFINED: Final = "@defined"
"""The predicate of facts that fluents have values which have none initially."""


class NumericMeaning:
    """The meaning of the facts for comparisons and numeric effects.

    A fact `@defined(…)` says that a fluent without an initial value has been assigned one. `forms` has for each fact of
    a comparison the linear form that must not be negative where the fact does not hold; `strict` are those whose form
    must be positive. `effects` has for each fact of a numeric effect its variable, and whether the form is added to it.
    """

    def __init__(
        self, problem: Problem, abstraction: NumberAbstraction, atoms: list[Atom], outcomes: Collection[str] = ()
    ) -> None:
        self._outcomes = outcomes
        self.problem = problem
        self.abstraction = abstraction
        self.atoms = atoms
        self.forms: dict[int, LinearForm] = {}
        self.strict: set[int] = set()
        self.effects: dict[int, tuple[Key, bool, LinearForm]] = {}
        self.values: dict[Key, Exact] = {
            (term.predicate, term.args): exact_value(number) for term, number in problem.values.items()
        }
        self._changing: set[Key] = set()
        self._defined: dict[Key, int] = {}
        self._negated: set[int] = set()
        self._reads: dict[int, list[Key]] = {}
        self._bounds: dict[object, int] = {}
        self._kept: dict[tuple[int, ...], list[int]] = {}
        self.metric: dict[Key, Fraction] = {}
        self.is_priced = True
        self.guarded: set[Key] = set()

    def interpret(self, task: RawTask) -> None:
        """Interpret all facts of numbers; drop actions whose numeric effects can never be applied."""
        numeric = self._find_changes()
        bad = {number for number in under_limits(numeric) if not self._interpret_effect(number)}
        for number, atom in enumerate(under_limits(self.atoms.copy())):
            if atom.predicate in self.abstraction.requirements:
                self._interpret_comparison(number, task)
        guards = Guards(self.atoms, lambda literal: literal not in self.forms and ~literal not in self.forms)
        task.actions = [each for each in under_limits(task.actions) if self._is_ever_applicable(each, bad, guards)]
        task.rules += guards.take_rules()
        self._require_values(task, guards)
        task.rules += guards.take_rules()
        self.merge_equal_comparisons(task)

    def _is_ever_applicable(self, action: RawAction, bad: set[int], guards: Guards) -> bool:
        """Require that the effects of `action` can be applied; return whether that is ever the case.

        Raises `UnsupportedError` for outcomes, all of which must have one precondition.
        """
        before = len(action.condition)
        applicable = self._forbid(action, bad, guards) and self._join_effects(action, guards)
        is_outcome = action.action.name in self._outcomes
        if is_outcome and (not applicable or self._defined or len(action.condition) > before):
            what = f"effects of outcomes of '{action.action.name}' that exclude each other, or read what has no value"
            raise UnsupportedError(what, "give each fluent an initial value, and each outcome one effect on it")
        return applicable

    def _find_changes(self) -> list[int]:
        """Return the facts of numeric effects, and note which fluents change."""
        found = []
        fluents: dict[Key, set[str]] = {}
        for number, atom in enumerate(self.atoms):
            change = self.abstraction.changes.get(atom.predicate)
            if change is not None:
                found.append(number)
                fluent = change.effect.fluent.substitute(dict(zip(change.parameters, atom.args, strict=True)))
                fluents.setdefault((fluent.predicate, fluent.args), set()).add(change.effect.operator)
        for key, operators in fluents.items():
            if key in self.values or ":=" in operators:
                self._changing.add(key)
                if key not in self.values:
                    self._defined[key] = len(self.atoms)
                    self.atoms.append(Atom(DEFINED, (str(Atom(*key)),)))
                    self.values[key] = 0
        return found

    def _require_values(self, task: RawTask, guards: Guards) -> None:
        """Add facts that fluents are defined to effects that assign them, and to all that reads them."""
        if not self._defined:
            return
        for part in parts_of(task.actions):
            self._define(part)
            part.condition = self._with_values(part.condition, guards)
        for action in task.actions:
            action.condition += self._needs_of(action.adds)
            for effect in action.effects:
                for need in self._needs_of(effect.adds):
                    guards.forbid(action, [*effect.condition, ~need])
        task.goal = self._with_values(task.goal, guards)
        task.rules = [RawRule(tuple(self._with_values(rule.body, guards)), rule.head) for rule in task.rules]

    def _define(self, part: RawAction | RawEffect) -> None:
        for fact in list(part.adds):
            if fact in self.effects:
                key, additive, _ = self.effects[fact]
                if key in self._defined and not additive:
                    part.adds.append(self._defined[key])

    def _needs_of(self, facts: Iterable[int]) -> list[int]:
        """Return the facts that the fluents are defined which these numeric effects or comparisons read.

        A fluent that cancels out, as in `x - x`, is read too.
        """
        read = [key for fact in facts for key in self._reads.get(fact, ())]
        return list(dict.fromkeys([self._defined[key] for key in read if key in self._defined]))

    def _with_values(self, literals: Iterable[int], guards: Guards) -> list[int]:
        """Return `literals` with the facts that what the comparisons read is defined."""
        found: list[int] = []
        for literal in literals:
            fact = literal if literal >= 0 else ~literal
            needs = self._needs_of([fact]) if fact in self.forms else []
            if needs and literal >= 0:
                raise UnsupportedError(
                    f"a negated comparison of {self.atoms[needs[0]].args[0]}, which has no value before an action "
                    "assigns one",
                    "give it an initial value",
                )
            if needs and fact in self._negated:
                found.append(guards.find_either([literal, *[~need for need in needs]]))
            else:
                found += [literal, *needs]
        return list(dict.fromkeys(found))

    def _value_of(self, key: Key) -> Exact | bool | None:
        return True if key in self._changing else self.values.get(key)

    def _interpret_effect(self, number: int) -> bool:
        """Interpret the numeric effect of a fact; return whether it can ever be applied."""
        effect = self._effect_of(number)
        key = (effect.fluent.predicate, effect.fluent.args)
        if key not in self._changing:
            return False
        try:
            form = linear_form(effect.value, {}, self._value_of)
            if effect.operator in ("*=", "/="):
                form = self._scale(key, effect.operator, form, effect)
        except Undefined:
            return False
        if effect.operator == "-=":
            form = form.times(Fraction(-1))
        self.effects[number] = (key, effect.is_additive, form)
        if self._defined:
            read = (
                functions_in(effect.value) if effect.operator == ":=" else (effect.fluent, *functions_in(effect.value))
            )
            self._reads[number] = [(term.predicate, term.args) for term in read]
        return True

    def _scale(self, key: Key, operator: str, form: LinearForm, effect: object) -> LinearForm:
        if not form.is_constant:
            raise UnsupportedError(f"the effect '{effect}', which is not linear", "search takes linear effects only")
        if operator == "/=" and not form.constant:
            raise Undefined
        self._value_of(key)
        factor = form.constant if operator == "*=" else 1 / form.constant
        return LinearForm({key: factor} if factor else {}, Fraction(0))

    def _forbid(self, action: RawAction, bad: set[int], guards: Guards) -> bool:
        """Forbid the `bad` effects, which can never be applied; return whether `action` is ever applicable."""
        never = [effect for effect in action.effects if not bad.isdisjoint(effect.adds)]
        if never:
            action.effects = [effect for effect in action.effects if bad.isdisjoint(effect.adds)]
        return bad.isdisjoint(action.adds) and all(guards.forbid(action, effect.condition) for effect in never)

    def price(self, actions: Sequence[RawAction], *, with_metric: bool) -> None:
        """Set the costs of `actions` to what they add to the metric.

        Where that depends on the state or may be negative, let each action cost 1; or `with_metric`, set `metric`, the
        weights of the fluents in the metric, and let each action cost its share of the total cost.
        """
        metric = self.problem.metric
        if not isinstance(metric, NumericMetric):
            return
        share, weights = self._weigh(metric)
        prices = [self._price(action, share, weights) for action in actions]
        known = [price for price in prices if price is not None and price >= 0]
        if len(known) == len(prices):
            for action, price in zip(actions, known, strict=True):
                action.cost = price
            return
        self.is_priced = False
        shares = self._shares(actions, share)
        if with_metric and shares is not None and self._defined.keys().isdisjoint(weights):
            self.metric = weights
        for action, own in zip(actions, shares if shares and self.metric else [1] * len(actions), strict=True):
            action.cost = own

    def weigh(self, actions: Sequence[RawAction]) -> None:
        """Set `metric`, the weights of the fluents in the metric, and let each action cost its share of the total cost.

        Raises `UnsupportedError` where such a share is negative, and for fluents without an initial value.
        """
        metric = self.problem.metric
        if not isinstance(metric, NumericMetric):
            return
        share, weights = self._weigh(metric)
        shares = self._shares(actions, share)
        if shares is None:
            raise UnsupportedError(f"the metric '{metric}', which falls with the cost of steps", "leave total-cost out")
        if not self._defined.keys().isdisjoint(weights):
            raise UnsupportedError(f"the metric '{metric}', which has no value at first", "give its functions values")
        self.is_priced, self.metric = not weights, weights
        for action, own in zip(actions, shares, strict=True):
            action.cost = own

    def _shares(self, actions: Sequence[RawAction], share: Fraction) -> list[Number] | None:
        """Return what `actions` add to the metric by the total cost; None where that is negative or no decimal."""
        found = [as_number(exact_value(share * exact_value(action.cost))) for action in actions]
        known = [own for own in found if own is not None and own >= 0]
        return known if len(known) == len(found) else None

    def _weigh(self, metric: NumericMetric) -> tuple[Fraction, dict[Key, Fraction]]:
        """Return the weights of the total cost and of the fluents in `metric`, negated where the greatest is best."""
        total = (TOTAL_COST.predicate, TOTAL_COST.args)
        has_costs = total[0] not in self.problem.domain.functions
        try:
            form = linear_form(
                metric.expression, {}, lambda key: True if has_costs and key == total else self._value_of(key)
            )
        except Undefined:
            message = f"the metric '{metric}' of problem '{self.problem.name}' has no value"
            raise InputError(message, hint="give all functions in it initial values") from None
        weights = dict(form.times(Fraction(-1 if metric.maximize else 1)).weights)
        share = weights.pop(total, Fraction(0)) if has_costs else Fraction(0)
        return share, weights

    def _price(self, action: RawAction, share: Fraction, weights: Mapping[Key, Fraction]) -> Number | None:
        """Return what `action` adds to the metric; None where that depends on the state."""
        total = share * exact_value(action.cost)
        for part in _parts(action):
            for fact in part.adds:
                key, additive, form = self.effects.get(fact, (("", ()), True, ZERO))
                if key in weights:
                    if part is not action or not additive or not form.is_constant:
                        return None
                    total += weights[key] * form.constant
        return as_number(exact_value(total))

    def _join_effects(self, action: RawAction, guards: Guards) -> bool:
        """Require that the effects of `action` respect bounds and agree; return whether it is ever applicable."""
        if not action.effects and self.effects.keys().isdisjoint(action.adds):
            return True
        self._guard(action)
        own: dict[Key, list[tuple[int, list[int]]]] = {}
        for part in _parts(action):
            for fact in part.adds:
                if fact in self.effects:
                    condition = [] if part is action else part.condition
                    own.setdefault(self.effects[fact][0], []).append((fact, condition))
        for key, facts in own.items():
            if not all(guards.forbid(action, both) for both in self._find_conflicts(facts)):
                return False
            if not any(condition for _, condition in facts):
                if action.action.name in self._outcomes:
                    self._note_bounds(key)
                else:
                    action.condition += self._keep_bounds(key, tuple(dict.fromkeys([fact for fact, _ in facts])))
        return True

    def _keep_bounds(self, key: Key, facts: tuple[int, ...]) -> list[int]:
        """Return what must hold so that the effects `facts` leave a fluent within its bounds; worked out once."""
        if facts not in self._kept:
            self._kept[facts] = [~fact for fact in self._require_bounds(key, self._sum_effects(key, facts))]
        return self._kept[facts]

    def _find_conflicts(self, facts: list[tuple[int, list[int]]]) -> Iterator[list[int]]:
        """Yield the conditions under which two effects on one fluent, with conditions each, exclude each other."""
        if all(self.effects[fact][1] for fact, _ in facts):
            return
        for (one, first), (other, second) in combinations(facts, 2):
            if not (self.effects[one][1] and self.effects[other][1]) and not self._agree(one, other):
                yield [*first, *second]

    def _agree(self, one: int, other: int) -> bool:
        """Return whether two effects are one, or the same assignment."""
        if one == other:
            return True
        first, second = self._effect_of(one), self._effect_of(other)
        return first == second and first.operator == ":="

    def _sum_effects(self, key: Key, facts: Sequence[int]) -> LinearForm:
        """Return the value of a fluent after effects that always happen."""
        _, additive, result = self.effects[facts[0]]
        if not additive:
            return result
        for fact in facts[1:]:
            result = result.plus(self.effects[fact][2])
        return result.plus(LinearForm({key: Fraction(1)}, Fraction(0)))

    def _effect_of(self, fact: int) -> NumericEffect:
        """Return the numeric effect of a fact, with its variables bound."""
        change = self.abstraction.changes[self.atoms[fact].predicate]
        return change.effect.substitute(dict(zip(change.parameters, self.atoms[fact].args, strict=True)))

    def merge_equal_comparisons(self, task: RawTask) -> None:
        """Let one fact stand for all comparisons with the same form."""
        first: dict[object, int] = {}
        other: dict[int, int] = {}
        for fact, form in self.forms.items():
            known = first.setdefault((form.identity, fact in self.strict), fact)
            if known != fact:
                other |= {fact: known, ~fact: ~known}
        if not other:
            return
        for fact in [fact for fact in other if fact >= 0]:
            del self.forms[fact]
        for part in parts_of(task.actions):
            part.condition = list(dict.fromkeys([other.get(literal, literal) for literal in part.condition]))
        task.rules = [RawRule(tuple([other.get(each, each) for each in rule.body]), rule.head) for rule in task.rules]
        task.goal = [other.get(literal, literal) for literal in task.goal]

    def _guard(self, action: RawAction) -> None:
        """Note the fluents with bounds that conditional effects change: search must check them."""
        for effect in action.effects:
            for fact in effect.adds:
                if fact in self.effects:
                    self._note_bounds(self.effects[fact][0])

    def _note_bounds(self, key: Key) -> None:
        """Note that search must check the bounds of a fluent, if it has any."""
        function = self.problem.domain.functions.get(key[0])
        if function is not None and (function.low is not None or function.high is not None):
            self.guarded.add(key)

    def _require_bounds(self, key: Key, result: LinearForm) -> Iterator[int]:
        """Yield a fact for each bound of a fluent: it must not hold before the fluent becomes `result`."""
        function = self.problem.domain.functions.get(key[0])
        for sign, bound in () if function is None else ((1, function.low), (-1, function.high)):
            if bound is not None and not _keeps(key, result, sign):
                form = result.plus(LinearForm({}, Fraction(exact_value(bound))), -1).times(Fraction(sign))
                fact = self._bounds.setdefault(form.identity, len(self.atoms))
                if fact == len(self.atoms):
                    self.atoms.append(Atom(f"{VIOLATES}bound", (str(fact),)))
                    self.forms[fact] = form
                yield fact

    def _interpret_comparison(self, number: int, task: RawTask) -> None:
        atom = self.atoms[number]
        wanted = self.abstraction.requirements[atom.predicate]
        left, relation, right = self._instantiate(atom, wanted)
        try:
            sides = [linear_form(side, {}, self._value_of) for side in (left, right)]
        except Undefined:
            if not wanted.negated:
                task.initial.add(number)
            return
        one, other = sides if relation[0] == ">" else reversed(sides)
        self.forms[number] = one.plus(other, -1)
        if self._defined:
            read = (*functions_in(left), *functions_in(right))
            self._reads[number] = [(term.predicate, term.args) for term in read]
        if len(relation) == 1:
            self.strict.add(number)
        if wanted.negated:
            self._negated.add(number)

    @staticmethod
    def _instantiate(atom: Atom, wanted: Requirement) -> tuple[Expression, str, Expression]:
        comparison = wanted.comparison.substitute(dict(zip(wanted.parameters, atom.args, strict=True)))
        return comparison.left, comparison.relation, comparison.right

    def settle(self, task: RawTask) -> list[int]:
        """Note which comparisons fail initially; return the facts of those that may change."""
        live = []
        for number, form in self.forms.items():
            value = form.evaluate(self.values)
            if value < 0 or (value == 0 and number in self.strict):
                task.initial.add(number)
            if not form.is_constant:
                live.append(number)
        return live

    def describe(self, part: Formula) -> Formula:
        """Return an unreachable part of the goal as it was declared."""
        atom = part.part if isinstance(part, Not) else part
        if isinstance(atom, Atom) and atom.predicate in self.abstraction.requirements:
            wanted = self.abstraction.requirements[atom.predicate]
            return Comparison(*self._instantiate(atom, wanted))
        hidden = isinstance(atom, Atom) and is_internal(atom.predicate)
        return self.problem.goal.hard if hidden else part


def _keeps(key: Key, result: LinearForm, sign: int) -> bool:
    """Return whether a fluent that becomes `result` never moves towards its lower bound, or its upper one for -1."""
    return result.weights == {key: 1} and sign * result.constant >= 0


def _parts(action: RawAction) -> tuple[RawAction | RawEffect, ...]:
    """Return `action` and its conditional effects."""
    return action, *action.effects
