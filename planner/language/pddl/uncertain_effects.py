"""Combine effects with several outcomes (`oneof`, `probabilistic`) to the outcomes of an action."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import prod

from planner.language.pddl.sections import read_number
from planner.language.pddl.syntax import Source, Tree
from planner.lightweight import Final, dataclass
from planner.model import OPEN, TRUE, Atom, Formula, Literal, Not, NumericEffect, Outcome
from planner.model.formulas import conjunction

MOST_CONDITIONS: Final = 6
"""Most conditions of the outcomes of one action; each doubles the number of its versions."""
MOST_OUTCOMES: Final = 1_000
"""Most outcomes of one action; independent effects multiply them."""
_ROUNDED: Final = Decimal("1e-12")
"""Probabilities without a finite decimal are rounded to multiples of this."""
_WEIGHED: Final = "probabilistic"
"""The keyword of effects with probabilities; the effects of `oneof` are equally likely."""
_LONGEST: Final = 100
"""Most characters of a fraction; Python reads numbers of some thousand digits at most."""

Change = Literal | NumericEffect
"""One effect; a literal with open arguments deletes all facts that match."""

Part = tuple[Formula, tuple[Change, ...]]
"""Effects with their condition."""


@dataclass(frozen=True, slots=True)
class Option:
    """One of several alternative effects, with its probability."""

    probability: Fraction
    parts: tuple[Part, ...] = ()


Choice = Sequence[Option]
"""Alternative effects, exactly one of which happens."""


def _combine(probability: Fraction, parts: Sequence[Part], choices: Sequence[Choice]) -> Iterator[Option]:
    """Combine `parts` with each combination of options of the independent `choices`."""
    for chosen in product(*choices):
        share = prod([each.probability for each in chosen], start=probability)
        yield Option(share, (*parts, *(part for each in chosen for part in each.parts)))


def read_options(
    source: Source, tree: Tree, index: int, parts: Sequence[Part], choices: Sequence[Choice]
) -> list[Option]:
    """Return the options of the effect at item `index` of `tree`, which has these `parts` and inner `choices`."""
    share = _read_probability(source, tree, index - 1) if tree[0] == _WEIGHED else Fraction(1, len(tree) - 1)
    return list(_combine(share, parts, choices))


def read_choice(source: Source, tree: Tree, options: Sequence[Option]) -> list[Option]:
    """Sort the `options` of `tree`: the most likely first, and last the remainder to 1, in which nothing changes.

    Raises `PddlError` where the probabilities add up to more.
    """
    if tree[0] != _WEIGHED:
        return list(options)
    left = 1 - sum([each.probability for each in options], Fraction(0))
    if left < 0:
        raise source.error("the probabilities add up to more than 1", tree, None, "make them smaller")
    found = sorted([each for each in options if each.probability], key=lambda each: -each.probability)
    return [*found, Option(left)] if left else found


def _read_probability(source: Source, tree: Tree, index: int) -> Fraction:
    """Return the probability at item `index` of `tree`, such as `0.25` or `1/4`."""
    item = tree[index]
    above, _, below = item.partition("/") if isinstance(item, str) else ("", "", "")
    if above.isdecimal() and below.isdecimal() and len(item) <= _LONGEST and int(below):
        return Fraction(int(above), int(below))
    return Fraction(read_number(source, tree, index, "a probability"))


def conditions_of(choices: Sequence[Choice]) -> list[Formula]:
    """Return the conditions of the parts of `choices`, each once."""
    parts = [part for choice in choices for option in choice for part in option.parts]
    return list(dict.fromkeys(condition for condition, _ in parts if condition != TRUE))


def enumerate_versions(
    always: Sequence[Change], choices: Sequence[Choice]
) -> Iterator[tuple[Formula, tuple[Outcome, ...]]]:
    """Yield each combination of truth values of the conditions of `choices`, as a formula, with its outcomes.

    The intended outcome is the first. Each outcome includes the effects `always`; equal outcomes are joined.
    """
    conditions = conditions_of(choices)
    for held in product((True, False), repeat=len(conditions)):
        truth = dict(zip(conditions, held, strict=True))
        demand = conjunction([each if holds else Not(each) for each, holds in truth.items()])
        yield demand, _make_outcomes(always, choices, {**truth, TRUE: True})


def _make_outcomes(
    always: Sequence[Change], choices: Sequence[Choice], truth: dict[Formula, bool]
) -> tuple[Outcome, ...]:
    shares: dict[tuple[Change, ...], Fraction] = {}
    for option in _combine(Fraction(1), (), choices):
        some = [change for condition, changes in option.parts if truth[condition] for change in changes]
        literals = dict.fromkeys([each for each in (*always, *some) if not isinstance(each, NumericEffect)])
        made = (*literals, *[each for each in (*always, *some) if isinstance(each, NumericEffect)])
        shares[made] = shares.get(made, Fraction(0)) + option.probability
    rounded = list(map(_round, shares.values()))
    rounded[-1] = 1 - sum(rounded[:-1], Decimal(0))
    return tuple([_make_outcome(share, changes) for changes, share in zip(shares, rounded, strict=True)])


def _make_outcome(share: Decimal, changes: Sequence[Change]) -> Outcome:
    """Make an outcome of `changes`; literals with open arguments become `modifies`."""
    numbers = tuple([each for each in changes if isinstance(each, NumericEffect)])
    literals = [each for each in changes if not isinstance(each, NumericEffect)]
    atoms = [(each, each.part if isinstance(each, Not) else each) for each in literals]
    modifies = [atom for _, atom in atoms if isinstance(atom, Atom) and OPEN in atom.args]
    provides = tuple([each for each, atom in atoms if atom not in modifies])
    return Outcome(share, provides, tuple(modifies), numbers=numbers)


def _round(share: Fraction) -> Decimal:
    """Return `share`, exactly where it is a finite decimal."""
    found = Decimal(share.numerator) / share.denominator
    return found if Fraction(found) == share else found.quantize(_ROUNDED)
