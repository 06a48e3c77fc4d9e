"""Lint of damaged files: whatever is typed, all findings have places, and fixes leave texts that are read again."""

from __future__ import annotations

import random
import warnings

import pytest

from benchmarks.check_trials import OWN
from planner.errors import ForethoughtError
from planner.limits import Limits
from planner.lint.check_files import check_texts
from planner.lint.fixes import apply_fixes
from planner.lint.outlines import SourceText

WORDS = ["(", ")", '"', ":", "?x", "at", "\n", "  ", "[", "}", "- ", "not ", "é", "#"]


def damage(text: str, rng: random.Random) -> str:
    """Delete or insert some characters, or exchange or delete lines."""
    at = rng.randrange(len(text))
    kind = rng.randrange(4)
    if kind == 0:
        return text[:at] + text[at + rng.randint(1, 8) :]
    if kind == 1:
        return text[:at] + rng.choice(WORDS) + text[at:]
    lines = text.split("\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    if kind == 2:
        lines[one], lines[other] = lines[other], lines[one]
    else:
        del lines[one]
    return "\n".join(lines)


def sources(rng: random.Random) -> list[SourceText]:
    names = ["fine.yaml"] if rng.random() < 0.5 else ["fine_pddl/domain.pddl", "fine_pddl/problem.pddl"]
    found = []
    for name in names:
        text = OWN.joinpath(name).read_text(encoding="utf-8")
        for _ in range(rng.randint(1, 3)):
            text = damage(text, rng)
        found.append(SourceText(name, text))
    return found


@pytest.mark.parametrize("seed", range(120))
def test_damaged_files_have_findings_with_places(seed: int) -> None:
    texts = sources(random.Random(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            checked = check_texts(texts, Limits(20))
        except ForethoughtError:
            return
        assert all(each.span is not None for each in checked.findings)
        fixes = [each.fix for each in checked.findings if each.fix is not None]
        again = [SourceText(each.name, apply_fixes(each, fixes)[0]) for each in checked.texts]
        if fixes:
            after = check_texts(again, Limits(20))
            assert {each.rule for each in after.findings if each.rule == "syntax"} <= {
                each.rule for each in checked.findings
            }
