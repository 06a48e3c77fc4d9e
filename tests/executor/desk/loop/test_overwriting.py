"""What commands do with a file of the author that they would change, but that is read-only."""

from __future__ import annotations

from pathlib import Path

import pytest

DOMAIN = """\
domain: lamps
types: {lamp: object}
actions:
  light: {parameters: {l: lamp}, provides: ["lit(l)"]}
---
problem: one
objects: {a: lamp}
goal: ["lit(a)"]
"""
CASES = "cases:\n  one: {optimum: 7}\n"


@pytest.mark.parametrize(
    ("words", "broken"),
    [
        (("check", "lamps.yaml", "--fix"), "lamps.yaml"),
        (("format", "lamps.yaml"), "lamps.yaml"),
        (("format", "."), "lamps.yaml"),
        (("test", "lamps.cases.yaml", "--update"), "lamps.cases.yaml"),
    ],
    ids=["check", "format", "format-folder", "test"],
)
def test_read_only_files_are_refused(forethought, words, broken):
    texts = {
        "a.yaml": "domain:   a\n" if words == ("format", ".") else "domain: a\n",
        "lamps.yaml": DOMAIN.replace("provides", "provids") if words[0] == "check" else DOMAIN.replace("l: ", "l:   "),
        "lamps.cases.yaml": CASES,
    }
    for name, text in texts.items():
        Path(name).write_text(text)
    Path(broken).chmod(0o444)
    ran = forethought(*words)
    assert ran.code == 2
    assert f"{broken}: the file is read-only; to let it change, 'chmod u+w {broken}'" in ran.err
    assert {name: Path(name).read_text() for name in texts} == texts, "nothing is written where not all can be"
    Path(broken).chmod(0o644)
    forethought(*words)
    assert Path(broken).read_text() != texts[broken]
