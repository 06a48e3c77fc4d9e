"""Pool selection: which created objects get placeholders of their own.

Two sources say which objects differ. Parts of the goal may ask for objects by different birth facts, as for a ticket
about each order. And where a relaxed plan creates the one object of a pool by several steps, for facts about it that
differ, objects with different facts get different pools; then the finer relaxation is looked at (refinement of an
abstraction by its spurious plans: Clarke, Grumberg, Jha, Lu and Veith, 2003). The selection guides search; what is
proved holds for any pools.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain, islice, product

from planner.compilations.creation_relaxation import Relaxation, ground_merged
from planner.compilations.placeholder_pools import (
    MOST_FACTS,
    SOME,
    Pools,
    Slot,
    Split,
    birth_facts,
    kind_of_pool,
    name_pools,
    slots_of,
)
from planner.heuristics.relaxation import RelaxedPlan
from planner.lightweight import Final
from planner.limits import Limits
from planner.model.actions import positive_atoms
from planner.model.domain import DomainModel
from planner.model.formulas import Atom, Exists, Not, conjuncts, is_variable
from planner.model.problem import Problem
from planner.plan import Step
from planner.task.ground_task import bits

MOST_REFINEMENTS: Final = 8
"""Maximum number of times that pools are split; each time needs a ground problem."""


def relax_creation(problem: Problem, limits: Limits) -> Relaxation | None:
    """Return the relaxation of `problem` with the pools that it needs; None if it is too large.

    Facts declared unknown count as true. Raises `LimitReached`.
    """
    found = ground_merged(problem, find_asked_pools(problem), limits) or ground_merged(problem, Pools(), limits)
    for _ in range(MOST_REFINEMENTS):
        if found is None or found.task.unreachable_goal is not None or _are_split(found):
            break
        pools = _split_pools(found, limits)
        finer = None if pools == found.pools else ground_merged(problem, pools, limits)
        if finer is None:
            break
        found = finer
    return found


def _are_split(relaxation: Relaxation) -> bool:
    """Return whether there are several pools of each type that some relevant action creates."""
    split = {each.kind for each in relaxation.pools.splits}
    steps = [each.step for each in relaxation.task.actions]
    return all(kind_of_pool(pool) in split for step in steps for pool in relaxation.created_pools(step))


def find_asked_pools(problem: Problem) -> Pools:
    """Return pools of their own for the objects that parts of the goal ask for by different birth facts.

    Where a part asks for several objects, the birth facts of one may name another.
    """
    parts = [
        [atom for atom in conjuncts(part.part) if isinstance(atom, Atom)]
        for part in conjuncts(problem.goal.hard)
        if isinstance(part, Exists)
    ]
    births = _find_exclusive_births(problem.domain) if len(parts) > 1 else set()
    asked: dict[Split, set[tuple[str, ...]]] = {}
    for number, atoms in enumerate(parts):
        for split in births:
            for atom in atoms:
                if atom.predicate == split.predicate and is_variable(atom.args[split.place]):
                    others = atom.args[: split.place] + atom.args[split.place + 1 :]
                    row = tuple([f"{other}{number}" if is_variable(other) else other for other in others])
                    asked.setdefault(split, set()).add(row)
    pools = Pools()
    for split in sorted((split for split, rows in asked.items() if len(rows) > 1), key=str):
        wider = Pools(pools.splits | {split})
        pools = pools if wider.order_kinds(problem.domain) is None else wider
    own = frozenset([pool for atoms in parts for pool in _name_asked_pools(problem.domain, pools, atoms)])
    return Pools(pools.splits, own) if own else Pools()


def _find_exclusive_births(domain: DomainModel) -> set[Split]:
    """Return the splits by birth facts that no other effects provide."""
    found: set[Split] = set()
    others: set[str] = set()
    for action in domain.actions.values():
        born = {
            atom: Split(kind, atom.predicate, atom.args.index(name))
            for name, kind in action.creates.items()
            for atom in birth_facts(action, name)
        }
        found.update(born.values())
        for effect in action.effects:
            others.update([atom.predicate for atom in positive_atoms(effect.provides) if atom not in born])
    return {split for split in found if split.predicate not in others}


def _name_asked_pools(domain: DomainModel, pools: Pools, atoms: Sequence[Atom]) -> Iterator[str]:
    """Yield the pools of the objects for which a part of the goal asks by `atoms`."""
    known: dict[str, str] = {}
    rows = [
        (slot, [(atom.predicate, atom.args.index(name)) for atom in facts])
        for action in domain.actions.values()
        for name, slot in slots_of(action).items()
        if (facts := pools.naming_facts(action, name))
    ]
    before = -1
    while before != len(known):
        before = len(known)
        for slot, places in rows:
            choices = [[atom for atom in atoms if atom.predicate == predicate] for predicate, _ in places]
            for asked in product(*choices):
                (variable, *more) = {atom.args[place] for atom, (_, place) in zip(asked, places, strict=True)}
                args = {arg for atom in asked for arg in atom.args if is_variable(arg)}
                if not more and is_variable(variable) and args <= known.keys() | {variable} and variable not in known:
                    known[variable] = slot.pool(name_pools(asked, {**known, variable: SOME}))
                    yield known[variable]


def _split_pools(relaxation: Relaxation, limits: Limits) -> Pools:
    """Return pools of their own for the objects that a relaxed plan creates by several steps."""
    creating, used = _find_creating_steps(relaxation, limits)
    splits = _find_splits(relaxation, creating, used)
    if splits == relaxation.pools.splits:
        return relaxation.pools
    return Pools(splits, frozenset(_name_own_pools(relaxation, creating, Pools(splits))))


def _find_creating_steps(relaxation: Relaxation, limits: Limits) -> tuple[list[Step], set[Atom | Not]]:
    """Return the creating steps of a relaxed plan, and the facts that they provide for the others."""
    task = relaxation.task
    _, chosen = RelaxedPlan(task, [action.cost for action in task.actions], limits.check).advise(bits(task.initial))
    used = {*task.goal, *chain.from_iterable([rule.body for layer in task.axioms for rule in layer.rules])}
    for number in chosen:
        used.update(task.actions[number].precondition, *[each.condition for each in task.actions[number].conditional])
    actions = [task.actions[number] for number in sorted(chosen)]
    creating = [each for each in actions if relaxation.created_pools(each.step)]
    return [each.step for each in creating], {
        task.facts[fact] for each in creating for fact in used.intersection(each.adds)
    }


def _find_splits(relaxation: Relaxation, creating: Iterable[Step], used: Container[Atom | Not]) -> frozenset[Split]:
    """Return the splits by which several of the steps `creating`, for facts in `used`, no longer share a pool.

    An object gets a pool of its own, too, if a fact relates it to one that gets one.
    """
    domain, pool_of = relaxation.problem.domain, relaxation.pooled.pool_of
    reached: dict[Split, dict[str, set[Atom]]] = {}
    kinds: dict[Split, set[str]] = {}
    for step in creating:
        action, binding = domain.actions[step.action], relaxation.bind(step)
        for name, kind in action.creates.items():
            for atom in birth_facts(action, name):
                fact, split = atom.substitute(binding), Split(kind, atom.predicate, atom.args.index(name))
                if fact in used:
                    reached.setdefault(split, {}).setdefault(pool_of[binding[name]], set()).add(fact)
                    others = [arg for arg in fact.args if arg in pool_of and arg != binding[name]]
                    kinds.setdefault(split, set()).update(kind_of_pool(pool_of[arg]) for arg in others)
    splits = relaxation.pools.splits
    waiting = list(reached)
    divided: set[str] = {split.kind for split in splits}
    while True:
        more = [
            split
            for split in waiting
            if not divided.isdisjoint(kinds[split]) or any(len(facts) > 1 for facts in reached[split].values())
        ]
        if not more:
            return splits
        for split in more:
            waiting.remove(split)
            if Pools(splits | {split}).order_kinds(domain) is not None:
                splits |= {split}
                divided.add(split.kind)


def _name_own_pools(relaxation: Relaxation, creating: Iterable[Step], pools: Pools) -> set[str]:
    """Return the pools of the objects that the steps `creating` create, and of those related to these objects."""
    domain, pool_of = relaxation.problem.domain, relaxation.pooled.pool_of
    parts: dict[str, dict[str, None]] = {}
    rows: list[tuple[str, str, Slot, list[Atom]]] = [
        (kind, pool_of[binding[name]], slot, [fact.substitute({**binding, name: SOME}) for fact in naming])
        for step in creating
        for action, binding in [(domain.actions[step.action], relaxation.bind(step))]
        for (name, kind), slot in zip(action.creates.items(), slots_of(action).values(), strict=True)
        if (naming := pools.naming_facts(action, name))
    ]
    order = {kind: place for place, kind in enumerate(pools.order_kinds(domain) or ())}
    for _, pool, slot, facts in sorted(rows, key=lambda row: order[row[0]]):
        shared = name_pools(facts, pool_of)
        divided = list(dict.fromkeys([arg for fact in shared for arg in fact.args if arg in parts]))
        for values in islice(product(*[parts[arg] for arg in divided]), MOST_FACTS):
            own = slot.pool(name_pools(shared, dict(zip(divided, values, strict=True))))
            parts.setdefault(pool, {})[own] = None
    return {own for found in parts.values() for own in found}
