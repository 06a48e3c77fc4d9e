"""Record with a run what it goes by: the domain, and which handlers, observers, checks and policies there are.

A history replays only by what it was made with. A worker whose world is another makes that of a run that began before
from this record. Nothing in it can act or look: what is replayed was recorded, and what is new is done by activities.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NoReturn

from executor.temporal.value_data import pack_text, read_value, unpack_text, write_value
from executor.tools.observers import Observer
from executor.tools.step_policy import ExecutionPolicy
from executor.tools.world import Skill, World
from planner.errors import ForethoughtError, InputError
from planner.language.documents.document_reader import parse_documents
from planner.language.documents.document_writer import write_json

_OBSERVER: Final = tuple([name for name in Observer.__match_args__ if name != "function"])
"""The fields of an observer that are data."""


def describe_world(world: World) -> dict[str, Any]:
    """Return `world` as data, with the version of its domain: a digest of what the domain declares."""
    try:
        text = write_json(world.hierarchy or world.model)
    except ForethoughtError:  # what no document can say has no versions
        text = ""
    functions = list(dict.fromkeys(each.function for each in world.observers))
    observers = [
        [functions.index(each.function), [write_value(getattr(each, name)) for name in _OBSERVER]]
        for each in world.observers
    ]
    return {
        "world": world.name,
        "label": world.label,
        "version": hashlib.sha256(text.encode()).hexdigest()[:16],
        "domain": pack_text(text),
        "skills": {action: [each.name for each in skills] for action, skills in world.skills.items()},
        "observers": observers,
        "checks": list(world.checks),
        "policies": {action: _write_policy(each) for action, each in world.policies.items()},
    }


def _write_policy(policy: ExecutionPolicy) -> Any:
    """Return a policy as data; None for one with functions or exception types."""
    try:
        return write_value(policy)
    except InputError:
        return None


def is_described(given: Mapping[str, Any], described: Mapping[str, Any]) -> bool:
    """Return whether a run goes by a world that is `described` so; one that has no document never goes by another."""
    return not unpack_text(given["domain"]) or all(given.get(name, each) == each for name, each in described.items())


def restore_world(given: Mapping[str, Any], present: World) -> World:
    """Make the world that `describe_world` described; policies with functions are those of the `present` world."""
    world = World(parse_documents(unpack_text(given["domain"]), "the recorded domain.json").domains[0])
    world.is_simulated = present.is_simulated
    world.skills = {
        action: [Skill.of(name, world.model.actions[action], _refuse) for name in names]
        for action, names in given["skills"].items()
    }
    functions: dict[int, Callable[..., NoReturn]] = {}
    for number, values in given["observers"]:
        function = functions.setdefault(number, partial(_refuse))
        told = dict(zip(_OBSERVER, map(read_value, values), strict=True))
        world.add_observer(Observer(function=function, **told))
    world.checks = dict.fromkeys(given["checks"], _refuse)
    world.policies = {
        action: present.policy_of(action) if policy is None else read_value(policy)
        for action, policy in given["policies"].items()
    }
    return world


def _refuse(context: Any = None, **_: Any) -> NoReturn:
    """Stand in for a function that may take all that a run knows."""
    del context
    raise InputError("this world was recorded, and replays only")
