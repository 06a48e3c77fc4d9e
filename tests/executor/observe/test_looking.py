"""What is looked at, what is believed of it, and what nobody may rest on."""

import asyncio

import pytest

from executor import (
    CANNOT_SAY,
    ActionPlan,
    ActionResult,
    ExecutionPolicy,
    Executor,
    Facts,
    RunStatus,
    StepStatus,
    World,
)
from executor.observe.observe import Lookout
from executor.testing import run_virtual
from planner import Domain
from planner.errors import InputError
from planner.model import Atom

MODELS = ("sequential", "parallel", "dag", "reactive")


def made(**actions):
    """Return a domain with these actions, its world, and what was done."""
    domain, deeds = Domain("looking", types=["room"]), []
    for name, fields in actions.items():
        domain.action(name, fields.pop("parameters", {}), **fields)
    return domain, World(domain), deeds


def ran(world, domain, *goal, initial=(), objects=(), **options):
    return run_virtual(
        Executor(world, **options).run(domain.problem(objects=objects, initial=initial, goal=list(goal)))
    )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tag", ["irreversible", "needs_observed"])
@pytest.mark.parametrize("fact", ["armed", "not guarded"])
def test_what_the_problem_states_is_looked_at_before_what_cannot_be_taken_back(model, tag, fact):
    domain, world, deeds = made(fire={"requires": [fact], "provides": ["fired"], "tags": [tag]})
    domain.predicate("armed")
    domain.predicate("guarded")
    world = World(domain)
    world.handler("fire")(lambda: deeds.append("fire"))
    world.observer("armed")(lambda: False)
    world.observer("guarded")(lambda: True)
    outcome = ran(world, domain, "fired", initial=["armed"], model=model)
    assert (outcome.status, deeds) == (RunStatus.IMPOSSIBLE, [])
    assert fact in outcome.reason


@pytest.mark.parametrize("model", MODELS)
def test_what_a_step_itself_requires_is_looked_at_too(model):
    domain, world, deeds = made(fire={"provides": ["fired"], "tags": ["irreversible"]})
    domain.predicate("armed")
    world = World(domain)
    world.handler("fire")(lambda: deeds.append("fire"))
    world.observer("armed")(lambda: False)
    steps = [{"id": "1", "action": "fire", "requires": ["armed"]}]
    plan = ActionPlan.model_validate({"initial": ["armed"], "steps": steps, "model": model})
    assert run_virtual(Executor(world).run(plan)).status is RunStatus.FAILED
    assert not deeds


@pytest.mark.parametrize("sees", [None, lambda: CANNOT_SAY])
def test_what_the_problem_states_counts_where_nobody_can_see_it(sees):
    domain, world, deeds = made(fire={"requires": ["armed"], "provides": ["fired"], "tags": ["irreversible"]})
    world.handler("fire")(lambda: deeds.append("fire"))
    if sees is not None:
        world.observer("armed")(sees)
    assert ran(world, domain, "fired", initial=["armed"]).status is RunStatus.UNVERIFIED
    assert deeds == ["fire"]


@pytest.mark.parametrize(("times", "done"), [(1, True), (99, False)])
def test_nothing_irreversible_rests_on_what_an_observer_failed_to_see(times, done):
    domain, world, deeds = made(fire={"requires": ["armed"], "provides": ["fired"], "tags": ["irreversible"]})
    world.handler("fire")(lambda: deeds.append("fire"))
    looks = []

    @world.observer("armed")
    async def armed():
        looks.append(1)
        if len(looks) <= times:
            raise OSError("no answer")
        return True

    world.observer("fired")(lambda: bool(deeds))
    outcome = ran(world, domain, "fired", initial=["armed"])
    assert (outcome.status is RunStatus.SUCCEEDED, bool(deeds)) == (done, done)


@pytest.mark.parametrize(("look", "done"), [("plan", []), ("goal", []), ("never", ["fire"])])
def test_other_steps_rest_on_what_the_problem_states_only_where_nobody_looks(look, done):
    domain, world, deeds = made(fire={"requires": ["armed"], "provides": ["fired"]})
    world.handler("fire")(lambda: deeds.append("fire"))
    world.observer("armed")(lambda: False)
    ran(world, domain, "fired", initial=["armed"], look=look)
    assert deeds == done


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tags", [[], ["trusted"]])
def test_what_a_handler_denies_is_not_believed(model, tags):
    domain, world, _ = made(do={"provides": ["done"], "tags": tags})
    world.handler("do")(lambda: ActionResult(observed=("not done",)))
    outcome = ran(world, domain, "done", model=model)
    beliefs, done = outcome.state.beliefs, Atom("done")
    assert (outcome.status, outcome.steps[0].status) == (RunStatus.FAILED, StepStatus.FAILED)
    assert (beliefs.note(done).holds, beliefs.is_true(done)) == (False, False)


@pytest.mark.parametrize(
    ("reports", "status"),
    [(("done",), RunStatus.SUCCEEDED), (("other",), RunStatus.SUCCEEDED)],
)
@pytest.mark.parametrize("sees", [False, True])
def test_a_trusted_action_may_report_its_effects(reports, status, sees):
    domain, world, deeds = made(do={"provides": ["done"], "tags": ["trusted"]}, more={"provides": ["other"]})
    world.handler("do")(lambda: deeds.append("do") or ActionResult(observed=reports))
    if sees:
        world.observer("done")(lambda: bool(deeds))
    outcome = ran(world, domain, "done")
    assert (outcome.status, outcome.steps[0].status) == (status, StepStatus.SUCCEEDED)


def test_what_an_observer_sees_is_believed_before_what_a_handler_reports():
    domain, world, _ = made(do={"provides": ["done"]})
    world.handler("do")(lambda: ActionResult(observed=("not done",)))
    world.observer("done")(lambda: True)
    assert ran(world, domain, "done").status is RunStatus.SUCCEEDED


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ("dun(hall)", "there is no predicate 'dun'"),
        ("done(hall, hall)", "has 1 arguments"),
        ("tidy(hall)", "derived"),
        ("done(", "is no fact"),
        ("done(room 7)", 'names in quotes: done("room 7")'),
        ("done(Müller & Söhne)", 'names in quotes: done("Müller & Söhne")'),
        ("not done(https://x/a?b=1)", 'names in quotes: done("https://x/a?b=1")'),
    ],
)
def test_a_report_that_is_no_fact_of_the_domain_fails_the_step_and_says_why(report, said):
    domain, world, deeds = made(do={"parameters": {"room": "room"}, "provides": ["done(room)"]})
    domain.derive("tidy(room)", {"room": "room"}, ["done(room)"])
    world = World(domain)
    world.handler("do", policy=ExecutionPolicy(retries=3))(
        lambda room: deeds.append(room) or ActionResult(observed=(report,))
    )
    outcome = ran(world, domain, "done(hall)", objects={"hall": "room"})
    assert (outcome.status, outcome.steps[0].status, len(deeds)) == (RunStatus.FAILED, StepStatus.FAILED, 1)
    assert said in outcome.reason


def test_a_report_of_what_the_problem_does_not_have_is_told_and_harms_nothing():
    domain, world, _ = made(do={"parameters": {"room": "room"}, "provides": ["done(room)"]})
    world.handler("do")(lambda **_: ActionResult(observed=("done(hal)", "not done(cellar)")))
    world.observer("done(room)")(lambda room: room == "hall")
    outcome = ran(world, domain, "done(hall)", objects={"hall": "room"})
    assert outcome.status is RunStatus.SUCCEEDED
    told = [each.reason for each in outcome.state.disagreements]
    assert told == ["do(hall) reports done(cellar): the problem has no object 'cellar'"]
    assert list(outcome.state.found) == ["hal"], "what is said to be so joins the run"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("t1", "'t1' is a place, not a room"),
        (Facts({"at(r2, lab)": True, "at(r2, mars)": False}), "the problem has no object 'mars'"),
    ],
)
def test_what_is_seen_of_objects_that_the_problem_does_not_have_is_told_once(answer, why):
    domain = Domain("looking", types={"place": "object", "room": "place", "robot": "object"})
    parameters = {"robot": "robot", "room": "room"}
    domain.action("go", parameters, provides=["at(robot, room)"], modifies=["at(robot, _)"], tags=["idempotent"])
    world = World(domain)
    world.handler("go")(lambda **_: None)
    world.observer("at(robot, _)", conclusive=True, settle_within=3)(lambda robot: robot and answer)
    objects = {"r2": "robot", "hall": "room", "lab": "room", "t1": "place"}
    problem = domain.problem(objects=objects, goal=["at(r2, lab)"])
    outcome = run_virtual(Executor(world).run(problem))
    seen = isinstance(answer, Facts)
    assert outcome.status is (RunStatus.SUCCEEDED if seen else RunStatus.FAILED)
    told = [each.reason for each in outcome.state.disagreements]
    assert len(told) == 1
    assert told[0].startswith("the observer <lambda> told of at(r2, ")
    assert why in told[0]


@pytest.mark.parametrize(
    ("expects", "seen", "status"),
    [
        ("(or (a) (b))", {"a": False, "b": False}, StepStatus.FAILED),
        ("(or (a) (b))", {"a": False, "b": True}, StepStatus.SUCCEEDED),
        ("(or (a) (b))", {"a": False}, StepStatus.UNVERIFIED),
        ("(or (a) (b) (c))", {"a": False, "b": False}, StepStatus.UNVERIFIED),
        ("(imply (a) (b))", {"a": False}, StepStatus.SUCCEEDED),
        ("(imply (a) (b))", {"a": True}, StepStatus.UNVERIFIED),
        ("both", {"a": True, "b": True}, StepStatus.SUCCEEDED),
        ("both", {"a": True, "b": False}, StepStatus.FAILED),
    ],
)
@pytest.mark.parametrize("settles", [0.0, 2.0])
def test_what_a_step_expects_is_looked_at_also_where_it_is_no_literal(expects, seen, status, settles):
    domain, world, _ = made(do={}, **{f"make_{name}": {"provides": [name]} for name in "abc"})
    domain.derive("both", {}, ["a", "b"])
    world = World(domain)
    world.handler("do")(lambda: None)
    for name, holds in seen.items():
        looks = []

        @world.observer(name, conclusive=True, settle_within=settles)
        async def look(name=name, holds=holds, looks=looks):
            looks.append(name)
            return holds if not settles or len(looks) > 2 else not holds

    steps = [{"id": "1", "action": "do", "expects": [expects]}]
    plan = ActionPlan.model_validate({"initial": list("abc"), "steps": steps})
    if settles and (status is not StepStatus.SUCCEEDED or "imply" in expects):
        pytest.skip("nothing that is waited for")
    assert run_virtual(Executor(world).run(plan)).steps[0].status is status


def test_an_observer_that_is_not_to_be_stopped_does_not_stop_the_run():
    domain, world, _ = made(do={"provides": ["done"]})
    world.handler("do")(lambda: None)
    over = []

    @world.observer("done", timeout=1)
    async def done():
        while not over:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                continue

    async def within():
        try:
            return await asyncio.wait_for(Executor(world).run(domain.problem(goal=["done"])), 100)
        finally:
            over.append(True)

    outcome = run_virtual(within())
    assert outcome.status is RunStatus.UNVERIFIED
    assert "did not answer within 1 s" in outcome.state.disagreements[0].reason


def stocked(*, observed=True):
    """Return a plan that looks at the stock and then pays, its world, and the ledger."""
    domain, world, ledger = made(
        check={"provides": ["checked"]}, pay={"requires": ["checked"], "provides": ["paid"], "tags": ["irreversible"]}
    )
    world.handler("pay")(lambda: ledger.append("us"))
    world.observer("checked")(lambda: bool(ledger))
    if observed:
        world.observer("paid", conclusive=True)(lambda: bool({"us", "ada"} & {*ledger}))
    return domain, world, ledger


@pytest.mark.parametrize("model", ["reactive"])
def test_what_comes_about_by_itself_meanwhile_is_not_done_again(model):
    domain, world, ledger = stocked()
    world.handler("check")(lambda: ledger.extend(["checked", "ada"]))
    outcome = ran(world, domain, "checked", "paid", model=model)
    assert (outcome.status, ledger) == (RunStatus.SUCCEEDED, ["checked", "ada"])
    assert outcome.steps[1].status is StepStatus.SKIPPED


def test_what_is_undone_meanwhile_is_seen_before_the_next_step_of_a_reactive_run():
    domain, world, ledger = stocked()
    world.handler("check")(lambda: ledger.append("checked"))
    outcome = ran(world, domain, "checked", "paid", model="reactive")
    assert (outcome.status, ledger) == (RunStatus.SUCCEEDED, ["checked", "us"])


@pytest.mark.parametrize("seen", [None, True, False])
def test_a_reactive_run_skips_what_a_handler_reports_unless_it_is_seen_to_be_otherwise(seen):
    domain, world, deeds = made(
        a={"provides": ["fa"]}, b={"requires": ["fa"], "provides": ["fb"]}, c={"requires": ["fb"], "provides": ["fc"]}
    )
    world.handler("a")(lambda: deeds.append("a") or ActionResult(observed=("fb",)))
    world.handler("b")(lambda: deeds.append("b"))
    world.handler("c")(lambda: deeds.append("c"))
    if seen is not None:
        world.observer("fb")(lambda: (seen and "a" in deeds) or "b" in deeds)
    ran(world, domain, "fc", model="reactive")
    assert deeds == (["a", "b", "c"] if seen is False else ["a", "c"])


@pytest.mark.parametrize(("max_age", "looks"), [(None, 2), (100.0, 1), (0.5, 2)])
def test_a_look_counts_for_its_time(max_age, looks):
    """The door is looked at before the first step and before `ring`, two seconds later."""
    domain, world, acts = made(
        knock={"provides": ["knocked"]},
        lean={"requires": ["knocked"], "provides": ["leant"]},
        ring={"requires": ["leant", "open"], "provides": ["rung"], "tags": ["needs_observed"]},
    )
    looked = []

    @world.observer("open", max_age=max_age)
    def look():
        looked.append(1)
        return True

    for name, fact in (("knock", "knocked"), ("lean", "leant"), ("ring", "rung")):
        world.handler(name)(make_slow(acts, name))
        world.observer(fact)(lambda: True)
    assert ran(world, domain, "rung", initial=["open"]).status is RunStatus.SUCCEEDED
    assert len(looked) == looks


def test_no_look_counts_from_before_an_act():
    domain, world, _ = made(ring={"provides": ["rung"]}, open={"provides": ["opened"]})
    for fact in ("rung", "opened"):
        world.observer(fact, max_age=100)(lambda: True)
    functions = [each.function for each in world.observers]
    state = Executor(world).make_initial_state(ActionPlan(), domain.problem())
    lookout = Lookout(world, state.objects)
    lookout._kept = {(each, ()): (0.0, True) for each in functions}

    async def act():
        lookout.note_act([Atom("rung")])

    asyncio.run(act())
    assert [call for call, _ in lookout._kept] == functions[1:]


def make_slow(acts, name):
    async def act():
        await asyncio.sleep(1)
        acts.append(name)

    return act


def test_max_age_is_a_number_of_seconds():
    _, world, _ = made(ring={"provides": ["rung"]})
    with pytest.raises(InputError, match="max_age must be a number of seconds"):
        world.observer("rung", max_age="long")


@pytest.mark.parametrize(("look", "done"), [("plan", ["walk"]), ("never", ["walk"]), ("goal", ["ride"])])
def test_a_host_may_have_all_looked_at_that_is_relevant_to_the_goal(look, done):
    road, acts = Domain("road"), []
    road.predicate("bike")
    road.predicate("rain")
    road.action("walk", provides=["there"], cost=5)
    road.action("ride", requires=["bike"], provides=["there"])
    world, looks = World(road), []
    for name in ("walk", "ride"):
        world.handler(name)(lambda name=name: acts.append(name))
    world.observer("bike", conclusive=True)(lambda: looks.append("bike") or True)
    world.observer("rain", conclusive=True)(lambda: looks.append("rain") or True)
    world.observer("there", conclusive=True)(lambda: bool(acts))
    assert run_virtual(Executor(world, look=look).run(road.problem(goal=["there"]))).succeeded
    assert (acts, "bike" in looks, "rain" in looks) == (done, look == "goal", False)
