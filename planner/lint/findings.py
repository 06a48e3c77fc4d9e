"""Findings of lint, and lint of the vocabulary: predicates and types that nothing provides, requires or uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from planner.errors import did_you_mean
from planner.lint.codes import code_of
from planner.model import ROOT_TYPE, Action, Atom, DomainModel, Formula, Goal, Problem
from planner.model.actions import Outcome, When, has_open_argument, negated_atoms, positive_atoms
from planner.model.domain import cache_per_domain
from planner.model.formulas import atoms_in, conjuncts


class Level(Enum):
    """How much a finding matters: its severity."""

    ERROR = "cannot be meant"
    WARNING = "probably a mistake"
    HINT = "worth knowing"


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a file: lines and columns count from 1, and the end is that of the first character after the part."""

    source: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Mend:
    """A correction in terms of declarations; `planner.lint.fixes` turns it into edits of a text.

    `replace`: `old` becomes `new` in the declaration's `field`. `add`: the item `new` joins the list `field`; `old` is
    the fact that PDDL has to delete for it. `remove`: the item `old` of `field` goes.
    """

    kind: Literal["replace", "add", "remove"]
    field: str
    old: str = ""
    new: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the characters of `source` from offset `start` up to `end` by `text`."""

    source: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A correction that can be made at once: what it does, and the edits of the text."""

    title: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: `rule` is its stable name, `place` the declaration that it is about, `hint` how to mend it.

    `field` and `part` say where in the declaration it is: a field such as "requires", and an atom or a name there; `at`
    names another declaration to look in. `hint_pddl` stands for `hint` where the finding is in PDDL.
    `states` is the initial fact that the hint advises to add.
    `span` is the part of the file, and `fix` a correction of the text, as far as they are known.
    """

    level: Level
    rule: str
    place: str
    message: str
    hint: str = ""
    field: str = ""
    part: Atom | str = ""
    at: str = ""
    mend: Mend | None = None
    states: str = ""
    hint_pddl: str = ""
    span: Span | None = None
    fix: Fix | None = None

    @property
    def code(self) -> str:
        """The code of the rule, such as "FT101"."""
        return code_of(self.rule)

    def __str__(self) -> str:
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.level.name.lower()}: {self.place}: {self.message}{hint} [{self.rule}]"


@dataclass(frozen=True, slots=True)
class Usage:
    """The declarations that use each predicate, by the kind of use, in the order of declaration.

    `required`: a condition mentions the predicate. `needed`: a fact is a conjunct of a precondition, so that without
    such a fact the action never applies.
    """

    required: dict[str, list[str]] = field(default_factory=dict)
    needed: dict[str, list[str]] = field(default_factory=dict)
    provided: dict[str, list[str]] = field(default_factory=dict)
    ended: dict[str, list[str]] = field(default_factory=dict)
    sensed: dict[str, list[str]] = field(default_factory=dict)


def collect_usage(domain: DomainModel) -> Usage:
    """Collect the uses of predicates in `domain`."""
    found = Usage()
    for action in domain.actions.values():
        place = f"action {action.name}"
        effects: list[When | Outcome] = [*action.effects, *action.outcomes]
        ended = [*[effect.modifies for effect in action.effects], *[negated_atoms(x.provides) for x in action.effects]]
        _record_uses(found.required, place, conditions_of(action))
        _record_uses(found.needed, place, conjoined_atoms(action.requires))
        _record_uses(found.provided, place, (atom for each in effects for atom in positive_atoms(each.provides)))
        _record_uses(found.ended, place, (atom for atoms in ended for atom in atoms))
        _record_uses(found.sensed, place, action.senses)
    for axiom in domain.axioms:
        _record_uses(found.required, f"derived predicate {axiom.predicate}", atoms_in(axiom.condition))
        _record_uses(found.provided, f"derived predicate {axiom.predicate}", [axiom.head])
    for predicate in domain.predicates.values():
        _record_uses(found.ended, f"predicate {predicate.name}", [Atom(predicate.name)] if predicate.stale_with else [])
        _record_uses(found.required, f"predicate {predicate.name}", predicate.stale_with)
    return found


def conditions_of(action: Action) -> Iterator[Atom]:
    """Yield all atoms that the action reads: in its conditions, and as sources of its data."""
    yield from atoms_in(action.requires)
    for effect in action.effects:
        yield from atoms_in(effect.requires)
    for parameter in action.data:
        if parameter.source is not None:
            yield parameter.source.fact


def conjoined_atoms(formula: Formula) -> Iterator[Atom]:
    """Yield the atoms among the conjuncts of `formula`."""
    return (part for part in conjuncts(formula) if isinstance(part, Atom))


def provided_atoms(action: Action) -> list[Atom]:
    """Return the atoms that the effects and outcomes of `action` make true."""
    parts: list[When | Outcome] = [*action.effects, *action.outcomes]
    return [atom for each in parts for atom in positive_atoms(each.provides)]


def ended_atoms(action: Action) -> list[Atom]:
    """Return the atoms and open patterns that the effects and outcomes of `action` make false.

    An item of `modifies` without an open argument changes in place, and stays true.
    """
    parts: list[When | Outcome] = [*action.effects, *action.outcomes]
    items = [pattern for each in parts for pattern in each.modifies if has_open_argument(pattern)]
    return [*items, *[atom for each in parts for atom in negated_atoms(each.provides)]]


@cache_per_domain
def givers_of(domain: DomainModel) -> Mapping[str, Sequence[Action]]:
    """Return, for each predicate, the actions whose effects or outcomes provide facts of it, in their order."""
    found: dict[str, dict[str, Action]] = {}
    for action in domain.actions.values():
        for atom in provided_atoms(action):
            found.setdefault(atom.predicate, {})[action.name] = action
    return {name: [*own.values()] for name, own in found.items()}


@cache_per_domain
def enders_of(domain: DomainModel) -> Mapping[str, Sequence[tuple[Action, Atom]]]:
    """Return the actions that end facts of each predicate, with the facts."""
    found: dict[str, list[tuple[Action, Atom]]] = {}
    for action in domain.actions.values():
        for atom in ended_atoms(action):
            found.setdefault(atom.predicate, []).append((action, atom))
    return found


def goal_atoms(goal: Goal) -> Iterator[Atom]:
    """Yield all atoms in the hard and soft goals."""
    yield from atoms_in(goal.hard)
    for wish in goal.soft:
        yield from atoms_in(wish.condition)


def wanted_atoms(problem: Problem) -> Iterator[Atom]:
    """Yield all atoms that the goal, soft goals or constraints of `problem` mention."""
    yield from goal_atoms(problem.goal)
    for constraint in problem.constraints:
        for condition in constraint.conditions:
            yield from atoms_in(condition)


def _record_uses(table: dict[str, list[str]], place: str, atoms: Iterable[Atom]) -> None:
    for name in dict.fromkeys(atom.predicate for atom in atoms):
        table.setdefault(name, []).append(place)


def check_predicates(domain: DomainModel, uses: Usage, problem: Problem | None) -> Iterator[Finding]:
    """Yield predicates that nothing provides, or nothing requires; the facts and goal of a problem count, if given."""
    stated = {fact.predicate for fact in (*problem.initial, *problem.unknown)} if problem else set()
    timed = [fact for each in problem.timed for fact in each.provides] if problem else []
    stated |= {fact.predicate for fact in timed if isinstance(fact, Atom)}
    stated |= {pattern.predicate for action in domain.actions.values() for pattern in action.lists}
    wanted = {atom.predicate for atom in wanted_atoms(problem)} if problem else set()
    open_ = _group_by_arity((x for x in uses.needed if x not in uses.provided and x in domain.predicates), domain)
    others = _group_by_arity((x for x in domain.predicates if x not in uses.needed), domain)
    for name in domain.predicates:
        required, provided = name in uses.required or name in wanted, name in uses.provided
        if not required and not provided and name in uses.sensed:
            message = f"{_abbreviate(uses.sensed[name])} senses it, and nothing requires it"
            at = uses.sensed[name][0]
            yield Finding(Level.HINT, "never-required", f"predicate {name}", message, part=name, at=at)
        elif not required and not provided:
            used = "only ended" if name in uses.ended else "used nowhere"
            yield Finding(Level.WARNING, "unused-predicate", f"predicate {name}", f"it is {used} in the domain")
        elif not required:
            message = f"nothing requires it, though {_abbreviate(uses.provided[name])} provides it"
            hint, at = "it may be a goal of some problem", uses.provided[name][0]
            meant = _find_meant(name, uses, stated, open_.get(len(domain.predicates[name].parameters)))
            if meant is not None:
                message = (
                    f"nothing requires it, and nothing provides {meant}, which {_abbreviate(uses.needed[meant])} needs"
                )
                hint = f"did you mean '{meant}'?"
                is_sure = meant not in stated and (len(uses.required.get(meant, ())) > 1 or meant in wanted)
                if meant in stated:
                    message = (
                        f"nothing requires it; {_abbreviate(uses.ended[meant])} ends {meant}, and nothing gives it back"
                    )
                mend = Mend("replace", "provides", name, meant) if is_sure else None
                place = f"predicate {name}"
                yield Finding(Level.WARNING, "misspelt", place, message, hint, "provides", name, at=at, mend=mend)
                continue
            yield Finding(Level.HINT, "never-required", f"predicate {name}", message, hint, "provides", name, at=at)
        elif not provided and name not in stated and name in uses.needed:
            own = others.get(len(domain.predicates[name].parameters))
            yield from _check_never_provided(name, uses, own, has_problem=problem is not None)


def check_stale(domain: DomainModel, uses: Usage, problem: Problem | None) -> Iterator[Finding]:
    """Yield the predicates in `stale_with` that nothing else names: they are misspelt."""
    stated = {fact.predicate for fact in (*problem.initial, *problem.unknown)} if problem else set()
    stated |= {atom.predicate for atom in wanted_atoms(problem)} if problem else set()
    for predicate in domain.predicates.values():
        for pattern in predicate.stale_with:
            name = pattern.predicate
            others = [x for x in uses.required.get(name, ()) if x != f"predicate {predicate.name}"]
            if others or name in uses.provided or name in uses.ended or name in uses.sensed or name in stated:
                continue
            known = [x for x in {*uses.provided, *uses.ended} if x != name]
            message = f"it is stale with {pattern}, and no action provides or modifies '{name}'"
            near, place = did_you_mean(name, known), f"predicate {predicate.name}"
            mend = Mend("replace", "stale_with", name, near.split("'")[1]) if near else None
            hint = near or "name what actions write, or leave it out"
            yield Finding(Level.ERROR, "unknown-name", place, message, hint, "stale_with", name, mend=mend)


class NearNames:
    """Names of which the one most like a word is found, as `did_you_mean` does, but fast among many.

    The bits of a mask are characters, each with how often it stood before. Two words match in no more characters than
    their masks have bits in common, so that few names need to be compared with a word.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._bits: dict[tuple[str, int], int] = {}
        self._names = {name.lower(): name for name in names}
        self._masks = [(name, self._mask(name)) for name in self._names]

    def _mask(self, word: str) -> int:
        seen: Counter[str] = Counter()
        mask = 0
        for each in word:
            seen[each] += 1
            mask |= 1 << self._bits.setdefault((each, seen[each]), len(self._bits))
        return mask

    def find(self, word: str, cutoff: float, may_be: Callable[[str], bool]) -> str | None:
        """Return the name most like `word` of those that `may_be` it; `cutoff` is the least likeness, from 0 to 1."""
        from difflib import SequenceMatcher

        word = word.lower()
        mask, size = self._mask(word), len(word)
        bounds = [(2 * (mask & other).bit_count() / (size + len(name)), name) for name, other in self._masks]
        best = (cutoff, "")
        matcher = SequenceMatcher()
        matcher.set_seq2(word)
        for bound, name in sorted([each for each in bounds if each[0] >= cutoff], reverse=True):
            if bound < best[0]:
                break
            if may_be(self._names[name]):
                matcher.set_seq1(name)
                best = max(best, (matcher.ratio(), name))
        return self._names.get(best[1])


def _group_by_arity(names: Iterable[str], domain: DomainModel) -> dict[int, NearNames]:
    found: dict[int, list[str]] = {}
    for name in names:
        found.setdefault(len(domain.predicates[name].parameters), []).append(name)
    return {arity: NearNames(own) for arity, own in found.items()}


def _find_meant(name: str, uses: Usage, stated: set[str], open_: NearNames | None) -> str | None:
    """Return the predicate that `name` may misspell: one like it of `open_`, needed and not provided, nor stated."""

    def may_be(other: str) -> bool:
        is_ended = other in uses.ended and name not in uses.ended
        return other not in stated or (is_ended and not _differ_in_digits(other, name))

    return None if open_ is None else open_.find(name, 0.75, may_be)


def _differ_in_digits(one: str, other: str) -> bool:
    """Return whether two names differ in their digits only, as those of levels do."""
    return [each for each in one if not each.isdigit()] == [each for each in other if not each.isdigit()]


def check_unmentioned(problem: Problem) -> Iterator[Finding]:
    """Yield each predicate of stated facts that the domain does not have."""
    facts: dict[str, list[Atom]] = {}
    for fact in problem.unmentioned:
        facts.setdefault(fact.predicate, []).append(fact)
    for own in facts.values():
        message = f"the domain knows nothing of {_abbreviate([*map(str, own)])}: nothing rests on it"
        hint = "leave it out, or declare the predicate"
        yield Finding(Level.HINT, "unmentioned-fact", "initial", message, hint, part=own[0])


def _check_never_provided(name: str, uses: Usage, others: NearNames | None, *, has_problem: bool) -> Iterator[Finding]:
    """Yield a required predicate that nothing provides: always with a problem, else where its name looks misspelt.

    Alone it is no mistake, since a problem need not use all of its domain; a similar name, of `others`, makes it one.
    """
    needed, at = _abbreviate(uses.needed[name]), uses.needed[name][0]
    meant = None if others is None else others.find(name, 0.6, lambda _: True)
    near = f"did you mean '{meant}'?" if meant else None
    if has_problem:
        level = Level.HINT if near is None else Level.WARNING
        message = f"neither an action nor the initial state provides it, so {needed} can never apply"
        yield Finding(level, "never-provided", f"predicate {name}", message, near or "", "requires", name, at=at)
    elif near is not None:
        message = f"{needed} requires it and no action provides it; unless initial states do, it is misspelt"
        yield Finding(Level.HINT, "never-provided", f"predicate {name}", message, near, "requires", name, at=at)


def check_types(domain: DomainModel) -> Iterator[Finding]:
    """Yield the types that no parameter, constant or other type uses."""
    used = {name for parents in domain.types.values() for name in parents}
    used |= {name for item in domain.constants for name in item.types}
    for predicate in domain.predicates.values():
        used |= {name for parameter in predicate.parameters for name in parameter.types}
    for action in domain.actions.values():
        used |= {name for parameter in action.parameters for name in parameter.types} | set(action.creates.values())
    for name, parents in domain.types.items():
        if name not in used and name != ROOT_TYPE and not used.intersection(parents) - {ROOT_TYPE}:
            yield Finding(Level.HINT, "unused-type", f"type {name}", "no parameter, constant or other type uses it")


def check_undeclared(domain: DomainModel) -> Iterator[Finding]:
    """Yield the objects that the domain names without declaring them."""
    for name, mentions in domain.unfinished.undeclared.items():
        near = did_you_mean(name, [item.name for item in domain.constants])
        message = f"the object '{name}' is not declared, so that each problem has to declare it"
        hint = near or "declare it in ':constants'"
        yield Finding(Level.WARNING, "undeclared-object", str(mentions[0].place), message, hint)


def _abbreviate(places: list[str]) -> str:
    """Return "action a", or "action a and 3 others"."""
    others = len(places) - 1
    return places[0] if not others else f"{places[0]} and {others} other{'s' if others > 1 else ''}"
