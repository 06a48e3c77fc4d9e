"""What is unknown is looked at, and nothing counts as success that nobody saw."""

import pytest

from executor import ActionPlan, ActionResult, Executor, Facts, RunStatus, World
from executor.testing import run_virtual
from planner import Atom, Domain, When

MODELS = ("sequential", "parallel", "dag", "reactive")


def line(tags=(), requires=("suspended", "not ended"), *, ended=True, **fields):
    """Return a world with a line that may be resumed unless its contract has ended, its problem, and a log."""
    domain, log = Domain("line"), []
    domain.predicate("suspended")
    domain.predicate("ended")
    domain.action("resume", requires=list(requires), provides=["active"], tags=list(tags))
    world = World(domain)
    world.handler("resume")(lambda: log.append("resume"))
    world.observer("suspended", conclusive=True)(lambda: log.append("suspended?") or True)
    world.observer("ended", conclusive=True)(lambda: log.append("ended?") or ended)
    world.observer("active", conclusive=True)(lambda: "resume" in log)
    return world, domain.problem(goal=["active"], unknown=["suspended", "ended"], **fields), log


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tags", [(), ("needs_observed",), ("irreversible",)], ids=str)
@pytest.mark.parametrize(
    "requires",
    [
        ("suspended", "not ended"),
        ("not ended", "suspended"),
        ("(and (suspended) (or (not (ended)) (not (suspended))))",),
        ("(not (imply (suspended) (ended)))",),
    ],
    ids=str,
)
@pytest.mark.parametrize("ended", [True, False])
def test_every_unknown_condition_is_looked_at_before_a_step(model, tags, requires, ended):
    world, problem, log = line(tags, requires, ended=ended)
    outcome = run_virtual(Executor(world, model=model).run(problem))
    if ended:
        assert "resume" not in log
        assert outcome.status is RunStatus.IMPOSSIBLE
    else:
        assert outcome.status is RunStatus.SUCCEEDED
        assert {"suspended?", "ended?"} <= set(log[: log.index("resume")])


def test_unknown_conditions_of_conditional_effects_are_looked_at():
    domain, log = Domain("mail"), []
    domain.predicate("muted")
    domain.predicate("heard")
    domain.action("send", provides=["sent"], when=[When(requires=["not muted"], provides=["heard"])])
    world = World(domain)
    world.handler("send")(lambda: log.append("send"))
    world.observer("muted", conclusive=True)(lambda: log.append("muted?") or True)
    world.observer("sent", conclusive=True)(lambda: "send" in log)
    outcome = run_virtual(Executor(world).run(domain.problem(goal=["sent"], unknown=["muted"])))
    assert outcome.status is RunStatus.SUCCEEDED
    assert log.index("muted?") < log.index("send")
    assert not outcome.state.beliefs.holds(Atom("heard"))


def test_one_look_that_tells_of_several_facts_is_taken_once():
    domain, looks = Domain("phone"), []
    domain.action("fix", requires=["not a", "not b", "not c"], provides=["ok"])
    world = World(domain)
    world.handler("fix")(lambda: None)
    world.observer("ok", conclusive=True)(lambda: True)

    @world.observer("a", "b", "c", conclusive=True)
    async def look():
        looks.append(1)
        return Facts({"a": False, "b": False, "c": False})

    outcome = run_virtual(Executor(world).run(domain.problem(goal=["ok"], unknown=["a", "b", "c"])))
    assert outcome.status is RunStatus.SUCCEEDED
    assert len(looks) == 1


def lamp(shines, *, switched=True):
    """Return a world with a lamp that shines when it is plugged and switched, its problem, and a count of looks."""
    domain, looks = Domain("lamp"), []
    domain.derive("shines", {}, "(and (plugged) (switched))")
    domain.action("plug", provides=["plugged"])
    domain.action("switch", provides=["switched"])
    world = World(domain)
    world.handler("plug")(lambda: None)
    world.handler("switch")(lambda: None)
    world.observer("plugged", conclusive=True)(lambda: True)
    world.observer("switched", conclusive=True)(lambda: switched)
    world.observer("shines", conclusive=True)(lambda: looks.append(1) or shines())
    return world, domain.problem(goal=["shines"]), looks


def test_an_observer_of_a_derived_goal_is_asked_and_believed():
    world, problem, looks = lamp(lambda: True)
    assert run_virtual(Executor(world).run(problem)).status is RunStatus.SUCCEEDED
    assert looks
    world, problem, looks = lamp(lambda: False)
    outcome = run_virtual(Executor(world).run(problem))
    assert outcome.status is RunStatus.FAILED
    assert "saw that shines does not hold, though it follows from facts that hold" in outcome.reason


@pytest.mark.parametrize("told", [True, False])
def test_an_observer_of_a_derived_fact_never_breaks_a_run_that_fails(told):
    world, problem, _ = lamp(lambda: told, switched=False)
    outcome = run_virtual(Executor(world).run(problem))
    assert outcome.status is (RunStatus.SUCCEEDED if told else RunStatus.FAILED)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("is_clear", [True, False])
def test_a_derived_condition_is_looked_at_where_it_has_an_observer(model, is_clear):
    domain, log = Domain("road"), []
    domain.derive("clear", {}, "(and (not (snow)) (not (rain)))")
    domain.action("drive", requires=["clear"], provides=["there"])
    world = World(domain)
    world.handler("drive")(lambda: log.append("drive"))
    world.observer("there", conclusive=True)(lambda: "drive" in log)
    world.observer("clear", conclusive=True)(lambda: log.append("clear?") or is_clear)
    outcome = run_virtual(Executor(world, model=model).run(domain.problem(goal=["there"], unknown=["snow", "rain"])))
    assert log[0] == "clear?"
    assert ("drive" in log) is is_clear
    assert (outcome.status is RunStatus.SUCCEEDED) is is_clear


def orders(observe, report, goal):
    """Return a world with a list of orders, one of which the problem does not know, and its problem."""
    domain, log = Domain("orders", types=["order"]), []
    domain.action("list_orders", provides=["listed"])
    domain.action("handle", {"o": "order"}, requires=["listed", "pending(o)"], provides=["handled(o)"])
    world = World(domain)
    reported = ActionResult(observed=("pending(o7)",)) if report else None
    world.handler("list_orders")(lambda: log.append("listed") or reported)
    world.handler("handle")(lambda o: f"{o} is handled")
    world.observer("listed", conclusive=True)(lambda: "listed" in log)
    if observe:
        world.observer("pending(_)", conclusive=True)(lambda: ["o7"])
    return world, domain.problem(goal=["listed", goal])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("observe", "report"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize(
    ("goal", "statuses"),
    [
        ("(forall (?o - order) (not (pending ?o)))", (RunStatus.IMPOSSIBLE, RunStatus.FAILED)),
        ("(not (exists (?o - order) (pending ?o)))", (RunStatus.IMPOSSIBLE, RunStatus.FAILED)),
        ("(forall (?o - order) (or (pending ?o) (handled ?o)))", (RunStatus.SUCCEEDED, RunStatus.UNVERIFIED)),
        ("listed", (RunStatus.SUCCEEDED, RunStatus.SUCCEEDED)),
    ],
)
def test_a_named_object_that_the_problem_lacks_counts_in_a_goal_over_all_objects(
    model, observe, report, goal, statuses
):
    world, problem = orders(observe, report, goal)
    outcome = run_virtual(Executor(world, model=model).run(problem))
    assert outcome.status is statuses[not observe]
    if goal != "listed" or report:
        assert list(outcome.state.found) == ["o7"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("confidence", "status"), [(1.0, RunStatus.SUCCEEDED), (0.99, RunStatus.UNVERIFIED)])
def test_a_goal_reached_through_a_step_of_little_confidence_is_unverified(model, confidence, status):
    domain = Domain("letters")
    domain.action("draft", provides=["drafted"], tags=["trusted"])
    domain.action("send", requires=["drafted"], provides=["sent"], tags=["trusted"])
    world = World(domain)
    world.handler("draft")(lambda: ActionResult(confidence=confidence))
    world.handler("send")(lambda: None)
    outcome = run_virtual(Executor(world, model=model).run(domain.problem(goal=["sent"])))
    assert outcome.status is status
    if status is RunStatus.UNVERIFIED:
        assert outcome.reason == "draft(): the handler is sure only to 0.99"


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("goal", "sure"),
    [("not dirty", False), ("sold", False), ("shown", False), ("dusted", True), ("praised", True)],
    ids=["it ended", "needed not to hold", "under a condition", "another effect", "what ended afterwards"],
)
def test_confidence_counts_in_what_a_step_ends_and_in_what_follows_under_a_condition(model, goal, sure):
    domain = Domain("house")
    domain.action("praise", requires=["dirty"], provides=["praised"], tags=["trusted"])
    domain.action("clean", provides=["not dirty"], tags=["trusted"])
    domain.action("sell", requires=["not dirty"], provides=["sold"], tags=["trusted"])
    domain.action("dust", provides=["dusted"], when=[When(["not dirty"], ["shown"])], tags=["trusted"])
    world = World(domain)
    for name in ("praise", "sell", "dust"):
        world.handler(name)(lambda: None)
    world.handler("clean")(lambda: ActionResult(confidence=0.5))
    order = {"praise": [], "clean": ["praise"], "sell": ["clean"], "dust": ["sell"]}
    steps = [{"id": name, "action": name, "depends_on": before} for name, before in order.items()]
    plan = ActionPlan.model_validate({"goal": [goal], "initial": ["dirty"], "steps": steps, "model": model})
    outcome = run_virtual(Executor(world).run(plan))
    if sure:
        assert outcome.status is RunStatus.SUCCEEDED
    else:
        assert outcome.status is RunStatus.UNVERIFIED
        assert outcome.reason == "clean(): the handler is sure only to 0.5"


@pytest.mark.parametrize("sure", [True, False])
def test_a_step_that_must_come_after_an_unsure_one_is_no_surer(sure):
    """One of several that may have come before is enough."""
    domain = Domain("office", types=["item"])
    domain.action("look", {"x": "item"}, provides=["looked(x)"], tags=["trusted"])
    domain.action("sign", {"x": "item"}, after=["look(_)"], provides=["signed(x)"], tags=["trusted"])
    domain.action("send", {"x": "item"}, requires=["signed(x)"], provides=["sent(x)"], tags=["trusted"])
    world = World(domain)
    world.handler("look")(lambda x: ActionResult(confidence=1.0 if sure and x == "a" else 0.5))
    world.handler("sign")(lambda x: x != "")
    world.handler("send")(lambda x: x != "")
    called = [("look", "b"), ("look", "a"), ("sign", "b"), ("send", "b")]
    steps = [{"id": str(at), "action": name, "arguments": {"x": item}} for at, (name, item) in enumerate(called)]
    objects = {"a": "item", "b": "item"}
    plan = ActionPlan.model_validate({"goal": ["sent(b)"], "objects": objects, "steps": steps})
    outcome = run_virtual(Executor(world).run(plan))
    assert outcome.status is (RunStatus.SUCCEEDED if sure else RunStatus.UNVERIFIED)
    assert sure or outcome.reason.endswith("the handler is sure only to 0.5")


def test_confidence_in_a_step_that_the_goal_does_not_rest_on_changes_nothing():
    domain = Domain("letters")
    domain.action("log", provides=["logged"], tags=["trusted"])
    domain.action("send", provides=["sent"], tags=["trusted"])
    world = World(domain)
    world.handler("log")(lambda: ActionResult(confidence=0.2))
    world.handler("send")(lambda: None)
    steps = [{"id": "1", "action": "log"}, {"id": "2", "action": "send"}]
    outcome = run_virtual(Executor(world).run(ActionPlan.model_validate({"goal": ["sent"], "steps": steps})))
    assert outcome.status is RunStatus.SUCCEEDED


def test_what_an_observer_raises_is_the_reason():
    domain = Domain("x")
    domain.action("fix", requires=["not broken"], provides=["ok"])
    domain.derive("works", {}, "(and (not (broken)))")
    world = World(domain)
    world.handler("fix")(lambda: None)

    @world.observer("broken", conclusive=True)
    def look():
        raise TypeError("what is this?")

    outcome = run_virtual(Executor(world).run(domain.problem(goal=["works"], unknown=["broken"])))
    assert outcome.status is RunStatus.UNVERIFIED
    assert outcome.reason == "the observer look of broken failed: TypeError: what is this?"


@pytest.mark.parametrize("answer", [1, "yes", 0.5, object()], ids=["int", "str", "float", "object"])
def test_an_answer_that_does_not_fit_is_in_the_reason_of_the_step(answer):
    domain = Domain("x")
    domain.action("fix", provides=["ok"])
    world = World(domain)
    world.handler("fix")(lambda: None)
    world.observer("ok", conclusive=True)(lambda: answer)
    outcome = run_virtual(Executor(world).run(domain.problem(goal=["ok"])))
    assert outcome.status is RunStatus.UNVERIFIED
    for reason in (outcome.reason, outcome.steps[0].reason):
        assert "of ok" in reason
        assert type(answer).__name__ in reason or repr(answer) in reason
