"""The agent's part of `forethought demo`: a sentence becomes a goal, a plan and a run.

A scripted model answers first, wrongly at the beginning; then the configured model, if there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from executor.agent.agent import Agent
from executor.agent.proposals import Achieved
from executor.errors import ModelError
from executor.language_model.event_loop import ThreadedModel
from executor.language_model.protocol import LanguageModel, Origin, Purpose, Reply, Request
from executor.language_model.settings import model_of
from executor.testing import ScriptedModel, SimulatedWorld, run_virtual
from planner.errors import ForethoughtError
from planner.language.loading.load import load

DOMAIN: Final = "assistant"
PROBLEM: Final = "one-page"
SENTENCE: Final = "Sum up the survey in 200 words and send the memo to the board, but not to Ada."
ANSWERS: Final = {
    Purpose.GOAL: [
        {"meanings": [{"goal": ["sent(memo, bord)"]}]},
        {"meanings": [{"goal": ["summarised(survey)", "sent(memo, board)"], "never": ["sent(memo, ada)"]}]},
    ],
    Purpose.FILL: [
        {"values": {"query": "heat pumps in old houses"}},
        {"values": {"words": 200}, "thought": "the user says so"},
        {"values": {"style": "plain"}},
        {"values": {"subject": "Heating"}},
    ],
}
Show = Callable[[str], None]


def show_sentence(heading: Show, good: Show, give: Show, folder: Path) -> bool:  # noqa: ARG001 - parts of the demo get it
    """Carry out a sentence, and show what happens; return whether the run for the scripted model succeeded."""
    heading("Asked in words: what a language model says is checked before it counts")
    give(f'"{SENTENCE}"\nA scripted model speaks, wrongly at first:')
    succeeded = _achieve_sentence(ScriptedModel(ANSWERS), good, give)
    try:
        model = model_of()
    except ForethoughtError as error:
        give(f"The language model that is configured cannot be had: {error}")
        return succeeded
    if model is None:
        give("With a model of your own, the same: forethought run assistant --say '…' says how to configure one.")
        return succeeded
    heading("The same, by the language model that is configured")
    with ThreadedModel(model) as real:
        _achieve_sentence(real, good, give)
    return succeeded


def _achieve_sentence(model: LanguageModel, good: Show, give: Show) -> bool:
    simulated = SimulatedWorld(load(DOMAIN, PROBLEM))
    heard = _ShownModel(model, give)
    agent = Agent(simulated.world, simulated.problem, model=heard, confirm=lambda _: True, approve=lambda _: True)
    achieved = run_virtual(agent.achieve(SENTENCE))
    outcome, proposal = achieved.outcome, achieved.proposal
    if outcome is None:
        why = [f"nothing is done: {proposal.standing.value}", proposal.question, proposal.reason]
        give("\n".join(filter(None, why)))
        return False
    give(f"The goal, as a person confirms it:\n{proposal.words}")
    give(_describe_steps(achieved))
    if outcome.succeeded:
        good(f"{outcome.status.name}: {outcome.status.value}")
    else:
        give(f"{outcome.status.name}: {outcome.reason}")
    return outcome.succeeded


def _describe_steps(achieved: Achieved) -> str:
    """Describe the steps with the values that were filled in."""
    assert achieved.outcome is not None
    lines = []
    for each in achieved.outcome.steps:
        filled = ", ".join(f"{name} = {value!r}" for name, value in each.filled.items())
        lines.append(f"  {each.status.name.lower():10}{each.step}{f'   the model fills in {filled}' if filled else ''}")
    return "\n".join(lines)


class _ShownModel:
    """A model that shows questions for a goal, objections and answers, and passes them on."""

    def __init__(self, model: LanguageModel, give: Show) -> None:
        self._model, self._give = model, give

    async def answer(self, request: Request) -> Reply:
        """Show and pass on a request and its answer."""
        if request.purpose is Purpose.GOAL and request.parts[-1].origin is Origin.OBJECTION:
            self._give(
                "\n".join(f"  objection: {line.removeprefix('- ')}" for line in request.parts[-1].text.splitlines())
            )
        try:
            reply = await self._model.answer(request)
        except ModelError as error:
            self._give(f"  no answer: {error}")
            raise
        if request.purpose is Purpose.GOAL:
            self._give(f"  the model: {_shorten(reply.value)}")
        return reply


def _shorten(said: Any) -> str:
    return str(said["meanings"] if isinstance(said, dict) and "meanings" in said else said)[:300]
