"""What a domain declares that plans depend on, as text: equal texts, equal plans and costs, in every process."""

from __future__ import annotations

from planner.annotations import Final
from planner.model import Action, DomainModel
from planner.model.actions import CostFunction, CostTerm

SEMANTIC: Final = (
    "name",
    "parameters",
    "requires",
    "provides",
    "modifies",
    "when",
    "after",
    "creates",
    "duration",
    "risk",
    "outcomes",
    "senses",
    "cases",
)
"""What matters of an action for plans, beside what it costs and uses; descriptions, tags and data do not."""


def declared(domain: DomainModel) -> str:
    """Return what `domain` declares as text; Python functions by their names, which do not say what they do."""
    stale = [(each.name, each.parameters, each.stale_with) for each in domain.predicates.values() if each.stale_with]
    actions = "\n".join(map(_action, domain.actions.values()))
    return f"{domain.name} {dict(domain.types)!r} {domain.constants!r} {stale!r}\n{actions}\n{domain.axioms!r}"


def calls_python(domain: DomainModel) -> bool:
    """Return whether Python functions say what steps of `domain` cost or use: nobody knows what these depend on."""
    return any(
        isinstance(term, CostFunction)
        for action in domain.actions.values()
        for terms in (action.cost, *action.uses.values())
        for term in terms
    )


def _action(action: Action) -> str:
    parts = [repr(getattr(action, name)) for name in SEMANTIC]
    cost = [_term(each) for each in action.cost]
    uses = {name: [_term(each) for each in terms] for name, terms in sorted(action.uses.items())}
    return f"{' '.join(parts)} {cost} {uses}"


def _term(term: CostTerm) -> str:
    if not isinstance(term, CostFunction):
        return repr(term)
    function = term.function
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__name__)}"
