"""The state space of a ground problem, with atoms in place of numbers: facts, actions, states and successors.

The values here name what `planner.task` numbers. Each belongs to one `StateSpace`, and is refused by any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice

from planner.errors import InputError, PlanError, did_you_mean, kind_of
from planner.language.declare.atom_syntax import NotationError, abbreviate, parse_literal
from planner.lightweight import Final, TypeVar, dataclass, field
from planner.model import Atom, Not, Number, Problem
from planner.plan import Plan, Step
from planner.task import ground_task
from planner.task.packed_task_compiled import find_optional_variables, variables_of
from planner.task.successor_generator import Space

Fact = Atom | Not
"""What a fact of the ground problem stands for: an atom, or the negation of one that some condition needs."""
AnyFact = Fact | str
"""A fact, or its text: `at(r2, hall)`, `not at(r2, hall)`, or as in PDDL `(at r2 hall)`, `(not (at r2 hall))`."""

Item = TypeVar("Item")

NAMES_COMPARED: Final = 2_000
"""Maximum number of names that a message about an unknown one compares with it."""
LEFT_OUT: Final = (
    "what never changes, cannot be reached, or does not matter to the goal is left out; whole=True keeps the last"
)
_PDDL_ATOM: Final = re.compile(r"\(\s*([^\s()]+(?:\s+[^\s()]+)*)\s*\)\Z")
_PDDL_NEGATION: Final = re.compile(r"\(\s*not\s+(\(.*\))\s*\)\Z", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class FiniteDomainVariable:
    """A finite-domain variable: in each reachable state, it has one of its `values` (Helmert, 2009).

    If it is `optional`, no value at all is possible, too. `number` is its place among the variables.
    """

    number: int
    values: tuple[Fact, ...]
    optional: bool

    @property
    def size(self) -> int:
        """How many values there are, "none of them" included."""
        return len(self.values) + self.optional

    def __str__(self) -> str:
        return " | ".join([*map(str, self.values), *(["none of them"] if self.optional else [])])


@dataclass(frozen=True, slots=True)
class GroundEffect:
    """A conditional effect: where all facts of `condition` hold, `adds` become true and `deletes` false."""

    condition: tuple[Fact, ...]
    adds: tuple[Fact, ...]
    deletes: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class ActionInstance:
    """A ground action, number `number` of `space`.

    An action whose precondition is a disjunction has an instance of the same name for each alternative.
    """

    number: int
    space: StateSpace = field(repr=False)

    @property
    def _action(self) -> ground_task.GroundAction:
        return self.space.task.actions[self.number]

    @property
    def step(self) -> Step:
        """The action as a step of plans."""
        return self._action.step

    @property
    def name(self) -> str:
        """The name of the action schema."""
        return self._action.step.action

    @property
    def arguments(self) -> tuple[str, ...]:
        """The objects that take the place of the parameters."""
        return self._action.step.arguments

    @property
    def cost(self) -> Number:
        """The cost, in the units of the problem."""
        return self._action.step.cost

    @property
    def precondition(self) -> tuple[Fact, ...]:
        """The facts that must hold before; facts that always hold are left out."""
        return self.space.name_facts(self._action.precondition)

    @property
    def adds(self) -> tuple[Fact, ...]:
        """The facts that become true in any case."""
        return self.space.name_facts(self._action.adds)

    @property
    def deletes(self) -> tuple[Fact, ...]:
        """The facts that become false in any case."""
        return self.space.name_facts(self._action.deletes)

    @property
    def conditional(self) -> tuple[GroundEffect, ...]:
        """The conditional effects; what any effect adds wins over what another one deletes."""
        name = self.space.name_facts
        return tuple([GroundEffect(name(e.condition), name(e.adds), name(e.deletes)) for e in self._action.conditional])

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        return str(self.step)


@dataclass(frozen=True, slots=True)
class GroundState:
    """A state of `space`; equal states are equal and have equal hashes. `bits` has bit f set where fact f holds.

    `fact in state` tells whether a fact, or its text, holds; iterating yields the atoms that hold.
    """

    bits: int = field(repr=False)
    space: StateSpace = field(repr=False)

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The atoms that hold, without derived ones."""
        return self._atoms_of(self.bits)

    @property
    def derived(self) -> tuple[Atom, ...]:
        """The derived atoms that hold, by the axioms."""
        return self._atoms_of(self.space.engine.closed(self.bits) & ~self.bits)

    def _atoms_of(self, bits: int) -> tuple[Atom, ...]:
        facts = self.space.name_facts(ground_task.facts_of(bits))
        return tuple(sorted([fact for fact in facts if isinstance(fact, Atom)], key=str))

    def holds(self, fact: AnyFact) -> bool:
        """Return whether `fact` holds here, derived or not; raises `InputError` for one that `space` does not have."""
        number, is_positive = self.space.find_literal(fact)
        return bool(self.space.engine.closed(self.bits) >> number & 1) is is_positive

    def __contains__(self, fact: AnyFact) -> bool:
        return self.holds(fact)

    def __iter__(self) -> Iterator[Atom]:
        return iter(self.atoms)

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        return ", ".join(map(str, self.atoms)) or "no atom holds"


@dataclass(frozen=True, slots=True)
class Successor:
    """The `state` that `action` leads to."""

    action: ActionInstance
    state: GroundState

    @property
    def cost(self) -> Number:
        """The cost of the action."""
        return self.action.cost

    def __str__(self) -> str:
        return f"{self.action} [{self.cost}]: {self.state}"


class StateSpace:
    """The state space of `problem`, whose ground task is `task`. `engine` generates its successors."""

    def __init__(self, problem: Problem, task: ground_task.Task) -> None:
        self.problem = problem
        self.task = task
        self.engine = Space(task)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that may change and matter to the goal, in the order of their numbers."""
        return self.task.facts

    @property
    def derived_facts(self) -> tuple[Fact, ...]:
        """The facts that follow from others by axioms."""
        return self.name_facts(sorted(self.task.derived))

    @cached_property
    def actions(self) -> tuple[ActionInstance, ...]:
        """The ground actions, in the order of their numbers."""
        return tuple([ActionInstance(number, self) for number in range(len(self.task.actions))])

    @cached_property
    def variables(self) -> tuple[FiniteDomainVariable, ...]:
        """The finite-domain variables: a partition of the facts that are not derived."""
        optional = find_optional_variables(self.task, variables_of(self.task))
        return tuple(
            [
                FiniteDomainVariable(number, self.name_facts(facts), number in optional)
                for number, facts in enumerate(self.task.variables)
            ]
        )

    @property
    def initial(self) -> GroundState:
        """The initial state."""
        return GroundState(self.engine.initial, self)

    @property
    def goal(self) -> tuple[Fact, ...]:
        """The facts that hold in each goal state."""
        return self.name_facts(self.task.goal)

    def name_facts(self, numbers: Iterable[int]) -> tuple[Fact, ...]:
        """Return the facts of these numbers."""
        facts = self.task.facts
        return tuple([facts[number] for number in numbers])

    def state(self, atoms: Iterable[AnyFact]) -> GroundState:
        """Return the state in which exactly these `atoms` hold, none of them derived.

        Raises `InputError` for unknown facts, and for two that no reachable state has together.
        """
        if isinstance(atoms, str | Atom | Not):
            raise InputError("a state is made of several atoms", hint="give a list, such as ['at(r2, hall)']")
        bits = 0
        for atom in iterate(atoms, "a state is a list of atoms"):
            number, is_positive = self.find_literal(atom)
            if number in self.task.derived:
                raise InputError(f"{self.task.facts[number]} is derived", hint="it follows from the atoms of a state")
            if not is_positive or isinstance(self.task.facts[number], Not):
                raise InputError(
                    f"'{atom}' is a negation", hint="a state is given by the atoms that hold; others do not"
                )
            bits |= 1 << number
        for negation, atom_number in self._negations.items():
            if not bits >> atom_number & 1:
                bits |= 1 << negation
        for group in (*self.task.variables, *self.task.mutexes):
            together = [fact for fact in group if bits >> fact & 1]
            if len(together) > 1:
                one, other = self.name_facts(together[:2])
                raise InputError(f"no reachable state has both {one} and {other}")
        return GroundState(bits, self)

    def bits_of(self, state: GroundState) -> int:
        """Return the bits of a state of this space; raises `InputError` for any other."""
        if not isinstance(state, GroundState):
            raise InputError(
                f"expected a state, got {kind_of(state)}", hint="initial, state(…) and successors give one"
            )
        if state.space is not self:
            raise InputError("this state belongs to another ground problem", hint="state(atoms) makes one of this one")
        return state.bits

    def is_goal(self, state: GroundState) -> bool:
        """Return whether the goal holds in `state`."""
        return self.engine.is_goal(self.bits_of(state))

    def applicable(self, state: GroundState) -> tuple[ActionInstance, ...]:
        """Return the actions applicable in `state`, one for each name and arguments."""
        found: dict[Step, int] = {}
        for number in sorted(self.engine.actions_in(self.bits_of(state))):
            found.setdefault(self.task.actions[number].step, number)
        return tuple([self.actions[number] for number in found.values()])

    def successors(self, state: GroundState) -> tuple[Successor, ...]:
        """Return the successors of `state` by all applicable actions, in the order of the actions' numbers."""
        bits, apply = self.bits_of(state), self.engine.apply
        return tuple([Successor(each, GroundState(apply(each.number, bits), self)) for each in self.applicable(state)])

    def apply(self, action: ActionInstance | Step | str, state: GroundState) -> GroundState:
        """Return the state after `action`, given as an action, a step or its text, such as `move(r2, hall, lab)`.

        Raises `InputError` for an action that this space does not have, or whose precondition does not hold in `state`.
        """
        bits = self.bits_of(state)
        full = self.engine.closed(bits)
        instances = self.find_actions(action)
        for each in instances:
            if not self.engine.preconditions[each.number] & ~full:
                return GroundState(self.engine.apply(each.number, bits), self)
        missing = ground_task.facts_of(self.engine.preconditions[instances[0].number] & ~full)
        needs = ", ".join(map(str, self.name_facts(missing)))
        raise InputError(f"{instances[0]} is not applicable in this state", hint=f"it needs {needs}")

    def replay(
        self, plan: Plan | Iterable[ActionInstance | Step | str], state: GroundState | None = None
    ) -> tuple[GroundState, ...]:
        """Return the states that `plan` goes through from `state`, by default the initial one, this state included.

        Raises `PlanError` for the first step that is not applicable; whether the goal holds at the end, `is_goal` says.
        """
        states = [self.initial if state is None else GroundState(self.bits_of(state), self)]
        steps = plan.steps if isinstance(plan, Plan) else plan
        if isinstance(steps, str):
            raise InputError("a plan is a list of steps, not a text", hint="give ['move(r2, hall, lab)', …]")
        for number, step in enumerate(iterate(steps, "a plan is a list of steps"), start=1):
            try:
                states.append(self.apply(step, states[-1]))
            except InputError as error:
                raise PlanError(f"step {number}: {error.message}", hint=error.hint) from None
        return tuple(states)

    def find_actions(self, action: ActionInstance | Step | str) -> tuple[ActionInstance, ...]:
        """Return the instances of one name and arguments; raises `InputError` if there are none."""
        if isinstance(action, ActionInstance):
            if action.space is not self:
                raise InputError(
                    f"{action} belongs to another ground problem", hint="find_actions(str(action)) looks it up"
                )
            return (action,)
        if isinstance(action, Step):
            key = (action.action, action.arguments)
        elif isinstance(action, str):
            literal = _parse(action)
            if isinstance(literal, Not):
                raise InputError(f"{abbreviate(action)} is no action", hint="write move(r2, hall, lab)")
            key = (literal.predicate, literal.args)
        else:
            raise InputError(f"expected an action, got {kind_of(action)}", hint="give a step, or move(r2, hall, lab)")
        numbers = self._actions_by_step.get(key)
        if numbers is None:
            name = Atom(*key)
            raise _unknown(name, "action", [Atom(*known) for known in self._actions_by_step])
        return tuple([self.actions[number] for number in numbers])

    @cached_property
    def _actions_by_step(self) -> dict[tuple[str, tuple[str, ...]], list[int]]:
        found: dict[tuple[str, tuple[str, ...]], list[int]] = {}
        for number, action in enumerate(self.task.actions):
            found.setdefault((action.step.action, action.step.arguments), []).append(number)
        return found

    @cached_property
    def _numbers(self) -> dict[Fact, int]:
        return {fact: number for number, fact in enumerate(self.task.facts)}

    @cached_property
    def _negations(self) -> dict[int, int]:
        """The facts that are negations of atoms with numbers, derived ones left out, with the numbers of the atoms."""
        numbers = self._numbers
        return {
            number: numbers[fact.part]
            for fact, number in numbers.items()
            if isinstance(fact, Not) and isinstance(fact.part, Atom) and fact.part in numbers
            if number not in self.task.derived
        }

    def find_literal(self, fact: AnyFact) -> tuple[int, bool]:
        """Return the number of `fact` and True; or that of the atom that it negates and False.

        Raises `InputError` for what is neither.
        """
        literal = _parse(fact) if isinstance(fact, str) else fact
        if not isinstance(literal, Atom | Not):
            raise InputError(f"expected a fact, got {kind_of(fact)}", hint="give an atom, or its text at(r2, hall)")
        number = self._numbers.get(literal)
        if number is not None:
            return number, True
        opposite = literal.part if isinstance(literal, Not) else Not(literal)
        number = self._numbers.get(opposite) if isinstance(opposite, Atom | Not) else None
        if number is None:
            raise _unknown(literal, "fact", self.task.facts)
        return number, False

    def find_fact(self, fact: AnyFact) -> int:
        """Return the number of `fact`; raises `InputError` for a negation that is no fact of its own."""
        number, is_positive = self.find_literal(fact)
        if not is_positive:
            raise InputError(f"'{fact}' is no fact of its own here", hint=f"use '{self.task.facts[number]}'")
        return number


def _parse(text: str) -> Fact:
    """Return the literal that `text` writes as we do, or as PDDL does."""
    negated = _PDDL_NEGATION.match(text.strip())
    pddl = _PDDL_ATOM.match(negated[1] if negated else text.strip())
    if pddl is not None:
        name, *args = pddl[1].split()
        return Not(Atom(name, tuple(args))) if negated else Atom(name, tuple(args))
    try:
        found = parse_literal(text)
    except NotationError as error:
        raise InputError(error.problem, hint=error.hint) from None
    if isinstance(found, Atom) or (isinstance(found, Not) and isinstance(found.part, Atom)):
        return found
    raise InputError(f"{abbreviate(text)} is an equality", hint="a fact is written name(arg, …)")


def _unknown(wanted: Fact, what: str, known: Sequence[Fact]) -> InputError:
    """Return the error for a fact or an action that the ground problem does not have."""
    name = wanted.part if isinstance(wanted, Not) else wanted
    like = [
        str(each) for each in known if isinstance(each, Atom) and each.predicate == getattr(name, "predicate", None)
    ]
    near = did_you_mean(str(name), islice(like or map(str, known), NAMES_COMPARED))
    article = "an" if what == "action" else "a"
    hint = f"{near} ({LEFT_OUT})" if near else LEFT_OUT
    return InputError(f"{abbreviate(str(wanted))} is not {article} {what} of this ground problem", hint=hint)


def iterate(items: Iterable[Item], expected: str) -> Iterator[Item]:
    """Return an iterator over `items`; raises `InputError` if there is none."""
    try:
        return iter(items)
    except TypeError:
        raise InputError(f"{expected}, not {kind_of(items)}") from None
