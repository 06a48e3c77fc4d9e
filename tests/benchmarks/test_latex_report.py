"""Tables in LaTeX: balanced whatever names say, with the numbers of the Markdown tables."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.latex_report import LONGEST, escape, format_latex_table, write_latex
from benchmarks.planners import Outcome
from benchmarks.records import Record, is_done, is_proved, write_records
from benchmarks.report import Table

COMMANDS = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\textquotedblright{}": '"',
    r"\textasciigrave{}": "`",
    "{[}": "[",
    "{*}": "*",
    **{f"\\{character}": character for character in "#$%&_{}"},
}


def record(task: str, planner: str, outcome: Outcome, **more: object) -> Record:
    return Record("s", task.partition("/")[0], task, planner, planner, outcome, **more)  # type: ignore[arg-type]


RECORDS = [
    record("a_1/1", "x", Outcome.OPTIMAL, cost=4),
    record("a_1/1", "y", Outcome.TIME),
    record("b/1", "x", Outcome.SOLVED, cost=4),
    record("b/1", "y", Outcome.SOLVED, cost=2),
]


def read_back(text: str) -> str:
    """Return what LaTeX would show of escaped text; anything else that it would take for a command is an error."""
    shown, rest = "", text
    while rest:
        known = next((word for word in sorted(COMMANDS, key=len, reverse=True) if rest.startswith(word)), None)
        if known is not None:
            shown, rest = shown + COMMANDS[known], rest[len(known) :]
        elif rest.startswith("{}"):
            rest = rest[2:]
        else:
            assert rest[0] not in '#$%&_{}\\~^<>|"`[*', rest
            assert rest[:2] not in ("--", "''", ",,")
            shown, rest = shown + rest[0], rest[1:]
    return shown


@given(st.text(alphabet=st.characters(exclude_categories=["C", "Z"])))
def test_names_are_shown_as_they_are(name: str) -> None:
    assert read_back(escape(name)) == name


@given(st.text())
def test_any_text_is_one_line(name: str) -> None:
    assert escape(name).isprintable()


def test_rows_heads_and_the_best_numbers() -> None:
    lines = format_latex_table(
        Table(["domain", "tasks", "x_1", "y"], [("[a", 2, "1", "2"), ("b", 2, "2", "2")], ("total", 4, "3", "4")),
        "Coverage",
        "done",
        mark_best=True,
    ).splitlines()
    assert r"\begin{tabular}{lrrr}" in lines
    assert r"domain & tasks & x\_1 & y \\" in lines
    assert r"{[}a & 2 & 1 & \textbf{2} \\" in lines
    assert r"b & 2 & 2 & 2 \\" in lines
    assert r"total & 4 & 3 & \textbf{4} \\" in lines


def test_a_table_longer_than_a_page_is_broken() -> None:
    table = Table(["domain", "tasks"], [(f"d{number}", 1) for number in range(LONGEST + 1)])
    assert r"\begin{longtable}{lr}" in format_latex_table(table, "Many", "many")


def test_a_report_has_coverage_by_domain_and_planner_and_the_outcomes() -> None:
    text = write_latex(RECORDS, is_done, {})
    assert r"a\_1 & 1 & \textbf{1} & 0 \\" in text
    assert r"x & 2 & 2.00 & 1.50 \\" in text
    assert r"y & 0 & 1 & 1 \\" in text
    assert "how many tasks of each domain are proved" in write_latex(RECORDS, is_proved, {})
    for environment in re.findall(r"\\begin\{(\w+)\}", text):
        assert text.count(f"\\begin{{{environment}}}") == text.count(f"\\end{{{environment}}}")


def test_the_command_writes_tables_or_a_whole_document(tmp_path: Path) -> None:
    results, out = tmp_path / "r.jsonl", tmp_path / "t.tex"
    write_records(results, RECORDS)
    for options, documents in (([], 0), (["--document"], 1)):
        ran = CliRunner().invoke(app, ["latex", str(results), "--out", str(out), *options])
        assert ran.exit_code == 0, ran.output
        assert out.read_text().count(r"\begin{document}") == documents
