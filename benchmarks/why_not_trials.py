"""Contrastive answers about random small problems, judged by the enumeration of their states.

`python -m benchmarks.why_not_trials --questions 500` draws problems, every third one with numbers, and questions about
them, asks `planner.why_not`, and prints what came out as a table. What contradicts the enumeration is printed with its
seed, and makes the exit code 1. The enumeration goes breadth-first over the states of the problem itself, and watches
on the way whether the steps do what is asked for: it knows nothing of the compilation. Conflicts are checked, too:
together their demands have no plan, and without any one of them there is one. With `--time` the problems are in time,
and the schedules are enumerated tick by tick. With `--tasks` they have tasks, see `benchmarks.why_not_tasks`.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from benchmarks.numeric_semantics import NumericSemantics
from benchmarks.random_numeric import random_numeric_task
from benchmarks.random_problems import random_problem
from benchmarks.random_temporal import TemporalTask
from benchmarks.temporal_semantics import TemporalSemantics
from benchmarks.temporal_trials import as_ticks, draw, find_truth
from benchmarks.why_not_brute import (
    Cover,
    Done,
    Graph,
    TooManyStates,
    Unbounded,
    Watch,
    explore,
    explore_numbers,
    find_least,
    replay,
    watch_avoid,
    watch_order,
    watch_use,
)
from benchmarks.why_not_judge import Asked, Trial, ask_and_judge, judge_bounds, judge_outcome, steps_of, write_table
from benchmarks.why_not_tasks import draw_task_trials
from planner.errors import ForethoughtError
from planner.explain.conflicts import Kind
from planner.explain.contrastive_answer import Outcome, WhyNot
from planner.explain.why_not import why_not
from planner.language.pddl import parse_domain, parse_problem
from planner.model import Atom, Problem
from planner.model.formulas import Formula, conjuncts
from planner.model.problem import seal
from planner.plan import Plan, Status
from planner.solve import solve

QUESTIONS: Final = 5
"""Questions about one problem."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A problem that is asked about, its states, and the plan that the questions are about, if one is given."""

    problem: Problem
    graph: Graph
    plan: Plan | None


class _Asker:
    """Draws questions about a subject."""

    def __init__(self, subject: Subject, rng: random.Random) -> None:
        self._subject = subject
        self._rng = rng
        self._done = sorted({step for steps in subject.graph.edges for step, _, _ in steps})

    def ask(self) -> Asked | None:
        """Return a question; None where the problem has nothing to ask about."""
        if not self._done:
            return None
        kinds = [self._use, self._avoid, self._avoid, self._order, self._order, self._cheaper]
        if self._subject.plan is not None and self._subject.plan.steps:
            kinds += [self._without_step, self._step_order]
        if self._subject.graph.holds is not None:
            kinds += [self._fact, self._fact]
        return self._rng.choice(kinds)()

    def _mention(self) -> tuple[str, Cover]:
        """Return the words for some steps, and the test for them."""
        step = self._rng.choice(self._done)
        name, args = step[0], step[1:]
        way = self._rng.randrange(3)
        if way == 0 and args:
            thing = self._rng.choice(args)
            return thing, lambda other: thing in other[1:]
        if way == 1 or not args:
            return name, lambda other: other[0] == name
        kept = [arg if self._rng.random() < 0.6 else "_" for arg in args]

        def covers(other: Done) -> bool:
            return other[0] == name and all(one in ("_", two) for one, two in zip(kept, other[1:], strict=True))

        return f"{name}({', '.join(kept)})", covers

    def _use(self) -> Asked:
        words, covers = self._mention()
        text = self._rng.choice(["by {}", "{}", "why not with {}?", "if {}"])
        return Asked(text.format(words), "use", watch_use(covers))

    def _avoid(self) -> Asked:
        words, covers = self._mention()
        text = self._rng.choice(["without {}", "why {}", "why not without {}", "if no {}", "not by {}"])
        return Asked(text.format(words), "avoid", watch_avoid(covers))

    def _order(self) -> Asked:
        (one, first), (two, later) = self._mention(), self._mention()
        text = self._rng.choice(["{0} before {1}", "why not {1} after {0}", "why {1} before {0}?"])
        return Asked(text.format(one, two), "order", watch_order(first, later))

    def _cheaper(self) -> Asked:
        return Asked("cheaper", "cheaper")

    def _without_step(self) -> Asked:
        steps = steps_of(self._subject.plan)
        number = self._rng.randint(1, len(steps))
        return Asked(f"without step {number}", "without step", watch_avoid(lambda step: step == steps[number - 1]))

    def _step_order(self) -> Asked:
        steps = steps_of(self._subject.plan)
        one, two = sorted([self._rng.randint(1, len(steps)) for _ in range(2)])
        first, later = steps[two - 1], steps[one - 1]
        watch = watch_order(lambda step: step == first, lambda step: step == later)
        return Asked(f"why {one} before {two}", "order of steps", watch)

    def _fact(self) -> Asked:
        problem, rng = self._subject.problem, self._rng
        names = [item.name for item in problem.all_objects]
        base = [each for name, each in problem.domain.predicates.items() if name not in problem.domain.derived]
        if problem.initial and rng.random() < 0.6:
            fact = rng.choice(problem.initial)
            return Asked(f"if not {fact}", "fact forbidden", fact=fact, holds=False)
        predicate = rng.choice(base)
        fact = Atom(predicate.name, tuple([rng.choice(names) for _ in predicate.parameters]))
        return Asked(f"what if {fact}?", "fact forced", fact=fact)


def try_question(subject: Subject, asked: Asked, time_limit: float) -> Trial | None:
    """Ask one question, and judge the answer; None where the question does not fit, such as a fact of a wrong type."""
    return ask_and_judge(
        asked,
        lambda: why_not(subject.problem, asked.text, plan=subject.plan, time_limit=time_limit),
        lambda answer: judge(subject, asked, answer),
        (Unbounded, TooManyStates),
    )


def judge(subject: Subject, asked: Asked, answer: WhyNot) -> str:
    """Return what `answer` says that the enumeration contradicts; "" where it agrees."""
    reference = find_least(subject.graph, Watch())
    graph = subject.graph
    if asked.fact is not None:
        graph = explore(_change_facts(subject.problem, asked, answer.question.text))
    least = find_least(graph, asked.watch)
    found = [
        *judge_bounds(answer, reference, least, about_cost=asked.kind == "cheaper"),
        *_judge_plan(graph, asked, answer, least),
        *_judge_conflicts(subject, asked, answer),
    ]
    return "; ".join(found)


def _change_facts(problem: Problem, asked: Asked, said: str) -> Problem:
    """Return the problem with the fact forced or forbidden, without the facts that the answer says it replaces."""
    assert asked.fact is not None
    replaced = said.partition(" instead of ")[2]
    gone = [fact for fact in problem.initial if fact == asked.fact or str(fact) in replaced]
    kept = [fact for fact in problem.initial if fact not in gone]
    return seal(replace(problem, initial=(*kept, asked.fact) if asked.holds else tuple(kept)))


def _judge_plan(graph: Graph, asked: Asked, answer: WhyNot, least: Fraction | None) -> Iterator[str]:
    if answer.plan is None:
        return
    cost = replay(graph, asked.watch, steps_of(answer.plan))
    if cost is None:
        yield "the plan is no plan, or does not do what is asked for"
    elif cost != Fraction(answer.plan.cost):
        yield f"the plan costs {cost}, not {answer.plan.cost}"
    if answer.proved and Fraction(answer.plan.cost) != least:
        yield f"cost {answer.plan.cost} is said to be proved, and the least is {least}"
    yield from judge_outcome(answer)


def _judge_conflicts(subject: Subject, asked: Asked, answer: WhyNot) -> Iterator[str]:
    """Yield conflicts that have a plan, or that are said to be smallest and are not."""
    for conflict in answer.conflicts:
        parts = [each.what for each in conflict.demands if each.kind is Kind.GOAL]
        asks = any(each.kind is Kind.FOIL for each in conflict.demands)
        if _has_plan(subject, asked, answer, parts, asks=asks):
            yield f"'{conflict}', and there is a plan"
        smaller = [([each for each in parts if each != part], asks) for part in parts]
        for fewer, still in [*smaller, *([(parts, False)] if asks else [])]:
            if conflict.smallest and not _has_plan(subject, asked, answer, fewer, asks=still):
                yield f"'{conflict}' is not smallest"


def _has_plan(subject: Subject, asked: Asked, answer: WhyNot, parts: Sequence[Formula], *, asks: bool) -> bool:
    """Return whether a plan reaches these parts of the goal, and does what is asked for if that counts."""
    graph = subject.graph
    if asks and asked.fact is not None:
        graph = explore(_change_facts(subject.problem, asked, answer.question.text))
    holds = graph.holds
    if holds is None:
        whole = len(parts) == len([*conjuncts(subject.problem.goal.hard)])
        goals: Iterable[int] = graph.goals if whole or parts else range(len(graph.edges))
        if parts and not whole:
            return not asks  # parts of a goal with numbers are not enumerated
    else:
        goals = [state for state in range(len(graph.edges)) if all(holds(part, state) for part in parts)]
    return find_least(graph, asked.watch if asks else Watch(), goals) is not None


def draw_subject(seed: int) -> Subject | None:
    """Return the problem of `seed`, with a plan of it in every other one.

    Return None where it has too many states, and for four in five that have no plan, or whose goal holds at once.
    """
    try:
        if seed % 3 == 2:
            task = random_numeric_task(seed)
            problem = parse_problem(task.problem, parse_domain(task.domain))
            graph = explore_numbers(NumericSemantics(task.domain, task.problem))
        else:
            problem = seal(random_problem(seed))
            graph = explore(problem)
        has_plan = find_least(graph, Watch()) is not None
    except (TooManyStates, Unbounded, ForethoughtError):
        return None
    if seed % 5 and (not has_plan or 0 in graph.goals):
        return None
    found = solve(problem, mode="first", time_limit=10)
    if found.status is Status.UNSUPPORTED:
        return None
    return Subject(problem, graph, found.plan if seed % 2 else None)


def draw_trials(seed: int, questions: int, time_limit: float) -> Iterator[tuple[int, Asked, Trial]]:
    """Yield the trials of so many questions, about problems from `seed` on."""
    made = 0
    while made < questions:
        subject = draw_subject(seed)
        asker = None if subject is None else _Asker(subject, random.Random(seed))
        for _ in range(QUESTIONS if asker is not None else 0):
            assert subject is not None
            assert asker is not None
            asked = asker.ask()
            trial = None if asked is None else try_question(subject, asked, time_limit)
            if asked is not None and trial is not None and made < questions:
                made += 1
                yield seed, asked, trial
        seed += 1


def draw_timed_trials(seed: int, questions: int, time_limit: float) -> Iterator[tuple[int, Asked, Trial]]:
    """Yield the trials of so many questions about problems in time, from `seed` on."""
    made = 0
    while made < questions:
        task, rng = draw(seed), random.Random(seed)
        domain, text = task.write()
        steps = sorted(action.name for action in TemporalSemantics(domain, text, 1000).actions)
        for _ in range(QUESTIONS):
            asked, change = _ask_in_time(steps, rng)
            least = find_truth(task, 1000, change)
            if least.is_known and made < questions:
                made += 1
                yield seed, asked, _try_in_time(task, asked, least.makespan, time_limit)
        seed += 1


def _ask_in_time(steps: Sequence[Done], rng: random.Random) -> tuple[Asked, Callable[[TemporalSemantics], None]]:
    """Return a question, and how it changes what a problem in time means."""
    one, other = rng.choice(steps), rng.choice(steps)
    named, later_named = (f"{step[0]}({', '.join(step[1:])})" for step in (one, other))

    def starts(plan: Plan, wanted: Done) -> list[Fraction]:
        pairs = zip(steps_of(plan), plan.times, strict=True)
        return [Fraction(time.start) for step, time in pairs if step == wanted]

    def avoid(semantics: TemporalSemantics) -> None:
        semantics.actions = [action for action in semantics.actions if action.name != one]

    def use(semantics: TemporalSemantics) -> None:
        _record(semantics, one, ("first",))
        semantics.goal = replace(semantics.goal, holds=semantics.goal.holds | {("first",)})

    def order(semantics: TemporalSemantics) -> None:
        _record(semantics, one, ("first",))
        _record(semantics, other, ("later",), needs=frozenset({("first",)}))
        semantics.goal = replace(semantics.goal, holds=semantics.goal.holds | {("later",)})

    def is_ordered(plan: Plan) -> bool:
        early, late = starts(plan, one), starts(plan, other)
        return bool(early and late) and min(early) < min(late)

    return rng.choice([
        (Asked(f"without {named}", "avoid, in time", does_so=lambda plan: not starts(plan, one)), avoid),
        (Asked(named, "use, in time", does_so=lambda plan: bool(starts(plan, one))), use),
        (Asked(f"{named} before {later_named}", "order, in time", does_so=is_ordered), order),
        (Asked("cheaper", "cheaper, in time"), lambda _: None),
    ])  # fmt: skip


def _record(semantics: TemporalSemantics, step: Done, fact: Done, needs: frozenset[Done] = frozenset()) -> None:
    """Let the start of `step` need facts, and make one true."""
    for place, action in enumerate(semantics.actions):
        if action.name == step:
            start = replace(action.start, adds=action.start.adds | {fact}, holds=action.start.holds | needs)
            semantics.actions[place] = replace(action, start=start)


def _try_in_time(task: TemporalTask, asked: Asked, least: Fraction | None, time_limit: float) -> Trial:
    """Ask a question about a problem in time, and judge the answer."""
    domain, text = task.write()
    problem = parse_problem(text, parse_domain(domain))
    try:
        answer = why_not(problem, asked.text, time_limit=time_limit)
    except Exception as error:  # noqa: BLE001 - a user must never see one: that is what is looked for
        return Trial(asked.kind, "escaped", f"why_not raises {type(error).__name__}: {error}")
    wrong = "; ".join(_judge_in_time(task, asked, answer, least))
    return Trial(asked.kind, answer.outcome.name.lower(), wrong, len(answer.conflicts), answer.proved)


def _judge_in_time(task: TemporalTask, asked: Asked, answer: WhyNot, least: Fraction | None) -> Iterator[str]:
    if asked.kind == "cheaper, in time":
        proved = answer.outcome is Outcome.IMPOSSIBLE and answer.reference is not None
        if proved and answer.reference is not None and Fraction(answer.reference.cost) != least:
            yield f"cost {answer.reference.cost} is said to be least, and {least} is"
        return
    if answer.lower_bound is not None and least is not None and answer.lower_bound > least:
        yield f"the bound {answer.lower_bound} is above the least makespan {least}"
    if answer.outcome is Outcome.IMPOSSIBLE and least is not None:
        yield f"there is such a plan, of makespan {least}"
    if answer.plan is None:
        return
    objection = TemporalSemantics(*task.write(), 1000).replay(as_ticks(answer.plan))
    if objection or not asked.does_so(answer.plan):
        yield objection or "the plan does not do what is asked for"
    if least is None or Fraction(answer.plan.cost) < least or (answer.proved and answer.plan.cost != least):
        yield f"the plan costs {answer.plan.cost}, and the least makespan is {least}"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 1 where an answer is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.why_not_trials", description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=500, help="number of questions (default: 500)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first problem (default: 0)")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds for each question (default: 10)")
    parser.add_argument("--time", action="store_true", help="draw problems in time")
    parser.add_argument("--tasks", action="store_true", help="draw problems with tasks")
    given = parser.parse_args(arguments)
    trials = []
    draw_all = draw_timed_trials if given.time else draw_task_trials if given.tasks else draw_trials
    for seed, asked, trial in draw_all(given.seed, given.questions, given.time_limit):
        trials.append(trial)
        if trial.wrong:
            sys.stderr.write(f"seed {seed}, {asked.text!r}: {trial.wrong}\n")
    sys.stdout.write(write_table(trials) + "\n")
    return int(any(trial.wrong for trial in trials))


if __name__ == "__main__":
    sys.exit(main())
