"""Pages as HTML: they load nothing, stay small, and show hostile names as text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from sample_pages import HOSTILE, SHIPPED, chain_plan, data_of, hostile_plan, html_of, over, page_of, solved

from executor.desk.pages.document import to_json
from executor.desk.pages.domain_page import domain_page
from executor.desk.pages.html import LIVE_MODULES, MODULES, escape_json, write_html
from executor.desk.pages.notebook import render
from executor.desk.pages.plan_page import plan_page
from planner import decide, k_best, load, why_not

MOST_BYTES = 1_500_000


class Reader(HTMLParser):
    """Collects the elements of a page with their attributes, and all text outside scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("domain", SHIPPED)
def test_a_page_is_self_contained_and_small(domain: str) -> None:
    html = html_of(domain)
    assert len(html.encode()) < MOST_BYTES
    for tag, attributes in Reader(html).elements:
        assert tag not in {"iframe", "object", "embed", "img", "base"}
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            assert (attributes.get(name) or "#").startswith(("#", "data:,")), (tag, attributes)
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", html))
    assert addresses <= {"http://www.w3.org/2000/svg"}, "the name of a namespace is no address to load"
    assert "@import" not in html
    assert "url(http" not in html


def test_a_page_forbids_itself_to_load_anything() -> None:
    policy = next(
        attributes["content"]
        for _, attributes in Reader(html_of("courier")).elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    assert "http" not in policy


def test_the_page_of_2000_steps_is_small() -> None:
    html = write_html(plan_page(chain_plan(2000, wide=7)))
    assert len(html.encode()) < MOST_BYTES


def test_hostile_names_stay_text() -> None:
    html = write_html(plan_page(hostile_plan()))
    reader = Reader(html)
    assert [tag for tag, _ in reader.elements].count("script") == 2
    assert "img" not in [tag for tag, _ in reader.elements]
    data = data_of(html)
    assert [step["arguments"][0] for step in data["steps"]] == list(HOSTILE)
    assert data["title"] == HOSTILE[0]
    block = html.partition('id="document">')[2].partition("</script>")[0]
    assert not set("<>&\u2028\u2029") & set(block)


def test_json_is_escaped_and_means_the_same() -> None:
    text = json.dumps({"a": "</script>&\u2028"}, ensure_ascii=False)
    assert "<" not in escape_json(text)
    assert json.loads(escape_json(text)) == json.loads(text)


def test_a_page_shows_its_steps_without_scripts() -> None:
    html = html_of("courier")
    shown = html.partition("<noscript>")[2].partition("</noscript>")[0]
    assert "pick_up" in shown
    assert shown.count("<tr>") == len(page_of("courier").steps) + 1


def test_the_script_never_parses_text_as_markup() -> None:
    for name in {*MODULES, *LIVE_MODULES}:
        code = (files("executor.desk.pages") / "static" / "app" / f"{name}.js").read_text(encoding="utf-8")
        asks = ("fetch(", "EventSource") if name in MODULES else ()
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "import(", *asks):
            assert word not in code, (name, word)


def test_every_part_of_the_script_is_used() -> None:
    there = {each.name for each in (files("executor.desk.pages") / "static" / "app").iterdir()}
    assert there == {f"{name}.js" for name in {*MODULES, *LIVE_MODULES}}


def _colours(dark: bool) -> dict[str, str]:
    css = (files("executor.desk.pages") / "static" / "app.css").read_text(encoding="utf-8")
    head = ':root[data-theme="dark"] {' if dark else ":root {"
    block = css.partition(head)[2].partition("}")[0]
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa(dark: bool) -> None:
    colours = _colours(dark)
    for ground in ("paper", "surface", "sunken", "accent-soft"):
        for text in ("ink", "muted", "accent", "good", "bad", "warn"):
            assert _contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for tone in ("good", "bad", "warn"):
        assert _contrast(colours[tone], colours[f"{tone}-soft"]) >= 4.5, tone
    assert _contrast(colours["ink"], colours["paper"]) >= 7
    assert _contrast(colours["bar"], colours["paper"]) >= 2


def test_the_page_of_a_domain_alone() -> None:
    problem = load("incident", "shop")
    data = data_of(write_html(domain_page(problem.domain, problem)))
    assert data["kind"] == "domain"
    assert "steps" not in data


@pytest.mark.parametrize("domain", ["courier", "workshop", "household"])
def test_notebooks_show_plans_and_results(domain: str) -> None:
    result = solved(domain, SHIPPED[domain])
    shown = result._repr_html_()
    assert shown == render(result)
    assert result.plan._repr_html_() in shown
    assert result.status.name in shown
    assert shown.count("<tr>") == len(result.plan) + 1, "a head and the steps"
    assert ("<svg" in shown) == bool(result.plan.times)
    assert str(result) == f"{result.describe()}\n{result.plan}"


def test_notebooks_escape_names() -> None:
    shown = hostile_plan()._repr_html_()
    assert {tag for tag, _ in Reader(shown).elements} <= {"table", "thead", "tbody", "tr", "th", "td", "b", "bdi", "p"}
    assert HOSTILE[0] in "".join(Reader(shown).texts)


def test_notebooks_show_answers_decisions_and_candidates_as_text() -> None:
    problem = load("courier", "two-robots")
    shown = why_not(problem, "cheaper")._repr_html_()
    assert "It is proved that no plan costs less than 20." in shown
    assert "success 100 %" in decide(over())._repr_html_()
    assert "1. cost 20: " in k_best(problem, 2)._repr_html_()


def test_long_plans_are_cut_in_notebooks() -> None:
    shown = chain_plan(250)._repr_html_()
    assert "150 more steps" in shown


def test_documents_leave_out_defaults() -> None:
    assert '"redundant"' not in to_json(page_of("courier"))
