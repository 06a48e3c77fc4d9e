"""Pages: what stands in them, and that whatever records say makes a page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.html_report import LogAxis, Point, cactus, element, label, report_page, scatter, text, whole_ticks
from benchmarks.planners import Outcome
from benchmarks.records import Record, is_done, is_proved, write_records
from planner.errors import DocumentError

SVG = "{http://www.w3.org/2000/svg}"
EMPTY = {"meta", "!doctype"}
LIMITS = {"cpu_seconds": 30.0, "memory_gib": 4.0}


def record(task: str, planner: str, outcome: Outcome, seconds: float = 1.0, **more: object) -> Record:
    values = {"limits": LIMITS, **more}
    return Record("s", "d", task, planner, planner, outcome, cpu_seconds=seconds, **values)  # type: ignore[arg-type]


class Balance(HTMLParser):
    """Checks that tags match, and keeps the texts by tag and the attributes that could fetch something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.fetches: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetches += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "xlink:href")]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.open[-1], data))


def balanced(page: str) -> Balance:
    read = Balance(page)
    assert read.open == []
    assert read.fetches == []
    assert "script" not in {tag for tag, _ in read.texts}
    assert not re.search(r"url\(|@import", page)
    return read


def drawings(page: str) -> list[ET.Element]:
    return [ET.fromstring(found) for found in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def test_elements() -> None:
    assert element("a", "x", class_="b", stroke_width=1.50) == '<a class="b" stroke-width="1.5">x</a>'
    assert text('<&">\x00\ud800') == "&lt;&amp;&quot;&gt;\ufffd\ufffd"
    assert "&lt;b&gt;" in label(0, 1, "<b>")


def test_a_logarithmic_axis() -> None:
    axis = LogAxis(0.1, 100, 10, 300)
    assert [axis(value) for value in (0.1, 1, 100)] == pytest.approx([10, 110, 310])
    assert [axis(value) for value in (0.001, 1000)] == pytest.approx([10, 310])
    assert axis.ticks() == pytest.approx([0.1, 1, 10, 100])


@pytest.mark.parametrize(
    ("most", "ticks"), [(1, [0, 1]), (3, [0, 1, 2, 3]), (50, [0, 10, 20, 30, 40, 50]), (1234, [0, 500, 1000])]
)
def test_whole_ticks(most: int, ticks: list[int]) -> None:
    assert whole_ticks(most) == ticks


def test_a_cactus_plot() -> None:
    root = ET.fromstring(cactus({"slow": [20.0], "quick": [0.5, 0.1, 2.0]}, 30.0, 4))
    curves = [path for path in root.iter(f"{SVG}path") if "curve" in path.get("class", "")]
    assert [curve.findtext(f"{SVG}title") for curve in curves] == ["quick: 3", "slow: 1"]
    heights = [float(y) for y in re.findall(r"V([\d.]+)", curves[0].get("d", ""))]
    assert heights == sorted(heights, reverse=True)
    assert len(heights) == 4
    across = [float(x) for x in re.findall(r"H([\d.]+)", curves[0].get("d", ""))]
    assert across == sorted(across)


def test_a_scatter_plot() -> None:
    points = [Point(0.5, 5.0, "both"), Point(2.0, None, "left only"), Point(None, 2.0, "right only")]
    root = ET.fromstring(scatter(points, 30.0, ("a", "b"), "s"))
    dots = {dot.findtext(f"{SVG}title"): dot for dot in root.iter(f"{SVG}circle")}
    assert {title: dot.get("class") for title, dot in dots.items()} == {
        "both": "dot",
        "left only": "dot alone",
        "right only": "dot alone",
    }
    limits = [one for one in root.iter(f"{SVG}line") if one.get("class") == "limit"]
    assert dots["right only"].get("cx") == limits[0].get("x1")
    assert dots["left only"].get("cy") == limits[1].get("y1")
    diagonals = [one for one in root.iter(f"{SVG}line") if "diagonal" in one.get("class", "")]
    assert len(diagonals) == 3
    texts = [one.text for one in root.iter(f"{SVG}text")]
    assert {"a, s", "b, s", "limit 30"} <= set(texts)


def test_more_planners_than_colours_have_dashed_lines() -> None:
    root = ET.fromstring(cactus({f"p{number}": [1.0] for number in range(10)}, 30.0, 1))
    classes = [path.get("class", "") for path in root.iter(f"{SVG}path")]
    assert len(set(classes)) == 10


RECORDS = [
    record("x/1", "a", Outcome.OPTIMAL, 0.5, cost=4, peak_mib=30, checks={"v": "valid"}, date="2026-01-02T03:04"),
    record("x/1", "b", Outcome.SOLVED, 5.0, cost=5, peak_mib=90, versions={"python": "3.11"}),
    record("x/2", "a", Outcome.TIME, 30.0, peak_mib=500),
    record("x/2", "b", Outcome.SOLVED, 2.0, cost=7, peak_mib=40),
    record("x/3", "a", Outcome.TIME, 30.0),
    record("x/3", "b", Outcome.TIME, 30.0),
]


def test_a_page() -> None:
    page = report_page(RECORDS, is_done, {}, "A & B")
    read = balanced(page)
    assert [data for tag, data in read.texts if tag == "h2"] == [
        "Summary",
        "Against the first",
        "Plots",
        "By domain",
        "Validation",
        "Runs",
    ]
    assert ("h1", "A & B") in read.texts
    plots = drawings(page)
    assert [plot.get("aria-label") for plot in plots] == [
        "tasks done over time",
        "b against a, CPU seconds",
        "b against a, MiB",
    ]
    titles = [dot.findtext(f"{SVG}title") for dot in plots[1].iter(f"{SVG}circle")]
    assert titles == [
        "x/1 (s)\na: optimal, 0.5 CPU seconds; b: solved, 5 CPU seconds",
        "x/2 (s)\na: time, 30 CPU seconds; b: solved, 2 CPU seconds",
    ]
    captions = [data for tag, data in read.texts if tag == "figcaption"]
    assert captions[1].startswith("1 tasks of both: 1 with less for a, 0 with less for b. Only by a: 0, only by b: 1")
    cells = [data for tag, data in read.texts if tag == "td"]
    assert {"cpu_seconds 30, memory_gib 4", "2026-01-02", "python 3.11"} <= set(cells)


def test_rates_of_searches_stand_in_a_page_where_they_are_told() -> None:
    told = {"effort_seconds": 2.0, "evaluations": 1000}
    page = report_page([record("x/1", name, Outcome.SOLVED, **told) for name in "ab"], is_done, {}, "t")
    assert ("h2", "Search alone") in balanced(page).texts


def test_of_many_planners_only_pairs_with_the_first_are_plotted() -> None:
    page = report_page([record("x/1", name, Outcome.SOLVED) for name in "abcde"], is_done, {}, "t")
    labels = [plot.get("aria-label") or "" for plot in drawings(page)]
    assert sorted(one for one in labels if "seconds" in one) == [f"{name} against a, CPU seconds" for name in "bcde"]


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([record("x", "a", Outcome.TIME)], id="nothing done"),
        pytest.param([record("x", "a", Outcome.SOLVED, 0.0, limits={})], id="no time, no limit"),
        pytest.param([record("x", "a", Outcome.SOLVED), record("y", "b", Outcome.SOLVED)], id="no common task"),
        pytest.param([record("x", "a", Outcome.SOLVED, 99.0), record("x", "b", Outcome.ERROR)], id="beyond the limit"),
        pytest.param([record("x", "a", Outcome.SOLVED, 1e-9, limits={"cpu_seconds": 1e-6})], id="tiny limit"),
        pytest.param(
            [Record("s", "d", "x", "a", "a", Outcome.SOLVED), Record("t", "d", "x", "a", "a", Outcome.TIME)],
            id="two suites",
        ),
    ],
)
@pytest.mark.parametrize("counts", [is_done, is_proved])
def test_odd_records_make_a_page(records: list[Record], counts: object) -> None:
    page = report_page(records, counts, {}, "t")  # type: ignore[arg-type]
    balanced(page)
    assert drawings(page)
    assert "nan" not in page


NAMES = st.text(max_size=12)


@given(names=st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=4))
def test_names_are_never_markup(names: list[tuple[str, str, str]]) -> None:
    records = [
        Record(suite, suite, task, planner, f"<i>{planner}", Outcome.SOLVED, checks={suite: "<b>"})
        for suite, task, planner in [*names, ("<&\">'", "</svg><script>", "]]>")]
    ]
    page = report_page(records, is_done, {}, "</title><script>")
    read = balanced(page)
    assert {"b", "i", "script"}.isdisjoint(tag for tag, _ in read.texts)
    assert drawings(page)
    assert page.encode()


def test_the_command_writes_a_page(tmp_path: Path) -> None:
    results, out = tmp_path / "r.jsonl", tmp_path / "page.html"
    write_records(results, RECORDS)
    ran = CliRunner().invoke(app, ["html", str(results), str(results), "--out", str(out), "--title", "Mine"])
    assert (ran.exit_code, ran.stdout) == (0, "")
    assert "12 results shown in" in ran.stderr
    assert ("title", "Mine") in balanced(out.read_text(encoding="utf-8")).texts


def test_a_page_that_cannot_be_written(tmp_path: Path) -> None:
    results = tmp_path / "r.jsonl"
    write_records(results, RECORDS)
    with pytest.raises(DocumentError, match="it cannot be written: Is a directory"):
        CliRunner().invoke(app, ["html", str(results), "--out", str(tmp_path)], catch_exceptions=False)
