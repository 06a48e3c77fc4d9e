"""`forethought validate` on hierarchical problems."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from htn_post import PLAN, ROUND, STEPS, crowd

from htn.language.hddl.hddl_writer import write_domain, write_problem
from htn.language.plan_text import write_plan
from planner.cli import interrupt, main
from planner.cli.output import Exit
from planner.language.pddl.plan_files import write_plan as write_steps
from planner.plan import Plan

TEXT = write_plan(PLAN)
BARE = write_steps(Plan(STEPS, ROUND.classical))
FILES = {
    "domain.hddl": write_domain(ROUND.domain),
    "problem.hddl": write_problem(ROUND),
    "plan": TEXT,
    "plan.json": json.dumps(PLAN.to_dict()),
    "steps": BARE,
    "other.json": json.dumps({"steps": PLAN.to_dict()["steps"]}),
    "early": TEXT.replace("nap 2", "tired 2").replace("2 rest", "2 rest\n20 rest"),
    "twice": BARE.replace("(rest)", "(rest)\n(rest)"),
    "unmet": BARE.replace("(unload q t a)", ""),
    "wrong": TEXT.replace("via", "vai"),
}
VALID = "valid, cost 12\n"
CASES = {
    "text": ("plan", Exit.OK, VALID, ""),
    "JSON": ("plan.json", Exit.OK, VALID, ""),
    "steps": ("steps", Exit.OK, VALID, ""),
    "steps in JSON": ("other.json", Exit.OK, VALID, ""),
    "a broken decomposition": ("early", Exit.NEGATIVE, "invalid: rest (node 3) belongs to no task\n", ""),
    "steps of no task": ("twice", Exit.NEGATIVE, "invalid: no decomposition of the tasks gives these steps\n", ""),
    "steps that miss the goal": ("unmet", Exit.NEGATIVE, "invalid: at the end, the goal requires lies(q, a)", ""),
    "another encoding": ("wide", Exit.OK, VALID, ""),
    "no text at all": ("zero", Exit.USAGE, "", "zero: the file is binary"),
    "no file": ("plam", Exit.USAGE, "", "plam: there is no such file; did you mean 'plan'?"),
    "brackets without end": (
        "brackets",
        Exit.USAGE,
        "",
        "brackets:1:1: no plan in JSON: brackets nest too deeply; a plan",
    ),
    "a mistake": ("wrong", Exit.USAGE, "", "wrong:16:15: the problem has no method 'vai'; did you mean 'via'?"),
    "no text": ("latin", Exit.USAGE, "", "latin:1:2: the problem has no action 'café'"),
}


CROWD, RESTS = crowd(18)
FILES |= {"crowd.hddl": write_problem(CROWD), "rests": write_steps(Plan(RESTS, CROWD.classical))}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., object]:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "wide").write_bytes(TEXT.encode("utf-16"))
    (tmp_path / "zero").write_bytes(b"(rest)\0")
    (tmp_path / "brackets").write_text("[" * 100_000, encoding="utf-8")
    (tmp_path / "latin").write_bytes("(caf\xe9)".encode("latin-1"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(interrupt.resource, "setrlimit", lambda *_: None)

    def run_in_process(*arguments: str) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        printed = capsys.readouterr()
        return ended.value.code or 0, printed.out, printed.err

    return run_in_process


@pytest.mark.parametrize("name", CASES)
def test_plans_of_hierarchical_problems_are_validated(name, run):
    plan, code, out, err = CASES[name]
    found = run("validate", "domain.hddl", "problem.hddl", plan)
    assert found[0] == code
    assert out in found[1]
    assert err in found[2]
    assert bool(found[1]) is bool(out)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # an alarm may come in another's gc hook
@pytest.mark.parametrize("command", ["validate", "explain"])
def test_what_takes_too_long_has_no_verdict(command, run):
    code, out, err = run(command, "domain.hddl", "crowd.hddl", "rests", "--time-limit", "1")
    assert code == Exit.NO_VERDICT
    said = out or err  # the clock may strike before the search begins
    assert said.startswith("not decided: " if out else "no verdict: ")
    assert "stopped by the time limit" in said
