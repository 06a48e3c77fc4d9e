"""`forethought bench sentences`: replay recorded sentences with the right answer and wrong answers of a language model.

An agent gets an answer from a scripted model, a simulated person confirms the goal, and the plan is carried out. What a
sentence means is read by the reader of problem documents, which no model's answer goes through.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer
from pydantic import BaseModel, ConfigDict, Field

from executor.agent.agent import Agent
from executor.agent.describe_problem import describe_goal
from executor.agent.proposals import Achieved, Proposal, Standing
from executor.language_model.checked_answers import ROUNDS
from executor.language_model.protocol import LanguageModel, Purpose
from executor.testing import ScriptedModel, SimulatedWorld, run_virtual
from htn.model import HtnProblem
from planner import Problem, load
from planner.cli.output import give, tell
from planner.language.documents import read_documents
from planner.language.documents.text_formats import parse_yaml
from planner.language.pddl.syntax import read_text
from planner.lightweight import replace
from planner.model.formulas import conjuncts

WRONG = 10


def sentences(
    *,
    only: Annotated[str, typer.Option("--only", help="Use sentences that contain this text.")] = "",
    language_model: Annotated[
        str | None, typer.Option("--language-model", help="Language model to ask instead of the recorded answers.")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option("--endpoint", metavar="URL", help="Address of a model that speaks OpenAI's protocol.")
    ] = None,
) -> None:
    """Replay right and wrong answers of language models to recorded sentences, and text injected into tool results.

    The exit code is 10 where an answer ended otherwise than recorded, or in a violation.
    """
    chosen = [each for each in read_sentences() if only in each.say]
    if not chosen:
        raise typer.BadParameter(f"no sentence has {only!r} in it", param_hint="--only")
    if language_model is not None or endpoint is not None:
        given = {"model": language_model, "url": endpoint}
        violated = say_sentences(chosen, {name: each for name, each in given.items() if each is not None})
    else:
        violated = replay_sentences(chosen, with_texts=not only)
    if violated:
        raise typer.Exit(WRONG)


def replay_sentences(chosen: Sequence[Sentence], *, with_texts: bool) -> bool:
    """Replay the recorded answers, and texts that tools return; return whether anything was violated."""
    from benchmarks.sentences.injections import run_injections
    from benchmarks.sentences.sentence_verdict import endings_table, injections_table, judge_answers, sentences_table

    found = [each for sentence in chosen for each in judge_answers(sentence)]
    for each in found:
        if each.violation:
            tell(f"{each.sentence.where}: {each.sentence.say}\n  {each.why or 'the right answer'}: {each.violation}")
    give(sentences_table(found))
    give(endings_table(found))
    texts = list(run_injections()) if with_texts else []
    for one in texts:
        if one.violation:
            tell(f"{one.text!r}, {one.way}: {one.violation}")
    if texts:
        give(injections_table(texts).rstrip())
    return any(each.violation for each in found) or any(each.violation for each in texts)


def say_sentences(chosen: Sequence[Sentence], settings: Mapping[str, str]) -> bool:
    """Say the sentences to a language model, and tell how it understands them; return whether anything was violated."""
    from benchmarks.sentences.sentence_verdict import heard_table, judge_model
    from executor.language_model.event_loop import ThreadedModel
    from executor.language_model.settings import model_of

    model = model_of(settings)
    if model is None:
        raise typer.BadParameter("an endpoint, and no model", param_hint="--language-model")
    found = []
    with ThreadedModel(model) as listening:
        for sentence in chosen:
            found.append(judge_model(sentence, listening))
            what = "understood" if found[-1].is_understood else f"not understood: {found[-1].ending}"
            tell(f"{sentence.say}\n  {what}{f', {found[-1].violation}' if found[-1].violation else ''}")
    give(heard_table(found).rstrip())
    return any(each.violation for each in found)


FOLDER: Final = Path(__file__).with_name("answers")
Ending = Literal["done", "approved", "reads", "shown", "asked", "lacking", "refused", "nothing", "mended"]
"""What becomes of an answer; see `benchmarks.sentences.sentence_verdict.ENDINGS`."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Wrong(_Part):
    """A wrong answer: what is wrong with it (`why`), what the model says round by round, and what becomes of it.

    A round is a list of meanings, or all that the model says. The last one is said again as often as it is asked for.
    """

    why: str
    said: list[Any] = Field(min_length=1)
    ends: Ending


class Sentence(_Part):
    """A sentence about a problem (`where`, as domain/problem), and what it `means`: as parts of problem documents.

    It means nothing, or one thing, or several; whoever says it has the last of these in mind. `left` are the parts that
    no fact expresses, for which `steps` is the model's answer. `asks` are unknown objects with their types; those of
    types that are `open` are made.
    """

    where: str = Field(alias="in")
    say: str
    kind: str
    means: list[dict[str, Any]] | dict[str, Any]
    right: list[Any]
    wrong: list[Wrong]
    ends: Ending | None = None
    left: list[str] = []
    steps: dict[str, Any] | None = None
    asks: dict[str, str] = {}
    open: list[str] = []

    @property
    def meanings(self) -> list[dict[str, Any]]:
        """What it means, as a list."""
        return [self.means] if isinstance(self.means, dict) else self.means

    @property
    def right_ends(self) -> Ending:
        """What becomes of the right answer."""
        if self.ends is not None:
            return self.ends
        if not self.meanings:
            return "nothing"
        return "asked" if self.asks else "lacking" if self.left else "done"


@cache
def read_sentences() -> tuple[Sentence, ...]:
    """Return all recorded sentences, by domain."""
    found: list[Sentence] = []
    for path in sorted(FOLDER.glob("*.yaml")):
        for document in parse_yaml(read_text(path), str(path)):
            found += [Sentence.model_validate(each) for each in document]
    return tuple(found)


@cache
def problem_of(where: str) -> Problem:
    """Return the problem that is named as domain/problem, without its tasks, if it has any."""
    found = load(*where.split("/"))
    return found.classical if isinstance(found, HtnProblem) else _check_classical(found)


def _check_classical(found: Any) -> Problem:
    if not isinstance(found, Problem):
        raise TypeError(f"{found!r} is no classical problem")
    return found


def read_meanings(sentence: Sentence) -> list[Problem]:
    """Return the problems that `sentence` means."""
    return [_make_problem(problem_of(sentence.where), each) for each in sentence.meanings]


def _make_problem(base: Problem, part: dict[str, Any]) -> Problem:
    objects = {each.name: list(each.types) for each in base.objects} | part.get("objects", {})
    text = json.dumps({"problem": base.name, **part, "objects": objects})
    found = _check_classical(*read_documents(text, domain=base.domain).problems)
    deadlines = [each for each in (base.deadline, found.deadline) if each is not None]
    budgets = {name: min(most, base.budgets.get(name, most)) for name, most in found.budgets.items()}
    return replace(
        base,
        objects=found.objects,
        goal=found.goal,
        constraints=(*base.constraints, *found.constraints),
        budgets={**base.budgets, **budgets},
        deadline=min(deadlines, default=None),
    )


def is_same_request(one: Problem, other: Problem) -> bool:
    """Return whether both ask for the same."""
    return _request_of(one) == _request_of(other)


def _request_of(problem: Problem) -> tuple[Any, ...]:
    return (
        set(conjuncts(problem.goal.hard)),
        set(problem.goal.soft),
        set(problem.constraints),
        dict(problem.budgets),
        problem.deadline,
        set(problem.objects),
    )


def is_same_text(one: str, other: str) -> bool:
    """Return whether a person who reads both, in whatever order their lines are, reads the same."""
    return _titled_lines(one) == _titled_lines(other)


def describe_request(problem: Problem) -> str:
    """Return the words in which a person expects to see the goal."""
    return describe_goal(problem)


def _titled_lines(words: str) -> set[tuple[str, str]]:
    found, title = set(), ""
    for line in words.splitlines():
        title = title if line.startswith("- ") else line
        found.add((title, line))
    return found


@dataclass(slots=True)
class Person:
    """Somebody who has `wanted` in mind, and says yes to exactly these words; `left` is what no fact expresses."""

    wanted: Problem | None
    left: tuple[str, ...] = ()
    seen: list[Proposal] = field(default_factory=list)

    def __call__(self, proposal: Proposal) -> bool:
        """Return whether the words that are shown are those that are expected."""
        self.seen.append(proposal)
        unmodelled = tuple([part for reading in proposal.readings for part in reading.unmodelled])
        if self.wanted is None or unmodelled != self.left:
            return False
        return is_same_text(proposal.words, describe_request(self.wanted))

    @property
    def misled(self) -> bool:
        """Whether the words once said the same of different goals, or something else of the same."""
        if self.wanted is None:
            return False
        wanted, words = self.wanted, describe_request(self.wanted)
        goals = [each for each in self.seen if each.problem is not None and not each.improvised]
        return any(
            is_same_text(each.words, words) is not is_same_request(each.problem or wanted, wanted) for each in goals
        )


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of an answer: what was made of it at first, and in the end, by whom it was seen, and the true world."""

    sentence: Sentence
    first: Proposal
    achieved: Achieved
    person: Person
    simulated: SimulatedWorld

    @property
    def has_effects(self) -> bool:
        """Whether anything was done in the true world that does more than read."""
        actions = self.simulated.problem.domain.actions
        done = [act.step for act in self.simulated.acts if act.step is not None]
        return any("read_only" not in actions[each.predicate].tags for each in done)


def make_speaker(sentence: Sentence, said: Sequence[Any]) -> ScriptedModel:
    """Return a model that says `said`, round by round, and the last of it as often as it is asked."""
    steps = [] if sentence.steps is None else [sentence.steps] * ROUNDS
    return ScriptedModel(
        {Purpose.GOAL: [*map(_wrap_meanings, said), *[_wrap_meanings(said[-1])] * ROUNDS], Purpose.STEPS: steps}
    )


def replay_answer(sentence: Sentence, model: LanguageModel) -> Replayed:
    """Have an agent read `sentence` with `model`, confirm the goal, and carry out the plan."""
    means, base = read_meanings(sentence), problem_of(sentence.where)
    simulated = SimulatedWorld(replace(base, objects=means[-1].objects) if sentence.open else base)
    person = Person(means[-1] if means else None, tuple(sentence.left))
    agent = Agent(simulated.world, base, model=model, confirm=person, open_types=sentence.open, approve=lambda _: True)
    first, achieved = run_virtual(_carry_out(agent, sentence, person, simulated))
    return Replayed(sentence, first, achieved, person, simulated)


def _wrap_meanings(said: Any) -> Any:
    return {"meanings": said} if isinstance(said, list) else said


async def _carry_out(
    agent: Agent, sentence: Sentence, person: Person, simulated: SimulatedWorld
) -> tuple[Proposal, Achieved]:
    """Have all done that a person allows; where there are several readings, the last one is meant."""
    memory = {
        name: value
        for action in simulated.problem.domain.actions
        for name, value in simulated.parameters(action).items()
    }
    achieved = await agent.achieve(sentence.say, memory=memory)
    first = achieved.proposal
    if first.standing is Standing.AMBIGUOUS:
        chosen = await agent.choose(first, len(first.readings) - 1)
        if chosen.standing is Standing.PLANNED or (chosen.standing is Standing.UNCONFIRMED and person(chosen)):
            return first, await agent.carry_out(chosen, memory=memory)
    return first, achieved
