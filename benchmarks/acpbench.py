"""The questions of ACPBench (Kokel et al., 2025), in its generative form: eight kinds, each with PDDL and a key.

`python -m benchmarks.acpbench FOLDER` answers the questions of the JSON files in FOLDER by the calls of
`planner.questions`, and prints a table. Where an answer and the key differ, Fast Downward decides. It also decides
whether all that we call unreachable beyond what a key names is unreachable.
"""

from __future__ import annotations

import json
import re
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks import solvability
from benchmarks.pddltext import read_expression
from benchmarks.report import format_table
from planner import Problem, Step, load, questions
from planner.errors import ForethoughtError
from planner.problem_kinds import classical_of
from planner.questions import spell

Words = tuple[str, ...]
"""A fact or a step in lower case: its name and its arguments."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What an answer says and the key denies; `prove` asks an independent tool: whether it is so, and a summary."""

    claim: str
    prove: Callable[[], tuple[bool | None, str]]


@dataclass(frozen=True, slots=True)
class Question:
    """A question: its texts, its key, and the text of what is asked."""

    domain: str
    problem: str
    key: Any
    asked: str

    def read(self) -> Problem:
        """Return the problem, read anew."""
        return classical_of(load(self.domain, self.problem))

    @property
    def expressions(self) -> tuple[list[Any], list[Any]]:
        """The domain and the problem as nested lists."""
        return read_expression(self.domain, "domain"), read_expression(self.problem, "problem")


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer's differences from the key, the seconds of processor time that it took, and how much is unknown."""

    seconds: float
    differences: list[Difference]
    unknown: int = 0
    beyond: Difference | None = None
    """A claim that goes beyond the key, and does not contradict it."""


def words_of(text: str) -> Words:
    """Return a fact or a step as words; parentheses may be missing."""
    return tuple(text.lower().strip().removeprefix("(").removesuffix(")").split())


def keyed(texts: Iterable[str]) -> set[Words]:
    """Return the facts or steps of a key."""
    return {words_of(text) for text in texts}


def named(problem: Problem, items: Iterable[Any]) -> set[Words]:
    """Return facts or steps of ours as words."""
    return {words_of(spell(problem, item)) for item in items}


def write(words: Words) -> str:
    """Return a fact or a step as PDDL."""
    return f"({' '.join(words)})"


def unproved() -> tuple[None, str]:
    """Return that nothing independent decides."""
    return None, "no independent proof of this kind of difference"


def compare_sets(mine: set[Words], key: set[Words], what: str) -> list[Difference]:
    """Return the differences of two sets that should be equal."""
    return [Difference(f"{write(each)} is {what}", unproved) for each in sorted(mine - key)] + [
        Difference(f"{write(each)} is not {what}", unproved) for each in sorted(key - mine)
    ]


def answer_applicable(question: Question) -> Answered:
    """Compare the applicable steps."""
    began = time.process_time()
    problem = question.read()
    found = questions.applicable(problem)
    seconds = time.process_time() - began
    return Answered(seconds, compare_sets(named(problem, found), keyed(question.key), "applicable"))


def answer_progression(question: Question) -> Answered:
    """Compare what a step changes; the step is found by the objects and words of the question."""
    began = time.process_time()
    problem = question.read()
    step = find_step(problem, question.asked)
    found = questions.progress(problem, step)
    seconds = time.process_time() - began
    gained = compare_sets(named(problem, found.positive), keyed(question.key["pos"]), "a positive effect")
    lost = compare_sets(named(problem, found.negative), keyed(question.key["neg"]), "a negative effect")
    return Answered(seconds, gained + lost)


def find_step(problem: Problem, asked: str) -> Step:
    """Return the applicable step that a question describes in English: by its objects, then by words of its name."""
    match = re.search(r'"(.*?)"', asked)
    said = re.findall(r"[\w-]+", (match[1] if match else asked).lower())
    objects = {each.name for each in problem.all_objects}.intersection(said)
    exact = [step for step in questions.applicable(problem) if set(step.arguments) == objects]
    ranked = sorted(exact, key=lambda step: -sum(word in said for word in re.split(r"[-_]", step.action)))
    if not ranked:
        raise ValueError(f"no applicable step is like {' '.join(said)!r}")
    return ranked[0]


def answer_reachable_facts(question: Question) -> Answered:
    """Compare the facts that are never reached."""
    began = time.process_time()
    problem = question.read()
    found = questions.reachable_facts(problem)
    seconds = time.process_time() - began
    mine, key = named(problem, found.unreachable), keyed(question.key)
    domain, text = question.expressions

    def decide(facts: Iterable[Words]) -> tuple[bool | None, str]:
        result = solvability.decide_solvability(domain, solvability.with_goal(text, solvability.any_of(facts)))
        return None if result.solvable is None else not result.solvable, f"one of them as the goal: {result.summary}"

    return compare_unreachable(seconds, mine, key, len(found.unknown), decide)


def answer_reachable_steps(question: Question) -> Answered:
    """Compare the steps that can never be taken."""
    began = time.process_time()
    problem = question.read()
    found = questions.reachable_steps(problem)
    seconds = time.process_time() - began
    mine, key = named(problem, found.unreachable), keyed(question.key)
    domain, text = question.expressions

    def decide(steps: Iterable[Words]) -> tuple[bool | None, str]:
        result = solvability.decide_solvability(*solvability.probe_steps(domain, text, steps))
        return None if result.solvable is None else not result.solvable, f"one of them applicable: {result.summary}"

    return compare_unreachable(seconds, mine, key, len(found.unknown), decide)


Decide = Callable[[Iterable[Words]], tuple[bool | None, str]]
"""Asks an independent tool whether all of these are unreachable."""


def compare_unreachable(seconds: float, mine: set[Words], key: set[Words], unknown: int, decide: Decide) -> Answered:
    """Compare what is unreachable; a key that names something need not name everything, an empty one says: nothing."""

    def deny(item: Words) -> tuple[bool | None, str]:
        verdict, summary = decide([item])
        return None if verdict is None else not verdict, summary

    differences = [
        Difference(f"{write(each)} is reachable", lambda each=each: deny(each))  # type: ignore[misc]
        for each in sorted(key - mine)
    ]
    if mine and not key:
        names = ", ".join(map(write, sorted(mine)[:2]))
        claim = f"{len(mine)} are unreachable ({names} …)"
        differences.append(Difference(claim, lambda: decide(sorted(mine))))
    more = sorted(mine - key) if key else []
    beyond = Difference(f"{len(more)} more are unreachable", lambda: decide(more)) if more else None
    return Answered(seconds, differences, unknown, beyond)


def answer_justification(question: Question) -> Answered:
    """Compare the steps and pairs of steps that can be left out; single ones by number among equal steps."""
    began = time.process_time()
    problem = question.read()
    found = questions.simplify(problem, _quoted(question.asked))
    seconds = time.process_time() - began
    steps = [words_of(spell(problem, step)) for step in found.given]
    mine: dict[tuple[str, ...], tuple[int, ...]] = {}
    for removal in found.removals:
        first = steps[removal[0]]
        number = str(steps[: removal[0] + 1].count(first)) if len(removal) == 1 else "-1"
        mine.setdefault((*[write(steps[place]) for place in removal], number), removal)
    key = {(*[write(words_of(each)) for each in entry[:-1]], entry[-1]) for entry in question.key}
    differences = [
        Difference(f"{' '.join(each[:-1])} can be left out", lambda each=each: _replay(question, steps, mine[each]))  # type: ignore[misc]
        for each in sorted(mine.keys() - key)
    ]
    differences += [Difference(f"{' '.join(each[:-1])} is needed", unproved) for each in sorted(key - mine.keys())]
    return Answered(seconds, differences)


def _quoted(text: str) -> str:
    match = re.search(r'"(.*)"', text, re.DOTALL)
    return match[1] if match else ""


def _replay(question: Question, steps: list[Words], removal: tuple[int, ...]) -> tuple[bool | None, str]:
    """Let Fast Downward carry out the plan without the steps at the places of `removal`."""
    from benchmarks.validators import VALID
    from benchmarks.validators.fast_downward import replay_domain, replay_problem

    domain, problem = question.expressions
    left = [step for place, step in enumerate(steps) if place not in removal]
    result = solvability.decide_solvability(replay_domain(domain, left), replay_problem(problem, left))
    return result.solvable, f"the plan without it is {VALID if result.solvable else 'invalid'}: {result.summary}"


def answer_landmarks(question: Question) -> Answered:
    """Compare the landmarks that hold neither initially nor in the goal."""
    began = time.process_time()
    problem = question.read()
    found = questions.fact_landmarks(problem)
    seconds = time.process_time() - began
    mine = named(problem, [each.fact for each in found.nontrivial])
    causal = {words_of(spell(problem, each.fact)): each.is_causal for each in found.nontrivial}
    domain, text = question.expressions

    def decide(fact: Words, *, is_landmark: bool) -> tuple[bool | None, str]:
        result = solvability.decide_solvability(*solvability.without_adding(domain, text, fact))
        verdict = None if result.solvable is None else result.solvable is not is_landmark
        return verdict, f"without the steps that add it: {result.summary}"

    differences = []
    for fact in sorted(mine & keyed(question.key["no"])):
        kind = {True: "", False: " (not a causal one)", None: ""}[causal[fact]]
        claim = f"{write(fact)} is a landmark{kind}"
        differences.append(Difference(claim, lambda fact=fact: decide(fact, is_landmark=True)))  # type: ignore[misc]
    for fact in sorted(keyed(question.key["yes"]) - mine):
        claim = f"{write(fact)} is no landmark"
        differences.append(Difference(claim, lambda fact=fact: decide(fact, is_landmark=False)))  # type: ignore[misc]
    return Answered(seconds, differences, len(found.unknown))


def answer_validation(question: Question) -> Answered:
    """Compare the first step that cannot be taken."""
    began = time.process_time()
    problem = question.read()
    found = questions.first_inapplicable(problem, _quoted(question.asked))
    seconds = time.process_time() - began
    index = -1 if found is None else found.index
    same = index == int(question.key)
    return Answered(seconds, [] if same else [Difference(f"step {index} is the first", unproved)])


def answer_next_steps(question: Question) -> Answered:
    """Compare the steps with which optimal plans begin: all that the key names, none that it excludes; and the cost."""
    began = time.process_time()
    problem = question.read()
    found = questions.optimal_first_steps(problem)
    seconds = time.process_time() - began
    mine, key = named(problem, found.steps), question.key
    wrong = (keyed(key["yes"]) - mine) | (keyed(key["no"]) & mine)
    differences = [Difference(f"{write(each)}: whether an optimal plan begins with it", unproved) for each in wrong]
    if str(found.cost) != str(key["opt"]):
        differences.append(Difference(f"the optimal cost is {found.cost}", unproved))
    return Answered(seconds, differences, int(found.cost is None))


KINDS: Final[dict[str, tuple[str, Callable[[Question], Answered]]]] = {
    "app": ("applicable steps", answer_applicable),
    "prog": ("progression", answer_progression),
    "reach": ("reachable facts", answer_reachable_facts),
    "areach": ("reachable steps", answer_reachable_steps),
    "just": ("justification", answer_justification),
    "land": ("landmarks", answer_landmarks),
    "val": ("validation", answer_validation),
    "nexta": ("next optimal step", answer_next_steps),
}
"""The files of questions: what each asks, and the function that answers."""


def read_questions(path: Path) -> Iterator[Question]:
    """Read the questions of a file."""
    for entry in json.loads(path.read_text(encoding="utf-8")):
        yield Question(entry["PDDL_domain"], entry["PDDL_problem"], entry["answer"], entry["question"])


@dataclass(slots=True)
class Tally:
    """The questions of one kind: how many have which verdict, and the seconds that each took."""

    what: str
    verdicts: Counter[str]
    seconds: list[float]
    beyond: Counter[bool | None]

    def row(self) -> list[str]:
        """Return the row of the table."""
        counts = [str(self.verdicts[verdict]) for verdict in VERDICTS]
        confirmed = f"{self.beyond[True]} of {self.beyond.total()}" if self.beyond else ""
        times = [f"{median(self.seconds):.3f}", f"{max(self.seconds):.3f}"] if self.seconds else ["", ""]
        return [self.what, str(self.verdicts.total()), *counts, confirmed, *times]


VERDICTS: Final = ("right", "key wrong", "wrong", "unknown")
HEADINGS: Final = ["kind", "questions", *VERDICTS, "beyond the key", "median s", "max s"]


def judge(answered: Answered, report: Callable[[str], None]) -> str:
    """Return the verdict on an answer: it agrees with the key, or each difference is proved, or not."""
    if answered.unknown:
        return "unknown"
    if not answered.differences:
        return "right"
    proved = []
    for difference in answered.differences:
        verdict, summary = difference.prove()
        proved.append(verdict)
        report(f"{difference.claim}: {'confirmed' if verdict else 'NOT CONFIRMED'} by Fast Downward, {summary}")
    return "key wrong" if all(proved) else "wrong"


def run_kind(path: Path, *, prove: bool) -> Tally:
    """Answer the questions in the file at `path`."""
    what, answer = KINDS[path.stem]
    tally = Tally(what, Counter(), [], Counter())
    for number, question in enumerate(read_questions(path)):
        label = f"{path.stem} {number}"
        try:
            answered = answer(question)
        except (ForethoughtError, ValueError) as error:
            sys.stderr.write(f"{label}: {error}\n")
            tally.verdicts["wrong"] += 1
            continue
        tally.seconds.append(answered.seconds)
        if prove:
            tally.verdicts[judge(answered, lambda text, label=label: print(f"{label}: {text}"))] += 1  # type: ignore[misc]  # noqa: T201
            if answered.beyond is not None:
                verdict, summary = answered.beyond.prove()
                tally.beyond[verdict] += 1
                print(f"{label}: {answered.beyond.claim}: {'confirmed' if verdict else 'NOT CONFIRMED'}, {summary}")  # noqa: T201
        else:
            tally.verdicts["unknown" if answered.unknown else "wrong" if answered.differences else "right"] += 1
    return tally


def main(arguments: list[str] | None = None) -> None:
    """Answer all questions of a folder, and print the table."""
    parser = ArgumentParser("python -m benchmarks.acpbench", description=main.__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="Folder with app.json, prog.json and so on.")
    parser.add_argument("--kind", action="append", choices=KINDS, help="Only this kind; may be repeated.")
    parser.add_argument("--no-proofs", action="store_true", help="Count differences as wrong; run no other planner.")
    given = parser.parse_args(arguments)
    paths = [given.folder / f"{kind}.json" for kind in given.kind or KINDS]
    missing = [str(path) for path in paths if not path.is_file()]
    if missing:
        parser.error(f"there is no file {missing[0]}")
    warm_up(paths[0])
    tallies = [run_kind(path, prove=not given.no_proofs) for path in paths]
    sys.stdout.write(format_table(HEADINGS, [tally.row() for tally in tallies]))


def warm_up(path: Path) -> None:
    """Import what the calls need, so that the first question does not pay for it."""
    question = next(read_questions(path), None)
    if question is not None:
        problem = question.read()
        questions.reachable_facts(problem)
        questions.fact_landmarks(problem)
        questions.optimal_first_steps(problem)


if __name__ == "__main__":
    main()
