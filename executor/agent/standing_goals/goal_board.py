"""`GoalBoard`: the standing goals of an agent, and the messages for whoever attends to them.

Messages may come from any thread: facts from outside, and what people decide about goals.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from executor.agent.agent_events import GoalInstance
from executor.agent.standing_goals.goal_conditions import check_arguments, find_predicate
from executor.agent.standing_goals.standing_goal import End, Resume, StandingGoal
from executor.observe.discovery import describe_misfit, place_facts
from executor.run import LOOP_CHECK_SECONDS, find_running_loop, settle_future
from executor.tools.containment import quote_value
from planner.errors import InputError, with_article
from planner.language.declare.atom_syntax import NotationError, parse_literal, read_terms
from planner.lightweight import dataclass, field
from planner.model import Atom, Not, Problem
from planner.model.domain import TypeHierarchy
from planner.model.formulas import OPEN, is_variable

if TYPE_CHECKING:
    from executor.agent.standing_goals.goal_log import GoalLog


@dataclass(frozen=True, slots=True)
class Report:
    """Values of facts, reported from outside."""

    facts: Mapping[Atom, bool]


Message = Report | Resume | End


@dataclass(slots=True, eq=False)
class GoalBoard:
    """The standing goals by name; `goal_log` is that of whoever attends, or attended last."""

    restore: Callable[[str, Mapping[str, Any]], StandingGoal]
    """Makes a goal of its name and of what the journal keeps of it."""
    goals: dict[str, StandingGoal] = field(default_factory=dict)
    goal_log: GoalLog | None = None
    has_new: bool = True
    """Whether goals were added that whoever attends has not taken note of."""
    _messages: deque[Message] = field(default_factory=deque)
    _receive: Callable[[], None] | None = None
    _loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_attended(self) -> bool:
        """Whether somebody attends to the goals."""
        return self._loop is not None

    def attach(self, receive: Callable[[], None] | None) -> None:
        """Call `receive` in the running event loop for each message and new goal; None: nobody attends any more."""
        self._receive = receive
        self._loop = None if receive is None else asyncio.get_running_loop()

    def add(self, goal: StandingGoal) -> StandingGoal:
        """Add a goal; raises `InputError` if another one has its name, and is not the same that the journal keeps."""
        known = self.goals.get(goal.name)
        if known is not None and (known.kept is None or known.kept != goal.kept):
            raise InputError(f"there is already a standing goal {goal.name!r}", hint="give it another name=")
        self.goals[goal.name], self.has_new = goal, True
        self._call()
        return goal

    def remove(self, name: str) -> None:
        """Remove a goal, if it is there."""
        self.goals.pop(name, None)

    def goal_of(self, instance: GoalInstance) -> StandingGoal | None:
        """Return the goal of `instance`; None if there is none any more, or one with other variables."""
        goal = self.goals.get(instance.goal)
        return goal if goal is not None and len(goal.pattern.variables) == len(instance.objects) else None

    def send(self, message: Message) -> None:
        """Leave a message, and wait until whoever attends has taken note of it, so that the journal has it."""
        self._messages.append(message)
        self._call()

    def take(self) -> Message | None:
        """Return the oldest message, and forget it; None without one."""
        return self._messages.popleft() if self._messages else None

    @property
    def has_messages(self) -> bool:
        """Whether there are messages."""
        return bool(self._messages)

    def paused(self, name: str) -> dict[GoalInstance, str]:
        """Return why goals of this name are paused."""
        attempts = {} if self.goal_log is None else self.goal_log.attempts
        return {each: found.paused for each, found in attempts.items() if each.goal == name and found.paused}

    def _call(self) -> None:
        loop, receive = self._loop, self._receive
        if loop is None or receive is None or loop.is_closed():
            return
        if find_running_loop() is loop:
            receive()
            return
        done = Future[None]()
        loop.call_soon_threadsafe(settle_future, done, receive)
        while not loop.is_closed():
            with contextlib.suppress(TimeoutError):
                done.result(LOOP_CHECK_SECONDS)
                return


def read_report(facts: tuple[Any, ...], problem: Problem) -> dict[Atom, bool]:
    """Read facts from outside: atoms, or texts such as "pending(o7)" and "not pending(o7)".

    Objects that the problem lacks take the type of their place. Raises `InputError` for the first mistake.
    """
    found: dict[Atom, bool] = {}
    for given in facts:
        part = given
        if isinstance(given, str):
            try:
                part = parse_literal(given)
            except NotationError as mistake:
                raise InputError(f"{quote_value(given)} is no fact: {mistake.problem}", hint=mistake.hint) from None
        holds, atom = not isinstance(part, Not), part.part if isinstance(part, Not) else part
        if not isinstance(atom, Atom):
            raise InputError(f"{quote_value(given)} is no fact", hint="such as 'pending(o7)', or 'not pending(o7)'")
        _check_fact(atom, problem)
        found[read_terms(atom)] = holds
    types = {each.name: each.types for each in problem.all_objects}
    found = place_facts(found, problem.domain, lambda name: types.get(name, ()))
    for atom in found:
        _check_objects(atom, problem)
    if not found:
        raise InputError("nothing was reported", hint="such as agent.notify('pending(o7)')")
    return found


def _check_fact(atom: Atom, problem: Problem) -> None:
    """Raise `InputError` for a fact that cannot be of the problem."""
    domain = problem.domain
    predicate = find_predicate(atom, domain)
    if atom.predicate in domain.derived:
        raise InputError(f"{atom} is derived, and nobody can report it", hint="report the facts that it follows from")
    check_arguments(atom, predicate)


def _check_objects(atom: Atom, problem: Problem) -> None:
    """Raise `InputError` for an object in a fact that cannot be of the problem."""
    domain = problem.domain
    predicate = domain.predicates[atom.predicate]
    objects, hierarchy = {each.name: each for each in problem.all_objects}, TypeHierarchy(domain.types)
    for name, place in zip(atom.args, predicate.parameters, strict=True):
        known = objects.get(name)
        if known is not None and not hierarchy.is_a(known.types, place.types):
            is_, wanted = (with_article(" or ".join(each)) for each in (known.types, place.types))
            raise InputError(f"{name!r} in {atom} is {is_}, not {wanted}")
        if known is None and (misfit := describe_misfit(name, place.types, domain)):
            raise InputError(f"{misfit}, in {atom}")
        if known is None and (name == OPEN or is_variable(name)):
            raise InputError(f"{quote_value(name)} in {atom} is no name of an object")
        if known is None and len(place.types) > 1:
            hint = f"add {name!r} to the objects of the problem"
            raise InputError(f"{name!r} in {atom} may be {' or '.join(place.types)}, and nobody knows it", hint=hint)
