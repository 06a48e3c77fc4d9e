"""`--say`: a sentence becomes a goal that was checked, and that somebody confirms before anything is done."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from executor.agent.agent import Agent
from executor.agent.filling import Filler
from executor.agent.proposals import Proposal, Standing
from executor.command.dialogue import asked, chosen, confirmed, is_dialogue
from executor.language.allowance import Allowance, Meter
from executor.language.apart import Apart
from executor.language.protocol import Origin, Part
from executor.language.settings import model_of
from executor.world.world import World
from planner.cli.output import tell
from planner.errors import InputError
from planner.model import Problem
from planner.records import dataclass, replace

if TYPE_CHECKING:
    from executor.command.carry import Wanted

ROUNDS: Final = 3
"""How often somebody is asked what a sentence means."""
HOW: Final = """\
name one by --language-model, or in the environment:
  hosted             FORETHOUGHT_MODEL=openai:gpt-5, and the key that its provider asks for: OPENAI_API_KEY=…
  on this machine    FORETHOUGHT_MODEL=llama3.2 FORETHOUGHT_MODEL_URL=http://localhost:11434/v1
                     (Ollama; vLLM, llama.cpp and others that speak OpenAI's protocol likewise)
or in ~/.config/forethought/settings.yaml, as docs/agents.md says; both need pip install 'forethought[llm]'
"""
TERMINAL: Final = "say it on a terminal to be asked, or with --yes"


@dataclass(frozen=True, slots=True)
class Said:
    """What the command line says in words, and how that is understood: settings of a language model, and its limits."""

    sentence: str
    model: str | None = None
    endpoint: str | None = None
    tokens: int | None = None
    open_types: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """The options that say the same again."""
        given = {"--say": self.sentence, "--language-model": self.model, "--endpoint": self.endpoint}
        return [word for option, each in given.items() if each is not None for word in (option, each)]

    def listener(self) -> Apart:
        """Return the language model that listens; raises `InputError` where none is configured."""
        given = {name: each for name, each in (("model", self.model), ("url", self.endpoint)) if each is not None}
        model = model_of(given or None)
        if model is None:
            raise InputError("a sentence needs a language model, and none is configured", hint=HOW.strip())
        return Apart(model)

    def filler(self, model: Apart, proposal: Proposal | None = None) -> Filler:
        """Return what fills the open parameters of steps, with the tokens that `proposal` has left."""
        meter = Meter(Allowance(tokens=self.tokens))
        if proposal is not None:
            meter.add(proposal.usage)
        return Filler(model, self.sentence, {}, meter)


def said(
    sentence: str | None, model: str | None, endpoint: str | None, tokens: int | None, open_types: Iterable[str]
) -> Said | None:
    """Return what the command line says in words, if it does; raises `InputError` for options without a sentence."""
    if sentence is not None:
        return Said(sentence, model, endpoint, tokens, tuple(open_types))
    given = {"--language-model": model, "--endpoint": endpoint, "--tokens": tokens, "--new": open_types or None}
    for option, each in given.items():
        if each is not None:
            raise InputError(f"{option} goes with --say", hint="such as --say 'sum up the survey'")
    return None


class NotCarriedOut(Exception):  # noqa: N818 - it names what it says
    """A sentence led to nothing that is carried out, for the reason that `proposal` gives."""

    def __init__(self, proposal: Proposal) -> None:
        super().__init__(proposal.standing.value)
        self.proposal = proposal


def heard(wanted: Wanted, said: Said, problem: Problem, model: Apart, seconds: float | None) -> Proposal:
    """Return what the sentence comes to in `problem`, confirmed and with a plan; searching takes `seconds` at most.

    Raises `NotCarriedOut` where it comes to no such thing.
    """
    allowance = Allowance(tokens=said.tokens)
    agent = Agent(
        World(problem.domain),
        problem,
        model=model,
        open_types=said.open_types,
        allowance=allowance,
        time_limit=seconds,
    )
    proposal = asyncio.run(_understood(agent, said.sentence))
    if proposal.standing is Standing.UNCONFIRMED:
        proposal = _confirmed(wanted, proposal)
    elif proposal.standing is Standing.PLANNED and not wanted.quiet:
        tell(_shown(proposal))
    if proposal.standing is not Standing.PLANNED:
        raise NotCarriedOut(proposal)
    return proposal


async def _understood(agent: Agent, sentence: str) -> Proposal:
    """Return what `sentence` comes to; where somebody can be asked what is meant, they are."""
    proposal = await agent.plan(sentence)
    context: list[Part] = []
    for _ in range(ROUNDS if is_dialogue() else 0):
        if proposal.standing is Standing.AMBIGUOUS:
            number = chosen(proposal.question, len(proposal.readings))
            return proposal if number is None else await agent.choose(proposal, number)
        if proposal.standing is not Standing.UNKNOWN or not (answer := asked(proposal.question)):
            return proposal
        context.append(Part(f"The user was asked: {proposal.question} The answer", answer, Origin.USER))
        proposal = await agent.plan(sentence, context=context)
    return proposal


def _confirmed(wanted: Wanted, proposal: Proposal) -> Proposal:
    """Return `proposal` as somebody decides: on a terminal, or by --yes where nothing is doubtful about it."""
    if wanted.approves and not proposal.doubts:
        if not wanted.quiet:
            tell(_shown(proposal))
        return replace(proposal, standing=Standing.PLANNED)
    if not is_dialogue():
        waived = "--yes does not confirm what is doubtful; say it on a terminal to be asked, or in other words"
        return replace(proposal, reason=waived if wanted.approves else TERMINAL)
    said = confirmed(f"{_shown(proposal)}\nIs this what you want?")
    return replace(proposal, standing=Standing.PLANNED if said else Standing.DECLINED)


def _shown(proposal: Proposal) -> str:
    """Return the goal and the plan of `proposal`, and what is doubtful, for people."""
    doubts = "".join(f"\nDoubtful: {each}" for each in proposal.doubts)
    plan = f"\nPlan, cost {proposal.plan.cost}:\n{proposal.plan}" if proposal.plan is not None else ""
    return f"{proposal.words}{plan}{doubts}"
