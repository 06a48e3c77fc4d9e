"""Pages in a browser: clicks, keys, folding, filters, no message in the console, and no request to outside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from effort import share
from sample_pages import HOSTILE, SHIPPED, chain_plan, hostile_plan, page_of

from benchmarks.pages.chromium import Browser, browser, find_chromium
from executor import Executor
from executor.desk.pages.answers_part import answer_questions
from executor.desk.pages.candidates_page import candidates_page
from executor.desk.pages.document import Page
from executor.desk.pages.domain_page import domain_item, domain_page
from executor.desk.pages.html import write_html
from executor.desk.pages.plan_page import plan_page
from executor.desk.pages.run_page import run_page
from executor.desk.pages.search_part import search_part
from executor.journal import Journal
from executor.testing import Fault, FaultKind, SimulatedWorld, run_virtual
from planner import History, load, solve
from planner.limits import Limits
from planner.topk.top_k import k_best

pytestmark = [
    pytest.mark.skipif(find_chromium() is None, reason="Chromium is not installed"),
    pytest.mark.timeout(120),
]


@pytest.fixture(scope="module")
def browsing() -> Iterator[Browser]:
    pytest.importorskip("websockets")
    with browser() as opened:
        yield opened


@pytest.fixture
def tab(browsing: Browser) -> Iterator[Browser]:
    """A wide tab in light colours; whatever a test does with it, the console stays empty and nothing is loaded."""
    browsing.resize(1440, 900)
    yield browsing
    assert browsing.messages == []
    assert [each for each in browsing.requests if not each.startswith(("file:", "data:", "about:"))] == []


@pytest.fixture
def show(tab: Browser, tmp_path: Path):
    def shown(page: Page, fragment: str = "") -> Browser:
        path = tmp_path / "page.html"
        path.write_text(write_html(page), encoding="utf-8")
        tab.open(path, fragment)
        return tab

    return shown


def full_page(domain: str) -> Page:
    """Return the page of a shipped problem, with its domain."""
    problem = load(domain, SHIPPED[domain])
    return replace(page_of(domain), domain=domain_item(problem.domain, problem))


def text(tab: Browser, selector: str) -> str:
    return tab.run(f"(document.querySelector({json.dumps(selector)}) || {{}}).innerText || ''")


def count(tab: Browser, selector: str) -> int:
    return tab.run(f"document.querySelectorAll({json.dumps(selector)}).length")


def tabs(tab: Browser) -> list[str]:
    return tab.run(
        "[...document.querySelectorAll('[role=tab]')].filter((e) => e.offsetParent).map((e) => e.id.slice(4))"
    )


@pytest.mark.drawn
@pytest.mark.parametrize("domain", share([*SHIPPED], 4))
def test_every_view_of_every_domain_opens_without_a_message(show, domain: str) -> None:
    tab = show(full_page(domain))
    names = tabs(tab)
    assert {"graph", "states", "declarations", "provides", "types"} <= {*names}
    for name in names:
        tab.click(f"#tab-{name}")
        assert tab.run("document.querySelector('[role=tab][aria-selected=true]').id") == f"tab-{name}"
        assert tab.run("document.querySelector('.stage').textContent.length") > 20


def test_a_click_on_a_step_says_why_it_is_there(show) -> None:
    tab = show(full_page("courier"))
    tab.click("[data-node='2']")
    detail = text(tab, ".detail")
    assert "Step 3 of 6" in detail
    assert "pick_up" in detail
    assert (
        "Without it, 6 put_down(r2, r2-tray1, sample, office) cannot be done: it lacks on(sample, r2-tray1)" in detail
    )
    assert tab.run("location.hash") == "#graph/3"
    assert count(tab, ".node.need") >= 1
    tab.click(".detail .chain a")
    assert "Step 6 of 6" in text(tab, ".detail")


def test_keys_go_from_step_to_step_and_along_the_links(show) -> None:
    tab = show(full_page("courier"))
    tab.press("ArrowDown")
    tab.press("ArrowDown")
    assert "Step 2 of 6" in text(tab, ".detail")
    tab.press("ArrowRight")
    assert "Step 3 of 6" in text(tab, ".detail")
    tab.press("ArrowLeft")
    assert "Step 2 of 6" in text(tab, ".detail")
    tab.press("Escape")
    assert "About this plan" in text(tab, ".detail")
    tab.press("2")
    assert tab.run("document.querySelector('[role=tab][aria-selected=true]').textContent") == "States"


def test_the_list_is_a_list_box_with_an_active_row(show) -> None:
    tab = show(full_page("courier"))
    tab.run("document.querySelector('.side .list').focus()")
    tab.press("ArrowDown")
    tab.press("ArrowDown")
    active = tab.run("document.querySelector('.side .list').getAttribute('aria-activedescendant')")
    row = f"document.getElementById({json.dumps(active)})"
    assert tab.run(f"{row}.getAttribute('aria-selected')") == "true"
    assert tab.run(f"[{row}.ariaPosInSet, {row}.ariaSetSize].join()") == "2,6"
    tab.press("Enter")
    assert tab.run("document.activeElement.className").startswith("detail")


def test_a_slash_filters_and_escape_shows_all_again(show) -> None:
    tab = show(full_page("assistant"))
    tab.press("/")
    for letter in "send":
        tab.press(letter)
    assert count(tab, ".side .list .row") == 2
    assert "2 of 15" in text(tab, ".filter-count")
    assert count(tab, ".node.dim") == 13
    tab.press("Escape")
    assert count(tab, ".side .list .row") == 15


def test_a_decomposition_folds(show) -> None:
    tab = show(full_page("household"), "#tree")
    before = count(tab, "[role=treeitem]")
    tab.click("[role=treeitem][aria-expanded=true] .fold")
    folded = count(tab, "[role=treeitem]")
    assert folded < before
    tab.click("[role=treeitem][aria-expanded=false] .fold")
    assert count(tab, "[role=treeitem]") == before
    tab.click("[role=treeitem][aria-level='2']")
    assert "Done by the method" in text(tab, ".detail")
    assert "Other ways" in text(tab, ".detail")
    tab.press("ArrowUp")
    assert tab.run("document.querySelector('[aria-selected=true][role=treeitem]').ariaLevel") == "1"
    tab.run("document.querySelector('[role=tree]').focus()")
    tab.press("ArrowLeft")
    assert count(tab, "[role=treeitem]") == folded
    tab.press("ArrowRight")
    tab.press("ArrowRight")
    assert tab.run("document.querySelector('[aria-selected=true][role=treeitem]').ariaLevel") == "2"


def test_states_follow_the_steps(show) -> None:
    tab = show(full_page("courier"), "#states/3")
    assert "After pick_up" in text(tab, ".where")
    assert "on(sample, r2-tray1)" in text(tab, ".stage .gained")
    tab.click("[aria-label='One moment on']")
    assert "After move(r2, lab, hall)" in text(tab, ".where")
    assert "Step 4 of 6" in text(tab, ".detail")


def test_a_schedule_has_bars_slack_and_what_decides_the_end(show) -> None:
    tab = show(full_page("workshop"), "#schedule/2")
    assert count(tab, ".block.critical") >= 1
    assert "What decides the end" in text(tab, ".stage")
    assert "starts" in text(tab, ".detail .figures")


def test_what_a_plan_is_about_stands_first(show) -> None:
    for domain, first in (("courier", "graph"), ("workshop", "schedule"), ("household", "tree")):
        assert tabs(show(full_page(domain)))[0] == first, domain


def test_the_legend_says_what_is_drawn_and_what_is_chosen(show) -> None:
    tab = show(full_page("courier"))
    assert text(tab, ".legends").split("\n") == ["gives what is needed", "would undo it"]
    tab.click("[data-node='2']")
    assert text(tab, ".legends").split("\n") == ["what it needs", "what it gives", "would undo it"]


def test_help_opens_and_closes(show) -> None:
    tab = show(full_page("courier"))
    tab.press("?")
    assert tab.run("document.querySelector('dialog').open") is True
    tab.press("Escape")
    assert tab.run("document.querySelector('dialog').open") is False


def test_colours_follow_the_system_until_somebody_chooses(show) -> None:
    tab = show(full_page("courier"))
    light = tab.run("getComputedStyle(document.body).backgroundColor")
    tab.resize(1440, 900, dark=True)
    tab.settle()
    dark = tab.run("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    tab.press("t")
    assert tab.run("getComputedStyle(document.body).backgroundColor") == light
    tab.press("t")
    assert tab.run("getComputedStyle(document.body).backgroundColor") == dark


def test_hostile_names_are_shown_and_do_nothing(show) -> None:
    tab = show(plan_page(hostile_plan()))
    assert tab.run("document.querySelectorAll('script').length") == 2
    assert tab.run("document.querySelectorAll('img').length") == 0
    rows = tab.run("[...document.querySelectorAll('.side .row .args')].map((row) => row.textContent)")
    assert rows == [each.replace("\u202e", "\ufffd") for each in HOSTILE]
    for name in tabs(tab):
        tab.click(f"#tab-{name}")
    assert tab.run("document.querySelector('h1').textContent") == HOSTILE[0]


def test_on_a_phone_the_list_is_a_view_and_details_are_a_sheet(show) -> None:
    tab = show(full_page("courier"))
    tab.resize(390, 800)
    tab.settle()
    assert "steps" in tabs(tab)
    assert tab.run("document.documentElement.scrollWidth") <= 390
    tab.click("#tab-steps")
    tab.click(".side .list .row")
    assert tab.run("getComputedStyle(document.querySelector('.detail')).position") == "fixed"
    tab.click("[aria-label='Close details']")
    assert tab.run("getComputedStyle(document.querySelector('.detail')).display") == "none"


def test_a_printer_gets_all_steps(show) -> None:
    tab = show(full_page("courier"))
    tab.run("window.dispatchEvent(new Event('beforeprint'))")
    assert count(tab, "#print tbody tr") == 6
    assert count(tab, "#print svg") == 1
    tab.run("window.dispatchEvent(new Event('afterprint'))")
    assert count(tab, "#print *") == 0
    tab = show(full_page("workshop"))
    tab.run("window.dispatchEvent(new Event('beforeprint'))")
    assert count(tab, "#print svg") == 2, "the order, and the schedule"
    assert count(tab, "#print svg rect[style*=accent]") == 4


def test_2000_steps_make_few_elements_and_answer_at_once(show) -> None:
    tab = show(plan_page(chain_plan(2000, wide=7)))
    for name in tabs(tab):
        tab.click(f"#tab-{name}")
        assert count(tab, "*") < 4000, name
    tab.click("#tab-graph")
    tab.run("document.querySelector('.side .list').focus()")
    tab.press("ArrowUp")
    tab.run("document.querySelector('.side .list').dispatchEvent(new KeyboardEvent('keydown', {key: 'End'}))")
    tab.settle()
    assert "Step 2,000 of 2,000" in text(tab, ".detail")
    assert count(tab, "[data-node='1999']") == 1


def test_a_run_shows_its_attempts_and_who_said_what(show, tmp_path: Path) -> None:
    plan = solve(load("courier", "one-parcel")).expect_plan()
    faults = (Fault(FaultKind.FAILS, "pick_up(r2, r2-tray1, sample, lab)"),)
    world = SimulatedWorld(plan.problem, faults=faults).world
    with Journal(tmp_path / "runs.db") as journal:

        async def drive():
            return await Executor(world, journal=journal).start(plan)

        run_virtual(drive())
        page = run_page(journal)
    tab = show(page, "#timeline/3")
    assert count(tab, ".lane .block.bad") == 1
    assert count(tab, ".marker") >= 1
    assert "Attempts" in text(tab, ".detail")
    tab.click("#tab-events")
    tab.click(".stage .row.event")
    assert "RunStarted" in text(tab, ".detail")


def test_candidates_and_domains_have_pages_of_their_own(show) -> None:
    tab = show(candidates_page(k_best(load("courier", "two-robots"), 3, orders=True)))
    assert count(tab, ".candidate") == 3
    problem = load("incident", "shop")
    tab = show(domain_page(problem.domain, problem), "#provides/restart")
    assert "restart(service)" in text(tab, ".detail")
    assert count(tab, ".node.chosen") >= 1


def test_answers_come_first_and_lead_to_the_steps(show) -> None:
    result = solve(load("courier", "two-robots"))
    questions = ["without step 1", "if not corridor(hall, lab)"]
    answers = answer_questions(result.plan.problem, questions, result.plan, Limits(30.0))
    tab = show(replace(plan_page(result.plan, result), answers=answers))
    assert tabs(tab)[0] == "answers"
    assert count(tab, ".answer") == 2
    assert count(tab, ".answer-plan .only") == 6
    assert "These cannot hold together" in text(tab, ".answer:last-child")
    tab.run("document.querySelector('.answer a').focus()")
    tab.press("Enter")
    assert "Step 1 of 9" in text(tab, ".detail")


def test_a_search_shows_its_bounds(show) -> None:
    seen = []
    result = solve(load("courier", "two-robots"), on_progress=seen.append)
    page = replace(plan_page(result.plan, result), search=search_part(result, seen))
    tab = show(page, "#search")
    assert count(tab, ".plot-cost[d^=M]") == count(tab, ".plot-bound[d^=M]") == 1
    points, lanes = page.search.points, page.search.lanes
    assert count(tab, ".plain-table tbody tr") == len(points) + len(lanes) >= 2
    assert count(tab, ".plot-lane") == len(lanes)
    assert f"The plan of cost {points[-1].cost} comes from {points[-1].search}" in text(tab, ".plot-lead")
    assert "in the end best plan" in text(tab, ".plot-readout")
    tab.run("document.querySelector('.plot').dispatchEvent(new PointerEvent('pointermove', { clientX: 700 }))")
    assert "in the end" not in text(tab, ".plot-readout")
    assert "nothing was left to search" in text(tab, ".stage")


def test_a_page_says_where_there_is_no_history(show) -> None:
    result = replace(solve(load("courier", "one-parcel")), history=History())
    tab = show(replace(plan_page(result.plan, result), search=search_part(result)), "#search")
    assert text(tab, ".plot-lead") == "There is no chart: this result says nothing of what was found when."
    assert "nothing was left to search" in text(tab, ".stage")


def test_every_control_has_a_name(show) -> None:
    tab = show(full_page("household"))
    for name in tabs(tab):
        tab.click(f"#tab-{name}")
        nameless = tab.run(
            "[...document.querySelectorAll('button, input, [role=listbox], [role=tree], [tabindex=\"0\"]')]"
            ".filter((e) => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.innerText))"
            ".map((e) => e.outerHTML.slice(0, 90))"
        )
        assert nameless == [], name
