"""Placeholder pools: a compilation of object creation in which the arguments of a step choose its placeholder.

Placeholders that any step may take grow the ground problem with the product of steps and placeholders, and search sees
each assignment of one to the other as a different plan. In a problem with a ticket for each of 100 orders, though, the
fact `about(ticket, order)` that the creating step provides says which ticket it is. So tickets are named by that fact,
like the Skolem terms by which the chase names new objects (Fagin, Kolaitis, Miller and Popa, 2005): a *pool* holds the
placeholders of the objects that come into existence with the same *birth facts*, and all other objects share one pool.

The objects that one step creates have different slots, and objects of different slots have different pools. The
placeholders of a pool are taken in order. So every plan that creates at most so many objects of each pool is, but for
names, a plan of the compiled problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, pairwise, product

from planner.compilations import reserve_name
from planner.compilations.object_creation import (
    created_types,
    expand_domain,
    expand_problem,
    find_taken_names,
    name_placeholders,
)
from planner.graphs import strong_components
from planner.lightweight import Final, dataclass, field, replace
from planner.model.actions import Action, positive_atoms
from planner.model.domain import DomainModel, TypeHierarchy
from planner.model.formulas import OPEN, Atom, Object, Variable, is_variable
from planner.model.problem import Problem
from planner.plan import Plan, Step

SOME: Final = "?"
"""The argument of a birth fact that stands for the new object."""
FREE: Final = "free"
MOST_FACTS: Final = 20_000
"""Maximum number of facts that say which placeholders a step may take."""


@dataclass(frozen=True, slots=True)
class Split:
    """Birth facts of `predicate` choose the pools of objects of type `kind`, which are argument `place` there."""

    kind: str
    predicate: str
    place: int


@dataclass(frozen=True, slots=True)
class Slot:
    """The object of type `kind` that a step creates as number `index` of that type, from 0."""

    kind: str
    index: int

    def pool(self, facts: Iterable[Atom] = ()) -> str:
        """Return the name of the pool of the objects with these birth facts; without any, of all other objects."""
        return f"{self.kind}#{self.index}({'; '.join(map(str, facts))})"


def kind_of_pool(pool: str) -> str:
    """Return the type of the objects of a pool."""
    return pool.partition("#")[0]


def slots_of(action: Action) -> dict[str, Slot]:
    """Return the slot of each object that `action` creates."""
    numbers: dict[str, int] = {}
    found: dict[str, Slot] = {}
    for name, kind in action.creates.items():
        number = numbers[kind] = numbers.get(kind, -1) + 1
        found[name] = Slot(kind, number)
    return found


def birth_facts(action: Action, name: str) -> Iterator[Atom]:
    """Yield the facts about the new object `name` and others that each step of `action` provides."""
    known = {each.name for each in action.step_parameters}
    for atom in positive_atoms(action.provides):
        others = [term for term in atom.args if term != name]
        if 0 < len(others) == len(atom.args) - 1 and all(
            term in known or not (is_variable(term) or term == OPEN) for term in others
        ):
            yield atom


@dataclass(frozen=True, slots=True)
class PooledProblem:
    """A problem with placeholders, and the pool of each."""

    problem: Problem
    pool_of: Mapping[str, str]
    last: list[str]
    """The placeholder of each pool that is taken last; none for a pool without placeholders."""
    pools: int
    existing: str
    """The predicate of existing objects."""


@dataclass(frozen=True, slots=True)
class Pools:
    """A partition of the created objects by the birth facts of `splits`; only the pools in `own` are apart."""

    splits: frozenset[Split] = field(default=frozenset())
    own: frozenset[str] = field(default=frozenset())

    def naming_facts(self, action: Action, name: str) -> tuple[Atom, ...]:
        """Return the birth facts of the object `name` that choose its pool."""
        kind = action.creates[name]
        facts = birth_facts(action, name)
        return tuple(
            dict.fromkeys([atom for atom in facts if Split(kind, atom.predicate, atom.args.index(name)) in self.splits])
        )

    def order_kinds(self, domain: DomainModel) -> list[str] | None:
        """Return the created types, those first whose objects name the pools of others; None if there is a cycle."""
        types = TypeHierarchy(domain.types)
        kinds = list(created_types(domain.actions.values()))
        leads: dict[str, set[str]] = {kind: set() for kind in kinds}
        for action in domain.actions.values():
            declared = {each.name: each.types for each in action.step_parameters}
            for name, kind in action.creates.items():
                for atom in self.naming_facts(action, name):
                    named = [declared[term] for term in atom.args if term != name and term in declared]
                    leads[kind].update(each for each in kinds for wanted in named if types.is_a((each,), wanted))
        order = list(strong_components(leads))
        if any(len(each) > 1 for each in order) or any(kind in after for kind, after in leads.items()):
            return None
        return [kind for (kind,) in order]

    def compile(self, problem: Problem, copies: Mapping[str, int]) -> PooledProblem | None:
        """Compile `problem` to one with placeholders: `copies` for each pool of a type, by default 1.

        Return None if that takes too many facts.
        """
        kinds = self.order_kinds(problem.domain)
        if kinds is None:
            return None
        filling = _Filling(self, problem, copies)
        if not all(map(filling.fill_kind, kinds)):
            return None
        return filling.finish()


class _Filling:
    """The placeholders of the types done so far, and the facts that say which steps may take them."""

    def __init__(self, pools: Pools, problem: Problem, copies: Mapping[str, int]) -> None:
        self._pools = pools
        self._problem = problem
        self._copies = copies
        self._types = TypeHierarchy(problem.domain.types)
        self._members = self._types.objects_by_type(problem.all_objects)
        self._taken = find_taken_names(problem)
        self._predicates = set(problem.domain.predicates)
        self._choices: dict[tuple[Slot, tuple[tuple[str, int], ...]], str] = {}
        self._chosen_by: dict[tuple[str, str], Atom] = {}
        self._chains: dict[tuple[Slot, tuple[Atom, ...]], list[str]] = {}
        self._pool_of: dict[str, str] = {}
        self._facts: dict[Atom, None] = {}

    def fill_kind(self, kind: str) -> bool:
        """Make the placeholders of type `kind`; return False if there are too many facts about them."""
        names = name_placeholders(kind, self._taken)
        for action in self._problem.domain.actions.values():
            for name, slot in slots_of(action).items():
                if slot.kind == kind and not self._fill_slot(action, name, slot, names):
                    return False
        made = [Object(name, (kind,)) for chain in self._chains_of(kind) for name in chain]
        for above, more in self._types.objects_by_type(made).items():
            self._members.setdefault(above, []).extend(more)
        return True

    def _chains_of(self, kind: str) -> list[list[str]]:
        return [chain for (slot, _), chain in self._chains.items() if slot.kind == kind]

    def _fill_slot(self, action: Action, name: str, slot: Slot, names: Iterator[str]) -> bool:
        """Give placeholders to the steps of `action` for the object `name`."""
        facts = self._pools.naming_facts(action, name)
        terms = [term for atom in facts for term in atom.args if term != name]
        kinds = (slot, tuple([(atom.predicate, atom.args.index(name)) for atom in facts]))
        if kinds not in self._choices:
            self._choices[kinds] = reserve_name(f"for-{slot.kind}-{slot.index + 1}", self._predicates)
        predicate = self._choices[kinds]
        self._chosen_by[action.name, name] = Atom(predicate, (*terms, name))
        marked = [Atom(atom.predicate, tuple([SOME if term == name else term for term in atom.args])) for atom in facts]
        ranges = {each.name: self._objects_of(each) for each in action.step_parameters if each.name in terms}
        for values in product(*ranges.values()):
            binding = dict(zip(ranges, values, strict=True))
            chain = self._find_chain(slot, tuple([atom.substitute(binding) for atom in marked]), names)
            row = [binding.get(term, term) for term in terms]
            self._facts.update(dict.fromkeys([Atom(predicate, (*row, each)) for each in chain]))
            if len(self._facts) > MOST_FACTS and terms:
                return False
        return True

    def _objects_of(self, variable: Variable) -> list[str]:
        return list(dict.fromkeys([name for kind in variable.types for name in self._members.get(kind, ())]))

    def _find_chain(self, slot: Slot, facts: tuple[Atom, ...], names: Iterator[str]) -> list[str]:
        """Return the placeholders of the objects with these birth facts, in the order in which they are taken."""
        pool = self._pool_with(slot, facts)
        if pool not in self._pools.own:
            pool, facts = slot.pool(), ()
        if (slot, facts) not in self._chains:
            chain = self._chains[slot, facts] = list(islice(names, self._copies.get(slot.kind, 1)))
            self._pool_of.update(dict.fromkeys(chain, pool))
        return self._chains[slot, facts]

    def _pool_with(self, slot: Slot, facts: Iterable[Atom]) -> str:
        return slot.pool(name_pools(facts, self._pool_of))

    def finish(self) -> PooledProblem:
        """Return the compiled problem."""
        expansion = expand_domain(
            self._problem.domain,
            FREE,
            follows=any(number > 1 for number in self._copies.values()),
            chosen_by=self._chosen_by,
        )
        facts = [*self._facts]
        placeholders: dict[str, list[str]] = {kind: [] for kind in expansion.fresh}
        for (slot, _), chain in self._chains.items():
            placeholders[slot.kind] += chain
            facts += [Atom(expansion.fresh[slot.kind], (name,)) for name in chain[:1]]
            facts += [Atom(expansion.follows, pair) for pair in pairwise(chain) if expansion.follows is not None]
        compiled = expand_problem(self._problem, expansion, placeholders, facts)
        last = [chain[-1] for chain in self._chains.values() if chain]
        return PooledProblem(compiled, self._pool_of, last, len(self._chains), expansion.existing)


def name_pools(facts: Iterable[Atom], pool_of: Mapping[str, str]) -> list[Atom]:
    """Return `facts` with the names of pools in the place of their placeholders."""
    return [Atom(atom.predicate, tuple([pool_of.get(arg, arg) for arg in atom.args])) for atom in facts]


def number_placeholders(plan: Plan, problem: Problem) -> Plan:
    """Return `plan` with placeholders that are numbered in the order of the steps that create them."""
    taken = find_taken_names(problem)
    names = {kind: name_placeholders(kind, taken) for kind in created_types(problem.domain.actions.values())}
    known: dict[str, str] = {}
    for step in plan.steps:
        action = problem.domain.actions.get(step.action)
        if action is not None and action.creates:
            created = zip(action.created_arguments(step.arguments), action.creates.values(), strict=True)
            known.update({name: next(names[kind]) for name, kind in created})
    steps = [
        Step(step.action, tuple([known.get(name, name) for name in step.arguments]), step.cost) for step in plan.steps
    ]
    return replace(plan, steps=tuple(steps))
