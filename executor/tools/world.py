"""Connect a domain to the world outside: its handlers, observers, checks before steps, hooks, and policies."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from executor.tools.context import Hook, check_hook
from executor.tools.entities import Entities, Load
from executor.tools.observers import Observer
from executor.tools.step_policy import DEFAULT, ExecutionPolicy, is_amount
from planner.errors import InputError, did_you_mean, kind_of
from planner.language.declare import Domain, resolve_action
from planner.language.declare.action_parameters import check_handler, check_takes_some
from planner.language.declare.declared_names import Types
from planner.language.declare.fields import find_definition
from planner.language.declare.marks import Entity
from planner.model import Action, Atom, DomainModel
from planner.problem_kinds import AnyDomain, is_other_domain

if TYPE_CHECKING:
    from htn.model import HtnDomain

Function = TypeVar("Function", bound=Callable[..., Any])
MAIN: Final = "main"
"""The name of a handler that was given none."""


@dataclass(frozen=True, slots=True, eq=False)
class Skill:
    """One way to carry out an action: a handler, and what it takes besides parameters."""

    name: str
    action: Action
    function: Callable[..., Any]
    takes_context: bool
    is_async: bool
    takes: frozenset[str] | None
    """The parameters that it takes; None: all."""

    @classmethod
    def of(cls, name: str, action: Action, function: Callable[..., Any]) -> Skill:
        """Return the skill that `function` is."""
        parameters = inspect.signature(function).parameters
        anything = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        call = function if inspect.isfunction(function) or inspect.ismethod(function) else type(function).__call__
        return cls(
            name,
            action,
            function,
            "context" in parameters,
            inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call),
            None if anything else frozenset(parameters) - {"context"},
        )


@dataclass(slots=True)
class World:
    """The handlers and observers of one domain; `domain` is a `Domain`, its model, or a hierarchical one.

    Functions that were decorated with `@domain.action` or bound with `domain.bind` are handlers already.
    """

    domain: Any
    model: DomainModel = field(init=False)
    skills: dict[str, list[Skill]] = field(init=False, default_factory=dict)
    observers: list[Observer] = field(init=False, default_factory=list)
    checks: dict[str, Callable[..., Any]] = field(init=False, default_factory=dict)
    hooks: list[Hook] = field(init=False, default_factory=list)
    policies: dict[str, ExecutionPolicy] = field(init=False, default_factory=dict)
    entities: Entities = field(init=False)
    _looks: dict[str, list[Observer]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.model = domain_model_of(self.domain)
        self.entities = Entities(self.model.types, getattr(self.domain, "classes", {}))
        for name, function in self.model.handlers.items():
            if callable(function):
                self.skills[name] = [Skill.of(MAIN, self.model.actions[name], function)]

    def handler(
        self, action: str, *, name: str = MAIN, policy: ExecutionPolicy | None = None
    ) -> Callable[[Function], Function]:
        """Return a decorator that makes a function carry out `action`, named exactly or by one of its similes.

        A second handler under another `name` is another skill for the same action. Raises `DeclarationError` where the
        function does not take the parameters of the action.
        """
        found = self._find_action(action, "handler")
        if policy is not None:
            self.policy(action, policy)

        def bind(function: Function) -> Function:
            check_handler(found, function, Types.of(self.model.types), find_definition(function))
            for version in self._find_versions(found):
                others = [each for each in self.skills.get(version.name, ()) if each.name != name]
                self.skills[version.name] = [*others, Skill.of(name, version, function)]
            return function

        return bind

    def observer(
        self,
        pattern: str,
        *more: str,
        conclusive: bool = False,
        settle_within: float = 0.0,
        timeout: float | None = 10.0,
    ) -> Callable[[Function], Function]:
        """Return a decorator that makes a function an observer of the facts of `pattern`, as `at(robot, _)`.

        The function takes the named arguments, and returns what stands for the open ones: a value, several, or None for
        no value; for a pattern without open arguments, True or False. `CANNOT_SAY` is not the same as no value. `Seen`
        adds a version. With `more` patterns the function returns `Facts`.

        `conclusive` with `settle_within` seconds: what is not seen by then did not happen. Raises `DeclarationError`
        where function and pattern do not fit.
        """
        if not all(isinstance(each, str) for each in (pattern, *more)):
            raise InputError("@world.observer takes patterns of facts", hint="@world.observer('at(robot, _)')")
        if not is_amount(settle_within):
            raise InputError(f"settle_within is a number of seconds, not {settle_within!r}")
        if timeout is not None and not (is_amount(timeout) and timeout > 0):
            raise InputError(f"timeout is a number of seconds above 0, or None, not {timeout!r}")

        def bind(function: Function) -> Function:
            if not callable(function):
                raise find_definition(function).error(
                    f"{function!r} is no function", "an observer is a function that looks"
                )
            for each in (pattern, *more):
                observer = Observer.of(
                    function,
                    each,
                    self.model,
                    conclusive=conclusive,
                    settle_within=settle_within,
                    timeout=timeout,
                )
                self.observers.append(observer)
                self._looks.setdefault(observer.pattern.predicate, []).append(observer)
            return function

        return bind

    def entity(self, type_: type[Entity] | str, *, load: Load) -> None:
        """Say how objects of a type, a class or a name, are made of their names: `load(name)` returns one.

        `load` is asynchronous, or plain and runs in a thread. It is called once for each object in each process that
        drives a run, for what nobody has given as a Python value. Raises `InputError` for a type that the domain does
        not have, and for what cannot be called.
        """
        name = type_.type_name if isinstance(type_, type) and issubclass(type_, Entity) else type_
        if not isinstance(name, str) or name not in self.model.types:
            near = (
                did_you_mean(str(name), self.model.types) or "give a class derived from Entity, or the name of a type"
            )
            raise InputError(f"the domain has no type {name!r}", hint=near)
        if not callable(load):
            raise InputError(f"load is a function of a name, not {load!r}", hint=f"world.entity({name}, load=…)")
        self.entities.loads[name] = load

    def check(self, action: str) -> Callable[[Function], Function]:
        """Return a decorator that makes a function the check right before `action`: DESIGN's `validate`.

        It takes those parameters of the action that it names, and a `context` if it likes, and returns True or None to
        pass, or False, or the reason why not as text. It has as much time as the handler: a check that takes longer is
        not passed. Raises `DeclarationError` for what takes anything else.
        """
        found = self._find_action(action, "check")

        def bind(function: Function) -> Function:
            check_takes_some(found, function, find_definition(function))
            self.checks[found.name] = function
            return function

        return bind

    def around(self, hook: Hook) -> Hook:
        """Have `hook` stand around every call of a handler, within those that were declared before; returns it.

        `hook(call, proceed)` is asynchronous. `await proceed()` calls the handler and returns its result, or raises
        what it raises; `proceed(amount=3)` gives it another value of a data parameter. What the hook returns is the
        answer of the handler; None is the one that `proceed` has returned. A hook that raises, or returns a failure,
        without having proceeded has refused the step, which has not begun. The timeout of the step holds for all.
        Raises `DeclarationError` for what is no such function.
        """
        check_hook(hook)
        self.hooks.append(hook)
        return hook

    def policy(self, action: str, policy: ExecutionPolicy) -> None:
        """Say how steps of `action` are tried; raises `InputError` for what means nothing for them."""
        found = resolve_action(self.model, action)
        if not isinstance(policy, ExecutionPolicy):
            raise InputError(
                f"a policy is an ExecutionPolicy, not {policy!r}", hint="such as ExecutionPolicy(timeout=30)"
            )
        policy.check(found)
        self.policies |= {version.name: policy for version in self._find_versions(found)}

    def _find_action(self, name: object, decorator: str) -> Action:
        """Return the action that `name` means; raises `InputError`, also where a decorator was given no name."""
        if not isinstance(name, str):
            raise InputError(f"@world.{decorator} takes the name of an action", hint=f"@world.{decorator}('move')")
        return resolve_action(self.model, name)

    def _find_versions(self, action: Action) -> list[Action]:
        """Return `action` and those that a PDDL file calls by the same name, as they are versions of it."""
        others = [version for version, name in self.model.versions.items() if name == action.name]
        return [action, *(self.model.actions[version] for version in others)]

    def policy_of(self, action: str) -> ExecutionPolicy:
        """Return how steps of `action` are tried."""
        return self.policies.get(action, DEFAULT)

    def observers_of(self, fact: Atom) -> list[tuple[Observer, Atom]]:
        """Return who can say whether `fact` holds, each with the pattern of the look that tells it."""
        found = [(each, each.look_for(fact)) for each in self._looks.get(fact.predicate, ())]
        return [(observer, look) for observer, look in found if look is not None]

    def observers_over(self, pattern: Atom) -> list[tuple[Observer, Atom]]:
        """Return who finds out the objects for the open arguments of `pattern`, each with the pattern of the look."""
        found = [(each, each.look_over(pattern)) for each in self._looks.get(pattern.predicate, ())]
        return [(observer, look) for observer, look in found if look is not None]

    def is_watched(self, predicate: str) -> bool:
        """Return whether some observer looks at facts of `predicate`."""
        return predicate in self._looks

    @property
    def hierarchy(self) -> HtnDomain | None:
        """The domain with its tasks and methods; None for a classical one."""
        found = _declared_model_of(self.domain)
        return found if is_other_domain(found) else None  # type: ignore[return-value]  # the only other kind there is

    def without_handler(self) -> list[str]:
        """Return the actions that nobody can carry out."""
        return [name for name in self.model.actions if not self.skills.get(name)]


def domain_model_of(domain: AnyDomain | Domain | Any) -> DomainModel:
    """Return the actions and predicates of `domain`: what is left of a hierarchical one without its tasks."""
    domain = _declared_model_of(domain)
    if is_other_domain(domain):
        domain = domain.classical  # type: ignore[attr-defined]  # that is what the question was
    if not isinstance(domain, DomainModel):
        raise InputError(f"expected a domain, got {kind_of(domain)}", hint="give a Domain, or its model")
    return domain


def _declared_model_of(domain: Any) -> Any:
    """Return the immutable model of what authors declare into."""
    if isinstance(domain, Domain) or (not isinstance(domain, DomainModel) and hasattr(domain, "model")):
        return domain.model
    return domain
