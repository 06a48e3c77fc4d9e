"""`forethought ask`: each kind of question, from files, texts and stdin; exit codes and JSON."""

from __future__ import annotations

import io
import json

import pytest

from planner.cli import Exit, main

DOMAIN = """(define (domain Lamps) (:predicates (On ?l) (Off ?l) (Broken ?l))
  (:action Press :parameters (?l) :precondition (Off ?l) :effect (and (On ?l) (not (Off ?l))))
  (:action Mend :parameters (?l) :precondition (Broken ?l) :effect (and (Off ?l) (not (Broken ?l)))))"""
PROBLEM = """(define (problem one) (:domain Lamps)
  (:objects Desk Hall) (:init (Off Desk) (On Hall)) (:goal (On Desk)))"""


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    (tmp_path / "d.pddl").write_text(DOMAIN, encoding="utf-8")
    (tmp_path / "p.pddl").write_text(PROBLEM, encoding="utf-8")
    (tmp_path / "plan").write_text("(press desk)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def run(*arguments, stdin=""):
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as ended:
            main(["ask", *arguments])
        return Exit(ended.value.code), *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("words", "code", "out"),
    [
        (("applicable",), Exit.OK, "(Press Desk)\n"),
        (("progress", "(press desk)"), Exit.OK, "+ (On Desk)\n- (Off Desk)\n"),
        (("reachable-facts", "(on hall)"), Exit.OK, "(On Hall): reachable (it holds in the initial state)\n"),
        (("reachable-steps", "(press desk)"), Exit.OK, "(Press Desk): reachable (a state was reached that has it)\n"),
        (("simplify", "(press desk)"), Exit.OK, "(Press Desk)\n"),
        (("simplify", "plan"), Exit.OK, "(Press Desk)\n"),
        (("simplify", "press(Desk)"), Exit.OK, "(Press Desk)\n"),
        (("validate", "press(desk)"), Exit.OK, "valid, cost 1\n"),
        (("validate", "press(desk)\nmend(hall)"), Exit.NEGATIVE, None),
        (("validate", "0: (press desk)"), Exit.OK, "valid, cost 1\n"),
        (("landmarks",), Exit.OK, ""),
        (("validate", "plan"), Exit.OK, "valid, cost 1\n"),
        (
            ("validate", "(mend desk)"),
            Exit.NEGATIVE,
            "0: (Mend Desk): it requires (Broken Desk), which does not hold\n",
        ),
        (("first-steps",), Exit.OK, "(Press Desk)\n"),
        (("applicable", "--state", "(broken desk)"), Exit.OK, "(Mend Desk)\n"),
        (("first-steps", "--state", "(on hall)"), Exit.NEGATIVE, ""),
        (("landmarks", "--state", "(broken desk)"), Exit.OK, None),
    ],
)
def test_each_kind_of_question_is_answered(ask, words, code, out):
    found, printed, _ = ask("d.pddl", "p.pddl", *words)
    assert found is code
    assert out is None or printed == out


def test_what_is_unreachable_is_listed_and_gives_a_negative_answer_where_it_is_named(ask):
    code, out, err = ask("d.pddl", "p.pddl", "reachable-facts")
    assert code is Exit.OK
    assert [line.partition(":")[0] for line in out.splitlines()] == ["(Off Hall)", "(Broken Desk)", "(Broken Hall)"]
    assert err == "of 6 facts, 3 unreachable, 0 unknown\n"
    assert ask("d.pddl", "p.pddl", "reachable-facts", "(broken hall)")[0] is Exit.NEGATIVE


def test_texts_and_stdin_take_the_place_of_files(ask):
    expected = (Exit.OK, "(Press Desk)\n", "")
    assert ask(DOMAIN, PROBLEM, "applicable", "-q") == expected
    assert ask("-", "applicable", "-q", stdin=f"{DOMAIN}\n{PROBLEM}") == expected
    assert ask("-", "-", "applicable", "-q", stdin=f"{DOMAIN}\n{PROBLEM}") == expected
    assert ask("d.pddl", "-", "applicable", "-q", stdin=PROBLEM) == expected
    assert ask("-", "p.pddl", "applicable", "-q", stdin=DOMAIN) == expected
    assert ask("d.pddl", "p.pddl", "simplify", "-", "-q", stdin="(press desk)") == expected


@pytest.mark.parametrize(
    "words",
    [
        ("applicable",),
        ("progress", "(press desk)"),
        ("reachable-facts",),
        ("reachable-steps",),
        ("simplify", "plan"),
        ("landmarks",),
        ("validate", "plan"),
        ("first-steps",),
    ],
)
def test_each_answer_is_there_as_json(ask, words):
    code, out, err = ask("d.pddl", "p.pddl", *words, "--json")
    assert code is Exit.OK
    assert isinstance(json.loads(out), dict)
    assert err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("d.pddl", "p.pddl", "aplicable"), "'aplicable' is no kind of question; did you mean 'applicable'?"),
        (("d.pddl", "p.pddl", "progress", "press", "desk"), "found 2 words after the kind, expected a step"),
        (("d.pddl", "p.pddl", "applicable", "x"), "found 'x' after the kind of question, expected nothing"),
        (("d.pddl", "p.pddl", "validate", "nothing"), "there is no file 'nothing'"),
        (("d.pddl", "p.pddl", "progress", "(mend desk)"), "(Mend Desk) cannot be taken"),
        (("d.pddl", "p.pddl", "reachable-facts", "(on lamp)"), "names an object 'lamp'"),
        (("d.pddl", "applicable"), "there is a domain, but no problem"),
        (("-", "applicable"), "<domain text>"),
        (("d.pddl",), "arguments are required"),
    ],
)
def test_mistakes_of_usage_give_one_message(ask, words, message):
    code, out, err = ask(*words)
    assert code is Exit.USAGE
    assert out == ""
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize("kind", ["landmarks", "first-steps"])
@pytest.mark.parametrize(("limit", "name"), [("--time-limit", "time"), ("--memory-limit", "memory")])
def test_a_limit_ends_in_no_verdict_and_is_named(ask, kind, limit, name):
    code, out, err = ask("d.pddl", "p.pddl", kind, limit, "0.000001")
    assert (code, out) == (Exit.NO_VERDICT, "")
    assert f"no verdict: stopped by the {name} limit" in err


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("not off(Desk)", "found a negation in a state, expected facts that hold; leave it out"),
        ("(on hall) (not (off desk))", "found a negation in a state"),
        ("/nonexist", "there is no file '/nonexist', and a state has facts"),
        ("state.txt", "there is no file 'state.txt', and a state has facts"),
    ],
)
def test_what_is_no_state_is_named(ask, state, message):
    code, _, err = ask("d.pddl", "p.pddl", "applicable", "--state", state)
    assert code is Exit.USAGE
    assert message in err


def test_unmet_goals_are_spelled_as_in_the_file(ask):
    code, out, _ = ask("d.pddl", "p.pddl", "validate", "(mend desk)", "--state", "(broken desk)")
    assert code is Exit.NEGATIVE
    assert "the goal requires (On Desk), " in out
    printed = ask("d.pddl", "p.pddl", "validate", "(mend desk)", "--state", "(broken desk)", "--json")[1]
    assert json.loads(printed)["unmet"] == ["(On Desk)"]


def test_landmarks_are_facts_of_the_domain_only(ask):
    code, out, _ = ask("runbook", "landmarks")
    assert code is Exit.OK
    assert "announced(shop): causal" in out
    assert "ran-" not in out + ask("runbook", "landmarks", "--all", "--json")[1]


def test_tasks_have_first_steps_and_their_actions_can_be_taken(ask):
    code, out, _ = ask("household", "first-steps")
    assert code is Exit.OK
    steps = set(out.split("\n")) - {""}
    assert steps
    assert steps <= set(ask("household", "applicable")[1].split("\n"))


@pytest.mark.parametrize("kind", ["reachable-facts", "landmarks"])
def test_questions_about_all_states_of_tasks_are_unsupported(ask, kind):
    code, out, err = ask("household", kind)
    assert (code, out) == (Exit.UNSUPPORTED, "")
    assert "ask about its part without tasks" in err


def test_a_goal_that_holds_needs_no_first_step(ask):
    code, out, err = ask("d.pddl", "p.pddl", "first-steps", "--state", "(on desk)")
    assert (code, out) == (Exit.OK, "")
    assert "the goal holds already" in err


def test_numbers_of_a_state_are_no_file(tmp_path, monkeypatch, capsys):
    domain = """(define (domain Taps) (:requirements :numeric-fluents) (:predicates (open)) (:functions (level))
      (:action Shut :parameters () :precondition (<= (level) 29.5) :effect (open)))"""
    problem = """(define (problem one) (:domain Taps) (:init (= (level) 30)) (:goal (open)))"""
    (tmp_path / "d.pddl").write_text(domain, encoding="utf-8")
    (tmp_path / "p.pddl").write_text(problem, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for state, expected in (("level = 29.5", "(Shut)\n"), ("level = 29.75", "")):
        with pytest.raises(SystemExit):
            main(["ask", "d.pddl", "p.pddl", "applicable", "--state", state])
        assert capsys.readouterr().out == expected
