"""Lint of a domain with several problems: each finding once, and suppressions that some problem needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.cli.output import Exit
from planner.limits import LimitReached
from planner.lint import check_files as module
from planner.lint.check_files import Checked, check_files, check_texts
from planner.lint.outlines import SourceText
from planner.plan import StoppedBy

DOMAIN = """\
domain: shop
types: {item: object}
actions:
  sell: {parameters: {i: item}, provides: ["sold(i)"]}
  wrap: {parameters: {i: item}, requires: ["paper", "sold(i)"], provides: ["wrapped(i)"]}
  tear: {requires: ["paper"], provides: ["not paper"]}
"""
PROBLEMS = {
    "gifts": '{problem: gifts, domain: shop, objects: {a: item}, initial: [paper], goal: ["wrapped(a)"]}\n',
    "sales": '{problem: sales, domain: shop, objects: {a: item}, goal: ["sold(a)"]}\n',
    "stock": '{problem: stock, domain: shop, objects: {a: item}, initial: [paper], goal: [paper, "wrapped(a)"]}\n',
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    tmp_path.joinpath("domain.yaml").write_text(DOMAIN)
    for name, text in PROBLEMS.items():
        tmp_path.joinpath(f"{name}.yaml").write_text(text)
    return tmp_path


def suppress(folder: Path, line: str, comment: str) -> None:
    path = folder / "domain.yaml"
    before, after = DOMAIN.split(f"  {line}:")
    path.write_text(f"{before}  # forethought: ignore {comment}\n  {line}:{after}")


def codes(checked: Checked) -> list[str]:
    return [each.code for each in checked.findings]


def test_all_problems_are_checked_and_uses_count_from_each(shop: Path) -> None:
    alone = check_files(str(shop), "sales")
    assert {"FT113", "FT114"} <= set(codes(alone))
    checked = check_files(str(shop))
    assert checked.problems == ("gifts", "sales", "stock")
    assert not {"FT113", "FT114"} & set(codes(checked))
    lost = [each for each in checked.findings if each.code == "FT307"]
    assert [each.message.endswith("(in stock)") for each in lost] == [True]
    assert len(codes(checked)) == len({str(each) for each in checked.findings})
    assert check_files(str(shop), ["sales", "gifts"]).problems == ("sales", "gifts")


def test_a_suppression_that_some_problem_needs_is_not_idle(shop: Path) -> None:
    suppress(shop, "wrap", "FT114, FT113, FT304 some problems have no paper")
    for problems in (None, "gifts", "sales", ["gifts", "sales"]):
        assert "FT902" not in codes(check_files(str(shop), problems))
    assert "FT114" not in codes(check_files(str(shop), "sales"))


def test_a_suppression_that_no_problem_needs_is_idle_where_all_are_checked(shop: Path) -> None:
    suppress(shop, "sell", "FT114 nobody knows why")
    assert "FT902" in codes(check_files(str(shop)))
    assert "FT902" in codes(check_files(str(shop), list(PROBLEMS)))
    assert "FT902" not in codes(check_files(str(shop), "sales"))
    assert "FT902" not in codes(check_texts([SourceText("domain.yaml", shop.joinpath("domain.yaml").read_text())]))
    suppress(shop, "sell", "FT101 every parameter is used")
    assert "FT902" in codes(check_files(str(shop), "sales"))


def test_findings_about_a_problem_stand_in_it_where_one_file_has_several() -> None:
    text = DOMAIN + "".join(f"---\n{each}" for each in PROBLEMS.values())
    wrong = text.replace('goal: ["sold(a)"]', 'goal: ["sold(a)", "not sold(a)"]')
    checked = check_texts([SourceText("shop.yaml", wrong)])
    places = [(each.span.line, each.code) for each in checked.findings if each.span and each.code == "FT302"]
    assert places == [(10, "FT302")]
    assert checked.problems == tuple(PROBLEMS)


def test_a_mistake_in_one_problem_leaves_the_others_checked(shop: Path) -> None:
    shop.joinpath("sales.yaml").write_text(PROBLEMS["sales"].replace("sold(a)", "sold(b)"))
    checked = check_files(str(shop))
    assert not checked.is_read
    assert "FT005" in codes(checked)
    assert "FT307" in codes(checked)


def test_a_domain_that_cannot_be_read_is_checked_with_its_problems(shop: Path) -> None:
    shop.joinpath("domain.yaml").write_text(DOMAIN.replace("requires", "require", 1))
    shop.joinpath("sales.yaml").write_text(PROBLEMS["sales"].replace("sold(a)", "sold(b)"))
    checked = check_files(str(shop))
    found = {(Path(each.span.source).name, each.code) for each in checked.findings if each.span}
    assert {("domain.yaml", "FT004"), ("sales.yaml", "FT005")} <= found


def test_a_limit_names_the_problems_that_were_left_out(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check = module.check_loaded

    def stop(loaded: module.AnyProblem, limits: module.Limits) -> list[module.Finding]:
        if loaded.name == "sales":
            raise LimitReached(StoppedBy.TIME)
        return check(loaded, limits)

    monkeypatch.setattr(module, "check_loaded", stop)
    checked = check_files(str(shop))
    assert (checked.problems, checked.unchecked) == (("gifts",), ("sales", "stock"))
    assert _run("check", str(shop), "--json") in (Exit.NO_VERDICT, Exit.NEGATIVE)
    assert json.loads(capsys.readouterr().out)["unchecked"] == ["sales", "stock"]


def test_the_command_takes_several_problems(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _run("check", str(shop), "gifts", "sales")
    assert "shop with 2 problems: " in capsys.readouterr().err
    _run("check", str(shop), "--json")
    assert json.loads(capsys.readouterr().out)["problems"] == ["gifts", "sales", "stock"]


CAPACITY = """\
domain: mill
actions:
  grind: {provides: [flour], duration: 60, holds: {mill: 1}}
  bake: {requires: [flour], provides: [bread], duration: 60, holds: {baker: 1, oven: 1}}
---
problem: loaf
goal: [bread]
"""


def test_all_capacities_that_lack_are_named_once_in_the_syntax_of_the_file() -> None:
    (finding,) = check_texts([SourceText("mill.yaml", CAPACITY)]).findings
    assert finding.message == (
        "the actions 'grind' and 'bake' hold 'mill', 'baker' and 'oven', of which the problem has no capacity"
    )
    assert finding.hint == "say how much there is: capacity: {mill: 1, baker: 1, oven: 1}"
    (finding,) = check_texts([SourceText("mill.yaml", f"{CAPACITY}capacity: {{mill: 2}}\n")]).findings
    assert finding.message == "the action 'bake' holds 'baker' and 'oven', of which the problem has no capacity"
    assert finding.hint == "say how much there is: capacity: {mill: 2, baker: 1, oven: 1}"
    assert finding.span is not None
    assert finding.span.line == 8


def _run(*line: str) -> int:
    from planner.cli import main

    with pytest.raises(SystemExit) as end:
        main(list(line))
    return int(end.value.code or 0)
