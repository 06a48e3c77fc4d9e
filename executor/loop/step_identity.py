"""Identify irreversible steps: which steps of all runs are one, or for the same, and the key of each entry.

An identity is a hash of the world, the action, its planning arguments and the values that were known before. The same
step so has the same identity and key in every process and run. Other steps are for the same if they bring about a fact
that it brings about, too: each fact has a mark, by which ledgers find them, whatever version of a domain made them.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from pydantic import BaseModel

from executor.events.fluent_values import FluentValue
from executor.loop.parameters import Missing, convert_value
from executor.plans.action_plan import references
from executor.tools.containment import call_or_else
from executor.tools.json_data import dump_json_value, load_json
from planner.lightweight import dataclass, replace
from planner.model import Action, Atom, Renames
from planner.model.renames import NO_RENAMES
from planner.plan import Step

DIGITS: Final = 32
"""Hexadecimal digits of identities and keys: 128 bits."""
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")
"""Where an object is in memory, as Python's own texts of objects say."""


def find_known_values(
    action: Action, planned: Mapping[str, Any], request: Mapping[str, Any], renames: Renames = NO_RENAMES
) -> dict[str, Any]:
    """Return the values of data parameters that the plan (`planned`) or the `request` gave: they tell steps apart.

    They are by the first names of the parameters. What else has a value in a parameter does not: a result, a default
    and a language model may say the same thing in other words, in another run or with another version of the world.
    """
    found: dict[str, Any] = {}
    for parameter in action.data:
        name = parameter.name
        if name in planned:
            if any(True for _ in references(planned[name])):
                continue
            found[name] = planned[name]
        elif parameter.source is None and name in request:
            found[name] = request[name]
        if name in found:
            with suppress(Missing):
                found[name] = convert_value(parameter, found[name])
    return {renames.find_first_parameter(action.name, name): each for name, each in found.items()}


def identify_step(world: str, action: str, arguments: Sequence[str], values: Mapping[str, Any]) -> str:
    """Return the identity of an irreversible step.

    `values` are those of data parameters that the request or the plan gave. The same value has the same identity in
    every process: 10, 10.0 and `Decimal("10.00")` are one number, and 12:00+01:00 and 11:00Z one time, also in fields
    of models and dataclasses; an address in the text of an object does not count.
    """
    return _hash_data([world, action, list(arguments), _normalise(values)])


_KINDS: Final[Mapping[str, type[Atom]]] = {"fact": Atom, "number": FluentValue}


@dataclass(frozen=True, slots=True)
class Brought:
    """What a step is for: the `facts` that it brings about or ends, and the `values` that were known of it, normalised.

    Numbers are among the facts by the values that they should have then. The ledger finds a step by its `marks`, which
    are hashes, as an index finds a text by its terms: one for each other fact, one for its action and objects, and one
    for each part of a goal or task that it is for in the end: these are `goals`, too. By the marks in `changes` it
    finds what the step changes in place, and the open patterns of what it creates: steps that share only these are for
    something else.
    """

    facts: Mapping[Atom, bool]
    values: Mapping[str, Any]
    marks: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        world: str,
        step: Step,
        facts: Mapping[Atom, bool],
        values: Mapping[str, Any],
        *,
        goals: Iterable[str] = (),
        changed: Iterable[Atom] = (),
    ) -> Brought:
        """Return what `step` is for, in the end for `goals`; objects have their real names.

        The `changed` items and open patterns are those that it changes in place, or creates a match of.
        """
        told = [(each, holds) for each, holds in facts.items() if not isinstance(each, FluentValue)]
        marks = [mark_fact(world, each, holds) for each, holds in told]
        by_name = identify_step(world, step.action, step.arguments, {})
        aims = tuple([mark_goal(world, each) for each in goals])
        changes = tuple([mark_change(world, each) for each in changed])
        return cls(facts, _normalise(values), (*marks, by_name, *aims), aims, changes)

    def narrow(self, facts: Mapping[Atom, bool], values: Mapping[str, Any] | None) -> Brought:
        """Return the part of it that are `facts`, with the `values` by now, if they are known."""
        told = [each for each in self.facts if not isinstance(each, FluentValue)]
        marks = [mark for fact, mark in zip(told, self.marks, strict=False) if fact in facts]
        now = self if values is None else self.with_values(values)
        return replace(now, facts=facts, marks=(*marks, *self.marks[len(told) :]))

    def with_values(self, values: Mapping[str, Any]) -> Brought:
        """Return the same with other `values`."""
        return replace(self, values=_normalise(values))

    @classmethod
    def read(cls, text: str) -> Brought:
        """Read the JSON text that `write` wrote, with all marks among `marks`; "" tells nothing."""
        if not text:
            return cls({}, {})
        data = json.loads(text)
        facts = {_KINDS[kind](predicate, tuple(args)): holds for kind, predicate, args, holds in data["facts"]}
        return cls(facts, data["values"], tuple(data["marks"]), tuple(data["goals"]))

    def write(self) -> str:
        """Write it as JSON text."""
        kinds = {kind: name for name, kind in _KINDS.items()}
        facts = [[kinds[type(each)], each.predicate, list(each.args), holds] for each, holds in self.facts.items()]
        return json.dumps(
            {"marks": [*self.marks, *self.changes], "goals": self.goals, "facts": facts, "values": self.values}
        )

    def shares_fact(self, other: Brought) -> bool:
        """Return whether a fact of `other` is one of this step."""
        return not self.facts.items().isdisjoint(other.facts.items())

    def shares_only_goals(self, other: Brought) -> bool:
        """Return whether `other` is another way to what this step is for in the end."""
        return {*self.marks} & {*other.marks} <= {*self.goals}

    def differs(self, other: Brought) -> bool:
        """Return whether a value is known of both that is not the same: then both may be wanted."""
        return _differ(self.values, other.values)


def mark_fact(world: str, fact: Atom, holds: bool) -> str:
    """Return the mark of steps that give a fact a value."""
    return _hash_data([world, fact.predicate, list(fact.args), holds])


def mark_goal(world: str, goal: str) -> str:
    """Return the mark of steps that are in the end for a part of a goal, or a task."""
    return _hash_data([world, "goal", goal])


def mark_change(world: str, changed: Atom) -> str:
    """Return the mark of steps that change an item in place, or create what matches an open pattern."""
    return _hash_data([world, "change", changed.predicate, list(changed.args)])


def _differ(one: Any, other: Any) -> bool:
    """Return whether two normalised values differ, in what both have; 5 and "5" do not."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return any(_differ(one[name], other[name]) for name in one.keys() & other.keys())
    plain = [each[1] if isinstance(each, list) and each[:1] == ["number"] else each for each in (one, other)]
    return bool(plain[0] != plain[1])


def make_key(item: str, occasion: str, number: int) -> str:
    """Return the idempotency key of the entry with this `number` of the step `item` on an `occasion`."""
    return _hash_data([item, occasion, number])


def _normalise(value: Any) -> Any:
    """Return `value` in the form in which equal values are alike."""
    match value:
        case bool() | None:
            return value
        case int():
            return ["number", str(value)]
        case Decimal() if value.is_finite() and value == int(value):
            return _normalise(int(value))
        case Decimal() if value.is_finite():
            number = float(value)
            return _normalise(number) if Decimal(repr(number)) == value else f"{value.normalize():f}"
        case Fraction():
            exact = Decimal(value.numerator) / Decimal(value.denominator)
            return _normalise(exact) if Fraction(exact) == value else ["number", str(value)]
        case float() if math.isfinite(value):
            return ["number", str(int(value)) if value.is_integer() else repr(value)]
        case str():
            return _ADDRESS.sub("", value.encode("utf-8", "backslashreplace").decode())
        case Mapping():
            return {str(key): _normalise(each) for key, each in value.items()}
        case set() | frozenset():
            return sorted(map(_normalise, value), key=dump_json_value)
        case list() | tuple():
            return [_normalise(each) for each in value]
        case datetime() if value.utcoffset() is not None:
            return load_json(dump_json_value(call_or_else(lambda: value.astimezone(UTC), value)))
        case BaseModel() if (fields := call_or_else(value.model_dump, None)) is not None:
            return _normalise(fields)
        case _ if is_dataclass(value) and not isinstance(value, type):
            fields = call_or_else(lambda: asdict(value), None)
            return _normalise(load_json(dump_json_value(value)) if fields is None else fields)
        case _:
            return _normalise(load_json(dump_json_value(value)))


def _hash_data(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:DIGITS]
