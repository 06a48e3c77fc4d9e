"""Tasks that are done for each item: declare them as two methods and an action that checks that none is left.

The task `handle_all` with the items `pending(o)` gets a method that takes one item, does what is to be done with it and
goes on, and one that ends with the action `check-handle_all`. This action requires that no item is left. So a run that
finds new items on the way does not end: its check fails, and the task is decomposed anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from htn.language.declare.hierarchy import Hierarchy
from planner.errors import did_you_mean
from planner.language.declare.atom_syntax import abbreviate
from planner.language.declare.condition_reader import read_atom
from planner.language.declare.fields import Place
from planner.language.declare.local_closed_world import require_listings
from planner.lightweight import Final, replace
from planner.model import DomainModel, Forall, Not
from planner.model.actions import CHECK, Action
from planner.model.formulas import Variable, conjunction

FIELDS: Final = ("task", "items", "until", "do", "description")
"""The fields of a declaration besides its parameters."""


def declare_for_each(
    hierarchy: Hierarchy,
    classical: DomainModel,
    parameters: tuple[Variable, ...],
    fields: Mapping[str, Any],
    place: Place,
) -> Action:
    """Declare the task and its methods in `hierarchy`; return the action that checks that no item is left.

    Parameters that the task does not have are those of the items. `classical` gets the action before the next
    declaration. Raises `DeclarationError`.
    """
    for field in fields:
        if field not in FIELDS:
            raise place.error(f"a task for each item has no field {field!r}", did_you_mean(field, FIELDS))
    for field in ("task", "items", "do"):
        if not fields.get(field):
            raise place.error(f"a task for each item lacks {field!r}", "write task='all(a)', items=[…] and do=[…]")
    head = read_atom(fields["task"], place.within("task"), "task", "'name(parameter, …)'")
    known = {each.name.removeprefix("?"): each for each in parameters}
    for arg in head.args:
        if arg.removeprefix("?") not in known:
            message = f"{abbreviate(arg)} in {head} is no parameter"
            raise place.within("task").error(message, did_you_mean(arg, known))
    own = tuple([known[arg.removeprefix("?")] for arg in head.args])
    items = tuple([each for each in parameters if each not in own])
    if not items:
        raise place.error(f"{head} has all the parameters, so that there are no items", "add a parameter for the item")
    name, subtasks = head.predicate, fields["do"]
    hierarchy.task(name, own, place, fields.get("description", ""))
    requires, until = fields["items"], fields.get("until")
    condition = {"task": head, "requires": requires, "subtasks": ()}
    found = hierarchy.method(f"{name}-next", parameters, condition, classical, place).precondition
    if until:
        done = hierarchy.method(f"{name}-until", parameters, {**condition, "requires": until}, classical, place)
        found = conjunction([found, Not(done.precondition)])
        hierarchy.forget_method(f"{name}-until")
    hierarchy.forget_method(f"{name}-next")
    steps = [subtasks] if isinstance(subtasks, str) else [*subtasks]
    fields = {"task": head, "requires": found, "subtasks": [*steps, head]}
    hierarchy.method(f"{name}-next", parameters, fields, classical, place)
    check = Action(
        f"check-{name}",
        own,
        require_listings(Forall(items, Not(found)), classical),
        cost=(),
        tags=frozenset({CHECK, "trusted", "read_only", "idempotent"}),
        description=f"check that {name} leaves nothing to do",
    )
    end = {"task": head, "subtasks": [replace(head, predicate=check.name)]}
    hierarchy.method(f"{name}-end", own, end, add_action(classical, check), place)
    return check


def add_action(classical: DomainModel, action: Action) -> DomainModel:
    """Return `classical` with `action`."""
    return replace(classical, actions={**classical.actions, action.name: action})
