"""Lint of worlds: effects that no observer sees, actions without a handler, observers without use."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Final

from executor.observe.beliefs import CAREFUL, is_in_place
from executor.plan_check.check_means import find_missing_fields, may_be_left
from executor.tools.observers import Observer
from executor.tools.world import World
from planner.language.loading.load import FolderSource, Source
from planner.language.loading.python_files import PythonSource
from planner.lint.findings import Finding, Level, collect_usage, goal_atoms
from planner.lint.problem_lint import sort_by_level
from planner.model import OPEN, Action, Atom, DomainModel, Outcome, Problem, When, is_variable
from planner.model.actions import negated_atoms, positive_atoms
from planner.model.formulas import atoms_in
from planner.problem_kinds import AnyDomain, AnyProblem, is_other_problem


def worlds_of(source: Source) -> list[World]:
    """Return the worlds in the file `source`, each once; none where it is no Python file."""
    if isinstance(source, FolderSource):
        source = source.domain_file
    return source.values(World) if isinstance(source, PythonSource) else []


OPAQUE: Final = frozenset({"", "Any", "object", "typing.Any"})
"""Annotations that promise nothing."""


@dataclass(frozen=True, slots=True)
class Effects:
    """The declared effects of an action: facts that it adds and deletes, and items that it changes in place."""

    given: tuple[Atom, ...]
    ended: tuple[Atom, ...]
    items: tuple[Atom, ...]

    @classmethod
    def of(cls, action: Action) -> Effects:
        """Collect the effects of `action` under all conditions and in all outcomes, each once."""
        parts: list[When | Outcome] = [*action.effects, *action.outcomes]
        modified = [item for part in parts for item in part.modifies]
        given = dict.fromkeys(fact for part in parts for fact in positive_atoms(part.provides))
        ended = dict.fromkeys(fact for part in parts for fact in negated_atoms(part.provides))
        ended |= dict.fromkeys(item for item in modified if not is_in_place(item))
        items = dict.fromkeys(item for item in modified if is_in_place(item))
        return cls(tuple(given), tuple(ended), tuple(items))

    @property
    def all(self) -> dict[Atom, str]:
        """All effects with their texts as authors write them."""
        texts = {item: f"{fact_text(item)} (changed in place)" for item in self.items}
        texts |= {fact: f"not {fact_text(fact)}" for fact in self.ended}
        return texts | {fact: fact_text(fact) for fact in self.given}


def fact_text(fact: Atom) -> str:
    """Write `fact` with parameters by their bare names."""
    return str(Atom(fact.predicate, tuple([arg.removeprefix("?") for arg in fact.args])))


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which facts the observers of `world` see."""

    world: World

    def observers(self, fact: Atom) -> Iterator[Observer]:
        """Yield the observers that see `fact` for all objects."""
        return (each for each in self.world.observers if _sees(each, fact) is True)

    def partial(self, fact: Atom) -> Iterator[Observer]:
        """Yield the observers that see `fact` for some objects only."""
        return (each for each in self.world.observers if _sees(each, fact) is None)

    def is_conclusive(self, fact: Atom) -> bool:
        """Return whether an observer can exclude that `fact` came about."""
        return any(each.conclusive for each in self.observers(fact))

    def settles_doubt(self, fact: Atom) -> bool:
        """Return whether an observer can exclude that an irreversible step brought `fact` about."""
        return any(each.settles_doubt for each in self.observers(fact))

    def is_trusted(self, fact: Atom, action: Action | None = None) -> bool:
        """Return whether `fact`, an effect of `action`, is believed without observation."""
        predicate = self.world.model.predicates.get(fact.predicate)
        tagged = predicate is not None and "trusted" in predicate.tags
        return tagged or (action is not None and "trusted" in action.tags)


def _sees(observer: Observer, fact: Atom) -> bool | None:
    """Return whether `observer` sees `fact`; None where it does so for some objects only."""
    if observer.pattern.predicate != fact.predicate:
        return False
    found = set(observer.parameters.values()) | set(observer.open)
    others = [pair for at, pair in enumerate(zip(observer.pattern.args, fact.args, strict=True)) if at not in found]
    if any(mine != arg and not is_variable(arg) and arg != OPEN for mine, arg in others):
        return False
    return None if any(mine != arg for mine, arg in others) else True


def returned_type(function: Callable[..., Any]) -> str:
    """Return the return annotation of `function`, "" where it has none."""
    try:
        annotation = inspect.signature(function).return_annotation
    except (TypeError, ValueError):
        return ""
    if annotation is inspect.Signature.empty:
        return ""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "") or str(annotation)


def may_give_version(observer: Observer) -> bool:
    """Return whether the observer's return annotation allows a version."""
    annotation = returned_type(observer.function)
    return annotation in OPAQUE or "Seen" in annotation


def base_facts(facts: Iterable[Atom], domain: DomainModel) -> list[Atom]:
    """Trace derived facts to the predicates that they are derived from."""
    found: dict[Atom, None] = {}
    stack = list(facts)
    traced = set[str]()
    while stack:
        fact = stack.pop()
        if fact.predicate not in domain.derived:
            found[fact] = None
        elif fact.predicate not in traced:
            traced.add(fact.predicate)
            stack += [
                atom
                for axiom in domain.axioms
                if axiom.predicate == fact.predicate
                for atom in atoms_in(axiom.condition)
            ]
    return sorted(found, key=str)


EMPTY: Final = frozenset({"None", "NoneType", "bool", "str", "int", "float"})
"""Return annotations of handlers that create no objects."""
HARMLESS: Final = frozenset({"idempotent", "read_only"})


def findings(source: Source, loaded: AnyProblem | AnyDomain) -> list[Finding]:
    """Return the findings about the worlds in the file `source`, which gave `loaded`."""
    problem = loaded.classical if is_other_problem(loaded) else loaded
    given = problem if isinstance(problem, Problem) else None
    return [finding for world in worlds_of(source) for finding in check_world(world, given)]


def check_world(world: World, problem: Problem | None = None) -> list[Finding]:
    """Check `world` without a run; return findings, the worst first. With a `problem`, its goal counts, too."""
    found = [finding for action in world.model.actions.values() for finding in _check_action(action, world)]
    found += [*_check_goal(world, problem), *_check_observers(world, problem), *_check_name(world)]
    return sort_by_level(found)


def _check_action(action: Action, world: World) -> Iterator[Finding]:
    place, effects, coverage = f"action {action.name}", Effects.of(action), Coverage(world)
    yield from _check_handlers(action, place, world)
    yield from _check_data_sources(action, place, world)
    yield from _check_open_values(action, place, world)
    yield from _check_outcomes(action, place)
    yield from _check_unseen_effects(action, place, effects, coverage)
    yield from _check_items(action, place, effects, coverage)
    if HARMLESS.isdisjoint(action.tags):
        yield from _check_doubts(place, effects, coverage, is_irreversible="irreversible" in action.tags)
    if not action.tags.isdisjoint(CAREFUL):
        yield from _check_careful(action, place, coverage)


def _check_careful(action: Action, place: str, coverage: Coverage) -> Iterator[Finding]:
    """Report facts that a careful action requires, that other actions change, and that nobody can observe."""
    domain = coverage.world.model
    for fact in base_facts(atoms_in(action.requires), domain):
        seen = any(coverage.observers(fact)) or any(coverage.partial(fact)) or coverage.is_trusted(fact)
        if seen or any(each.predicate == fact.predicate for one in domain.actions.values() for each in one.senses):
            continue
        writers = [
            each.name
            for each in domain.actions.values()
            if each is not action
            and not coverage.is_trusted(fact, each)
            and any(effect.predicate == fact.predicate for effect in Effects.of(each).all)
        ]
        if writers:
            who = " or ".join(writers)
            message = (
                f"it begins only where {fact_text(fact)} was observed, and nobody can observe it: "
                f"a plan that takes it after {who} is refused before its first step"
            )
            hint = f'declare an observer, as @world.observer("{fact_text(fact)}"), or trust the predicate or {who}'
            yield Finding(Level.WARNING, "unobservable-condition", place, message, hint)


def _check_handlers(action: Action, place: str, world: World) -> Iterator[Finding]:
    skills = world.skills.get(action.name, [])
    if not skills:
        hint = f'bind a function to it: @world.handler("{action.name}")'
        yield Finding(Level.WARNING, "no-handler", place, "nobody carries it out: no plan of a run has it", hint)
    if action.creates:
        names = ", ".join(name.removeprefix("?") for name in action.creates)
        for skill in skills:
            if returned_type(skill.function) in EMPTY:
                said = f"{_function_name(skill.function)} is declared to return {returned_type(skill.function)}"
                message = f"its handler {said}, but what it creates ({names}) comes with the result"
                hint = 'return ActionResult(created={"…": …})'
                yield Finding(Level.WARNING, "creates-nothing", place, message, hint)


def _check_data_sources(action: Action, place: str, world: World) -> Iterator[Finding]:
    """Report data parameters that come from fields which no handler is declared to return."""
    for parameter in action.data:
        messages = find_missing_fields(parameter, world.model.actions.values(), world)
        if messages and all(messages):
            yield Finding(Level.ERROR, "no-field", place, messages[0], "mend the path, or the annotation")


def _check_open_values(action: Action, place: str, world: World) -> Iterator[Finding]:
    """Report data parameters that nothing in the domain and no handler gives a value."""
    others = [each.name for each in world.model.actions.values() if each is not action]
    names = [
        each.name
        for each in action.data
        if not (each.has_default or each.source is not None or may_be_left(each, others, world))
    ]
    if names:
        message = f"only a plan, a person or a language model can give {_join_texts(names)} a value"
        hint = "where none of them does, no run begins: declare a default, or From(…) the result of another action"
        yield Finding(Level.HINT, "asked-value", place, message, hint)


def _check_outcomes(action: Action, place: str) -> Iterator[Finding]:
    """Report two outcomes whose facts hold both when the action is done twice, and comes out differently."""
    for first, then in permutations(action.outcomes, 2):
        ended = [*negated_atoms(first.provides), *(each for each in first.modifies if not is_in_place(each))]
        if any(_may_match(fact, each) for fact in ended for each in atoms_in(action.requires)):
            continue  # it cannot be done again right after this outcome
        given = positive_atoms(then.provides)
        gone = [*negated_atoms(then.provides), *(each for each in then.modifies if not is_in_place(each))]
        left = [fact for fact in positive_atoms(first.provides) if fact not in given]
        left = [fact for fact in left if not any(_may_match(each, fact) for each in gone)]
        new = [fact for fact in given if fact not in positive_atoms(first.provides)]
        if left and new:
            message = (
                f"its outcomes do not exclude each other: done twice, it may leave both {fact_text(left[0])} "
                f"and {fact_text(new[0])}"
            )
            hint = f'say "not {fact_text(left[0])}" in the outcome that provides {fact_text(new[0])}'
            yield Finding(Level.HINT, "outcomes-together", place, message, hint)
            return


def _may_match(pattern: Atom, fact: Atom) -> bool:
    """Return whether `pattern`, which an outcome ends, covers `fact` for some objects."""
    pairs = zip(pattern.args, fact.args, strict=True) if pattern.predicate == fact.predicate else None
    return pairs is not None and all(mine == other or OPEN in (mine, other) for mine, other in pairs)


def _check_unseen_effects(action: Action, place: str, effects: Effects, coverage: Coverage) -> Iterator[Finding]:
    """Report effects that no observer sees, and those that are seen for some objects only."""
    unseen, partly = dict[str, Atom](), dict[str, str]()
    for fact in (*effects.given, *effects.ended):
        if coverage.is_trusted(fact, action) or any(coverage.observers(fact)):
            continue
        some = [str(each.pattern) for each in coverage.partial(fact)]
        if some:
            partly[effects.all[fact]] = f"{effects.all[fact]} (by {', '.join(some)})"
        else:
            unseen[effects.all[fact]] = fact
    if unseen:
        message = f"nobody can see whether these effects came about: {_join_texts(unseen)}; its steps end UNVERIFIED"
        widest = max(unseen.values(), key=lambda fact: fact.args.count(OPEN))
        hint = f'declare an observer, as @world.observer("{fact_text(widest)}"), or trust the predicate'
        yield Finding(Level.WARNING, "unobserved-effect", place, message, hint)
    if partly:
        message = f"for some objects only, somebody can see {_join_texts(partly.values())}"
        yield Finding(Level.HINT, "partly-observed", place, message)


def _check_items(action: Action, place: str, effects: Effects, coverage: Coverage) -> Iterator[Finding]:
    """Report items changed in place whose version no observer returns."""
    for item in effects.items:
        if coverage.is_trusted(item, action):
            continue
        seers = [*coverage.observers(item), *coverage.partial(item)]
        if any(may_give_version(each) for each in seers):
            continue
        who = f"{' and '.join(each.name for each in seers)} gives no version of it" if seers else "nobody looks at it"
        message = f"nobody can see whether it changed {fact_text(item)}: {who}"
        hint = "an observer that returns Seen(value, version) can"
        yield Finding(Level.WARNING, "unversioned-item", place, message, hint)


def _check_doubts(place: str, effects: Effects, coverage: Coverage, *, is_irreversible: bool) -> Iterator[Finding]:
    """Report effects about which a run has to ask after a timeout or a crash, or an error of an irreversible step."""
    if not effects.all:
        message = "it declares no effect, so that after a timeout or a crash nobody can say whether it happened"
        yield Finding(Level.HINT, "asks-in-doubt", place, message, "tag it idempotent or read_only, if it is")
        return
    lacking = [text for fact, text in effects.all.items() if not coverage.is_conclusive(fact)]
    if lacking:
        asked = "after a timeout or a crash a run asks whether it happened"
        message = f"{asked}: no observer is conclusive of {_join_texts(lacking)}"
        hint = "declare one conclusive, or tag the action idempotent, if that is so"
        yield Finding(Level.HINT, "asks-in-doubt", place, message, hint)
        return
    late = [text for fact, text in effects.all.items() if not coverage.settles_doubt(fact)]
    if is_irreversible and late:
        asked = "after a timeout, a crash or an error of its handler a run asks whether it happened"
        message = f"{asked}: no observer says how late it may see {_join_texts(late)}"
        hint = "state settle_within=SECONDS; 0 says that it sees each change at once"
        yield Finding(Level.HINT, "asks-in-doubt", place, message, hint)


def _check_goal(world: World, problem: Problem | None) -> Iterator[Finding]:
    """Report unobserved facts of the goal, unless no action writes them or all writers are trusted."""
    if problem is None:
        return
    coverage = Coverage(world)
    writers: dict[str, list[Action]] = {}
    for action in world.model.actions.values():
        for fact in Effects.of(action).all:
            writers.setdefault(fact.predicate, []).append(action)
    unseen = [
        fact_text(fact)
        for fact in base_facts(goal_atoms(problem.goal), world.model)
        if any(not coverage.is_trusted(fact, action) for action in writers.get(fact.predicate, ()))
        and not any(coverage.observers(fact))
    ]
    if unseen:
        message = f"nobody can see {_join_texts(unseen)} of the goal: a run ends UNVERIFIED at best"
        yield Finding(Level.WARNING, "unobserved-goal", f"problem {problem.name}", message)


def _check_observers(world: World, problem: Problem | None) -> Iterator[Finding]:
    """Report observers that no run asks."""
    uses = collect_usage(world.model)
    known = {*uses.required, *uses.provided, *uses.ended}
    known |= {atom.predicate for atom in goal_atoms(problem.goal)} if problem else set()
    for observer in world.observers:
        place, predicate = f"observer {observer.name} of {observer.pattern}", observer.pattern.predicate
        if predicate not in known and predicate not in world.model.derived:
            goals = "the goal does not need it" if problem else "it may be in a goal"
            message = f"nobody asks it: no action writes or requires {predicate}, and {goals}"
            yield Finding(Level.HINT, "unused-observer", place, message, part=observer.pattern)


def _check_name(world: World) -> Iterator[Finding]:
    """Yield a finding if deps may choose the account, and nothing tells the ledger which."""
    unnamed = world.find_unnamed()
    if unnamed and (world.make_deps is not None or any(map(world.takes_deps, world.skills))):
        yield Finding(Level.WARNING, "unnamed-world", "the world", *unnamed)


def _function_name(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _join_texts(texts: Iterable[str]) -> str:
    return ", ".join(texts)
