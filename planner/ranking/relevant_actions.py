"""Rank the actions of a domain by how much a goal needs them, fast enough for each turn of an agent with many tools.

`relevant_actions` follows the goal backwards through the conditions and effects of action schemas, as lifted relevance
analysis does (Nebel, Dimopoulos and Koehler, 1997), from conditions that the state does not meet to the actions that
may meet them. The additive heuristic (Bonet and Geffner, 2001) then estimates the cost of each from the state, and the
cheapest provider of each condition gives a relaxed plan (Hoffmann and Nebel, 2001). Objects that the goal names are
carried back through the parameters of schemas; all others stay open, so that nothing is grounded. An index of each
domain keeps what states do not change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush, nsmallest
from itertools import count, islice

from planner.compilations.lifted_relevance import Shape, Want, shape_of
from planner.errors import InputError, did_you_mean, kind_of
from planner.garbage_collection import pause_collector
from planner.language.declare.condition_reader import read_item
from planner.language.declare.domain_authoring import Domain
from planner.language.declare.fields import find_caller
from planner.lightweight import Any, Final, dataclass, field
from planner.model import OPEN, Action, Atom, DomainModel, Formula, Problem
from planner.model.formulas import conjunction, literals_in
from planner.problem_kinds import AnyProblem, classical_of, is_other_problem
from planner.ranking.relevance_index import RAN, RelevanceIndex, index_of


@dataclass(frozen=True, slots=True)
class RelevantAction:
    """An action that may help to reach a goal.

    `distance` is the least number of actions and axioms from this one to the goal, itself included. `estimate` is the
    additive estimate of the cost of reaching and doing it; None if it cannot be reached, or is further than all of the
    goal. `needed`: it is in the relaxed plan. `ready`: the state has a fitting fact for each of its conditions.
    `arguments` are the objects that the goal determines, by parameter.
    """

    action: Action
    distance: int
    estimate: float | None
    needed: bool
    ready: bool
    arguments: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the action."""
        return self.action.name

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-ready data, with the name of the action."""
        values = {name: getattr(self, name) for name in ("distance", "estimate", "needed", "ready")}
        return {"action": self.name, "arguments": dict(self.arguments), **values}


def relevant_actions(
    subject: AnyProblem | Domain | DomainModel,
    goal: Any = None,
    *,
    state: Iterable[str | Atom] | None = None,
    limit: int | None = None,
) -> tuple[RelevantAction, ...]:
    """Return the actions that may help to reach a goal, the most useful first; no more than `limit`.

    First come the actions of a relaxed plan, in the order in which they can be done, then the others: those that can be
    reached before those that cannot, and of these the nearest to the goal first. Without a problem, a state or facts,
    nothing holds but what no action provides.

    `goal`, a condition as in `domain.problem(goal=…)`, replaces that of a problem, and `state`, facts, its initial
    state; names of objects in both are taken as they are. Raises `InputError` for a domain without a goal, for
    conditions that cannot be read, and for predicates that the domain lacks.
    """
    if limit is not None and not (isinstance(limit, int) and limit >= 0):
        raise InputError(f"`limit` must be a whole number, 0 or more, got {limit!r}", hint="None is no limit")
    domain, problem = _read_subject(subject)
    if goal is None and problem is None:
        raise InputError("a domain has no goal", hint="relevant_actions(domain, ['delivered(p)'])")
    asked = _goal_literals(problem) if goal is None and problem is not None else _read_literals(domain, goal)
    facts = _read_facts(state) if state is not None else None if problem is None else problem.initial
    ranking = _Ranking(index_of(domain), None if facts is None else _Facts(facts, problem.ran if problem else ()))
    with pause_collector():
        return tuple(islice(ranking.rank(asked, limit), limit))


def _read_subject(subject: Any) -> tuple[DomainModel, Problem | None]:
    if isinstance(subject, Domain):
        return subject.model, None
    if isinstance(subject, DomainModel):
        return subject, None
    if isinstance(subject, Problem) or is_other_problem(subject):
        problem = classical_of(subject)
        return problem.domain, problem
    if isinstance(classical := getattr(subject, "classical", None), DomainModel):
        return classical, None
    raise InputError(f"expected a problem or a domain, got {kind_of(subject)}", hint="load(…) gives a problem")


def _goal_literals(problem: Problem) -> Iterator[tuple[Atom, bool]]:
    """Yield the literals of all goals, and of what constraints ask for."""
    yield from literals_in(problem.goal.hard)
    for wish in problem.goal.soft:
        yield from literals_in(wish.condition)
    for constraint in problem.constraints:
        for condition in constraint.conditions:
            yield from literals_in(condition)


def _read_literals(domain: DomainModel, goal: Any) -> list[tuple[Atom, bool]]:
    place = find_caller()
    items = [goal] if isinstance(goal, str | Formula) or not isinstance(goal, Iterable) else list(goal)
    if isinstance(goal, Mapping) and "hard" in goal:
        items = [goal["hard"]] if isinstance(goal["hard"], str | Formula) else list(goal["hard"])
    found = list(literals_in(conjunction([read_item(item, place)[0] for item in items])))
    for atom, _ in found:
        _check_atom(domain, atom)
    return found


def _read_facts(state: Iterable[str | Atom]) -> list[Atom]:
    """Read the facts of a state, which may have predicates that the domain lacks."""
    place = find_caller()
    items = [state] if isinstance(state, str | Atom) else list(state)
    found = [item if isinstance(item, Atom) else read_item(item, place)[0] for item in items]
    for fact in found:
        if not isinstance(fact, Atom):
            raise InputError(f"{fact} is no fact", hint="a state has the facts that hold, and no others")
    return [fact for fact in found if isinstance(fact, Atom)]


def _check_atom(domain: DomainModel, atom: Atom) -> None:
    """Raise `InputError` for an atom that the domain cannot have."""
    predicate = domain.predicates.get(atom.predicate)
    if predicate is None:
        near = did_you_mean(atom.predicate, domain.predicates)
        raise InputError(f"the domain {domain.name!r} has no predicate {atom.predicate!r}", hint=near)
    if len(predicate.parameters) != len(atom.args):
        raise InputError(
            f"{atom} has {len(atom.args)} arguments, and {predicate.name} takes {len(predicate.parameters)}"
        )


class _Facts:
    """The true facts, and the actions that have run, by predicate."""

    def __init__(self, facts: Iterable[Atom], ran: Iterable[Atom]) -> None:
        self._by_predicate: dict[str, set[Shape]] = {}
        for fact in facts:
            self._by_predicate.setdefault(fact.predicate, set()).add(fact.args)
        for step in ran:
            self._by_predicate.setdefault(RAN + step.predicate, set()).add(())
        self._parts: dict[tuple[str, tuple[int, ...]], set[Shape]] = {}
        """The arguments at some places, by predicate and places."""

    def may_meet(self, want: Want) -> bool:
        """Return whether the facts have what `want` asks for; open arguments take any object."""
        predicate, shape, positive = want
        rows = self._by_predicate.get(predicate, set())
        if OPEN not in shape:
            return (shape in rows) is positive
        if not positive:
            return True
        places = tuple([place for place, term in enumerate(shape) if term != OPEN])
        if (predicate, places) not in self._parts:
            self._parts[predicate, places] = {tuple([row[place] for place in places]) for row in rows}
        return tuple([shape[place] for place in places]) in self._parts[predicate, places]


MOST_INSTANCES: Final = 30_000
"""Most instances that one ranking looks at, the nearest to the goal first."""
FEW_INSTANCES: Final = 2_000
"""Instances that a limited ranking looks at first; it goes on where these do not reach the goal."""


class _Ranking:
    """Ranks the actions of one domain for one goal and state."""

    def __init__(self, index: RelevanceIndex, facts: _Facts | None) -> None:
        self._index = index
        self._facts = facts
        self._met: dict[int, bool] = {}
        self._distances: dict[int, int] = {}
        self._estimates: dict[int, float] = {}
        self._values: dict[int, float] = {}
        """The estimate of each want that can be met."""
        self._providers: dict[int, int] = {}

    def rank(self, goal: Iterable[tuple[Atom, bool]], limit: int | None) -> Iterator[RelevantAction]:
        """Yield the relevant actions, the most useful first."""
        asked = [self._index.number_of((atom.predicate, shape_of(atom), sign)) for atom, sign in goal]
        unmet = [want for want in asked if not self._is_met(want)]
        if limit is not None:
            self._follow(unmet, through_met=False, most=max(FEW_INSTANCES, 20 * limit))
            self._estimate(asked)
        if limit is None or not self._values.keys() >= set(unmet):
            self._follow(unmet, through_met=False)
            self._estimate(asked)
        planned = self._extract(asked)
        told: set[int] = set()
        yield from self._describe(sorted(planned, key=lambda each: (self._estimates[each], each)), planned, told)
        rest = self._distances.keys() - planned
        yield from self._describe(self._sort(rest, limit), planned, told)
        if limit is None or limit > len(told):  # what may have to be done again, if something undoes it
            before = set(self._distances)
            self._follow(asked, through_met=True)
            yield from self._describe(self._sort(self._distances.keys() - before, None), planned, told)

    def _sort(self, instances: Collection[int], limit: int | None) -> list[int]:
        """Sort instances, the most useful first; no more than what `limit` actions surely need."""
        is_plain = limit is not None and all(not self._index.instances[each][1] for each in instances)
        return (
            nsmallest(limit, instances, self._order)
            if is_plain and limit is not None
            else sorted(instances, key=self._order)
        )

    def _describe(self, instances: Iterable[int], planned: Collection[int], told: set[int]) -> Iterator[RelevantAction]:
        """Yield the actions that are not `told` yet, each for its first instance; axioms are left out."""
        index = self._index
        for each in instances:
            giver, arguments, _ = index.instances[each]
            if isinstance(giver, int) and giver not in told:
                told.add(giver)
                action = index.actions[giver]
                known = zip(action.parameters, arguments, strict=True)
                yield RelevantAction(
                    action,
                    self._distances[each],
                    self._estimates.get(each),
                    each in planned,
                    all(map(self._is_met, index.needs(each))),
                    {variable.name.removeprefix("?"): term for variable, term in known if term != OPEN},
                )

    def _is_met(self, want: int) -> bool:
        found = self._met.get(want)
        if found is None:
            found = self._met[want] = self._look_up(self._index.wants[want])
        return found

    def _look_up(self, want: Want) -> bool:
        if self._facts is not None:
            return self._facts.may_meet(want)
        predicate, _, positive = want
        return not positive or not (predicate.startswith(RAN) or predicate in self._index.provided)

    def _follow(self, wants: Collection[int], *, through_met: bool, most: int = MOST_INSTANCES) -> None:
        """Find the distance of each action to the goal, through unmet conditions or through all."""
        index, found, is_met = self._index, self._distances, self._is_met
        wave, seen = list(wants), set(wants)
        reached: set[int] = set()
        for distance in count(1):
            if not wave or len(reached) > most:
                return
            fresh = list(islice(self._reach(wave, reached), max(most - len(reached), 0) + 1))
            wave = []
            for number in fresh:
                found.setdefault(number, distance)
                for want in (*index.needs(number), *index.sides(number)):
                    if want not in seen and (through_met or not is_met(want)):
                        seen.add(want)
                        wave.append(want)

    def _reach(self, wants: Iterable[int], reached: set[int]) -> Iterator[int]:
        """Yield the instances that may meet one of `wants` and are not `reached` yet, and add them there."""
        for want in wants:
            for number in self._index.givers(want):
                if number not in reached:
                    reached.add(number)
                    yield number

    def _estimate(self, asked: Iterable[int]) -> None:
        """Estimate the cost of each relevant action by generalised Dijkstra search (Knuth, 1977)."""
        index, is_met = self._index, self._is_met
        values = self._values = {}
        self._estimates, self._providers = {}, {}
        open_needs: dict[int, int] = {}
        waiting: dict[int, list[int]] = {}
        sums: dict[int, float] = {}
        queue: list[tuple[float, int]] = []
        for number in self._distances:
            unmet = [want for want in index.needs(number) if not is_met(want)]
            for want in unmet:
                waiting.setdefault(want, []).append(number)
            if unmet:
                sums[number], open_needs[number] = index.costs[number], len(unmet)
            else:
                queue.append((index.costs[number], number))
        heapify(queue)
        goals = {want for want in asked if not is_met(want)}
        gives: dict[int, list[int]] = {}
        for want in goals | waiting.keys():
            for number in index.givers(want):
                if number in self._distances:
                    gives.setdefault(number, []).append(want)
        while queue and goals:
            value, number = heappop(queue)
            self._estimates[number] = value
            for want in gives.get(number, ()):
                if want not in values:
                    values[want] = value
                    goals.discard(want)
                    self._providers[want] = number
                    for other in waiting.get(want, ()):
                        sums[other] += value
                        open_needs[other] -= 1
                        if not open_needs[other]:
                            heappush(queue, (sums[other], other))

    def _extract(self, asked: Iterable[int]) -> set[int]:
        """Return a relaxed plan: the cheapest provider of each unmet condition, from the goal back."""
        planned: set[int] = set()
        ready = [want for want in asked if not self._is_met(want)]
        while ready:
            number = self._providers.get(ready.pop())
            if number is not None and number not in planned:
                planned.add(number)
                ready += [want for want in self._index.needs(number) if not self._is_met(want)]
        return planned

    def _order(self, number: int) -> tuple[bool, int, float, int]:
        estimate = self._estimates.get(number)
        return estimate is None, self._distances[number], estimate or 0.0, number
