"""Exports of pages: SVG that XML readers take, DOT and Mermaid with every name quoted, PNG where it can be drawn."""

from __future__ import annotations

import shutil
from xml.etree import ElementTree as ET

import pytest
from sample_pages import HOSTILE, SHIPPED, chain_plan, hostile_plan, page_of

from executor.desk.pages import raster
from executor.desk.pages.diagrams import dot_graph, dot_tree, mermaid_chart, mermaid_graph, mermaid_tree
from executor.desk.pages.document import Page
from executor.desk.pages.domain_page import domain_page
from executor.desk.pages.drawings import draw_chart, draw_graph, draw_tree
from executor.desk.pages.plan_page import plan_page
from planner import load
from planner.errors import InputError, UnsupportedError

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    """Return the texts of a drawing without the marks of direction."""
    root = ET.fromstring(svg)
    found = [each.text for kind in ("text", "tspan") for each in root.iter(f"{SVG}{kind}") if each.text]
    return [each.strip("\u2068\u2069") for each in found]


@pytest.mark.parametrize("domain", SHIPPED)
def test_a_graph_is_drawn_with_all_steps(domain: str) -> None:
    page = page_of(domain)
    drawn = texts(draw_graph(page))
    for number in range(1, len(page.steps) + 1):
        assert str(number) in drawn
    assert "Goal" in drawn or page.tree is not None


def test_a_long_graph_is_broken_into_lines_within_the_sheet() -> None:
    root = ET.fromstring(draw_graph(plan_page(chain_plan(60))))
    boxes = [each for each in root.iter(f"{SVG}rect") if each.get("rx")]
    assert len({each.get("y") for each in boxes}) > 3
    assert all(float(each.get("x")) + float(each.get("width")) <= float(root.get("width")) for each in boxes)
    corners = {(each.get("x"), each.get("y")) for each in boxes}
    assert len(corners) == len(boxes)


@pytest.mark.parametrize("domain", ["workshop", "outing", "assistant"])
def test_a_chart_has_a_bar_for_each_step(domain: str) -> None:
    page = page_of(domain)
    root = ET.fromstring(draw_chart(page))
    assert len([each for each in root.iter(f"{SVG}rect") if each.get("rx")]) == len(page.steps)
    axis = {"workshop": "20 s", "outing": "0:30 h", "assistant": "1"}
    assert axis[domain] in texts(draw_chart(page))


def test_a_decomposition_is_drawn_with_its_methods() -> None:
    page = page_of("household")
    drawn = texts(draw_tree(page))
    assert f"by {page.tree.nodes[0].method}" in drawn
    assert len(drawn) == 2 * len(page.tree.nodes)


def test_a_domain_is_drawn_as_who_provides_what() -> None:
    problem = load("courier", "one-parcel")
    drawn = texts(draw_graph(domain_page(problem.domain, problem)))
    assert drawn.count("move") == 2
    assert "at" in drawn


def test_hostile_names_stay_names_in_every_format() -> None:
    page = plan_page(hostile_plan())
    root = ET.fromstring(draw_graph(page))
    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {
        "svg", "title", "defs", "marker", "path", "rect", "g", "text", "circle",
    }  # fmt: skip
    for line in dot_graph(page).split("\n"):
        assert line.count('"') - line.count('\\"') in (0, 2), line
    for line in mermaid_graph(page).split("\n"):
        assert line.count('"') in (0, 2), line
        assert "<" not in line.replace("<br>", "")
    assert HOSTILE[0] not in draw_graph(page)


def test_control_characters_do_not_break_svg() -> None:
    page = Page("plan", "a\x00b\x1b[31m", graph=page_of("courier").graph, steps=page_of("courier").steps)
    assert ET.fromstring(draw_graph(page)).find(f"{SVG}title").text == "a\ufffdb\ufffd[31m"


def test_dot_and_mermaid_have_all_nodes_and_edges() -> None:
    page = page_of("assistant")
    assert dot_graph(page).count(" -> ") == len(page.graph.edges)
    assert dot_graph(page).count("label=") == len(page.graph.nodes)
    arrows = mermaid_graph(page).count("-->") + mermaid_graph(page).count("-.->")
    assert arrows == len(page.graph.edges)
    charts = {domain: mermaid_chart(page_of(domain)) for domain in ("workshop", "outing")}
    assert "s2, 2000-01-01T00:00:30.001, 2000-01-01T00:01:10.001" in charts["workshop"]
    assert "axisFormat %M:%S" in charts["workshop"]
    assert "axisFormat %H:%M" in charts["outing"], "it takes more than an hour"
    nodes = page_of("household").tree.nodes
    children = sum(len(node.children) for node in nodes)
    assert dot_tree(page_of("household")).count(" -> ") == children
    assert mermaid_tree(page_of("household")).count("-->") == children


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_it() -> None:
    import subprocess

    subprocess.run(
        ["dot", "-Tsvg"], input=dot_graph(plan_page(hostile_plan())).encode(), capture_output=True, check=True
    )


@pytest.mark.parametrize("draw", [draw_tree, dot_tree, mermaid_tree, draw_chart, mermaid_chart])
def test_what_is_not_there_is_said(draw) -> None:
    with pytest.raises(InputError, match="there is no"):
        draw(plan_page(chain_plan(4)))


def test_without_a_renderer_png_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raster, "BROWSERS", ())
    monkeypatch.setitem(__import__("sys").modules, "cairosvg", None)
    with pytest.raises(UnsupportedError, match="cairosvg"):
        raster.write_png(draw_graph(page_of("courier")))


@pytest.mark.skipif(not any(map(shutil.which, raster.BROWSERS)), reason="no browser is installed")
@pytest.mark.timeout(120)
def test_a_browser_draws_png() -> None:
    image = raster.write_png(draw_graph(page_of("courier")))
    assert image.startswith(b"\x89PNG\r\n")
    width, height = (int.from_bytes(image[place : place + 4]) for place in (16, 20))
    root = ET.fromstring(draw_graph(page_of("courier")))
    assert (width, height) == (2 * int(root.get("width")), 2 * int(root.get("height")))
