"""Check the arguments of executors and runs; raise `InputError` for invalid ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final, get_args

from executor.events.stored_runs import Retention
from executor.journal import DatabaseAddress, Durability, is_journal
from executor.journal.records import LOG_PREFIX
from executor.learning.experience import Experience
from executor.learning.learned_action import Learning
from executor.loop.look_first import Look
from executor.plans.action_plan import ActionPlan
from executor.plans.execution_models import ExecutionModel
from executor.recovery.ask_people import LATER
from executor.recovery.recovery_policy import Recovery
from executor.report.live import Follower
from executor.report.progress import count_text
from executor.tools.containment import is_asynchronous
from executor.tools.step_policy import is_amount
from executor.tools.world import World
from planner.errors import InputError, did_you_mean
from planner.model import OPEN
from planner.model.object_names import protect_quoted
from planner.problem_kinds import AnyProblem, classical_of

MOST_NAMED: Final = 10
"""Most objects that a hint names."""


def _is_function(value: Any) -> bool:
    return value is None or callable(value)


def _are_listeners(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(is_listener(each) or isinstance(each, Follower) for each in value)


def is_listener(value: Any) -> bool:
    """Return whether `value` can be a listener: a callable that is not asynchronous, as nobody would await it."""
    return callable(value) and not is_asynchronous(value)


Kinds = Mapping[str, tuple[Callable[[Any], bool], str, str]]
"""Valid arguments by name: a predicate, a description, and a hint."""
_PLACES: Final = Path | DatabaseAddress
_ALLOWS: Final = "a function of the request, or None", "lambda _: True allows everything"
_PARTS: Final[Kinds] = {
    "world": (lambda value: isinstance(value, World), "a World", "Executor(World(domain))"),
    "journal": (
        lambda value: value is None or (value != "" and (isinstance(value, str | _PLACES) or is_journal(value))),
        "a file, the address of a database, or a journal",
        "such as journal='runs.db'",
    ),
    "concurrency": (
        lambda value: value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1),
        "a positive number of steps, or None",
        "None means no limit",
    ),
    "capacity": (
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 1,
        "a positive number of entries",
        "such as capacity=1000",
    ),
    "tells_after": (
        lambda value: value is None or (is_amount(value) and value > 0),
        "a number of seconds above 0, or None",
        "such as tells_after=60",
    ),
    "recovery": (lambda value: isinstance(value, Recovery), "a Recovery", "such as Recovery(weight=1)"),
    "learned": (
        lambda value: isinstance(value, bool | Learning | Experience),
        "True or False, a Learning, or an Experience",
        "such as learned=Learning(by={'call': ['tool']})",
    ),
    "retention": (
        lambda value: value is None or isinstance(value, Retention),
        "a Retention, or None",
        "such as retention=Retention(over=30 * 86400)",
    ),
    "client": (
        lambda value: value is None or callable(getattr(value, "for_run", None)),
        "a ModelClient, or None",
        "such as client=ModelClient(model_of('openai:gpt-5'), Allowance(calls=20))",
    ),
    "permit": (_is_function, *_ALLOWS),
    "approve": (_is_function, *_ALLOWS),
    "fill": (_is_function, "an asynchronous function of a request, or None", "Filler(model) is one"),
    "ask": (
        lambda value: _is_function(value) or value == LATER,
        "a function of the question, None, or 'later'",
        "'later' leaves questions open",
    ),
    "listeners": (_are_listeners, "a tuple of plain functions and followers", "such as listeners=(print,)"),
}
_CHOICES: Final = {
    "model": (None, *get_args(ExecutionModel)),
    "durability": get_args(Durability),
    "look": get_args(Look),
}


def check_kinds(kinds: Kinds, given: Mapping[str, Any]) -> None:
    """Raise `InputError` for an argument in `given` that does not satisfy its predicate in `kinds`."""
    for name, value in given.items():
        fits, what, hint = kinds[name]
        if not fits(value):
            raise InputError(f"{name} must be {what}, got {value!r}", hint=hint)


def check_parts(parts: Any) -> None:
    """Raise `InputError` for invalid arguments of an executor."""
    check_kinds(_PARTS, {name: getattr(parts, name) for name in _PARTS})
    for name, choices in _CHOICES.items():
        value = getattr(parts, name)
        if value not in choices:
            known = [each for each in choices if each]
            hint = did_you_mean(str(value), known) or f"there are {', '.join(known)}"
            raise InputError(f"there is no {'execution ' if name == 'model' else ''}{name} {value!r}", hint=hint)


def check_model(model: str | None, plan: ActionPlan) -> None:
    """Raise `InputError` if the execution `model` does not fit the `plan`."""
    if model is None or (model == "policy") == (plan.policy is not None):
        return
    if plan.policy is None:
        hint = "give the problem, or what decide(problem) returns"
        raise InputError(f"the execution model is policy, and {plan.name!r} is a plan without one", hint=hint)
    raise InputError(f"a policy is followed, and not carried out as {model}", hint="leave the execution model out")


def check_id(run: object) -> None:
    """Raise `InputError` for an invalid id of a run."""
    if run is not None and not (isinstance(run, str) and run):
        raise InputError(f"the id of a run must be a text, got {run!r}", hint="leave it out to get one")
    if isinstance(run, str) and run.startswith(LOG_PREFIX):
        raise InputError(f"the id of a run does not begin with {LOG_PREFIX!r}, got {run!r}", hint="take another id")


def check_named(**given: object) -> None:
    """Raise `InputError` for a value that is no mapping from names."""
    for what, values in given.items():
        if values is None or (isinstance(values, Mapping) and all(isinstance(each, str) for each in values)):
            continue
        raise InputError(f"{what} must be a mapping from names, got {values!r}", hint=f"such as {what}={{'name': 7}}")


def check_occasion(given: object) -> None:
    """Raise `InputError` for an occasion that is no text."""
    if not isinstance(given, str):
        raise InputError(f"an occasion is a text, got {given!r}", hint="such as occasion='2026-11'")


def check_again(given: object, world: World, problem: AnyProblem | None = None) -> tuple[str, ...]:
    """Return the texts of steps that are to be done again.

    Raises `InputError` where one is no irreversible step of the `world`, or names an object that `problem` lacks and
    that cannot turn up.
    """
    steps = check_texts("again", given)
    known = None
    if problem is not None and not _may_find_objects(world):
        known = sorted(each.name for each in classical_of(problem).all_objects)
    for each in steps:
        _check_step(each, world, known)
    return steps


def _check_step(text: str, world: World, known: list[str] | None) -> None:
    """Raise `InputError` unless `text` is an irreversible step of the `world`, about objects that are `known`."""
    plain, terms = protect_quoted(text)
    name, opened, rest = plain.strip().partition("(")
    name, actions = name.strip(), world.model.actions
    if name not in actions:
        hint = did_you_mean(name, actions) or "such as again=('pay(o7)',)"
        raise InputError(f"again names steps of the world, and {text!r} is none", hint=hint)
    action, given = actions[name], [each.strip() for each in rest.rstrip()[:-1].split(",") if each.strip()]
    arguments = [terms.get(each, each) for each in given]
    if "irreversible" not in action.tags:
        hint = "leave it out: other steps are done again wherever the plan needs them"
        raise InputError(f"again names irreversible steps, and {text!r} is not irreversible", hint=hint)
    names = [each.name.removeprefix("?") for each in action.parameters]
    if not opened or not rest.rstrip().endswith(")"):
        hint = f"write again=('{name}({', '.join(names)})',){' with the names of objects' if names else ''}"
        raise InputError(f"again names steps with their objects, and {text!r} is an action", hint=hint)
    if not len(names) <= len(arguments) <= len(names) + len(action.creates):
        hint = f"write {name}({', '.join(names)}) with the names of objects"
        raise InputError(
            f"again has {text!r}, and {name} takes {count_text(len(names), 'object')}, not {len(arguments)}", hint=hint
        )
    lacking = [] if known is None else [each for each in arguments[: len(names)] if each not in known]
    if known is not None and lacking:
        hint = did_you_mean(lacking[0], known) or f"such as {', '.join(known[:MOST_NAMED])}"
        raise InputError(f"again has {text!r}, and there is no object {lacking[0]!r}", hint=hint)


def _may_find_objects(world: World) -> bool:
    """Return whether runs in `world` may come to know further objects: steps or observers list or create them."""
    acts = any(each.lists or each.creates for each in world.model.actions.values())
    return acts or any(OPEN in each.pattern.args for each in world.observers)


def check_request(
    run: object, occasion: object, again: object, world: World, problem: AnyProblem | None = None
) -> None:
    """Raise `InputError` for an invalid name of a run, an occasion that is no text, and steps that are none."""
    check_id(run)
    check_occasion(occasion)
    check_again(again, world, problem)


def check_texts(what: str, given: object) -> tuple[str, ...]:
    """Return `given` as a tuple of texts; raises `InputError` for anything but a collection of texts."""
    if isinstance(given, Collection) and not isinstance(given, str) and all(isinstance(each, str) for each in given):
        return tuple(given)
    raise InputError(f"{what} must be several texts, got {given!r}", hint=f"such as {what}=('pay(o7)',)")


def check_world_named(world: World, *, has_deps: bool) -> None:
    """Raise `InputError` if an unnamed world has irreversible actions, and deps, which may choose the account."""
    unnamed = world.find_unnamed()
    if has_deps and unnamed:
        raise InputError(unnamed[0], hint=unnamed[1])
