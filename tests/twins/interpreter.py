"""What applying an action means, in as few lines as it can be said: the twin of the plan checker."""

from __future__ import annotations

from itertools import product

from planner.model import OPEN, And, Atom, Equals, Exists, Forall, Imply, Not, Or, TypeHierarchy
from planner.model.domain import cache_per_domain
from planner.plan import Step


def apply(problem, facts, ran, step):
    """Return the facts after `step`, or None where it cannot be applied; `ran` are the actions that have run."""
    action = problem.domain.actions[step.action]
    binding = {variable.name: value for variable, value in zip(action.parameters, step.arguments, strict=True)}
    true = closure(problem, facts)
    if not holds(problem, true, action.requires, binding) or not all(
        any(pattern.substitute(binding).matches(other) for other in ran) for pattern in action.after
    ):
        return None
    inner = [(effect, binding | found) for effect in action.effects for found in bindings(problem, effect.variables)]
    fired = [(effect, found) for effect, found in inner if holds(problem, true, effect.requires, found)]
    added = {each.substitute(found) for effect, found in fired for each in effect.provides if isinstance(each, Atom)}
    ended = {each.part.substitute(found) for effect, found in fired for each in effect.provides if type(each) is Not}
    items = {each.substitute(found) for effect, found in fired for each in effect.modifies}
    retracted = ended | {item for item in items if OPEN in item.args} | stale(problem, added | ended | items)
    return frozenset(fact for fact in facts if not any(each.matches(fact) for each in retracted)) | added


def stale(problem, written):
    """Return a pattern for each item that ends when `written` is, links between them included."""
    found, queue = set(), list(written)
    for item in queue:
        for predicate in problem.domain.predicates.values():
            for source in predicate.stale_with:
                said = {mine: other for mine, other in zip(source.args, item.args, strict=False) if other != OPEN}
                binding = {each.name: said.get(each.name, OPEN) for each in predicate.parameters}
                pattern = Atom(predicate.name, tuple(binding.values()))
                if meet(source.substitute(binding), item) and pattern not in found:
                    found.add(pattern)
                    queue.append(pattern)
    return found


def meet(one, other):
    """Return whether a fact could match both patterns."""
    same = one.predicate == other.predicate
    return same and all(OPEN in pair or len(set(pair)) == 1 for pair in zip(one.args, other.args, strict=True))


def closure(problem, facts):
    """Return the facts and what is derived, predicate after predicate in the order of the axioms."""
    true = set(facts)
    for predicate in dict.fromkeys(axiom.predicate for axiom in problem.domain.axioms):
        size = -1
        while size < len(true):
            size = len(true)
            for axiom in problem.domain.axioms:
                if axiom.predicate == predicate:
                    found = [b for b in bindings(problem, axiom.parameters) if holds(problem, true, axiom.condition, b)]
                    true |= {axiom.head.substitute(binding) for binding in found}
    return true


def holds(problem, true, formula, binding):
    match formula:
        case Atom():
            return formula.substitute(binding) in true
        case Equals(left, right):
            return binding.get(left, left) == binding.get(right, right)
        case Not(part):
            return not holds(problem, true, part, binding)
        case And(parts):
            return all(holds(problem, true, part, binding) for part in parts)
        case Or(parts):
            return any(holds(problem, true, part, binding) for part in parts)
        case Imply(premise, conclusion):
            return not holds(problem, true, premise, binding) or holds(problem, true, conclusion, binding)
        case Forall(variables, part):
            return all(holds(problem, true, part, binding | found) for found in bindings(problem, variables))
        case Exists(variables, part):
            return any(holds(problem, true, part, binding | found) for found in bindings(problem, variables))


def objects(problem):
    return [item.name for item in problem.all_objects]


@cache_per_domain
def hierarchy(domain):
    return TypeHierarchy(domain.types)


def bindings(problem, variables):
    """Yield every assignment of well-typed objects."""
    types = hierarchy(problem.domain)
    ranges = [[item.name for item in problem.all_objects if types.is_a(item.types, each.types)] for each in variables]
    for values in product(*ranges):
        yield {variable.name: value for variable, value in zip(variables, values, strict=True)}


def steps(problem):
    """Return every well-typed ground action."""
    return [
        Step(action.name, tuple(binding.values()))
        for action in problem.domain.actions.values()
        for binding in bindings(problem, action.parameters)
    ]
