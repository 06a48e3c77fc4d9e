"""`forethought view`: what words name, what is written where, and what is refused."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from sample_pages import data_of, solved

from executor import Executor
from executor.desk.pages import cli
from executor.journal import Journal
from executor.testing import SimulatedWorld, run_virtual
from planner import load, solve
from planner.cli import main
from planner.cli.options import plan_text
from planner.cli.output import Exit


@pytest.fixture
def view(capsys: pytest.CaptureFixture[str]):
    def called(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(["view", *map(str, words)])
        said = capsys.readouterr()
        return end.value.code, said.out, said.err

    return called


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """The journal of one run."""
    path = tmp_path / "runs.db"
    plan = solve(load("courier", "one-parcel")).expect_plan()
    world = SimulatedWorld(plan.problem).world
    with Journal(path) as opened:

        async def drive():
            return await Executor(world, journal=opened).start(plan)

        run_virtual(drive())
    return path


def test_a_domain_with_a_problem_is_solved_and_shown(view, tmp_path: Path) -> None:
    code, out, err = view("courier", "--out", tmp_path / "page.html")
    assert (code, out) == (Exit.OK, "")
    assert "one-parcel" in err
    data = data_of((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert (data["kind"], len(data["steps"])) == ("plan", 6)
    assert data["domain"]["name"] == "courier"
    assert data["search"]["points"][-1]["cost"] == data["search"]["points"][-1]["bound"] == 12
    assert ["search", "astar"] in data["search"]["statistics"]


def test_questions_are_answered_in_the_page(view) -> None:
    asked = ("--why-not", "without step 1", "--why-not", "cheaper", "--what-if", "not corridor(hall, lab)")
    code, out, _ = view("courier", "two-robots", *asked, "--to", "json")
    without, cheaper, closed = json.loads(out)["answers"]
    assert code == Exit.OK
    assert without["question"] == "Why not without pick_up(r1, r1-tray1, letter, dock)?"
    assert without["lines"][0] == "Such a plan costs no more: 20; it is proved that none costs less."
    assert without["left_out"] == [1, 3, 4, 6, 8, 9]
    added = [each["text"] for each in without["steps"] if each.get("added")]
    assert (len(without["steps"]), len(added)) == (9, 6)
    assert not {"pick_up(r1, r1-tray1, letter, dock)", "move(r1, dock, hall)"} & {*added}
    assert (cheaper["tone"], cheaper["lines"][0]) == ("good", "It is proved that no plan costs less than 20.")
    assert (closed["question"], closed["tone"], "steps" in closed) == ("If not corridor(hall, lab)", "bad", False)
    assert any(each.startswith("These cannot hold together: goal lies(crate, lab)") for each in closed["lines"])


def test_questions_are_about_the_plan_in_a_file(view, tmp_path: Path) -> None:
    plan = tmp_path / "p.plan"
    plan.write_text(plan_text(solved("courier", "one-parcel").plan))
    _, out, _ = view("courier", "one-parcel", plan, "--why-not", "cheaper", "--to", "json")
    assert json.loads(out)["answers"][0]["question"] == "Why not cheaper?"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("courier", "--domain"), "leave --domain and --objective out"),
        (("courier", "one-parcel", "--objective", "success"), "leave --domain and --objective out"),
        (("runs.db",), "name its domain, the problem, and the plan"),
        (("courier", "--why-not", "by lorry"), "lorry"),
    ],
)
def test_questions_need_a_plan_and_known_names(view, journal, monkeypatch, words, said: str) -> None:
    monkeypatch.chdir(journal.parent)
    code, _, err = view(*words, "--why-not", "cheaper", "--to", "json")
    assert code == Exit.USAGE
    assert said in err


def test_a_domain_alone_is_shown_on_request(view, tmp_path: Path) -> None:
    view("courier", "--domain", "--out", tmp_path / "page.html", "-q")
    assert data_of((tmp_path / "page.html").read_text(encoding="utf-8"))["kind"] == "domain"


def test_a_file_without_a_problem_shows_its_domain(view, tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text("domain: d\nactions:\n  go:\n    provides: [there]\n")
    code, out, _ = view(tmp_path / "d.yaml", "--to", "json")
    assert code == Exit.OK
    assert json.loads(out)["kind"] == "domain"


def test_a_plan_file_is_shown_with_its_reasons(view, tmp_path: Path) -> None:
    plan = solved("courier", "one-parcel").plan
    (tmp_path / "plan.soln").write_text(plan_text(plan))
    (tmp_path / "plan.json").write_text(json.dumps(plan.to_dict()))
    for words in (["one-parcel", tmp_path / "plan.soln"], [tmp_path / "plan.soln"], [tmp_path / "plan.json"]):
        code, out, err = view("courier", *words, "--to", "json")
        assert code == Exit.OK, err
        assert len(json.loads(out)["links"]) == 16


def test_a_plan_that_does_not_work_is_refused(view, tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("(move r2 lab hall)\n")
    code, out, err = view("courier", "one-parcel", tmp_path / "bad", "--to", "json")
    assert (code, out) == (Exit.USAGE, "")
    assert "is not valid" in err
    assert "step 1" in err


def test_an_unsolvable_problem_shows_its_domain_and_the_reasons(view, tmp_path: Path) -> None:
    parts = ["domain: d", "predicates: {key: {}}", "actions: {go: {requires: [key], provides: [there]}}"]
    text = "\n".join([*parts, "---", "problem: p", "domain: d", "goal: [there]", ""])
    (tmp_path / "d.yaml").write_text(text)
    code, out, _ = view(tmp_path / "d.yaml", "--to", "json")
    data = json.loads(out)
    assert (code, data["kind"]) == (Exit.NEGATIVE, "domain")
    (answer,) = data["answers"]
    assert answer["question"] == "Why is there no plan?"
    assert any("key" in line for line in answer["lines"])


def test_a_run_is_read_from_the_journal_alone(view, journal: Path) -> None:
    code, out, _ = view(journal, "--to", "json")
    data = json.loads(out)
    assert (code, data["kind"]) == (Exit.OK, "run")
    assert {step["status"] for step in data["steps"]} == {"succeeded"}
    assert [len(step["attempts"]) for step in data["steps"]] == [1] * 6
    assert data["run"]["events"][-1]["kind"] == "RunEnded"
    assert any("look_at" in event.get("who", "") for event in data["run"]["events"])


def test_an_unknown_run_is_named(view, journal: Path) -> None:
    code, _, err = view(journal, "nobody", "--to", "json")
    assert code == Exit.USAGE
    assert "nobody" in err


NO_JOURNALS = {
    "bad.db": (b"# no database", "bad.db: this is no journal: it does not begin as an SQLite file"),
    "empty.sqlite3": (b"", "empty.sqlite3: this is no journal: it is empty"),
    "nosuch.db": (None, "there is no journal nosuch.db"),
    "mysql://host/runs": (None, "a journal is not kept at mysql://"),
}


@pytest.mark.parametrize("name", NO_JOURNALS)
def test_files_that_should_be_journals(view, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    data, message = NO_JOURNALS[name]
    if data is not None:
        Path(name).write_bytes(data)
    for more in ((), ("--serve",)):
        code, _, err = view(name, *more)
        assert code == Exit.USAGE
        assert message in err or (more and "--serve follows runs in a journal, and nosuch.db is none" in err)
        assert "domain" not in err
    assert data is None or Path(name).read_bytes() == data
    assert len([*tmp_path.iterdir()]) == (data is not None)


def test_a_domain_may_be_in_a_folder_with_the_ending_of_a_journal(view, tmp_path: Path) -> None:
    folder = tmp_path / "plant.db"
    folder.mkdir()
    (folder / "domain.yaml").write_text("domain: d\nactions: {go: {provides: [there]}}\n")
    assert view(folder, "--to", "json")[0] == Exit.OK


def test_json_is_read_from_a_file_and_from_stdin(view, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(solved("courier", "one-parcel").to_dict())
    (tmp_path / "r.json").write_text(text)
    assert len(json.loads(view(tmp_path / "r.json", "--to", "json")[1])["steps"]) == 6
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert len(json.loads(view("-", "--to", "json")[1])["steps"]) == 6


@pytest.mark.parametrize("text", ["", "[", '{"a": 1}', "3"])
def test_other_json_on_stdin_is_refused(view, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    code, out, err = view("-", "--to", "json")
    assert (code, out) == (Exit.USAGE, "")
    assert "JSON" in err


@pytest.mark.parametrize(
    ("words", "beginning"),
    [
        (["courier", "--to", "svg"], "<svg"),
        (["courier", "--to", "dot"], 'digraph "one-parcel"'),
        (["courier", "--to", "mermaid"], "flowchart LR"),
        (["household", "supper", "--to", "svg", "--of", "tree"], "<svg"),
        (["household", "supper", "--to", "mermaid", "--of", "tree"], "flowchart TB"),
        (["workshop", "stool", "--to", "svg", "--of", "chart"], "<svg"),
        (["workshop", "stool", "--to", "mermaid", "--of", "chart"], "gantt"),
        (["courier"], "<!doctype html>"),
    ],
)
def test_pictures_and_pages_go_to_stdout(view, words: list[str], beginning: str) -> None:
    code, out, err = view(*words)
    assert (code, err) == (Exit.OK, "")
    assert out.startswith(beginning)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["courier", "--to", "dot", "--of", "chart"], "no charts in DOT"),
        (["courier", "--to", "svg", "--of", "tree"], "no decomposition"),
        (["courier", "--to", "png"], "needs a file"),
        (["nowhere"], "nowhere"),
        (["courier", "--out", "/nowhere/page.html"], "/nowhere"),
    ],
)
def test_mistakes_are_told_without_a_traceback(view, words: list[str], message: str) -> None:
    code, out, err = view(*words)
    assert (code, out) == (Exit.USAGE, "")
    assert message in err
    assert "Traceback" not in err


def test_open_shows_a_temporary_page(view, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[str] = []
    monkeypatch.setattr(cli.webbrowser, "open", opened.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, _, _ = view("courier", "--open")
    assert code == Exit.OK
    (page,) = tmp_path.glob("forethought-*.html")
    assert opened == [page.resolve().as_uri()]
    assert data_of(page.read_text(encoding="utf-8"))["kind"] == "plan"
