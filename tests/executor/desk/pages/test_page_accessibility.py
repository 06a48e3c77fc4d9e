"""Pages for those who do not see them, or not well: names, headings, keys, news, contrast, colours and motion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from effort import share
from live_pages import Post, Running, served, wait_until
from sample_pages import SHIPPED, chain_plan, over, page_of

from benchmarks.pages.chromium import Browser, browser, find_chromium
from executor import Executor
from executor.desk.pages.candidates_page import candidates_page
from executor.desk.pages.document import Page
from executor.desk.pages.domain_page import domain_item, domain_page
from executor.desk.pages.html import write_html
from executor.desk.pages.plan_page import plan_page
from executor.desk.pages.policy_page import policy_page
from executor.desk.pages.run_page import run_page
from executor.desk.pages.search_part import search_part
from executor.journal import Journal
from executor.testing import Fault, FaultKind, SimulatedWorld, run_virtual
from planner import Problem, decide, load, solve
from planner.lint.problem_lint import check_problem
from planner.topk.top_k import k_best

pytestmark = [
    pytest.mark.skipif(find_chromium() is None, reason="Chromium is not installed"),
    pytest.mark.timeout(300),
]

NAMED = {
    *("button", "checkbox", "combobox", "link", "listbox", "option", "radio", "searchbox", "slider", "tab", "tablist"),
    *("textbox", "tree", "treeitem", "region", "dialog", "image", "tabpanel", "navigation", "complementary"),
}
"""Roles whose elements must have a name; images are pictures here."""
LEAST = 4.5
"""Least contrast of text (WCAG 2.2, level AA)."""
CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8").replace("LEAST", str(LEAST))
LOOKS = [("light", 1400), ("dark", 390), ("dark", 1400), ("light", 390)]
"""Themes, and widths in pixels; each half has all of them."""
HEADINGS = """[...document.querySelectorAll("h1, h2, h3, h4, h5")]
  .filter((e) => e.checkVisibility()).map((e) => Number(e.tagName[1]))"""


def plan_with_everything(domain: str) -> Page:
    problem = load(domain, SHIPPED[domain])
    findings = check_problem(problem) if isinstance(problem, Problem) else []
    return replace(page_of(domain), domain=domain_item(problem.domain, problem, findings))


def searched_page() -> Page:
    result = solve(load("courier", "one-parcel"), time_limit=60)
    return replace(plan_page(result.expect_plan(), result), search=search_part(result))


def run_with_trouble(folder: Path) -> Page:
    """Return the page of a run in which a step fails once, and nobody sees whether another one was done."""
    plan = solve(load("courier", "one-parcel"), time_limit=60).expect_plan()
    faults = (
        Fault(FaultKind.FAILS, "pick_up(r2, r2-tray1, sample, lab)"),
        Fault(FaultKind.LIES, "move(r2, lab, hall)"),
    )
    world = SimulatedWorld(plan.problem, faults=faults).world
    with Journal(folder / "runs.db") as journal:

        async def drive() -> Any:
            return await Executor(world, journal=journal).start(plan)

        run_virtual(drive())
        return run_page(journal)


KINDS: dict[str, Callable[[Path], Page]] = {
    "plan": lambda _: plan_with_everything("courier"),
    "time": lambda _: plan_with_everything("workshop"),
    "tasks": lambda _: plan_with_everything("travel"),
    "search": lambda _: searched_page(),
    "run": run_with_trouble,
    "policy": lambda _: policy_page(decide(over()).to_dict(), "over"),
    "candidates": lambda _: candidates_page(k_best(load("courier", "two-robots"), 3, orders=True)),
    "domain": lambda _: domain_page(load("incident").domain, load("incident")),
}


@pytest.fixture(scope="module")
def browsing() -> Iterator[Browser]:
    pytest.importorskip("websockets")
    with browser() as opened:
        opened.call("Accessibility.enable")
        yield opened


@pytest.fixture(params=KINDS)
def tab(request: pytest.FixtureRequest, browsing: Browser, tmp_path: Path) -> Browser:
    """A wide tab with a page of each kind."""
    browsing.resize(1400, 900)
    show(browsing, KINDS[request.param](tmp_path), tmp_path)
    return browsing


def show(tab: Browser, page: Page, folder: Path) -> None:
    path = folder / "page.html"
    path.write_text(write_html(page), encoding="utf-8")
    tab.open(path)


def open_view(tab: Browser, view: str) -> None:
    tab.run(f"document.getElementById('tab-{view}').click()")
    tab.settle()


def go_through_views(tab: Browser) -> Iterator[str]:
    """Open each view, with nothing chosen and with something; yield what is shown."""
    names = tab.run("[...document.querySelectorAll('[role=tab]')].filter((e) => e.offsetParent).map((e) => e.id)")
    for name in names:
        for key in ("Escape", "ArrowDown"):
            open_view(tab, name[4:])
            tab.press(key)
            yield f"{name[4:]} after {key}"


def read_tree(tab: Browser) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Return the role, the name and the properties of each element that assistive technology is told of."""
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    return [
        (
            node["role"]["value"],
            node.get("name", {}).get("value", ""),
            {each["name"]: each["value"].get("value") for each in node.get("properties", ())},
        )
        for node in nodes
        if not node["ignored"]
    ]


def test_all_controls_have_roles_and_names_and_headings_nest(tab: Browser) -> None:
    for view in go_through_views(tab):
        tree = read_tree(tab)
        assert [(role, name) for role, name, _ in tree if role in NAMED and not name.strip()] == [], view
        reached = [
            (role, name) for role, name, more in tree if more.get("focusable") and role in ("generic", "none", "image")
        ]
        assert reached == [], view
        levels = tab.run(HEADINGS)
        assert levels[0] == 1, view
        assert all(after <= before + 1 for before, after in pairwise(levels)), (view, levels)
        assert sum(role == "main" for role, *_ in tree) == 1


def test_text_stands_out_in_light_and_dark_and_on_a_phone(tab: Browser) -> None:
    for theme, width in share(LOOKS, 2):
        tab.resize(width, 800, dark=theme == "dark")
        tab.settle()
        assert tab.run("document.documentElement.dataset.theme") == theme
        for view in go_through_views(tab):
            assert tab.run(CONTRAST) == [], (theme, width, view)


def test_a_live_page_with_a_question_is_as_accessible(browsing: Browser, tmp_path: Path) -> None:
    Running(Post(), tmp_path / "runs.db", "r1", stay=False).end()
    with Journal(tmp_path / "runs.db") as journal, served(journal) as server:
        for theme in ("light", "dark"):
            browsing.resize(1400, 900, dark=theme == "dark")
            browsing.visit(server.url_with(server.access.token))
            wait_until(lambda: browsing.run("document.querySelectorAll('.ask button').length") == 2)
            check_page(browsing)
            # A refusal asks for its reason.
            browsing.run("[...document.querySelectorAll('.ask button')].pop().click()")
            check_page(browsing)
            browsing.run("document.querySelector('.runs-button').click()")
            check_page(browsing)


def check_page(tab: Browser) -> None:
    """Check names and contrast of what is shown."""
    tab.settle()
    assert [(role, name) for role, name, _ in read_tree(tab) if role in NAMED and not name.strip()] == []
    assert tab.run(CONTRAST) == []


def test_nodes_are_reached_by_tab_and_follow_the_choice(browsing: Browser, tmp_path: Path) -> None:
    browsing.resize(1400, 900)
    show(browsing, plan_with_everything("courier"), tmp_path)
    assert browsing.run("document.querySelectorAll('.node[tabindex=\"0\"]').length") == 1
    browsing.run("document.querySelector('.node[tabindex=\"0\"]').focus()")
    browsing.press("Enter")
    named = "document.activeElement.getAttribute('aria-label')"
    assert browsing.run(named) == "Step 1: move r2, office, hall"
    assert browsing.run("document.activeElement.getAttribute('aria-current')") == "true"
    browsing.press("ArrowDown")
    browsing.press("ArrowDown")
    assert browsing.run(named) == "Step 3: pick_up r2, r2-tray1, sample, lab"
    browsing.press("Enter")
    assert browsing.run("document.activeElement.getAttribute('aria-label')") == "Details"


def test_the_focus_goes_with_the_choice_out_of_sight(browsing: Browser, tmp_path: Path) -> None:
    browsing.resize(900, 500)
    show(browsing, plan_page(chain_plan(600)), tmp_path)
    browsing.run("document.querySelector('.node[tabindex=\"0\"]').focus()")
    for _ in range(3):
        browsing.press("ArrowDown")
    assert browsing.run("document.activeElement.getAttribute('aria-label')").startswith("Step 3: move")
    browsing.run("document.querySelector('.scroll').scrollTop = 1e6")
    browsing.settle()
    browsing.press("ArrowDown")
    assert browsing.run("document.activeElement.getAttribute('aria-label')").startswith("Step 4: move")


def test_what_is_chosen_is_told(browsing: Browser, tmp_path: Path) -> None:
    browsing.resize(1400, 900)
    show(browsing, plan_with_everything("courier"), tmp_path)
    news = "document.querySelector('[aria-live=polite][role=status].hidden').textContent"
    assert browsing.run(news) == "", "nothing has happened yet"
    browsing.press("ArrowDown")
    told = browsing.run(news)
    assert told.startswith("Step 1 of 6. move. Without it, ")
    browsing.press("ArrowDown")
    assert browsing.run(news).startswith("Step 2 of 6. move")
    browsing.press("Escape")
    assert browsing.run(news) == "Nothing is chosen"


def test_rows_of_charts_say_what_their_bars_show(browsing: Browser, tmp_path: Path) -> None:
    browsing.resize(1400, 900)
    show(browsing, plan_with_everything("workshop"), tmp_path)
    open_view(browsing, "schedule")
    rows = [name for role, name, _ in read_tree(browsing) if role == "option" and " to " in name]
    assert len(rows) == len(page_of("workshop").steps)
    assert any(name.endswith("critical") for name in rows)
    show(browsing, run_with_trouble(tmp_path), tmp_path)
    open_view(browsing, "timeline")
    rows = [name for role, name, _ in read_tree(browsing) if role == "option"]
    assert any("failed, succeeded" in name for name in rows)
    assert browsing.run("document.querySelectorAll('ul[aria-label=\"Marks on the axis\"] li').length") >= 1


def test_tones_differ_by_more_than_colour(browsing: Browser, tmp_path: Path) -> None:
    show(browsing, run_with_trouble(tmp_path), tmp_path)
    looks = """["good", "bad", "warn"].map((tone) => {
      const element = document.createElement("i");
      element.className = `CLASS ${tone}`;
      document.body.append(element);
      const { backgroundImage, borderTopWidth, borderTopLeftRadius, boxShadow } = getComputedStyle(element);
      return [backgroundImage !== "none", boxShadow !== "none", borderTopWidth, borderTopLeftRadius].join();
    })"""
    for kind in ("dot", "block-key"):
        assert len(set(browsing.run(looks.replace("CLASS", kind)))) == 3, kind


def test_nothing_moves_for_those_who_want_no_motion(browsing: Browser, tmp_path: Path) -> None:
    show(browsing, plan_with_everything("travel"), tmp_path)
    open_view(browsing, "tree")
    reduced = {"name": "prefers-reduced-motion", "value": "reduce"}
    browsing.call("Emulation.setEmulatedMedia", features=[reduced])
    moving = """[...document.querySelectorAll("*")].filter((element) => {
      const { animationName, transitionProperty, transitionDuration } = getComputedStyle(element);
      return animationName !== "none" || (transitionProperty !== "none" && transitionDuration !== "0s");
    }).length"""
    assert browsing.run(moving) == 0
