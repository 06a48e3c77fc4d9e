"""An answer, replayed: an agent gets it from a model, a person looks at the goal, and all may be done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.sentences.meant import meant, problem_of, same, same_words, words_of
from benchmarks.sentences.recorded import Sentence
from executor.agent.agent import Agent
from executor.agent.proposals import Achieved, Proposal, Standing
from executor.language.checked import ROUNDS
from executor.language.protocol import LanguageModel, Purpose
from executor.testing import ScriptedModel, SimulatedWorld, run_virtual
from planner import Problem
from planner.records import replace


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
        return same_words(proposal.words, words_of(self.wanted))

    @property
    def misled(self) -> bool:
        """Whether the words once said the same of different goals, or something else of the same."""
        if self.wanted is None:
            return False
        wanted, words = self.wanted, words_of(self.wanted)
        goals = [each for each in self.seen if each.problem is not None and not each.improvised]
        return any(same_words(each.words, words) is not same(each.problem or wanted, wanted) for each in goals)


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


def speaker(sentence: Sentence, said: Sequence[Any]) -> ScriptedModel:
    """Return a model that says `said`, round by round, and the last of it as often as it is asked."""
    steps = [] if sentence.steps is None else [sentence.steps] * ROUNDS
    return ScriptedModel({Purpose.GOAL: [*map(_answer, said), *[_answer(said[-1])] * ROUNDS], Purpose.STEPS: steps})


def replayed(sentence: Sentence, model: LanguageModel) -> Replayed:
    """Return what comes of `sentence`, as `model` understands it."""
    means, base = meant(sentence), problem_of(sentence.where)
    simulated = SimulatedWorld(replace(base, objects=means[-1].objects) if sentence.open else base)
    person = Person(means[-1] if means else None, tuple(sentence.left))
    agent = Agent(
        simulated.world,
        base,
        model=model,
        confirm=person,
        open_types=sentence.open,
        approve=lambda _: True,
    )
    first, achieved = run_virtual(_carried_out(agent, sentence, person, simulated))
    return Replayed(sentence, first, achieved, person, simulated)


def _answer(said: Any) -> Any:
    return {"meanings": said} if isinstance(said, list) else said


async def _carried_out(
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
