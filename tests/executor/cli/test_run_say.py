"""`forethought run DOMAIN --say`: a sentence is read, confirmed and carried out, or it is said what is in the way."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from endpoint import Endpoint

from executor.cli import sentence as saying
from executor.language_model.client import BLOCKED
from planner.cli import main
from planner.cli.output import Exit

Say = Callable[..., tuple[int, str, str]]
SUM_UP = {"meanings": [{"goal": ["summarised(survey)"]}], "thought": "a summary"}
FILL = [{"values": {"query": "heat pumps"}}, {"values": {"words": 200}, "thought": "two hundred"}]
SENTENCE = "Sum up the survey in 200 words."


@pytest.fixture(autouse=True)
def _nothing_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORETHOUGHT_MODEL", "FORETHOUGHT_MODEL_URL", "FORETHOUGHT_SETTINGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Say:
    def called(sentence: str, *words: object, goal=(SUM_UP,), fill=FILL, steps=()) -> tuple[int, str, str]:
        script = tmp_path / "answers.json"
        script.write_text(json.dumps({"goal": list(goal), "fill": list(fill), "steps": list(steps)}))
        with pytest.raises(SystemExit) as end:
            main(["run", "assistant", "--say", sentence, "--language-model", f"script:{script}", *map(str, words)])
        said = capsys.readouterr()
        return end.value.code, said.out, said.err

    return called


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch):
    def typed(*lines: str) -> None:
        monkeypatch.setattr(saying, "is_dialogue", lambda: True)
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return typed


def test_a_sentence_is_carried_out_with_what_the_model_fills_in(say: Say) -> None:
    code, out, err = say(SENTENCE, "--yes", "--json", "--quiet")
    found = json.loads(out)
    assert (code, err) == (Exit.OK, "")
    assert [each["action"] for each in found["steps"]] == ["search_web", "fetch", "summarise"]
    assert [each.get("filled") for each in found["steps"]] == [{"query": "heat pumps"}, None, {"words": 200}]
    assert found["proposal"]["words"] == "At the end:\n- summarised(survey)"
    assert found["proposal"]["usage"]["calls"] == 1
    assert found["metrics"]["tokens"] > 0
    assert found["simulated"] == {"goal": True}


def test_without_a_terminal_nothing_is_done_unless_it_is_waived(say: Say) -> None:
    code, out, err = say(SENTENCE)
    assert (code, out) == (Exit.NO_VERDICT, "")
    assert "- summarised(survey)" in err
    assert "3. summarise(survey)" in err
    assert "--yes" in err


def test_what_only_reads_is_done_without_asking(say: Say) -> None:
    code, out, _ = say("Find out where Ada lives.", goal=[{"meanings": [{"goal": ["address_known(ada)"]}]}])
    assert (code, out.split()) == (Exit.OK, ["succeeded", "s1", "look_up_address(ada)"])


@pytest.mark.parametrize(
    ("answer", "code"), [("yes", Exit.OK), ("y", Exit.OK), ("no", Exit.NO_VERDICT), ("", Exit.NO_VERDICT)]
)
def test_on_a_terminal_somebody_is_asked(say: Say, terminal, answer: str, code: Exit) -> None:
    terminal(answer)
    found, out, err = say(SENTENCE)
    assert found == code
    assert bool(out) is (code is Exit.OK)
    assert "Is this what you want? [yes/no]" in err


def test_on_a_terminal_one_of_several_readings_is_chosen(say: Say, terminal) -> None:
    goal = {"meanings": [{"goal": ["fetched(survey)"]}, {"goal": ["summarised(survey)"]}]}
    terminal("1")
    code, out, err = say("Get the survey.", goal=[goal])
    assert code == Exit.OK
    assert "Which of these is meant?" in err
    assert out.splitlines()[-1].endswith("fetch(survey, heating)")
    terminal("3")
    code, out, _ = say("Get the survey.", goal=[goal])
    assert (code, out) == (Exit.NO_VERDICT, "")


def test_on_a_terminal_it_is_asked_who_is_meant(say: Say, terminal) -> None:
    unknown = {"meanings": [{"goal": ["address_known(cleo)"], "new_objects": {"cleo": "Person"}}]}
    known = {"meanings": [{"goal": ["address_known(ada)"]}]}
    terminal("I mean Ada")
    code, out, err = say("Find out where Cleo lives.", goal=[unknown, known])
    assert code == Exit.OK
    assert "Who or what is meant by cleo (Person)?" in err
    assert "look_up_address(ada)" in out


def test_new_objects_are_made_of_types_that_are_open(say: Say) -> None:
    goal = {"meanings": [{"goal": ["address_known(cleo)"], "new_objects": {"cleo": "Person"}}]}
    code, out, _ = say("Find out where Cleo lives.", "--new", "Person", goal=[goal])
    assert code == Exit.OK
    assert "look_up_address(cleo)" in out


@pytest.mark.parametrize(
    ("meanings", "code", "said"),
    [
        ([], Exit.NO_VERDICT, "nothing was asked for"),
        ([{"goal": ["fetched(survey)"]}, {"goal": ["found(heating)"]}], Exit.NO_VERDICT, "Which of these is meant?"),
        ([{"goal": ["summarised(survey)"], "not_expressible": ["200 words"]}], Exit.NO_VERDICT, "'200 words'"),
        ([{"goal": ["archived(survey)"]}], Exit.NEGATIVE, "a capability is missing"),
        ([{"goal": ["summarised(survey)"], "budgets": {"cost": 1}}], Exit.NEGATIVE, "no plan was found"),
        ([{"goal": ["no_such(survey)"]}], Exit.NO_VERDICT, "asked 3 times"),
    ],
)
def test_what_is_in_the_way_is_said(say: Say, meanings: list, code: Exit, said: str) -> None:
    found, out, err = say(SENTENCE, "--yes", goal=[{"meanings": meanings}] * 3)
    assert (found, out) == (code, "")
    assert said in err
    found, out, _ = say(SENTENCE, "--yes", "--json", "--quiet", goal=[{"meanings": meanings}] * 3)
    assert found == code
    assert json.loads(out)["run"] is None
    assert json.loads(out)["proposal"]["request"] == SENTENCE


def test_what_is_doubtful_is_not_waived(say: Say) -> None:
    code, out, err = say("Sum up the survey, but do not search the web.", "--yes", goal=[SUM_UP] * 2)
    assert (code, out) == (Exit.NO_VERDICT, "")
    assert "--yes does not confirm what is not clear" in err


UNSAID = "something readable"
IMPROVISED = {"meanings": [{"goal": ["summarised(survey)"], "not_expressible": [UNSAID]}]}
PROPOSED = {"parts": [{"part": UNSAID, "steps": [{"action": "proofread", "arguments": {"report": "memo"}}]}]}


def test_what_no_fact_expresses_is_not_waived(say: Say) -> None:
    code, out, err = say("Sum up the survey as something readable.", "--yes", goal=[IMPROVISED], steps=[PROPOSED])
    assert (code, out) == (Exit.NO_VERDICT, "")
    assert "for 'something readable': proofread(memo)" in err
    assert "--yes does not confirm" in err


def test_what_no_fact_expresses_is_approved_on_a_terminal(say: Say, terminal) -> None:
    terminal("yes")
    fill = [*FILL, {"values": {"style": "plain"}}]
    code, out, err = say("Sum up the survey as something readable.", goal=[IMPROVISED], steps=[PROPOSED], fill=fill)
    assert code == Exit.NO_VERDICT
    assert "Nothing can confirm 'something readable': proofread(memo)" in err
    assert "UNVERIFIED" in err
    assert "proofread(memo)" in out


def test_plans_and_readings_are_kept_in_a_file(say: Say, terminal, tmp_path: Path) -> None:
    options = ("--cache", tmp_path / "kept.db", "--json")
    terminal("yes", "yes")
    first = json.loads(say(SENTENCE, *options)[1])
    again = json.loads(say(SENTENCE, *options, goal=[])[1])
    assert (first["status"], again["status"]) == ("SUCCEEDED", "SUCCEEDED")
    assert (first["proposal"]["usage"]["calls"], again["proposal"]["usage"]["calls"]) == (1, 0)
    assert again["proposal"]["saved"]["calls"] == again["metrics"]["saved_calls"] == 1


def test_an_open_question_is_answered_when_the_run_is_taken_up(say: Say, tmp_path: Path) -> None:
    kept = ("--yes", "--journal", tmp_path / "runs.db")
    asks = [FILL[0], {"values": {}, "question": "How many words?"}]
    code, out, err = say(SENTENCE, *kept, "--json", fill=asks)
    run = json.loads(out)["run"]
    assert code == Exit.NO_VERDICT
    assert "How many words?" in err
    assert f"--resume {run}" in err
    code, out, _ = say(SENTENCE, *kept, "--json", "--resume", run, "--answer", "fill:s3=90", fill=[])
    assert code == Exit.OK
    assert json.loads(out)["simulated"] == {"goal": True}


def test_a_run_that_is_taken_up_has_the_tokens_that_it_has_left(say: Say, tmp_path: Path) -> None:
    kept = ("--yes", "--journal", tmp_path / "runs.db", "--json")
    asks = [FILL[0], {"values": {}, "question": "How many words?"}]
    _, out, err = say(SENTENCE, *kept, "--tokens", 50_000, fill=asks)
    waiting = json.loads(out)
    assert "--tokens 50000" in err
    spent = int(waiting["metrics"]["tokens"])
    again = ("--resume", waiting["run"])
    code, _, err = say(SENTENCE, *kept, *again, "--answer", "fill:s3=in a few", fill=[])
    assert (code, "'in a few' is no answer to 'fill:s3'" in err) == (Exit.USAGE, True)
    _, out, _ = say(SENTENCE, *kept, *again, "--tokens", spent, fill=[FILL[1]])
    assert (json.loads(out)["status"], json.loads(out)["metrics"]["tokens"]) == ("WAITING", spent)


def test_a_run_that_waits_and_is_not_kept_says_so(say: Say) -> None:
    code, _, err = say(SENTENCE, "--yes", fill=[{"values": {}, "question": "What for?"}])
    assert code == Exit.NO_VERDICT
    assert "with --journal FILE" in err


def test_templates_say_how_it_is_done(say: Say, tmp_path: Path) -> None:
    path = tmp_path / "templates.yaml"
    path.write_text(
        "templates: {sum-up: {parameters: {t: Topic, s: Source}, "
        "steps: [search_web(t), 'fetch(s, t)', {step: summarise(s), values: {words: 77}}]}}"
    )
    code, out, _ = say(SENTENCE, "--yes", "--json", "--templates", path, fill=FILL[:1])
    assert code == Exit.OK
    assert json.loads(out)["simulated"] == {"goal": True}
    path.write_text("templates: {sum-up: {steps: [summarise(s)]}}")
    code, _, err = say(SENTENCE, "--yes", "--templates", path)
    assert code == Exit.USAGE
    assert "templates.yaml:1:" in err


def test_a_model_at_an_endpoint_is_asked_whatever_the_clock_of_the_simulated_world(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(BLOCKED, raising=False)
    words = ["run", "assistant", "--say", SENTENCE, "--yes", "--json", "--language-model", "small", "--endpoint"]
    with Endpoint(*map(json.dumps, [SUM_UP, *FILL])) as endpoint, pytest.raises(SystemExit) as end:
        main([*words, endpoint.url])
    found = json.loads(capsys.readouterr().out)
    assert end.value.code == Exit.OK
    assert [each.get("filled") for each in found["steps"]] == [{"query": "heat pumps"}, None, {"words": 200}]
    assert found["metrics"]["tokens"] == 330


def test_an_endpoint_that_is_not_there_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(BLOCKED, raising=False)
    with Endpoint(*[500] * 3) as endpoint, pytest.raises(SystemExit) as end:
        main(["run", "assistant", "--say", SENTENCE, "--yes", "--language-model", "small", "--endpoint", endpoint.url])
    assert end.value.code == Exit.NO_VERDICT
    assert "the language model gave nothing that counts" in capsys.readouterr().err


def test_a_model_that_says_nothing_that_counts_is_an_error_in_quiet_runs_too(say: Say) -> None:
    code, out, err = say(SENTENCE, "--yes", "--quiet", goal=["no JSON"] * 3)
    assert (code, out) == (Exit.NO_VERDICT, "")
    assert "the language model gave nothing that counts" in err


def test_tokens_are_limited_for_reading_and_filling_together(say: Say) -> None:
    code, _, err = say(SENTENCE, "--yes", "--tokens", "1")
    assert code == Exit.NO_VERDICT
    assert "its answer cost more: 1 tokens are left of 1" in err
    fill = ["no JSON" * 1000, *FILL]
    took = json.loads(say(SENTENCE, "--yes", "--json", "--quiet", fill=fill)[1])["metrics"]["tokens"]
    code, out, _ = say(SENTENCE, "--yes", "--json", "--quiet", "--tokens", took, fill=fill)  # questions are rounded up
    found = json.loads(out)
    assert (code, found["status"]) != (Exit.OK, "SUCCEEDED")
    assert found["metrics"]["tokens"] < took


def test_it_is_said_how_a_model_is_configured(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["run", "assistant", "--say", SENTENCE])
    err = capsys.readouterr().err
    assert end.value.code == Exit.USAGE
    assert "none is configured" in err
    assert "FORETHOUGHT_MODEL=openai:" in err
    assert "FORETHOUGHT_MODEL_URL=http://localhost" in err


@pytest.mark.parametrize("words", [["--language-model", "x:y"], ["--tokens", "3"], ["--new", "Person"]])
def test_options_of_sentences_go_with_one(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["run", "assistant", *words])
    assert end.value.code == Exit.USAGE
    assert f"{words[0]} goes with --say" in capsys.readouterr().err


def test_a_sentence_asks_for_a_plan_and_a_file_gives_one(say: Say, tmp_path: Path) -> None:
    code, _, err = say(SENTENCE, "--plan", tmp_path / "plan.json")
    assert code == Exit.USAGE
    assert "--say asks for a plan" in err


@pytest.mark.parametrize("text", ["7", "{goals: []}", "a: 1\n---\nb: 2"])
def test_a_script_that_is_none_is_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "answers.yaml"
    script.write_text(text)
    with pytest.raises(SystemExit) as end:
        main(["run", "assistant", "--say", SENTENCE, "--language-model", f"script:{script}"])
    assert end.value.code == Exit.USAGE
    assert "answers.yaml: this is no script" in capsys.readouterr().err


def test_a_script_has_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["run", "assistant", "--say", SENTENCE, "--language-model", "script:"])
    assert end.value.code == Exit.USAGE
    assert "none is named; such as script:answers.yaml" in capsys.readouterr().err


def test_in_a_hierarchical_domain_it_is_said_that_no_methods_are_used(tmp_path, capsys) -> None:
    script = tmp_path / "answers.json"
    script.write_text(json.dumps({"goal": [{"meanings": [{"goal": ["at(ada, nice)"]}]}]}))
    for more, expected in ((), True), (("--quiet",), False):
        words = ["run", "travel", "board", "--say", "Get Ada to Nice.", "--yes", "--language-model", f"script:{script}"]
        with pytest.raises(SystemExit) as end:
            main([*words, *more])
        said = capsys.readouterr()
        assert end.value.code == Exit.OK
        assert "fly(ada, bern, nice)" in said.out
        assert ("not of the methods" in said.err) is expected
