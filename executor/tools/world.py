"""Connect a domain to the world outside: its handlers, observers, checks before steps, hooks, and policies."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from executor.events.fluent_values import is_numeric_fluent, pattern_of
from executor.ledger.records import LedgerInMemory
from executor.tools.containment import is_asynchronous
from executor.tools.context import Hook, check_hook
from executor.tools.deps import MakeDeps, uses_deps
from executor.tools.entities import Entities, Load
from executor.tools.json_observers import UNSET, Reading, ReadOnlyTool, make_http_look, make_tool_look
from executor.tools.observers import Observer
from executor.tools.sql_observers import make_query_look, parse_observed
from executor.tools.step_policy import DEFAULT, ExecutionPolicy, Rate, is_amount
from executor.tools.streaming import STREAM, streamed
from planner.errors import InputError, did_you_mean, kind_of
from planner.language.declare import Domain, resolve_action
from planner.language.declare.action_parameters import check_handler, check_takes_some, is_context
from planner.language.declare.declared_names import Types
from planner.language.declare.fields import find_definition
from planner.language.declare.marks import Entity
from planner.model import Action, Atom, DomainModel
from planner.model.actions import CHECK
from planner.problem_kinds import AnyDomain, is_other_domain

if TYPE_CHECKING:
    from htn.model import HtnDomain

Function = TypeVar("Function", bound=Callable[..., Any])
CONTEXT: Final = "context"
"""Name of the parameter that takes the context where none is annotated with its class."""
MAIN: Final = "main"
"""Default name of a handler."""


@dataclass(frozen=True, slots=True, eq=False)
class Skill:
    """One way to carry out an action: a handler with its signature."""

    name: str
    action: Action
    function: Callable[..., Any]
    context_as: str
    """The parameter that takes the context; "" if none does."""
    is_async: bool
    takes: frozenset[str] | None
    """Parameters that the handler takes; None: all."""

    @classmethod
    def of(cls, name: str, action: Action, function: Callable[..., Any]) -> Skill:
        """Make a skill of `function` by its signature."""
        parameters = inspect.signature(function).parameters
        anything = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        own = find_context(parameters)
        handler = streamed(function, own)
        call = handler if inspect.isfunction(handler) or inspect.ismethod(handler) else type(handler).__call__
        return cls(
            name,
            action,
            handler,
            own if handler is function else own or STREAM,
            inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(call),
            None if anything else frozenset(parameters) - {own},
        )

    @property
    def takes_context(self) -> bool:
        """Whether the handler takes a context."""
        return bool(self.context_as)


def find_context(parameters: Mapping[str, inspect.Parameter]) -> str:
    """Return the name of the parameter that takes the context of a call: by its annotation, or by its name."""
    return next(
        (name for name, each in parameters.items() if is_context(each)), CONTEXT if CONTEXT in parameters else ""
    )


@dataclass(frozen=True, slots=True)
class Withheld:
    """Stands in for the handler of an action that must not be carried out, for a `reason` that users are told."""

    reason: str

    async def __call__(self, **_: Any) -> Any:
        """Raise `InputError` with the reason."""
        raise InputError(self.reason)


@dataclass(slots=True)
class World:
    """The handlers and observers of one domain; `domain` is a `Domain`, its model, or a hierarchical one.

    Functions that were decorated with `@domain.action` or bound with `domain.bind` are handlers already. `name` tells
    this world from others of the same domain, such as another account: what was done in one was not done in the other.
    By default it is the name of the domain. `was` are its names in earlier versions, the first one first.
    """

    domain: Any
    name: str = ""
    was: str | tuple[str, ...] = ()
    model: DomainModel = field(init=False)
    skills: dict[str, list[Skill]] = field(init=False, default_factory=dict)
    observers: list[Observer] = field(init=False, default_factory=list)
    checks: dict[str, Callable[..., Any]] = field(init=False, default_factory=dict)
    hooks: list[Hook] = field(init=False, default_factory=list)
    policies: dict[str, ExecutionPolicy] = field(init=False, default_factory=dict)
    withheld: dict[str, str] = field(init=False, default_factory=dict)
    """Why actions must not be carried out, by name: they have no handler."""
    entities: Entities = field(init=False)
    ledger: LedgerInMemory = field(init=False, default_factory=LedgerInMemory)
    """What irreversible steps have done, for runs without a journal and for simulated ones."""
    is_named: bool = field(init=False)
    """Whether the author has named it: it is told from other worlds of its domain."""
    make_deps: MakeDeps | None = field(init=False, default=None)
    """Makes what belongs to a run alone where nothing is given for it."""
    is_simulated: bool = field(init=False, default=False)
    """Whether nothing that is done here happens outside: its effects are in no journal's ledger."""
    _looks: dict[str, list[Observer]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.model = domain_model_of(self.domain)
        if not isinstance(self.name, str):
            raise InputError(
                f"the name of a world is a text, got {self.name!r}", hint="World(domain, name='account 7')"
            )
        self.is_named, self.name = bool(self.name), self.name or self.model.name
        self.entities = Entities(self.model.types, getattr(self.domain, "classes", {}))
        for name, action in self.model.actions.items():
            if CHECK in action.tags:
                self.skills[name] = [Skill.of(MAIN, action, pass_check)]
        for name, function in self.model.handlers.items():
            if isinstance(function, Withheld):
                self.withheld[name] = function.reason
            elif callable(function):
                self.skills[name] = [Skill.of(MAIN, self.model.actions[name], function)]

    @property
    def earlier_names(self) -> tuple[str, ...]:
        """The labels that this world had before it was renamed, the first one first."""
        names = (self.was,) if isinstance(self.was, str) else tuple(self.was)
        return tuple([f"{each} (simulated)" for each in names]) if self.is_simulated else names

    @property
    def first_name(self) -> str:
        """The name that this world had first: ledgers know it by that one."""
        return next(iter((self.was,) if isinstance(self.was, str) else self.was), self.name)

    @property
    def label(self) -> str:
        """The name by which runs know their world; simulated ones are others than those of their names."""
        return f"{self.name} (simulated)" if self.is_simulated else self.name

    def handler(
        self, action: str, *, name: str = MAIN, policy: ExecutionPolicy | None = None
    ) -> Callable[[Function], Function]:
        """Return a decorator that makes a function the handler of `action`, given by its name or one of its similes.

        A handler under another `name` is a further skill for the same action. The decorator raises `DeclarationError`
        if the function does not take the parameters of the action.
        """
        found = self._find_action(action, "handler")
        if found.name in self.withheld:
            raise InputError(f"{found.name} must not be carried out: {self.withheld[found.name]}")
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
        settle_within: float | None = None,
        timeout: float | None = 10.0,
        max_age: float | None = None,
        rate: Rate | tuple[int, float] | None = None,
    ) -> Callable[[Function], Function]:
        """Return a decorator that makes a function an observer of the facts of `pattern`, such as `at(robot, _)`.

        The function takes the named arguments, and returns the values of the open ones: one, several, or None for no
        value; for a pattern without open arguments, True or False. It returns `CANNOT_SAY` if it cannot decide. `Seen`
        adds a version. With `more` patterns the function returns `Facts`. For a numeric fluent, such as `fuel(robot)`,
        it returns a number, or None where there is no value.

        If a `conclusive` observer does not see an effect within `settle_within` seconds, it did not come about. That an
        irreversible step in doubt did not happen is believed only of an observer that states `settle_within`: 0 says
        that it sees each change at once. A look counts for `max_age` seconds in its run, unless a step has acted on its
        fact since. With `rate`, a `Rate` or (number, seconds), no more looks than that begin in all runs of one
        executor, or of all processes of its journal: each waits for its turn. A look without an answer within `timeout`
        seconds cannot decide; each further look waits as long. The decorator raises `DeclarationError` if function and
        pattern do not fit.
        """
        if not all(isinstance(each, str) for each in (pattern, *more)):
            raise InputError("@world.observer takes patterns of facts", hint="@world.observer('at(robot, _)')")
        if settle_within is not None and not is_amount(settle_within):
            raise InputError(f"settle_within must be a number of seconds, got {settle_within!r}")
        if timeout is not None and not (is_amount(timeout) and timeout > 0):
            raise InputError(f"timeout must be a number of seconds above 0, or None, got {timeout!r}")
        if max_age is not None and not is_amount(max_age):
            raise InputError(f"max_age must be a number of seconds, or None, got {max_age!r}")
        limit = ExecutionPolicy(rate=rate).rate

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
                    max_age=max_age,
                    rate=limit,
                )
                self.add_observer(observer)
            return function

        return bind

    def add_observer(self, observer: Observer) -> None:
        """Add an observer that was made of its parts."""
        self.observers.append(observer)
        self._looks.setdefault(observer.pattern.predicate, []).append(observer)

    def observe_sql(
        self,
        patterns: str | Sequence[str],
        query: str,
        database: Any,
        *,
        conclusive: bool = False,
        settle_within: float | None = None,
        timeout: float | None = 10.0,
        max_age: float | None = None,
        rate: Rate | tuple[int, float] | None = None,
    ) -> None:
        """Observe the facts of a pattern, or of several, by a SQL query, with the options of `observer`.

        The query refers to arguments of the pattern as `:order`, and to its predicate as `:predicate`. A fact without
        open arguments holds if the query returns a row; a column `version` is the version of an item changed in place.
        For open arguments the query returns a column each. `database` is a function that opens a connection of the
        DB-API for each look, an engine of SQLAlchemy, or a connection. Raises `InputError` where these do not fit.
        """
        options: dict[str, Any] = {"conclusive": conclusive, "settle_within": settle_within, "timeout": timeout}
        options |= {"max_age": max_age, "rate": rate}
        self._observe(patterns, lambda pattern: make_query_look(pattern, query, database), options)

    def observe_http(
        self,
        patterns: str | Sequence[str],
        url: str,
        *,
        at: str = "",
        equals: Any = UNSET,
        fields: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
        conclusive: bool = False,
        settle_within: float | None = None,
        timeout: float | None = 10.0,
        max_age: float | None = None,
        rate: Rate | tuple[int, float] | None = None,
    ) -> None:
        """Observe the facts of a pattern, or of several, by an HTTP GET, with the options of `observer`.

        The `url` has arguments of the pattern as `{order}`. Without further options a fact holds if the status is 2xx,
        and does not if it is 404. Otherwise the answer is JSON: the value at the path `at` decides, which is true or
        false, or `equals` a value; for an open argument `at` leads to the values (`orders.*.id`), for several to a list
        of items with `fields`. Raises `InputError` where these do not fit.
        """
        reading = Reading(at, equals, fields)
        options: dict[str, Any] = {"conclusive": conclusive, "settle_within": settle_within, "timeout": timeout}
        options |= {"max_age": max_age, "rate": rate}
        self._observe(patterns, lambda pattern: make_http_look(pattern, url, reading, headers, timeout), options)

    def observe_tool(
        self,
        patterns: str | Sequence[str],
        tool: ReadOnlyTool,
        *,
        at: str = "",
        equals: Any = UNSET,
        fields: Sequence[str] = (),
        arguments: Mapping[str, Any] | None = None,
        conclusive: bool = False,
        settle_within: float | None = None,
        timeout: float | None = 10.0,
        max_age: float | None = None,
        rate: Rate | tuple[int, float] | None = None,
    ) -> None:
        """Observe the facts of a pattern, or of several, by a read-only tool: `tools["list_orders"]`.

        The tool gets the arguments of the pattern that are named as its parameters, and the further `arguments`; its
        answer is read as that of `observe_http`. Raises `InputError` for a tool that is not known to be read-only.
        """
        reading = Reading(at, equals, fields)
        options: dict[str, Any] = {"conclusive": conclusive, "settle_within": settle_within, "timeout": timeout}
        options |= {"max_age": max_age, "rate": rate}
        self._observe(patterns, lambda pattern: make_tool_look(pattern, tool, reading, arguments), options)

    def _observe(self, patterns: Any, make_look: Callable[[Atom], Callable[..., Any]], options: Any) -> None:
        """Observe each of `patterns` by the function that `make_look` makes for it; raises `InputError`."""
        for each in patterns if isinstance(patterns, list | tuple) else [patterns]:
            pattern = parse_observed(each)
            is_number = is_numeric_fluent(pattern.predicate, self.model)
            look = make_look(pattern_of(pattern) if is_number else pattern)
            try:
                self.observer(each, **options)(look)
            except InputError as error:
                raise error.without_place() from None

    def entity(self, type_: type[Entity] | str, *, load: Load) -> None:
        """Set the loading function of a type (a class or a name): `load(name)` returns the object of a name.

        `load` is asynchronous, or plain and runs in a thread. It is called once for each object without a Python value,
        in each process that drives a run. Raises `InputError` for an unknown type, or a `load` that is no function.
        """
        name = type_.type_name if isinstance(type_, type) and issubclass(type_, Entity) else type_
        if not isinstance(name, str) or name not in self.model.types:
            near = (
                did_you_mean(str(name), self.model.types) or "give a class derived from Entity, or the name of a type"
            )
            raise InputError(f"the domain has no type {name!r}", hint=near)
        if not callable(load):
            raise InputError(f"load must be a function of a name, got {load!r}", hint=f"world.entity({name}, load=…)")
        self.entities.loads[name] = load

    def check(self, action: str) -> Callable[[Function], Function]:
        """Return a decorator that makes a function the check right before each step of `action`.

        The function takes some parameters of the action, and a `context` if it names one. It returns True or None to
        pass, or False or a reason as text to refuse. The time limit of the handler holds for the check, too. The
        decorator raises `DeclarationError` for a function with other parameters.
        """
        found = self._find_action(action, "check")

        def bind(function: Function) -> Function:
            check_takes_some(found, function, find_definition(function))
            self.checks[found.name] = function
            return function

        return bind

    def deps(self, make: MakeDeps) -> MakeDeps:
        """Let the plain function `make` make what belongs to a run alone, where nothing is given for it; return it.

        It takes `run`, the name of the run, or `memory`, the values of its request, or both. It is called when a
        handler first asks for `context.deps`, in each process that takes the run up: so workers, servers and standing
        goals have the clients of each run.
        """
        if not callable(make) or is_asynchronous(make):
            raise find_definition(make).error(
                f"{make!r} is no plain function", "@world.deps\ndef clients(run: str) -> Clients: …"
            )
        self.make_deps = make
        return make

    def find_unnamed(self) -> tuple[str, str] | None:
        """Return what is wrong with deps in this world if it has no name and irreversible actions, and a hint."""
        taken = [name for name in self.skills if "irreversible" in self.model.actions[name].tags]
        if not taken or self.is_named or self.is_simulated:
            return None
        return (
            f"the world of {taken[0]} has no name, and deps= may choose the account in which it is done",
            f"World(domain, name={self.name!r}) if there is one account, else a World with a name for each",
        )

    def takes_deps(self, action: str) -> bool:
        """Return whether code of a handler, check or hook of `action` asks for what belongs to a run alone."""
        skills = [each.function for each in self.skills.get(action, ()) if each.takes_context]
        checks = [self.checks[action]] if action in self.checks else []
        return any(map(uses_deps, [*skills, *checks, *self.hooks]))

    def around(self, hook: Hook) -> Hook:
        """Wrap every call of a handler in `hook`, inside the hooks declared before; return `hook`.

        `hook(call, proceed)` is asynchronous. `await proceed()` calls the handler and returns its result, or raises its
        error; `proceed(amount=3)` replaces the value of a data parameter. The result of the hook replaces that of the
        handler; None keeps it. A hook that raises or returns a failure without calling `proceed` refuses the step,
        which then has not begun. The time limit of the step includes its hooks. Raises `DeclarationError` for a
        function with another signature.
        """
        check_hook(hook)
        self.hooks.append(hook)
        return hook

    def policy(self, action: str, policy: ExecutionPolicy) -> None:
        """Set the policy of `action`; raises `InputError` for a policy that does not fit it."""
        found = resolve_action(self.model, action)
        if not isinstance(policy, ExecutionPolicy):
            raise InputError(
                f"a policy must be an ExecutionPolicy, got {policy!r}", hint="such as ExecutionPolicy(timeout=30)"
            )
        policy.check(found)
        self.policies |= {version.name: policy for version in self._find_versions(found)}

    def _find_action(self, name: object, decorator: str) -> Action:
        """Find an action by name; raises `InputError` if there is none, or if the decorator was used without a name."""
        if not isinstance(name, str):
            raise InputError(f"@world.{decorator} takes the name of an action", hint=f"@world.{decorator}('move')")
        return resolve_action(self.model, name)

    def _find_versions(self, action: Action) -> list[Action]:
        """Return `action` and its other versions: the actions of the same name in the PDDL file."""
        others = [version for version, name in self.model.versions.items() if name == action.name]
        return [action, *(self.model.actions[version] for version in others)]

    def policy_of(self, action: str) -> ExecutionPolicy:
        """Return the policy of `action`."""
        return self.policies.get(action, DEFAULT)

    def observers_of(self, fact: Atom) -> list[tuple[Observer, Atom]]:
        """Return the observers that can decide `fact`, each with the pattern of its look."""
        found = [(each, each.look_for(fact)) for each in self._looks.get(fact.predicate, ())]
        return [(observer, look) for observer, look in found if look is not None]

    def observers_over(self, pattern: Atom) -> list[tuple[Observer, Atom]]:
        """Return the observers that find all facts that match `pattern`, each with the pattern of its look."""
        found = [(each, each.look_over(pattern)) for each in self._looks.get(pattern.predicate, ())]
        return [(observer, look) for observer, look in found if look is not None]

    def is_watched(self, predicate: str) -> bool:
        """Return whether some observer observes facts of `predicate`."""
        return predicate in self._looks

    @property
    def hierarchy(self) -> HtnDomain | None:
        """The domain with its tasks and methods; None for a classical domain."""
        found = _declared_model_of(self.domain)
        return found if is_other_domain(found) else None  # type: ignore[return-value]  # the only other kind there is

    def without_handler(self) -> list[str]:
        """Return the actions without a handler."""
        return [name for name in self.model.actions if not self.skills.get(name)]

    def explain_missing_handlers(self, actions: Collection[str]) -> str:
        """Return why nobody carries out these `actions`, which have no handler, and how to mend that."""
        reasons: dict[str, list[str]] = {}
        for each in actions:
            reasons.setdefault(self.withheld.get(each, ""), []).append(each)
        bare = reasons.pop("", [])
        found = [f"{', '.join(names)} must not be carried out: {reason}" for reason, names in reasons.items()]
        found += [f"nobody carries out {', '.join(bare)}: @world.handler(…) says who does"] if bare else []
        return "; ".join(found)


def pass_check(**_: Any) -> None:
    """Do nothing: the precondition of the action was checked before."""


def domain_model_of(domain: AnyDomain | Domain | Any) -> DomainModel:
    """Return the classical model of `domain`, without the tasks of a hierarchical one."""
    domain = _declared_model_of(domain)
    if is_other_domain(domain):
        domain = domain.classical  # type: ignore[attr-defined]  # that is what the question was
    if not isinstance(domain, DomainModel):
        raise InputError(f"expected a domain, got {kind_of(domain)}", hint="give a Domain, or its model")
    return domain


def _declared_model_of(domain: Any) -> Any:
    """Return the immutable model of a declared domain; any other value unchanged."""
    if isinstance(domain, Domain) or (not isinstance(domain, DomainModel) and hasattr(domain, "model")):
        return domain.model
    return domain
