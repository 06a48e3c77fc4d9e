"""Answers to contrastive questions for a page: each with its verdict, its reasons, and the plan that does it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from executor.desk.pages import document as doc
from planner.explain.contrastive_answer import Outcome, WhyNot
from planner.explain.why_not import ask
from planner.limits import Limits
from planner.plan import Plan, Step, name_as_written
from planner.problem_kinds import AnyProblem

_TONES: Final[dict[Outcome, doc.Tone]] = {
    Outcome.CHEAPER: "good", Outcome.DEARER: "warn", Outcome.IMPOSSIBLE: "bad",
}  # fmt: skip
"""Tones of outcomes; others are plain."""


def answer_questions(
    problem: AnyProblem, questions: Sequence[str], plan: Plan | None, limits: Limits
) -> tuple[doc.AnswerItem, ...]:
    """Answer `questions` about `plan`, each in its share of the time; raises `InputError` for what is no question."""
    left = range(len(questions), 0, -1)
    asked = zip(questions, left, strict=True)
    return tuple([answer_item(ask(problem, each, limits.share(1 / parts), plan)) for each, parts in asked])


def answer_item(answer: WhyNot) -> doc.AnswerItem:
    """Return `answer` for a page; steps that its plan leaves out are numbered as in the plan that is asked about."""
    head, *lines = answer.describe().splitlines()
    about = len(answer.reasons)  # the verdict comes after the reasons, and first on a page
    return doc.AnswerItem(
        head.removesuffix(":"),
        "good" if answer.proved and not answer.question.foils else _TONES.get(answer.outcome, "plain"),
        tuple(_sentences([*lines[about:], *lines[:about]], answer.plan)),
        tuple(_figures(answer)),
        _mark_added(answer),
        tuple(_number_left_out(answer)),
    )


def _sentences(lines: Iterable[str], plan: Plan | None) -> Iterator[str]:
    """Yield the lines of an answer, indented as they are, without its plan, which the page shows in another way."""
    shown = set() if plan is None else {each.strip() for each in str(plan).splitlines()} | {"(no steps)"}
    for line in lines:
        if line.strip() not in shown and not (shown and line.strip().startswith(("It adds ", "It leaves out "))):
            yield line.removeprefix("  ")


def _figures(answer: WhyNot) -> Iterator[doc.Figure]:
    if answer.plan is not None:
        yield doc.Figure("it would cost", f"{answer.plan.charge:,}")
    if answer.extra:
        yield doc.Figure("more" if answer.extra > 0 else "less", f"{abs(answer.extra):,}", _TONES[answer.outcome])
    if answer.reference is not None:
        yield doc.Figure("the plan costs", f"{answer.reference.charge:,}")
    yield doc.Figure("verdict", "proved" if answer.proved else "not proved", "good" if answer.proved else "plain")


def _mark_added(answer: WhyNot) -> tuple[doc.AnswerStep, ...]:
    """Return the steps of the plan that does what is asked for; `added` ones are not in the plan asked about."""
    if answer.plan is None or (answer.reference is not None and answer.plan.steps == answer.reference.steps):
        return ()
    added = Counter(map(str, answer.steps_added))
    written = map(str, name_as_written(answer.plan.steps, answer.plan.problem))
    found = []
    for text in written:
        added[text] -= 1
        found.append(doc.AnswerStep(text, added[text] >= 0))
    return tuple(found)


def _number_left_out(answer: WhyNot) -> Iterator[int]:
    if answer.reference is None:
        return
    left = Counter(map(str, answer.steps_left_out))
    steps: Iterable[Step] = name_as_written(answer.reference.steps, answer.reference.problem)
    for number, text in enumerate(map(str, steps), start=1):
        left[text] -= 1
        if left[text] >= 0:
            yield number
