"""`forethought run`: simulated worlds, bound handlers, journals, and what the exit codes say."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from executor import ActionPlan
from executor.cli.execute import ledger_path
from planner import load, solve
from planner.cli import main
from planner.cli.options import plan_text
from planner.cli.output import Exit

Run = Callable[..., tuple[int, str, str]]
NEGATIVE = ("FAILED", "COMPENSATED", "IMPOSSIBLE")
ENDS = {"SUCCEEDED": Exit.OK, **dict.fromkeys(NEGATIVE, Exit.NEGATIVE)}
LAMPS = """
import asyncio
from pathlib import Path

from executor import World
from planner.language.declare import Domain, Entity


class Lamp(Entity): ...


lamps = Domain("lamps")
lit = Path(__file__).with_suffix(".lit")
lit.touch()
begun = lit.read_text()
desk, hall = Lamp("desk"), Lamp("hall")


@lamps.action(requires=["wired(lamp)"], provides=["on(lamp)"], tags=["{tag}"])
def light(lamp: Lamp) -> None:
    assert isinstance(lamp, Lamp)
    {body}


world = World(lamps)


@world.observer("on(lamp)")
def is_on(lamp: Lamp) -> bool:
    return lamp.name in lit.read_text()


problem = lamps.problem(objects=[desk, hall], initial=["wired(desk)", "wired(hall)"], goal=["on(desk)", "on(hall)"])
"""

ASKS = """
from executor import Wait, World
from planner.language.declare import Domain

post = Domain("post")
post.action("write", {}, provides=["written"])
post.action("send", {}, requires=["written"], provides=["sent"], tags=["needs_approval"])
post.action("hand_in", {}, requires=["sent"], provides=["done"])
world = World(post)


@world.handler("write")
def write():
    return Wait("for Ada", choices=("short", "long"))


@world.handler("hand_in")
def hand_in():
    return Wait(event="opened")


world.handler("send")(lambda: None)
world.observer("done")(lambda: True)
problem = post.problem(goal=["done"])
"""
HOPELESS = "domain: d\nactions:\n  a: {requires: [p], provides: [q]}\n---\nproblem: x\ndomain: d\ngoal: [q]\n"
LONG = """
domain: wall
types: {wall: object}
actions:
  paint: {parameters: {w: wall}, provides: ["painted(w)"], duration: 120}
---
problem: north
objects: {n: wall}
goal: ["painted(n)"]
"""
LIGHT = "lit.write_text(lit.read_text() + lamp.name + ' ')"
ASLEEP = "await asyncio.sleep(0 if begun or lit.read_text().count(' ') < 2 else 60)"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def called(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(["run", *map(str, words)])
        said = capsys.readouterr()
        code = end.value.code
        assert isinstance(code, int)
        return code, said.out, said.err

    return called


@pytest.fixture
def lamps(tmp_path: Path) -> Callable[..., Path]:
    def written(body: str = LIGHT, tag: str = "idempotent") -> Path:
        path = tmp_path / "lamps.py"
        path.write_text(LAMPS.replace("{body}", body).replace("{tag}", tag))
        return path

    return written


@pytest.mark.parametrize("model", ["sequential", "parallel", "dag", "reactive"])
def test_a_plan_is_carried_out_in_the_simulated_world(run: Run, model: str) -> None:
    code, out, err = run("courier", "one-parcel", "--model", model)
    assert code == Exit.OK
    assert len(out.splitlines()) == 6
    assert all(line.startswith("succeeded") for line in out.splitlines())
    assert "SUCCEEDED, the goal was observed; in the simulated world, the goal holds" in err


def test_an_action_that_lasts_longer_than_handlers_may_hang_succeeds_in_the_simulated_world(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "wall.yaml"
    path.write_text(LONG)
    assert run(path)[0] == Exit.OK
    code, _, err = run("outing", "stroll")
    assert code == Exit.OK, err


def test_a_hierarchical_plan_too(run: Run) -> None:
    code, out, _ = run("household", "supper", "--json", "--quiet")
    assert code == Exit.OK
    assert (json.loads(out)["model"], json.loads(out)["simulated"]) == ("hierarchical", {"goal": True})


def test_json_says_everything_and_nothing_else_is_said(run: Run) -> None:
    code, out, err = run("courier", "--json", "--quiet")
    found = json.loads(out)
    assert (code, err) == (Exit.OK, "")
    assert found["status"] == "SUCCEEDED"
    first = found["steps"][0]
    assert 0 < first.pop("started") <= first.pop("ended")
    assert first == {
        "id": "s1",
        "action": "move",
        "arguments": ["r2", "office", "hall"],
        "status": "SUCCEEDED",
        "attempts": 1,
        "reason": "",
    }


def test_faults_are_drawn_by_the_seed_and_no_success_is_false(run: Run) -> None:
    codes = set()
    for seed in range(12):
        code, out, _ = run("courier", "--faults", 0.4, "--seed", seed, "--json", "--quiet")
        found = json.loads(out)
        codes.add(code)
        assert found["simulated"]["goal"] or found["status"] != "SUCCEEDED"
        assert code == ENDS.get(found["status"], Exit.NO_VERDICT)
    assert {Exit.OK, Exit.NEGATIVE} <= codes


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("nosuch",), Exit.USAGE, "no file, folder or shipped domain 'nosuch'"),
        (("courier", "nosuch"), Exit.USAGE, "no problem 'nosuch'"),
        (("courier", "--model", "dagg"), Exit.USAGE, "did you mean 'dag'?"),
        (("courier", "--real"), Exit.USAGE, "no action of 'courier' has a handler"),
        (("courier", "--real", "--faults", 0.5), Exit.USAGE, "--faults belongs to the simulated world"),
        (("courier", "--real", "--chances"), Exit.USAGE, "--chances belongs to the simulated world"),
        (("courier", "--learn"), Exit.USAGE, "--learn learns from a journal"),
        (("courier", "--resume", "x"), Exit.USAGE, "--journal FILE"),
        (("courier", "--resume", "x", "--journal", "/nowhere/j.db"), Exit.USAGE, "no such journal"),
        (("courier", "--run", "", "--journal", "/tmp/j.db"), Exit.USAGE, "the id of a run must be a text, got ''"),
        (("courier", "--run", "", "--real", "--journal", "/tmp/j.db"), Exit.USAGE, "the id of a run must be a text"),
        (("courier", "--resume", "", "--journal", "/tmp/j.db"), Exit.USAGE, "the id of a run must be a text"),
        (("courier", "--answer", "doubt:s1=yes"), Exit.USAGE, "--answer belongs to --resume RUN"),
        (("courier", "--answer", "yes"), Exit.USAGE, "QUESTION=ANSWER"),
        (("courier", "--complete", "s1=true"), Exit.USAGE, "--complete belongs to --resume RUN"),
        (("courier", "--complete", "=true"), Exit.USAGE, "--complete takes STEP=RESULT"),
        (("courier", "--journal", "/"), Exit.USAGE, "/: --journal is a file, and this is a folder"),
        (("courier", "--journal", ""), Exit.USAGE, "the journal has no name; name a file"),
        (("courier", "--plan", "/nowhere/plan.json"), Exit.USAGE, "there is no such file"),
        (("courier", "--stop-after", "0"), Exit.USAGE, "'0' is not a number of seconds above 0"),
        (("courier", "--time-limit", "soon"), Exit.USAGE, "'soon' is not a number of seconds"),
        (("courier", "--faults", 2), Exit.USAGE, "'--faults': Input should be less than or equal to 1"),
    ],
)
def test_mistakes_are_messages(run: Run, words: tuple[object, ...], code: Exit, message: str) -> None:
    found, out, err = run(*words)
    assert (found, out) == (code, "")
    assert message in err
    assert "Traceback" not in err


def test_without_a_plan_nothing_is_carried_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text(HOPELESS)
    code, out, err = run(tmp_path / "d.yaml")
    assert (code, out) == (Exit.NEGATIVE, "")
    assert "UNSOLVABLE" in err


def test_bound_handlers_are_called(run: Run, lamps: Callable[..., Path]) -> None:
    code, out, err = run(lamps(), "--real", "--json")
    assert code == Exit.OK, err
    assert "simulated" not in json.loads(out)
    assert {step["status"] for step in json.loads(out)["steps"]} == {"SUCCEEDED"}


def test_a_handler_that_does_nothing_is_no_success(run: Run, lamps: Callable[..., Path]) -> None:
    code, out, err = run(lamps("pass"), "--real")
    assert code == Exit.NEGATIVE
    assert "failed" in out
    assert "FAILED" in err


def test_approval_is_asked_for_and_given_later(run: Run, lamps: Callable[..., Path], tmp_path: Path) -> None:
    path, journal = lamps(tag="needs_approval"), tmp_path / "runs.db"
    code, _, err = run(path, "--real", "--yes")
    assert code == Exit.OK, err
    words: tuple[object, ...] = (path, "--real", "--journal", journal, "--json")
    code, out, err = run(*words)
    for _ in range(2):  # one for each lamp
        found = json.loads(out)
        assert (code, found["status"]) == (Exit.NO_VERDICT, "WAITING")
        question = found["questions"][0]["question"]
        assert f"--resume {found['run']} --answer '{question}=…'" in err
        code, out, err = run(*words, "--resume", found["run"], "--answer", f"{question}=yes")
    assert code == Exit.OK, err
    code, _, err = run(path, "--journal", journal, "--resume", found["run"])
    assert code == Exit.USAGE
    assert "has no simulated world" in err


def test_a_run_that_is_over_is_not_run_again(run: Run, tmp_path: Path) -> None:
    journal = tmp_path / "runs.db"
    _, out, _ = run("courier", "--journal", journal, "--json")
    first = json.loads(out)
    code, out, _ = run("courier", "--journal", journal, "--resume", first["run"], "--json")
    assert (code, json.loads(out)["status"]) == (Exit.OK, "SUCCEEDED")
    assert json.loads(out)["steps"] == first["steps"]
    assert run("courier", "--journal", journal, "--resume", "another")[0] == Exit.USAGE
    for words in (("--answer", "a:s1=yes"), ("--complete", "s9=1")):
        code, _, err = run("courier", "--journal", journal, "--resume", first["run"], *words)
        assert code == Exit.USAGE
        assert f"the run {first['run']!r} is over, SUCCEEDED: it does not ask {words[1].partition('=')[0]}" in err


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_what_was_interrupted_is_taken_up_again(run: Run, lamps: Callable[..., Path], tmp_path: Path, how: int) -> None:
    """The first lamp is lit in a file; the process ends while the second is being lit, and is not asked again."""
    path = lamps(f"{LIGHT}\n    {ASLEEP}")
    path.write_text(path.read_text().replace("def light", "async def light"))
    log = path.with_suffix(".lit")
    log.touch()
    journal = tmp_path / "runs.db"
    words = [sys.executable, "-m", "planner.cli", "run", str(path), "--real", "--journal", str(journal)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while log.read_text().count(" ") < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, how)
    _, err = process.communicate(timeout=30)
    assert process.returncode == (Exit.INTERRUPTED if how == signal.SIGINT else -signal.SIGKILL), err
    if how == signal.SIGINT:
        assert "--resume" in err
    from executor import Journal

    with Journal(journal) as kept:
        [record] = kept.runs()
    code, out, err = run(path, "--real", "--journal", journal, "--resume", record.run)
    assert code == Exit.OK, err
    assert out.count("succeeded") == 2
    assert log.read_text().count(" ") == 2


def test_a_run_goes_on_from_answer_to_answer(run: Run, tmp_path: Path) -> None:
    """What each run says is the command that takes it up."""
    (tmp_path / "post.py").write_text(ASKS)
    code, _, err = run(tmp_path / "post.py", "--real", "--journal", tmp_path / "runs.db")
    answers = (
        ("wait:s1=maybe", "'maybe' is no answer to 'wait:s1'; say one of: short, long, or no"),
        ("wait:s1=long", ""),
        ("approve:s2=yes", ""),
        ('wait:s3={"data": 1}', ""),
    )
    line = ""
    for answer, said in answers:
        assert code in (Exit.NO_VERDICT, Exit.USAGE), err
        [line] = [each.partition(": ")[2] for each in err.splitlines() if each.startswith("  to ")] or [line]
        *words, option, last = shlex.split(line)
        name, _, value = answer.partition("=")
        assert (option, last) == ("--answer", f"{name}=…")
        code, out, err = run(*words[2:], option, last.replace("…", value))
        assert said in err
    assert code == Exit.OK, err
    assert out.count("unverified") == 2


def test_json_says_what_steps_wait_for(run: Run, tmp_path: Path) -> None:
    (tmp_path / "post.py").write_text(ASKS)
    _, out, _ = run(tmp_path / "post.py", "--real", "--json")
    wait = {"text": "for Ada", "event": "", "choices": ["short", "long"], "question": "wait:s1"}
    assert json.loads(out)["waits"] == {"s1": wait}
    [asked] = json.loads(out)["questions"]
    assert (asked["question"], asked["choices"], asked["step"]) == ("wait:s1", ["short", "long"], "s1")
    assert "short" in asked["form"]["anyOf"][0]["enum"]


@pytest.mark.parametrize("form", ["plan.json", "plan.yaml", "solved.json", "solved.plan", "steps.json"])
def test_a_plan_of_a_file_is_carried_out(run: Run, tmp_path: Path, form: str) -> None:
    problem = load("courier", "one-parcel")
    result = solve(problem)
    plan = ActionPlan.of(result, model="dag")
    data = plan.model_dump(mode="json")
    path = tmp_path / form
    solved = form.startswith("solved")
    texts = {
        "plan.json": plan.model_dump_json,
        "plan.yaml": lambda: yaml_of(data),
        "solved.json": lambda: json.dumps(result.to_dict()),
        "solved.plan": lambda: plan_text(result.expect_plan()),
        "steps.json": lambda: json.dumps({"model": "dag", "steps": data["steps"]}),
    }
    path.write_text(texts[form]())
    words = ("courier", *(["one-parcel"] if solved or form == "steps.json" else []), "--plan", path, "--json")
    code, out, err = run(*words)
    assert code == Exit.OK, err
    found = json.loads(out)
    assert (found["model"], found["simulated"]) == ("sequential" if solved else "dag", {"goal": True})
    assert [each["action"] for each in found["steps"]] == [each.action for each in plan.steps]


def yaml_of(data: object) -> str:
    """Return `data` as YAML: JSON is a part of it, but for what begins with a brace."""
    assert isinstance(data, dict)
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in data.items())


def test_a_hierarchical_plan_of_a_file_too(run: Run, tmp_path: Path) -> None:
    plan = ActionPlan.of(solve(load("household", "supper")))
    (tmp_path / "plan.json").write_text(plan.model_dump_json())
    code, out, err = run("household", "--plan", tmp_path / "plan.json", "--json")
    assert (code, json.loads(out)["model"]) == (Exit.OK, "hierarchical"), err


def test_a_plan_of_a_file_is_for_bound_handlers_and_can_be_taken_up(
    run: Run, lamps: Callable[..., Path], tmp_path: Path
) -> None:
    """The handler looks whether it gets the objects of the Python file."""
    path = lamps(tag="needs_approval")
    facts = {"objects": {"desk": "Lamp"}, "initial": ["wired(desk)"], "goal": ["on(desk)"]}
    steps = [{"id": "a", "action": "light", "arguments": {"lamp": "desk"}}]
    (tmp_path / "plan.json").write_text(json.dumps({**facts, "steps": steps}))
    words: tuple[object, ...] = (path, "--plan", tmp_path / "plan.json", "--real", "--journal", tmp_path / "runs.db")
    code, out, _ = run(*words, "--json")
    assert code == Exit.NO_VERDICT
    code, out, err = run(*words, "--resume", json.loads(out)["run"], "--answer", "approve:a=yes")
    assert (code, out) == (Exit.OK, "succeeded    a light(desk)\n"), err


@pytest.mark.parametrize(
    ("plan", "problem", "message"),
    [
        (
            {"steps": [{"id": "a", "action": "mowe"}]},
            None,
            "plan.json:1:24: error: step 'a': there is no action 'mowe'",
        ),
        ({"steps": []}, "one-parcel", "the goal requires"),
        ({"goal": ["lies(sample, office)"], "steps": []}, "one-parcel", "the plan states its problem itself: goal"),
        ({"stepps": []}, None, "stepps"),
        ("", None, "plan.json:1:1: error: this is no JSON"),
        ("steps: [", None, "plan.json:1"),
    ],
    ids=str,
)
def test_mistakes_in_a_plan_of_a_file_are_messages(
    run: Run, tmp_path: Path, plan: object, problem: str | None, message: str
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(plan if isinstance(plan, str) else json.dumps(plan))
    code, out, err = run("courier", *([problem] if problem else []), "--plan", path)
    assert (code, out) == (Exit.USAGE, "")
    assert message in err
    assert "Traceback" not in err


def test_a_plan_of_another_framework_is_carried_out(run: Run, lamps: Callable[..., Path], tmp_path: Path) -> None:
    facts = {"objects": {"desk": "Lamp"}, "initial": ["wired(desk)"], "goal": "Light the desk", "executionModel": "dag"}
    steps = [{"id": "7f-a", "actionName": "LIGHT", "parameters": {"Lamp": "desk"}, "dependencies": [], "mood": "calm"}]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({**facts, "steps": steps}))
    code, out, err = run(lamps(), "--plan", path, "--real")
    assert (code, out.splitlines()[0]) == (Exit.NO_VERDICT, "succeeded    7f-a light(desk)"), err
    assert "'mood' is not imported" in err
    assert "nothing confirms 'Light the desk'" in err
    assert "mood" not in run(lamps(), "--plan", path, "--real", "--quiet")[2]
    path.write_text(json.dumps({**facts, "goal": ["on(desk)"], "steps": steps}))
    assert run(lamps(), "--plan", path, "--real")[0] == Exit.OK


def test_mistakes_in_a_plan_of_another_framework_are_messages(
    run: Run, lamps: Callable[..., Path], tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    steps = [{"id": "a", "actionName": "ligth", "parameters": {"lamp": "desk"}, "dependencies": ["b"]}]
    path.write_text(json.dumps({"executionModel": "dag", "steps": steps}, indent=1))
    code, out, err = run(lamps(), "--plan", path, "--real")
    assert (code, out) == (Exit.USAGE, "")
    assert f"{path}:6:4: error: step 'a': there is no action 'ligth'" in err
    assert f"{path}:11:5: error: step 'a': it depends on 'b', which is no step" in err


ALARM = f"import signal; assert {{}}(signal.getitimer(signal.ITIMER_REAL)[0] > 5000); {LIGHT}"


def test_what_is_at_work_is_not_cut_off_by_the_time_for_planning(run: Run, lamps: Callable[..., Path]) -> None:
    """The handlers look whether an alarm is set for as late as the limit."""
    assert run(lamps(ALARM.format("not ")), "--real", "--time-limit", 9999)[0] == Exit.OK
    assert run(lamps(ALARM.format("")), "--real", "--stop-after", 9999)[0] == Exit.OK


@pytest.mark.parametrize("journal", [True, False])
def test_a_run_that_is_broken_off_says_how_far_it_came(
    run: Run, lamps: Callable[..., Path], tmp_path: Path, *, journal: bool
) -> None:
    """The alarm goes while the second lamp is being lit."""
    gone = "'desk' in lit.read_text() and (os.kill(os.getpid(), signal.SIGALRM), await asyncio.sleep(60))"
    path = lamps(f"import os, signal; {gone}; {LIGHT}")
    path.write_text(path.read_text().replace("def light", "async def light"))
    words: tuple[object, ...] = (path, "--real", "--stop-after", 100)
    words = (*words, *(["--journal", tmp_path / "runs.db"] if journal else []))
    code, out, err = run(*words, "--json")
    found = json.loads(out)
    said = "no verdict: stopped by the time limit"
    assert (code, found["status"], found["reason"]) == (Exit.NO_VERDICT, "ACTIVE", said)
    assert [each["status"] for each in found["steps"]] == ["SUCCEEDED", "RUNNING"]
    assert ("to take it up: " in err) is journal
    if journal:
        lamps(LIGHT)
        assert run(*words, "--resume", found["run"])[0] == Exit.OK


@pytest.mark.parametrize("words", [("nosuch",), ("courier", "nosuch"), ("courier", "--model", "dagg"), ("unsolvable",)])
def test_json_is_never_empty(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    if words == ("unsolvable",):
        (tmp_path / "d.yaml").write_text(HOPELESS)
        words = (str(tmp_path / "d.yaml"),)
    _, out, err = run(*words, "--json")
    found = json.loads(out)
    assert (found["run"], found["status"]) == (None, None)
    assert found["reason"] == err.strip()


def test_what_a_handler_says_cannot_write_over_the_terminal(run: Run, lamps: Callable[..., Path]) -> None:
    code, _, err = run(lamps(r"raise ValueError('\x1b[2J\x9b2J broken\nSUCCEEDED')", tag="read_only"), "--real")
    assert code == Exit.NEGATIVE
    assert "broken SUCCEEDED" in err
    assert not {"\x1b", "\x9b"} & set(err)


TOOLS = """
domain: tools
actions:
  cheap: {provides: [done], cost: 1, risk: 0.99, tags: [idempotent]}
  dear: {provides: [done], cost: 1.1, tags: [idempotent]}
---
problem: one
domain: tools
goal: [done]
"""


def test_runs_of_the_command_learn(run: Run, tmp_path: Path) -> None:
    """The cheap tool fails nearly always: plans do not mind, runs that count on what is to be expected do."""
    file = tmp_path / "tools.yaml"
    file.write_text(TOOLS)
    options = ("--chances", "--journal", tmp_path / "runs.db", "--json", "--quiet")
    for _ in range(2):
        found = [json.loads(run(file, *options, *more)[1]) for more in ((), ("--learn",))]
        assert [each["steps"][0]["action"] for each in found] == ["cheap", "dear"]


def test_the_command_follows_policies(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "tools.yaml"
    file.write_text(TOOLS.replace("cost: 1, risk: 0.99", "cost: 0.1, risk: 0.5"))
    code, out, _ = run(file, "--chances", "--model", "policy", "--json", "--quiet")
    assert code == Exit.OK
    found = json.loads(out)
    assert found["model"] == "policy"
    assert {each["action"] for each in found["steps"]} == {"cheap"}


def test_a_nested_run_is_in_the_simulated_world_of_the_outermost_one() -> None:
    assert ledger_path(Path("runs.db"), "r/s1/x") == ledger_path(Path("runs.db"), "r")


GUESTS = """
import json, pathlib
from executor import World
from planner import Domain

inn = Domain("inn")
inn.action("book", {"guest": str, "nights": int}, provides=["booked"], tags=["trusted"])
world = World(inn)
seen = pathlib.Path(__file__).with_suffix(".seen")


@world.handler("book")
def book(guest, nights):
    seen.write_text(json.dumps([guest, nights]))


problem = inn.problem(goal=["booked"])
"""


@pytest.mark.parametrize("way", ["pairs", "json", "yaml", "file and pair"])
def test_working_memory_is_given_by_pairs_and_files(run: Run, tmp_path: Path, way: str) -> None:
    path = tmp_path / "inn.py"
    path.write_text(GUESTS)
    values = tmp_path / f"values.{'yaml' if way == 'yaml' else 'json'}"
    values.write_text("guest: Ada\nnights: 2\n" if way == "yaml" else json.dumps({"guest": "Bob", "nights": 2}))
    if way == "json":
        values.write_text(json.dumps({"guest": "Ada", "nights": 2}))
    given = {
        "pairs": ["--memory", "guest=Ada", "--memory", "nights=2"],
        "file and pair": ["--memory", values, "--memory", "guest=Ada"],
    }
    words = given.get(way, ["--memory", values])
    assert run(path, "--real", *words)[0] == Exit.OK
    assert json.loads(path.with_suffix(".seen").read_text()) == ["Ada", 2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--memory", "nowhere.json"], "cannot be read"),
        (["--memory", "=3"], "--memory takes NAME=VALUE or FILE"),
        (["--memory", "a=1", "--resume", "r", "--journal", "runs.db"], "--memory belongs to a run that begins"),
    ],
)
def test_working_memory_that_cannot_be_given_is_a_message(
    run: Run, tmp_path: Path, words: list[str], message: str
) -> None:
    path = tmp_path / "inn.py"
    path.write_text(GUESTS)
    code, _, said = run(path, "--real", *words)
    assert code == Exit.USAGE
    assert message in said


def test_a_file_of_working_memory_is_a_mapping(run: Run, tmp_path: Path) -> None:
    (tmp_path / "inn.py").write_text(GUESTS)
    (tmp_path / "list.yaml").write_text("- 1\n")
    code, _, said = run(tmp_path / "inn.py", "--real", "--memory", tmp_path / "list.yaml")
    assert code == Exit.USAGE
    assert "a mapping from names to values" in said
