"""What steps could read and write in any state: what is left to order them by where a plan does not work as it stands.

Steps of which one writes what the other reads or writes stay in their order; then every linearisation has the same
effects (conflict serialisability; Papadimitriou 1979).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.model import OPEN, Action, Atom, DomainModel, Problem, is_variable
from planner.model.actions import added, deleted
from planner.model.formulas import atoms_in
from planner.order.accesses import Access
from planner.plan import Step
from planner.validate import Changes
from planner.validate.effects import staleness_of
from planner.validate.simulation import bound


def possible_accesses(problem: Problem, steps: Sequence[Step]) -> list[Access]:
    """Return what each of `steps` could read and write: all that it writes counts as an item. The goal reads nothing.

    Raises `PlanError` where a step is no instance of an action.
    """
    domain = problem.domain
    below = _base_patterns(domain)
    stale = staleness_of(domain)
    remembered = {pattern.predicate for action in domain.actions.values() for pattern in action.after}
    schemas = {name: _Schema(domain.actions[name], below) for name in {step.action for step in steps}}
    found = []
    for step in steps:
        schema = schemas[step.action]
        binding = bound(schema.action, step)
        reads, writes, provides = [
            tuple([pattern.substitute(binding) for pattern in patterns])
            for patterns in (schema.reads, schema.writes, schema.provides)
        ]
        history = [_ran(Atom(step.action, step.arguments))] if step.action in remembered else []
        changed = dict.fromkeys([*writes, *stale.of(writes), *history])
        changes = Changes(provides, (), tuple(changed), (), ())
        found.append(Access(step, {(pattern, True): None for pattern in reads}, changes, ()))
    return [*found, Access(Step("goal"), {}, Changes((), (), (), (), ()), ())]


class _Schema:
    """The patterns that an action could read and write, with its parameters, and open for all other variables."""

    def __init__(self, action: Action, below: dict[str, list[Atom]]) -> None:
        self.action = action
        conditions = [action.requires, *(effect.requires for effect in action.effects)]
        read = [atom for each in conditions for atom in atoms_in(each)]
        base = [pattern for atom in read for pattern in below.get(atom.predicate, (atom,))]
        provided = [atom for effect in action.effects for atom in added(effect.provides)]
        ended = [atom for effect in action.effects for atom in (*deleted(effect.provides), *effect.modifies)]
        names = {each.name for each in action.parameters}
        self.reads = _opened([*base, *map(_ran, action.after)], names)
        writes = _opened([*provided, *ended], names)
        self.writes = [each for each in writes if not any(one != each and one.matches(each) for one in writes)]
        self.provides = _opened(provided, names)


def _opened(patterns: Iterable[Atom], names: set[str]) -> list[Atom]:
    found = (
        Atom(each.predicate, tuple([OPEN if is_variable(arg) and arg not in names else arg for arg in each.args]))
        for each in patterns
    )
    return list(dict.fromkeys(found))


def _ran(action: Atom) -> Atom:
    """Return the fact that `action` has run; no predicate has a name with a space."""
    return Atom(f"ran {action.predicate}", action.args)


def _base_patterns(domain: DomainModel) -> dict[str, list[Atom]]:
    """Return, for each derived predicate, patterns of all facts that it may be derived from."""
    uses: dict[str, set[str]] = {axiom.predicate: set() for axiom in domain.axioms}
    for axiom in domain.axioms:
        uses[axiom.predicate] |= {atom.predicate for atom in atoms_in(axiom.condition)}
    return {name: [_all_of(domain, each) for each in sorted(_reached(name, uses)) if each not in uses] for name in uses}


def _reached(name: str, uses: dict[str, set[str]]) -> set[str]:
    found, stack = set[str](), [name]
    while stack:
        fresh = uses.get(stack.pop(), set()) - found
        found |= fresh
        stack.extend(fresh)
    return found


def _all_of(domain: DomainModel, name: str) -> Atom:
    return Atom(name, (OPEN,) * len(domain.predicates[name].parameters))
