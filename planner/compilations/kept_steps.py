"""Kept steps: facts that say how many steps of a given plan are done in its order, compiled into the actions.

    @kept-j-s   step j of the given plan is done, after others in their order, and s of those before it are left out
    @kept       enough of the given steps are done

A step of the given plan makes such a fact true where the fact for an earlier step holds, by a conditional effect. The
facts never end, and actions keep their names, arguments and costs. So a plan of the compiled problem is one of the
declared problem, at the same cost, that leaves out no more of the given steps than is allowed. (The facts are the
states of the automaton for a longest common subsequence with a bounded number of deletions.)

In time, a step counts from its start. Two steps whose facts depend on each other then start one after the other, so
that plans in which they start at one moment are missed. `require_steps` asks for the steps in any order, and misses
none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from planner.compilations.lifted_regression import conjoin
from planner.lightweight import Final, replace
from planner.model.actions import Action, When
from planner.model.domain import Predicate
from planner.model.formulas import OPEN, TRUE, Atom, Equals, Formula, Not, Or, conjunction, conjuncts, with_conjuncts
from planner.model.problem import Goal, Problem, is_temporal, seal

KEPT: Final = "@kept"
"""Prefix of the predicates that say which steps are kept."""
_ENOUGH: Final = Atom(KEPT)


def keep_steps(problem: Problem, steps: Sequence[Atom], left_out: int) -> Problem:
    """Return `problem`, whose plans must do all of `steps` in their order but `left_out` ones.

    An argument of a step may be open.
    """
    if left_out >= len(steps):
        return problem
    return _add_effects(problem, _list_progress(steps, left_out), _ENOUGH)


def require_steps(problem: Problem, steps: Sequence[Atom]) -> Problem:
    """Return `problem`, whose plans must do each of `steps` at least once, in any order."""
    facts = {step: Atom(f"{KEPT}-{place}") for place, step in enumerate(dict.fromkeys(steps))}
    return _add_effects(problem, [(step, TRUE, (fact,)) for step, fact in facts.items()], *facts.values())


_Effect = tuple[Atom, Formula, tuple[Atom, ...]]
"""A step, the condition on facts of this module, and the facts that the step then makes true."""


def _list_progress(steps: Sequence[Atom], left_out: int) -> list[_Effect]:
    """Return the effects of the steps, of which at most so many are left out."""
    return [
        (step, before, (_name_progress(place, skipped), *enough))
        for place, step in enumerate(steps)
        for skipped in range(min(place, left_out) + 1)
        for enough in [(_ENOUGH,) if skipped + len(steps) - 1 - place <= left_out else ()]
        for before in _list_conditions(place, skipped)
    ]


def _list_conditions(place: int, skipped: int) -> Iterator[Formula]:
    """Yield the alternatives before the step at `place` if `skipped` steps before it are left out in all."""
    for between in range(min(skipped, place - 1) + 1 if place else 0):
        earlier = place - 1 - between
        if skipped - between <= earlier:
            yield _name_progress(earlier, skipped - between)
    if skipped == place:
        yield TRUE


def _name_progress(place: int, skipped: int) -> Atom:
    return Atom(f"{KEPT}-{place}-{skipped}")


def _add_effects(problem: Problem, effects: Sequence[_Effect], *goal: Atom) -> Problem:
    """Return `problem` with these conditional effects of its steps, and with `goal` in its goal."""
    domain = problem.domain
    own: dict[str, list[_Effect]] = {}
    for each in effects:
        own.setdefault(each[0].predicate, []).append(each)
    actions = {name: _extend(each, own, early=is_temporal(problem)) for name, each in domain.actions.items()}
    return _demand(problem, actions, [*goal, *[fact for _, _, made in effects for fact in made]], goal)


def _demand(problem: Problem, actions: Mapping[str, Action], facts: Iterable[Atom], goal: Sequence[Atom]) -> Problem:
    """Return `problem` with these `actions`, which make the new `facts` true, and with `goal` in its goal."""
    domain = problem.domain
    predicates = {**domain.predicates, **{fact.predicate: Predicate(fact.predicate) for fact in facts}}
    hard = with_conjuncts(problem.goal.hard, *goal)
    changed = replace(domain, actions=actions, predicates=predicates)
    return seal(replace(problem, domain=changed, goal=Goal(hard, problem.goal.soft)))


def _extend(action: Action, effects: Mapping[str, Sequence[_Effect]], *, early: bool) -> Action:
    """Return `action` with its `effects`; with `early`, at the start of steps that last."""
    found = [
        (condition, facts)
        for step, before, facts in effects.get(action.name, ())
        for condition in [conjoin([_cover(step, action), before])]
    ]
    if not found:
        return action
    always = tuple([fact for condition, facts in found if condition == TRUE for fact in facts])
    when = tuple([When(condition, facts) for condition, facts in found if condition != TRUE])
    if early and action.duration is not None:
        start = action.at_start
        return replace(action, at_start=replace(start, provides=(*start.provides, *always), when=(*start.when, *when)))
    return replace(action, provides=(*action.provides, *always), when=(*action.when, *when))


def _cover(step: Atom, action: Action) -> Formula:
    """Return the condition on the parameters of `action` under which it is `step`."""
    pairs = zip(action.parameters, step.args, strict=False)
    return conjoin([Equals(parameter.name, name) for parameter, name in pairs if name != OPEN])


def end_with_steps(problem: Problem, steps: Sequence[Atom]) -> Problem:
    """Return `problem`, without time, whose plans must end with `steps`, in their order and without others between."""
    domain, facts = problem.domain, [Atom(f"{KEPT}-last-{place}") for place in range(len(steps))]
    if not steps:
        return problem
    ended = tuple(map(Not, facts))
    actions = {
        name: replace(
            action,
            provides=(*action.provides, *ended, *[fact for condition, fact in found if condition == TRUE]),
            when=(*action.when, *[When(condition, (fact,)) for condition, fact in found if condition != TRUE]),
        )
        for name, action in domain.actions.items()
        for found in [_list_endings(action, steps, facts)]
    }
    return _demand(problem, actions, facts, facts[-1:])


def begin_with_steps(problem: Problem, steps: Sequence[Atom]) -> Problem:
    """Return `problem`, whose plans must begin with `steps`, in their order; in time, by their starts."""
    if not steps:
        return problem
    facts = [Atom(f"{KEPT}-first-{place}") for place in range(len(steps))]
    begun: list[Formula] = [TRUE, *facts]
    actions = {}
    for name, action in problem.domain.actions.items():
        ways: list[_Effect] = [
            (step, conjoin([before, Not(fact)]), (fact,))
            for step, before, fact in zip(steps, begun, facts, strict=False)
            if step.predicate == name
        ]
        mine = [conjoin([_cover(step, action), before]) for step, before, _ in ways]
        free = conjunction([*conjuncts(action.requires), Or((facts[-1], *mine))])
        early = is_temporal(problem) or problem.deadline is not None
        actions[name] = _extend(replace(action, requires=free), {name: ways}, early=early)
    return _demand(problem, actions, facts, facts[-1:])


def _list_endings(action: Action, steps: Sequence[Atom], facts: Sequence[Atom]) -> list[tuple[Formula, Atom]]:
    """Return the conditions under which `action` is one of `steps` that follows those before it, and its fact."""
    before: list[Formula] = [TRUE, *facts]
    return [
        (condition, fact)
        for step, known, fact in zip(steps, before, facts, strict=False)
        if step.predicate == action.name
        for condition in [conjoin([_cover(step, action), known])]
    ]
