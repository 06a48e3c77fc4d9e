"""Questions, what comes of them, and what their answers say that enumerations contradict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from benchmarks.why_not_brute import Done, Watch
from planner.errors import ForethoughtError
from planner.explain.contrastive_answer import Outcome, WhyNot
from planner.model import Atom
from planner.plan import Plan


@dataclass(frozen=True, slots=True)
class Asked:
    """A question in words, its kind, what it demands of steps, and how it changes the initial facts.

    `does_so` tells of a plan in time whether it does what is asked for.
    """

    text: str
    kind: str
    watch: Watch = field(default_factory=Watch)
    fact: Atom | None = None
    holds: bool = True
    does_so: Callable[[Plan], bool] = lambda _: True


@dataclass(frozen=True, slots=True)
class Trial:
    """What came out for one question: a row and a column of the table, and what is wrong ("" where nothing is)."""

    row: str
    column: str
    wrong: str = ""
    conflicts: int = 0
    proved: bool = False


def steps_of(plan: Plan | None) -> list[Done]:
    """Return the steps of `plan` as tuples; none without a plan."""
    return [] if plan is None else [(step.action, *step.arguments) for step in plan.steps]


def ask_and_judge(
    asked: Asked, ask: Callable[[], WhyNot], judge: Callable[[WhyNot], str], too_large: tuple[type[Exception], ...]
) -> Trial | None:
    """Call `ask` for the answer to one question, and let `judge` say what is wrong with it.

    Return None where the question does not fit, as with a fact of a wrong type, or where `judge` raises one of
    `too_large`.
    """
    try:
        answer = ask()
    except ForethoughtError as error:
        if asked.fact is not None and "is of type" in str(error):
            return None
        return Trial(asked.kind, "refused", f"why_not raises {type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001 - a user must never see one: that is what is looked for
        return Trial(asked.kind, "escaped", f"why_not raises {type(error).__name__}: {error}")
    try:
        wrong = judge(answer)
    except too_large:
        return None
    return Trial(asked.kind, answer.outcome.name.lower(), wrong, len(answer.conflicts), answer.proved)


def judge_bounds(
    answer: WhyNot, reference: Fraction | None, least: Fraction | None, *, about_cost: bool
) -> Iterator[str]:
    """Yield what the bounds of `answer` say that the least costs, of any plan and of those asked for, contradict."""
    if answer.reference_bound is not None and reference is not None and answer.reference_bound > reference:
        yield f"the bound {answer.reference_bound} is above the optimum {reference}"
    if about_cost:
        if answer.outcome is Outcome.IMPOSSIBLE and answer.reference is not None:
            if Fraction(answer.reference.cost) != reference:
                yield f"cost {answer.reference.cost} is said to be least, and {reference} is"
        elif answer.outcome is Outcome.IMPOSSIBLE and reference is not None:
            yield "there is a plan"
        if answer.shares and sum(Fraction(each.worth) for each in answer.shares) > (reference or 0):
            yield "the shares are more than the optimum"
        return
    if answer.lower_bound is not None and least is not None and answer.lower_bound > least:
        yield f"the bound {answer.lower_bound} is above the least cost {least}"
    if answer.outcome is Outcome.IMPOSSIBLE and least is not None:
        yield f"there is such a plan, at cost {least}"
    if answer.question.restricts and least is not None and (reference is None or least < reference):
        yield "the enumeration contradicts itself"


def judge_outcome(answer: WhyNot) -> Iterator[str]:
    """Yield that the outcome is not that of the difference in costs."""
    if answer.plan is not None and answer.reference is not None:
        extra = Fraction(answer.plan.cost) - Fraction(answer.reference.cost)
        outcome = Outcome.CHEAPER if extra < 0 else Outcome.DEARER if extra else Outcome.SAME
        if answer.outcome is not outcome or Fraction(answer.extra or 0) != extra:
            yield f"the outcome is {answer.outcome.name}, and the difference {extra}"


def write_table(trials: Sequence[Trial]) -> str:
    """Return how many questions of each kind had each outcome, as a table in Markdown."""
    columns = sorted({trial.column for trial in trials})
    counts = Counter((trial.row, trial.column) for trial in trials)
    lines = [f"| question | {' | '.join(columns)} | all |", f"|---|{'---|' * (len(columns) + 1)}"]
    for row in [*sorted({trial.row for trial in trials}), ""]:
        cells = [
            sum(count for (one, two), count in counts.items() if row in (one, "") and two == column)
            for column in columns
        ]
        lines.append(f"| {row or 'all'} | {' | '.join(map(str, cells))} | {sum(cells)} |")
    wrong = sum(bool(trial.wrong) for trial in trials)
    proved, conflicts = sum(trial.proved for trial in trials), sum(trial.conflicts for trial in trials)
    return "\n".join([*lines, "", f"{proved} proved; {conflicts} conflicts; {wrong} wrong"])
