"""Pages of policies: from a decision, its JSON, or a file; what is refused; and how they are looked at."""

from __future__ import annotations

import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from sample_pages import data_of, over

from benchmarks.pages.chromium import browser, find_chromium
from executor.desk.pages import cli
from executor.desk.pages import document as doc
from executor.desk.pages.diagrams import dot_graph, mermaid_graph
from executor.desk.pages.drawings import draw_graph
from executor.desk.pages.html import write_html
from executor.desk.pages.policy_page import policy_page
from planner import Domain, Objective, Outcome, Problem, decide
from planner.cli import main
from planner.cli.output import Exit
from planner.errors import InputError

BRIDGE = """\
domain: bridge
actions:
  cross:
    requires: [here, bridge]
    provides: [there, not here]
    outcomes: [{probability: 0.75, provides: [there, not here]}, {probability: 0.25, provides: [not bridge]}]
  mend: {requires: [here], provides: [bridge], risk: 0.5, cost: 2}
  swim:
    requires: [here]
    provides: [there, not here]
    outcomes: [{probability: 0.9, provides: [there, not here]}, {probability: 0.1, provides: [not here]}]
---
problem: over
domain: bridge
initial: [here, bridge]
goal: [there]
"""


def page_for(**options: Any) -> doc.Page:
    return policy_page(decide(over(), **options).to_dict(), "over")


def test_states_are_worth_what_the_decision_says() -> None:
    decision = decide(over())
    page = policy_page(decision.to_dict(), "over")
    assert [each.action for each in page.steps] == ["cross", "mend"]
    first, second = page.policy.states
    assert (first.success, first.cost) == pytest.approx((decision.policy.success, decision.policy.cost), abs=1e-5)
    assert second.cost == pytest.approx(4 + first.cost, abs=1e-5)
    assert (first.visits, second.visits) == pytest.approx((4 / 3, 2 / 3), abs=1e-5)
    outcomes = [(each.source, each.target, each.probability) for each in page.policy.outcomes]
    assert outcomes == [(1, 3, 0.75), (1, 2, 0.25), (2, 1, 0.5), (2, 2, 0.5)]
    assert {edge.kind for edge in page.graph.edges} == {"outcome", "back"}


def test_an_end_without_the_goal_has_a_node_of_its_own() -> None:
    page = page_for(objective=Objective.COST, penalty=8)
    assert [node.kind for node in page.graph.nodes] == ["step", "step", "goal", "end"]
    assert page.policy.states[0].success == pytest.approx(0.975)
    assert ("success", "97.5 %") in [(each.label, each.value) for each in page.figures]


def test_a_document_follows_its_schema_and_comes_back_from_json() -> None:
    page = page_for()
    data = json.loads(doc.to_json(page))
    assert doc.from_data(data) == page
    jsonschema.validate(data, doc.schema())


def test_pictures_tell_the_probabilities() -> None:
    page = page_for()
    assert draw_graph(page).count("50 %") == 4  # twice as words, twice as a title
    assert 'label="75 %"' in dot_graph(page)
    assert '|"75 %"|' in mermaid_graph(page)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policy": None, "reason": "no way"}, "holds no policy: no way"),
        ({"policy": {"watched": [], "nodes": []}}, "policy.nodes: .* at least 1"),
        (
            {"policy": {"nodes": [{"facts": [], "step": None, "branches": [{"probability": 2, "node": 0}]}]}},
            "less than",
        ),
        ({"policy": {"nodes": [{"facts": [], "step": None, "branches": [{"probability": 1, "node": 1}]}]}}, "node 1"),
    ],
)
def test_bad_policies_are_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        policy_page({"objective": "success", **change}, "over", "p.json")
    assert "p.json" in str(error.value)


@pytest.fixture
def view(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    (tmp_path / "bridge.yaml").write_text(BRIDGE)

    def called(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(["view", *map(str, words), "--time-limit", "none"])
        said = capsys.readouterr()
        return end.value.code, said.out, said.err

    return called


def test_the_command_decides_and_shows(view, tmp_path: Path) -> None:
    code, _, err = view(tmp_path / "bridge.yaml", "--objective", "success", "--out", tmp_path / "page.html")
    assert code == Exit.OK, err
    data = data_of((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert (data["kind"], len(data["steps"]), data["domain"]["name"]) == ("policy", 2, "bridge")


def test_the_command_reads_decisions_and_policies(view, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decision = decide(over())
    (tmp_path / "policy.json").write_text(json.dumps(decision.policy.to_dict()))
    monkeypatch.setattr(cli.sys, "stdin", io.StringIO(json.dumps(decision.to_dict())))
    for words in (["-"], [tmp_path / "policy.json"], [tmp_path / "bridge.yaml", "over", tmp_path / "policy.json"]):
        code, out, err = view(*words, "--to", "json")
        assert code == Exit.OK, err
        assert json.loads(out)["kind"] == "policy"


def test_a_policy_that_cannot_be_followed_is_refused(view, tmp_path: Path) -> None:
    data = decide(over()).policy.to_dict()
    data["nodes"][0]["step"]["action"] = "fly"
    (tmp_path / "policy.json").write_text(json.dumps(data))
    code, _, err = view(tmp_path / "bridge.yaml", "over", tmp_path / "policy.json", "--to", "json")
    assert code == Exit.USAGE
    assert "no action 'fly'" in err
    code, _, err = view(tmp_path / "bridge.yaml", "--penalty", "3", "--to", "json")
    assert "--penalty is what giving up costs" in err


COVERED = """(() => {
  const boxes = (selector) => [...document.querySelectorAll(selector)].map((e) => [e, e.getBoundingClientRect()]);
  const room = document.querySelector(".graph").getBoundingClientRect();
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom;
  const labels = boxes(".wire-label");
  const others = [...boxes(".node > rect"), ...labels];
  const covered = ([one, box]) => others.some(([other, its]) => other !== one && meet(box, its));
  return labels.filter((each) => each[1].left < room.left || covered(each)).map(([one]) => one.textContent);
})()"""
"""Labels that stand outside the drawing, or on a node or another label."""


def rooms(count: int) -> Problem:
    """Return a problem with doors that may stay shut, between rooms in a row."""
    house = Domain("house", types=["room"])
    house.action(
        "go",
        {"a": "room", "b": "room"},
        requires=["in(a)", "door(a, b)"],
        provides=["in(b)"],
        modifies=["in(_)"],
        outcomes=[Outcome(0.7, ["in(b)", "not in(a)"]), Outcome(0.3, ["in(a)"])],
    )
    names = [f"room{number}" for number in range(count)]
    doors = [f"door({one}, {other})" for one, other in pairwise(names)]
    return house.problem(
        "any", objects=dict.fromkeys(names, "room"), initial=[f"in({names[0]})", *doors], goal=[f"in({names[-1]})"]
    )


@pytest.mark.skipif(find_chromium() is None, reason="Chromium is not installed")
@pytest.mark.timeout(120)
def test_a_policy_in_a_browser(tmp_path: Path) -> None:
    pytest.importorskip("websockets")
    path = tmp_path / "page.html"
    path.write_text(write_html(page_for(objective=Objective.COST, penalty=8)), encoding="utf-8")
    with browser() as tab:
        tab.resize(1440, 900)
        tab.open(path, "#graph")
        labels = tab.run("[...document.querySelectorAll('.wire-label')].map((e) => e.textContent)")
        assert sorted(labels) == ["10 %", "25 %", "75 %", "90 %"]
        tab.click("[data-node='1']")
        detail = tab.run("document.querySelector('.detail').innerText")
        assert "State 2 of 2" in detail
        assert "90 %" in detail
        assert "the end, without the goal" in detail
        tab.press("ArrowLeft")
        assert "State 1 of 2" in tab.run("document.querySelector('.detail').innerText")
        tab.click("#tab-outcomes")
        assert tab.run("document.querySelectorAll('.row.outcome').length") == 4
        tab.click(".row.outcome:last-child")
        assert "gives up" in tab.run("document.querySelector('.detail').innerText")
        assert tab.messages == []
        for found in (over(), rooms(6)):
            path.write_text(write_html(policy_page(decide(found).to_dict(), "any")), encoding="utf-8")
            for width in (390, 820, 1440):
                tab.resize(width, 844)
                tab.open(path, "#graph")
                assert tab.run(COVERED) == [], width
