"""Facts in the words of the domain's author."""

from __future__ import annotations

import re

from planner.explain.providers import atom_of
from planner.model import OPEN, Atom, DomainModel, Literal, Not


def readable(literal: Literal, domain: DomainModel) -> str:
    """Return `literal` as text; the facts that stand for `after` read as what they mean."""
    atom = atom_of(literal)
    text = str(atom) if atom.predicate in domain.predicates else _ran(atom, domain) or str(atom)
    return f"not {text}" if isinstance(literal, Not) else text


def _ran(atom: Atom, domain: DomainModel) -> str | None:
    """Return which run of which action `atom` speaks of, where it stands for one."""
    for action in domain.actions.values():
        match = re.fullmatch(rf"ran-{re.escape(action.name)}((?:-\d+)*)_*", atom.predicate)
        if match is not None:
            places = [int(place) for place in match[1].split("-")[1:]] or range(len(atom.args))
            bound = dict(zip(places, atom.args, strict=True))
            arguments = ", ".join(bound.get(place, OPEN) for place in range(len(action.parameters)))
            return f"{action.name}({arguments}) has run"
    return None
