"""What a run takes, against what its plan allows: it stops, or asks, before it begins more."""

import pytest

from executor import ActionPlan, ActionResult, ExecutionPolicy, Executor, Metrics, RunStatus, StepStatus, World
from executor.plan_check.estimate import estimate
from executor.recovery.ask_people import LATER
from executor.testing import run_virtual
from planner import Domain, PlanError

MODELS = ("sequential", "parallel", "dag", "reactive")


def works(number=3, **metrics):
    """Return a world where each of some actions, one after the other, takes what `metrics` say, and what was done."""
    domain, done = Domain("works"), []
    for each in range(number):
        requires = [f"f{each - 1}"] if each else []
        domain.action(f"do{each}", {}, requires=requires, provides=[f"f{each}"], tags=["trusted"])
    world = World(domain)
    for each in range(number):

        def handler(each=each):
            done.append(each)
            return ActionResult(metrics=Metrics(**metrics))

        world.handler(f"do{each}")(handler)
    return world, done


def plan(number=3, model="sequential", **allowed):
    return ActionPlan.model_validate(
        {
            "model": model,
            "goal": [f"f{number - 1}"],
            "steps": [{"id": f"s{each}", "action": f"do{each}"} for each in range(number)],
            "metadata": {"constraints": allowed},
        }
    )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("metrics", "allowed", "said"),
    [
        ({"tokens": 1_000_000}, {"tokens": 100}, "1e+06 tokens"),
        ({"tokens": 60}, {"tokens": 100}, "120 tokens"),
        ({"cost": 2.5}, {"cost": 4}, "cost 5"),
    ],
)
def test_a_run_that_reports_more_than_is_allowed_begins_nothing_more(model, metrics, allowed, said):
    world, done = works(**metrics)
    outcome = run_virtual(Executor(world).run(plan(model=model, **allowed)))
    assert outcome.status is RunStatus.FAILED
    assert len(done) < 3
    assert "allowed" in outcome.reason
    assert said in outcome.reason.replace("1,000,000", "1e+06")
    assert outcome.steps[-1].status is StepStatus.PENDING


def test_the_time_that_steps_say_they_took_is_limited():
    world, done = works(duration=50.0)
    outcome = run_virtual(Executor(world).run(plan(duration=80)))
    assert outcome.status is RunStatus.FAILED
    assert done == [0, 1]


@pytest.mark.parametrize("model", MODELS)
def test_a_run_that_is_done_when_it_passes_a_limit_has_succeeded(model):
    world, done = works(tokens=40)
    assert run_virtual(Executor(world).run(plan(model=model, tokens=100))).status is RunStatus.SUCCEEDED
    assert done == [0, 1, 2]


@pytest.mark.parametrize(("answer", "status"), [("yes", RunStatus.SUCCEEDED), ("no", RunStatus.FAILED)])
def test_somebody_who_is_asked_may_lift_a_limit(answer, status):
    world, done = works(tokens=60)
    asked = []
    outcome = run_virtual(Executor(world, ask=lambda each: asked.append(each.question) or answer).run(plan(tokens=50)))
    assert outcome.status is status
    assert asked == ["limit:tokens"]
    assert len(done) == (3 if answer == "yes" else 1)


def test_the_question_may_be_answered_later_and_what_was_taken_is_not_forgotten(tmp_path):
    world, done = works(tokens=60)
    executor = Executor(world, journal=tmp_path / "runs.db", ask=LATER)
    outcome = run_virtual(executor.run(plan(tokens=100), run="r"))
    assert outcome.status is RunStatus.WAITING
    assert done == [0, 1]
    assert run_virtual(executor.resume("r")).status is RunStatus.WAITING
    outcome = run_virtual(executor.resume("r", answers={"limit:tokens": "yes"}))
    assert outcome.status is RunStatus.SUCCEEDED
    assert outcome.metrics["tokens"] == 180


@pytest.mark.parametrize("observed", [True, False])
def test_attempts_that_failed_count_too(observed):
    domain, answers = Domain("tries"), [False, False, True]
    domain.action("try_it", {}, provides=["done"], tags=["idempotent"])
    world = World(domain)

    def try_it():
        return ActionResult(success=answers.pop(0), metrics=Metrics(tokens=10))

    world.handler("try_it", policy=ExecutionPolicy(retries=2, backoff=0, jitter=0))(try_it)
    if observed:
        world.observer("done")(lambda: not answers)
    outcome = run_virtual(Executor(world).run(domain.problem(goal=["done"])))
    assert outcome.metrics["tokens"] == 30


def declaring(uses=40):
    """Return a world where each of three actions declares that it uses tokens, and reports none."""
    domain = Domain("declaring")
    for each in range(3):
        requires = [f"f{each - 1}"] if each else []
        domain.action(f"do{each}", requires=requires, provides=[f"f{each}"], tags=["trusted"], uses={"tokens": uses})
    world = World(domain)
    for each in range(3):
        world.handler(f"do{each}")(lambda: None)
    return world


def test_declared_tokens_are_estimated_before_a_run():
    world = declaring()
    problem = world.domain.problem(goal=["f2"])
    assert estimate(problem, plan().steps).tokens == 120
    one = plan().model_copy(update={"steps": tuple(each.model_copy(update={"tokens": 5}) for each in plan().steps)})
    assert estimate(problem, one.steps).tokens == 15
    with pytest.raises(PlanError, match="is thought to take 120 tokens, and no more than 100"):
        run_virtual(Executor(world).run(plan(tokens=100)))
    assert run_virtual(Executor(world).run(plan(tokens=120))).status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("model", MODELS)
def test_declared_tokens_count_where_handlers_report_none(model):
    world, calls = declaring(), []
    world.policy("do0", ExecutionPolicy(retries=3, backoff=0, jitter=0))
    world.handler("do0")(lambda: calls.append(0) or len(calls) > 2)  # three attempts: more than was thought
    outcome = run_virtual(Executor(world).run(plan(model=model, tokens=120)))
    assert outcome.status is RunStatus.FAILED
    assert "the run has taken 160 tokens, and no more than 120 tokens is allowed" in outcome.reason
    assert outcome.metrics["tokens"] == 0  # metrics are what was reported


def test_reported_tokens_take_the_place_of_declared_ones():
    world = declaring()
    for each in range(3):
        world.handler(f"do{each}")(lambda: ActionResult(metrics=Metrics(tokens=1)))
    world.policy("do0", ExecutionPolicy(retries=0))
    outcome = run_virtual(Executor(world).run(plan(tokens=120)))
    assert (outcome.status, outcome.metrics["tokens"]) == (RunStatus.SUCCEEDED, 3)
