"""Runs that end because what was observed proves that no plan reaches the goal, and reasons that lead."""

import asyncio
import json

import pytest

from executor import ActionResult, ExecutionPolicy, Executor, Recovery, Rung, RunStatus, StepStatus, World
from executor.agent.agent import Agent
from executor.testing import ScriptedModel, SimulatedWorld, run_virtual
from planner import Atom, Domain, Limits, Outcome, explain_unsolvable
from planner.cli import main
from planner.cli.output import Exit

MODELS = ("sequential", "parallel", "dag", "reactive")


def door(*, unlocked=False, sees=True, fields=None, handler=None):
    """Return a world with a door that nothing unlocks, and its problem."""
    domain, log = Domain("door"), []
    domain.predicate("raining")
    domain.action("walk", provides=["near"])
    domain.action("wait", requires=["raining"], provides=["not raining"])
    domain.action("open", requires=["near", "unlocked"], provides=["opened"])
    world = World(domain)
    world.handler("walk")(lambda: log.append("walk"))
    world.handler("open", policy=ExecutionPolicy(retries=0))(handler or (lambda: log.append("open")))
    world.observer("near", conclusive=True)(lambda: "walk" in log)
    world.observer("opened", conclusive=True)(lambda: "open" in log)
    if sees:
        world.observer("unlocked", conclusive=True)(lambda: unlocked)
    return world, domain.problem(goal=["opened"], **(fields or {"unknown": ["unlocked"]})), log


@pytest.mark.parametrize("model", MODELS)
def test_what_was_observed_proves_that_no_plan_reaches_the_goal(model):
    world, problem, log = door()
    outcome = run_virtual(Executor(world, model=model).run(problem))
    assert outcome.status is RunStatus.IMPOSSIBLE
    assert "open" not in log
    assert [each["fact"] for each in outcome.missing["missing"]] == ["unlocked"]
    known = outcome.state.problem.domain
    observed = Domain.of(known).problem(initial=["near"], goal=["opened"])
    assert outcome.missing["missing"] == explain_unsolvable(observed, Limits(10)).to_dict()["missing"]


def test_facts_that_are_still_unknown_and_cannot_help_are_no_hope():
    world, problem, _ = door(fields={"unknown": ["unlocked", "raining"]})
    outcome = run_virtual(Executor(world).run(problem))
    assert outcome.status is RunStatus.IMPOSSIBLE
    assert outcome.state.beliefs.holds(Atom("raining")) is None
    assert [each["fact"] for each in outcome.missing["missing"]] == ["unlocked"]


def test_nothing_is_proved_where_a_fact_that_nobody_has_seen_would_help():
    world, problem, _ = door(sees=False, handler=lambda: ActionResult.failed("jammed"))
    outcome = run_virtual(Executor(world).run(problem))
    assert outcome.status is RunStatus.FAILED
    assert outcome.missing is None


def test_nothing_is_proved_where_a_step_merely_failed():
    world, problem, _ = door(unlocked=True, handler=lambda: ActionResult.failed("jammed"))
    outcome = run_virtual(Executor(world).run(problem))
    assert outcome.status is RunStatus.FAILED
    assert outcome.missing is None


def test_the_proof_is_kept_in_the_journal(tmp_path):
    path = tmp_path / "j"
    world, problem, _ = door()
    outcome = run_virtual(Executor(world, journal=path).run(problem, run="r1"))
    again = run_virtual(Executor(door()[0], journal=path).resume("r1"))
    assert again.status is RunStatus.IMPOSSIBLE
    assert again.missing == outcome.missing
    assert json.dumps(again.missing) == json.dumps(outcome.missing)


def test_what_was_done_is_undone_and_the_run_says_that_the_goal_is_impossible():
    domain, log = Domain("till"), []
    domain.action("reserve", provides=["reserved"])
    domain.action("release", requires=["reserved"], provides=["not reserved"])
    domain.action("charge", requires=["reserved", "solvent"], provides=["paid"])
    world = World(domain)
    held = set()
    world.handler("reserve")(lambda: held.add("reserved"))
    world.handler("release")(lambda: held.discard("reserved") or log.append("release"))
    world.handler("charge")(lambda: held.add("paid"))
    for name in ("reserved", "paid"):
        world.observer(name, conclusive=True)(lambda name=name: name in held)
    world.observer("solvent", conclusive=True)(lambda: False)
    problem = domain.problem(goal=["paid"], unknown=["solvent"])
    outcome = run_virtual(
        Executor(world, recovery=Recovery(rungs=(Rung.PATCH, Rung.REPLAN, Rung.COMPENSATE))).run(problem)
    )
    assert outcome.status is RunStatus.IMPOSSIBLE
    assert log == ["release"]
    assert held == set()
    assert [each["fact"] for each in outcome.missing["missing"]] == ["solvent"]


def test_an_agent_keeps_in_its_next_plan_what_was_seen_to_be_false():
    world, problem, _ = door()

    async def story():
        agent = Agent(world, problem)
        done = await agent.achieve(["opened"])
        return done, await agent.plan(["opened"])

    done, again = asyncio.run(story())
    assert done.outcome.status is RunStatus.IMPOSSIBLE
    assert again.plan is None
    assert again.standing.name == "UNREACHABLE"


DOOR = """
from executor import World
from planner import Domain

door = Domain("door")
door.action("walk", provides=["near"])
door.action("open", requires=["near", "unlocked"], provides=["opened"])
problem = door.problem(goal=["opened"], unknown=["unlocked"])
world = World(door)
done = set()
world.handler("walk")(lambda: done.add("near"))
world.handler("open")(lambda: done.add("opened"))
world.observer("near")(lambda: "near" in done)
world.observer("opened")(lambda: "opened" in done)
world.observer("unlocked", conclusive=True)(lambda: False)
"""


def test_the_command_says_it_in_json_and_by_its_exit_code(tmp_path, capsys):
    path = tmp_path / "door.py"
    path.write_text(DOOR)
    with pytest.raises(SystemExit) as ended:
        main(["run", str(path), "--real", "--json", "--quiet"])
    found = json.loads(capsys.readouterr().out)
    assert (ended.value.code, found["status"]) == (Exit.NEGATIVE, "IMPOSSIBLE")
    assert [each["fact"] for each in found["missing"]["missing"]] == ["unlocked"]


def shop():
    """Return a world in which nothing can be shipped, and the problem to ship."""
    domain = Domain("shop")
    domain.action("pack", provides=["packed"])
    domain.action("ship", requires=["packed"], provides=["shipped"])
    world = World(domain)
    done = set()
    world.handler("pack")(lambda: done.add("packed"))
    world.handler("ship", policy=ExecutionPolicy(retries=0))(lambda: ActionResult.failed("no van has a driver today"))
    for name in ("packed", "shipped"):
        world.observer(name, conclusive=True)(lambda name=name: name in done)
    return world, domain.problem(goal=["shipped"])


@pytest.mark.parametrize("model", MODELS)
def test_the_first_line_of_a_reason_is_the_root_cause(model):
    world, problem = shop()
    outcome = run_virtual(Executor(world, model=model).run(problem))
    assert outcome.status is RunStatus.FAILED
    first, *tried = outcome.reason.split("\n")
    assert first == "ship(): no van has a driver today"
    assert any(line.startswith("patch: ") for line in tried)
    assert [each.rung for each in outcome.recovery if not each.found][:1] == [Rung.PATCH]
    assert [each.status for each in outcome.steps][-1] is StepStatus.FAILED


def test_the_first_line_of_an_undone_run_is_the_root_cause():
    domain = Domain.of(shop()[0].model)
    domain.action("unpack", requires=["packed"], provides=["not packed"])
    held = set()
    undoing = World(domain)
    undoing.handler("pack")(lambda: held.add("packed"))
    undoing.handler("unpack")(lambda: held.discard("packed"))
    undoing.handler("ship", policy=ExecutionPolicy(retries=0))(lambda: ActionResult.failed("no van has a driver today"))
    for name in ("packed", "shipped"):
        undoing.observer(name, conclusive=True)(lambda name=name: name in held)
    outcome = run_virtual(
        Executor(undoing, recovery=Recovery(rungs=(Rung.PATCH, Rung.COMPENSATE))).run(domain.problem(goal=["shipped"]))
    )
    assert outcome.status is RunStatus.COMPENSATED
    assert outcome.reason.split("\n")[0] == "ship(): no van has a driver today"


def test_the_cause_of_a_step_that_is_not_begun_again_is_the_failure_before():
    world, problem = shop()
    outcome = run_virtual(Executor(world, recovery=Recovery(most_patches=3)).run(problem))
    assert outcome.reason.split("\n")[0] == "ship(): no van has a driver today"


def mail(*, irreversible=False, provides=("told",)):
    """Return a world in which mail costs less than a call, and what was done in it."""
    domain, log = Domain("mail"), []
    tags = ["trusted", "irreversible"] if irreversible else ["trusted"]
    domain.action("send_email", provides=list(provides), cost=1, tags=tags)
    domain.action("call", provides=["told"], cost=5, tags=["trusted"])
    world = World(domain)
    world.handler("send_email")(lambda: log.append("mail"))
    world.handler("call")(lambda: log.append("call"))
    return world, log


SENTENCES = (
    "Tell them, but please do not email anyone",
    "Tell them without an email",
    "Never send an email; tell them",
)


@pytest.mark.parametrize("irreversible", [True, False])
@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_doubt_stops_a_run_whose_confirmation_is_waived(sentence, irreversible):
    world, log = mail(irreversible=irreversible)
    model = ScriptedModel([{"meanings": [{"goal": ["told"]}]}] * 4)
    done = run_virtual(Agent(world, model=model, waived=True).achieve(sentence))
    assert log == []
    assert done.outcome is None
    assert "nothing is excluded" in done.proposal.reason


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_doubt_is_part_of_the_question(sentence):
    world, log = mail()
    model, asked = ScriptedModel([{"meanings": [{"goal": ["told"]}]}] * 4), []
    confirm = lambda proposal: asked.append(proposal.question) or False  # noqa: E731 - it is as short as that
    run_virtual(Agent(world, model=model, confirm=confirm).achieve(sentence))
    assert log == []
    assert len(asked) == 1
    assert "Doubtful: the sentence says" in asked[0]


def test_what_is_excluded_is_not_doubted():
    world, log = mail(provides=["told", "mailed"])
    model = ScriptedModel([{"meanings": [{"goal": ["told"], "never": ["mailed"]}]}] * 4)
    asked = []
    confirm = lambda proposal: asked.append(proposal.question) or True  # noqa: E731 - it is as short as that
    done = run_virtual(Agent(world, model=model, confirm=confirm).achieve(SENTENCES[0]))
    assert done.outcome is not None
    assert log == ["call"]
    assert "Doubtful" not in asked[0]


def test_a_policy_that_met_its_dead_end_says_that_the_goal_is_impossible():
    domain = Domain("throw")
    domain.action(
        "throw",
        requires=["held"],
        provides=["over", "not held"],
        outcomes=[Outcome("0.5", ["over", "not held"]), Outcome("0.5", ["not held"], name="lost")],
    )
    problem = domain.problem(initial=["held"], goal=["over"])
    ends = set()
    for seed in range(12):
        simulated = SimulatedWorld(problem, seed=seed, chances=True)
        outcome = run_virtual(Executor(simulated.world, model="policy").run(problem))
        ends.add(outcome.status)
        assert (outcome.missing is not None) is (outcome.status is RunStatus.IMPOSSIBLE)
        assert (outcome.status is RunStatus.SUCCEEDED) is simulated.holds(problem.goal.hard)
    assert ends == {RunStatus.SUCCEEDED, RunStatus.IMPOSSIBLE}
