r"""Tables of results in LaTeX, with the rules of the package booktabs.

The tables stand in floats, to be taken in by `\input`; a table that no page holds becomes a `longtable`. Names are
escaped for every encoding of fonts; letters beyond ASCII stay as they are, and need a LaTeX that knows them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from benchmarks import report
from benchmarks.records import Counts, Record, is_proved

SPECIAL: Final = {
    **{character: f"\\{character}" for character in "#$%&_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedblright{}",
    "[": "{[}",  # after the end of a row it would be taken for the row's distance
    "*": "{*}",  # likewise
    "`": r"\textasciigrave{}",
}
ESCAPES: Final = str.maketrans(SPECIAL)
LIGATURES: Final = re.compile(r"([-',])(?=\1)")
"""Characters of which two in a row would become one."""
LONGEST: Final = 45
"""How many rows a page holds."""
COMMENT: Final = r"""% Made by forethought bench. Take it in by \input; the preamble needs
%     \usepackage{booktabs,longtable}
"""
BEFORE: Final = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage{booktabs,longtable}
\begin{document}
"""
AFTER: Final = "\\end{document}\n"


def escape(value: object) -> str:
    """Return `value` as text that LaTeX sets as it stands: no command, no ligature, on one line, and printable."""
    words = "".join(character if character.isprintable() else " " for character in str(value)).split()
    return LIGATURES.sub(r"\1{}", " ".join(words).translate(ESCAPES))


def format_latex_table(table: report.Table, caption: str, label: str, *, mark_best: bool = False) -> str:
    """Return `table` with a caption and a label; `mark_best` sets the greatest numbers of a row in bold.

    The first two columns of a table with marks are a name and a count, which do not compete.
    """
    columns = "l" + "r" * (len(table.head) - 1)
    head = [_row(table.head), r"\midrule"]
    body = [_row(row, mark_best=mark_best) for row in table.rows]
    total = [r"\midrule", _row(table.total, mark_best=mark_best)] if table.total else []
    title = f"\\caption{{{escape(caption)}}}\\label{{tab:{label}}}"
    if len(table.rows) > LONGEST:
        lines = [f"\\begin{{longtable}}{{{columns}}}", title + r"\\", r"\toprule", *head, r"\endhead"]
        return "\n".join([*lines, *body, *total, r"\bottomrule", r"\end{longtable}", ""])
    lines = [r"\begin{table}", r"\centering", title, f"\\begin{{tabular}}{{{columns}}}", r"\toprule", *head]
    return "\n".join([*lines, *body, *total, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _row(cells: Sequence[object], *, mark_best: bool = False) -> str:
    shown = [escape(cell) for cell in cells]
    if mark_best:
        numbers = [float(str(cell)) for cell in cells[2:]]
        best = max(numbers, default=0.0)
        for place, number in enumerate(numbers, start=2):
            if number == best > min(numbers):
                shown[place] = f"\\textbf{{{shown[place]}}}"
    return " & ".join(shown) + r" \\"


def write_latex(
    records: Sequence[Record], counts: Counts, known: Mapping[str, float], *, whole_document: bool = False
) -> str:
    """Return coverage and scores by domain and by planner, and the outcomes, each in a table.

    `known` are costs of plans from elsewhere, by the names of tasks. A `whole_document` can be set by itself.
    """
    scores = report.score_tables(records, counts, known)
    done = "proved" if counts is is_proved else "done"
    captions = {
        done: f"Coverage: how many tasks of each domain are {done}",
        "agile score": "Agile score by domain",
        "satisficing score": "Satisficing score by domain",
    }
    tables = [
        format_latex_table(
            report.Table(["domain", *table.head[1:]], table.rows, table.total),
            captions[table.head[0]],
            table.head[0].replace(" ", "-"),
            mark_best=True,
        )
        for table in scores
    ]
    tables.append(format_latex_table(report.totals_table(scores), "Coverage and scores by planner", "planners"))
    outcomes = format_latex_table(report.tabulate_outcomes(records), "Outcomes of runs by planner", "outcomes")
    note = report.note_guarded(records).strip()
    text = "\n".join(filter(None, [*tables, outcomes, escape(note) + "\n" if note else ""]))
    return BEFORE + text + AFTER if whole_document else COMMENT + text
