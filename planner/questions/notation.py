"""Facts, steps and states as users give them, and as answers write them: in the words and the notation of the input."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal

from planner.compilations.object_creation import choose_names, for_steps
from planner.compilations.sequential_steps import compile_sequential
from planner.errors import InputError, did_you_mean, kind_of
from planner.language.declare.atom_syntax import NotationError, abbreviate, parse_atom
from planner.lightweight import Final, replace
from planner.model import OPEN, Atom, Not, Number, Problem, TypeHierarchy, Variable
from planner.model.constructs import Service, refuse
from planner.model.domain import creates_objects
from planner.model.object_names import protect_quoted, restore_quoted
from planner.model.problem import is_temporal, refuse_time
from planner.model.spelling import spell_fact
from planner.plan import Plan, Step, exact, name_as_written
from planner.problem_kinds import AnyProblem, classical_of, resolve_classical, resolve_problem
from planner.validation.validate import choose_versions

AnyFact = Atom | str
"""An atom, or its text: `at(r2, hall)`, or as in PDDL `(at r2 hall)`."""
AnyStep = Step | Atom | str
"""A step, or its text: `move(r2, hall, lab)`, or as in PDDL `(move r2 hall lab)`."""
AnyState = Iterable[AnyFact] | str
"""The facts that hold, or a text with them: `at(r2, hall), idle(r2)`, or as in PDDL `(at r2 hall) (idle r2)`.

Values of numbers may stand among them: `fuel(r2) = 3`, or `(= (fuel r2) 3)`.
"""
AnySteps = Plan | Iterable[AnyStep] | str
"""A plan, its steps, or a text with them, such as one step in each line."""

_PDDL: Final = re.compile(r"\(\s*([^\s()]+(?:\s+[^\s()]+)*)\s*\)\Z")
_PDDL_PARTS: Final = re.compile(r"\([^()]*\)")
_PARTS: Final = re.compile(r"[^\s,;()]+(?:\s*\([^()]*\))?")
_PDDL_VALUE: Final = re.compile(r"\(\s*=\s*(\([^()]*\))\s*([-+]?\d+(?:\.\d+)?)\s*\)")
_VALUE: Final = re.compile(r"([^\s,;()=]+(?:\s*\([^()]*\))?)\s*==?\s*([-+]?\d+(?:\.\d+)?)(?![\w.])")
"""The value of a number in a state: `(= (level x) 3)` or `level(x) = 3`."""
_COMMENT: Final = re.compile(r";[^\n]*")
_NEGATION: Final = re.compile(r"(?:^|[\s,;(])not\s*[\s(]", re.IGNORECASE)
_MOST_NAMES: Final = 2_000
"""Most names that a message about an unknown one compares with it."""


def spell(problem: Problem, item: Step | Atom | Not) -> str:
    """Return `item` as the file of `problem` would write it: `(at Truck1 depot)` for PDDL, else `at(Truck1, depot)`."""
    spelling = problem.domain.spelling
    if isinstance(item, Step):
        (written,) = name_as_written([item], problem)
        item = Atom(written.action, written.arguments)
    return spell_fact(item, spelling)


def start_in(problem: AnyProblem, state: AnyState | None, steps: Sequence[Step] = ()) -> Problem:
    """Return the resolved `problem` with `state` for its initial state, if that is given.

    Facts that nothing changes hold in each state, and need not be given; numbers keep their values unless `state` has
    others. An action that creates objects gets a placeholder for each, beside those of `steps`. A problem with tasks is
    asked about its actions, and one in time about steps that are taken in turn. Raises `InputError` for facts that it
    cannot have.
    """
    found = put_state(classical_of(resolve_problem(problem)), state)
    found = for_steps(found, steps, spare=1)
    return without_times(found)


def start_before(problem: AnyProblem, given: AnySteps, state: AnyState | None) -> tuple[Problem, AnySteps]:
    """Return what `start_in` does for the steps in `given`, and these with names for what they create.

    A step may leave out the objects that it creates, as it is written where it is declared.
    """
    source = classical_of(resolve_problem(problem))
    if not creates_objects(source.domain):
        return start_in(source, state), given
    if isinstance(given, str):
        given = split_expressions(given)
    if not isinstance(given, Iterable):
        return start_in(source, state), given
    read: list[AnyStep] = [*(given.steps if isinstance(given, Plan) else given)]
    for place, each in enumerate(read):
        with suppress(InputError):  # told when the steps are read
            atom = _parse(each, "step") if isinstance(each, str) else Atom(*_words_of(each))
            read[place] = Step(atom.predicate, atom.args)
    steps = _name_created(source, [each for each in read if isinstance(each, Step)])
    named = iter(steps)
    return start_in(source, state, steps), [next(named) if isinstance(each, Step) else each for each in read]


def _name_created(problem: Problem, steps: Sequence[Step]) -> list[Step]:
    """Return `steps` with new names for the objects that they create, where they name none."""
    actions = problem.domain.actions
    fold = str.lower if problem.domain.spelling is not None else str
    declared = [actions.get(fold(step.action)) for step in steps]
    lacking = [
        tuple(action.creates.values()) if action and len(step.arguments) == len(action.parameters) else ()
        for step, action in zip(steps, declared, strict=True)
    ]
    taken = [
        name
        for step, action in zip(steps, declared, strict=True)
        for name in (step.arguments[len(action.parameters) :] if action else ())
    ]
    found = choose_names(problem, Counter([kind for kinds in lacking for kind in kinds]), taken)
    names = {kind: iter(each) for kind, each in found.items()}
    return [
        replace(step, arguments=(*step.arguments, *[next(names[kind]) for kind in kinds]))
        for step, kinds in zip(steps, lacking, strict=True)
    ]


def without_times(problem: Problem) -> Problem:
    """Return `problem`, which may be in time, with steps taken one after another. Raises `UnsupportedError`."""
    return compile_sequential(problem, by_costs=True) if is_temporal(problem) else problem


def put_state(problem: Problem, state: AnyState | None) -> Problem:
    """Return the resolved `problem` with `state`, and what nothing changes, for its initial state, if that is given.

    A state settles what is unknown: facts that it does not have do not hold.
    """
    if state is None:
        return problem
    state, values = _take_values(problem, state)
    facts = tuple(dict.fromkeys(read_facts(problem, state)))
    derived = next((fact for fact in facts if fact.predicate in problem.domain.derived), None)
    if derived is not None:
        raise InputError(f"{spell(problem, derived)} is derived", hint="state the facts that it follows from")
    changing = find_changing_predicates(problem)
    static = [fact for fact in problem.initial if fact.predicate not in changing]
    initial = tuple(dict.fromkeys([*static, *facts]))
    return replace(problem, initial=initial, values={**problem.values, **values}, unknown=(), likely={})


def _take_values(problem: Problem, state: AnyState) -> tuple[AnyState, dict[Atom, Number]]:
    """Return `state` without the values of numbers in it, and these: `(= (level x) 3)` or `level(x) = 3`."""
    values: dict[Atom, Number] = {}

    def cut(text: str) -> str:
        plain, terms = protect_quoted(text)
        pattern = _PDDL_VALUE if plain.lstrip()[:1] in ("(", ";") else _VALUE
        for found in pattern.finditer(plain):
            values[read_function(problem, restore_quoted(found[1], terms))] = exact(Decimal(found[2]))
        return restore_quoted(pattern.sub("", plain), terms)

    if isinstance(state, str):
        return cut(state), values
    if not isinstance(state, Iterable) or isinstance(state, Atom | Not):
        return state, values
    texts = [cut(each) if isinstance(each, str) else each for each in state]
    return [each for each in texts if not isinstance(each, str) or each.strip()], values


def start_whole_in(problem: Problem, state: AnyState | None, asked: str) -> Problem:
    """Return what `start_in` does, for questions whose answers are about all states or all plans.

    Raises `InputError` for what is no classical problem, and `UnsupportedError` where search would not see all of them:
    in time, for created objects, several outcomes, and facts or numbers declared unknown.
    """
    found = resolve_classical(problem, asked, "ask about its part without tasks: problem.classical")
    found = put_state(found, state)
    refuse(found, Service.QUESTIONS)
    refuse_time(found, "in questions about all states")
    return for_steps(found, (), spare=1)


def find_changing_predicates(problem: Problem) -> frozenset[str]:
    """Return the predicates whose facts some action changes, or some axiom derives."""
    found = set(problem.domain.derived)
    for action in problem.domain.actions.values():
        for when in action.effects:
            found.update([atom.predicate for atom in when.written])
    while True:
        more = {
            each.name
            for each in problem.domain.predicates.values()
            if any(pattern.predicate in found for pattern in each.stale_with)
        }
        if more <= found:
            return frozenset(found)
        found |= more


def read_facts(problem: Problem, given: AnyState) -> list[Atom]:
    """Return the facts that `given` names; raises `InputError` for what the problem cannot have."""
    if isinstance(given, Atom | Not):
        raise InputError("a state is made of several facts", hint=f"give a list: ['{given}']")
    if isinstance(given, str):
        if _NEGATION.search(_COMMENT.sub("", protect_quoted(given)[0])):
            hint = "leave it out: what is not given does not hold"
            raise InputError("found a negation in a state, expected facts that hold", hint=hint)
        given = split_expressions(given)
    if not isinstance(given, Iterable):
        raise InputError(f"a state is a list of facts, not {kind_of(given)}", hint="such as problem.initial")
    return [read_fact(problem, fact) for fact in given]


def split_expressions(text: str) -> list[str]:
    """Split a text into facts or steps: PDDL expressions, or terms between commas, semicolons and line breaks."""
    plain, terms = protect_quoted(text)
    if plain.lstrip()[:1] in ("(", ";"):
        plain = _COMMENT.sub("", plain)
        found = _PDDL_PARTS.findall(plain)
        pattern = _PDDL_PARTS
    else:
        pattern = _PARTS
        found = _PARTS.findall(plain)
    rest = pattern.sub("", plain).strip(" \t\r\n,;")
    if rest:
        raise InputError(f"found {abbreviate(rest)} outside of facts or steps", hint="write (p a b) or p(a, b)")
    return [restore_quoted(each, terms) for each in found]


def read_fact(problem: Problem, given: AnyFact) -> Atom:
    """Return the ground atom that `given` is or names; raises `InputError` for what the problem cannot have."""
    atom = _read_atom(problem, given, "fact", problem.domain.predicates)
    parameters = problem.domain.predicates[atom.predicate].parameters
    _check_arguments(problem, atom, parameters)
    return atom


def read_step(problem: Problem, given: AnyStep) -> Step:
    """Return the step that `given` is or names, of any version of its action; raises as `read_fact` does."""
    atom = given if isinstance(given, str) else Atom(*_words_of(given))
    found = _read_atom(problem, atom, "step", problem.domain.actions)
    _check_arguments(problem, found, problem.domain.actions[found.predicate].parameters)
    return Step(found.predicate, found.args)


def read_step_pattern(problem: Problem, given: AnyFact) -> Atom:
    """Return the pattern of steps that `given` is or names, with `_` for any object; raises as `read_fact` does."""
    known = {name: each.parameters for name, each in problem.domain.actions.items()}
    return read_pattern(problem, given, "step", known)


def read_pattern(problem: Problem, given: AnyFact, what: str, known: Mapping[str, tuple[Variable, ...]]) -> Atom:
    """Return the pattern of one of the names `known`, with their parameters; a name alone leaves all of them open.

    `what` says in messages what is read. Raises as `read_fact` does.
    """
    found = _read_atom(problem, given, what, known)
    parameters = known[found.predicate]
    if not found.args:
        return Atom(found.predicate, (OPEN,) * len(parameters))
    _check_arguments(problem, found, parameters, is_pattern=True)
    return found


def read_function(problem: Problem, given: AnyFact) -> Atom:
    """Return the function with its arguments that `given` is or names; raises as `read_fact` does."""
    found = _read_atom(problem, given, "function", problem.domain.functions)
    _check_arguments(problem, found, problem.domain.functions[found.predicate].parameters)
    return found


def read_steps(problem: Problem, given: AnySteps) -> tuple[Step, ...]:
    """Return the steps of a plan, each of the applicable version of its action; raises as `read_fact` does."""
    if isinstance(given, Plan):
        return given.steps
    if isinstance(given, str):
        given = split_expressions(given)
    if not isinstance(given, Iterable):
        raise InputError(f"a plan is a list of steps, not {kind_of(given)}", hint="such as ['(move r2 hall lab)']")
    steps: list[Step] = []
    for number, each in enumerate(given, start=1):
        try:
            steps.append(read_step(problem, each))
        except InputError as error:
            raise InputError(f"step {number}: {error.message}", hint=error.hint) from None
    return choose_versions(steps, problem)


def _words_of(given: object) -> tuple[str, tuple[str, ...]]:
    if isinstance(given, Step):
        return given.action, given.arguments
    if isinstance(given, Atom):
        return given.predicate, given.args
    raise InputError(f"expected a step, got {kind_of(given)}", hint="give (move r2 hall lab) or move(r2, hall, lab)")


def _read_atom(problem: Problem, given: AnyFact, what: str, known: Mapping[str, object]) -> Atom:
    """Return the atom, its name and objects looked up in any case if the problem is in PDDL."""
    if isinstance(given, str):
        given = _parse(given, what)
    if not isinstance(given, Atom):
        raise InputError(f"expected a {what}, got {kind_of(given)}", hint="give (at r2 hall) or at(r2, hall)")
    if problem.domain.spelling is not None:
        given = Atom(given.predicate.lower(), tuple([arg.lower() for arg in given.args]))
    if given.predicate not in known:
        kind = {"step": "action", "fact": "predicate"}.get(what, what)
        names = [_spell_name(problem, name) for name in known][:_MOST_NAMES]
        hint = did_you_mean(given.predicate, names) or (f"it has {', '.join(names)}" if names else None)
        raise InputError(f"the problem has no {kind} '{given.predicate}'", hint=hint)
    return given


def _parse(text: str, what: str) -> Atom:
    """Return the atom that `text` writes as PDDL or as we do."""
    plain, terms = protect_quoted(text)
    pddl = _PDDL.match(plain.strip())
    if pddl is not None:
        name, *args = pddl[1].split()
        return Atom(name, tuple([terms.get(each, each) for each in args]))
    try:
        return parse_atom(text.strip())
    except NotationError as error:
        raise InputError(f"{abbreviate(text)} is no {what}: {error.problem}", hint=error.hint) from None


def _spell_name(problem: Problem, name: str) -> str:
    spelling = problem.domain.spelling
    return name if spelling is None else spelling.word(name)


def _spell_types(problem: Problem, types: Iterable[str]) -> str:
    return " or ".join([_spell_name(problem, each) for each in types])


def _check_arguments(
    problem: Problem, atom: Atom, parameters: tuple[Variable, ...], *, is_pattern: bool = False
) -> None:
    """Raise `InputError` where the number of arguments, an object or its type is wrong; patterns have open ones."""
    written = spell(problem, atom)
    if len(atom.args) != len(parameters):
        names = ", ".join([parameter.name for parameter in parameters])
        message = f"{written} has {len(atom.args)} arguments, expected {len(parameters)}"
        raise InputError(message, hint=f"its parameters are {names}" if names else None)
    types = {item.name: item.types for item in problem.all_objects}
    hierarchy = TypeHierarchy(problem.domain.types)
    for arg, parameter in zip(atom.args, parameters, strict=True):
        if is_pattern and arg == OPEN:
            continue
        if arg not in types:
            hint = did_you_mean(arg, list(types)[:_MOST_NAMES])
            raise InputError(f"{written} names an object '{arg}', and there is none", hint=hint)
        if not hierarchy.is_a(types[arg], parameter.types):
            wanted, found = [
                " or ".join([_spell_name(problem, x) for x in each]) for each in (parameter.types, types[arg])
            ]
            name = _spell_name(problem, arg)
            raise InputError(f"{written}: '{name}' is of type {found}, expected {wanted}")
