"""A short run of the fuzzer over the readers; `python tests/fuzz_readers.py --seconds 600` is the long one."""

from __future__ import annotations

import random
import tempfile
from functools import cache
from pathlib import Path

import pytest
from fuzz_readers import MUTATIONS, Reader, Report, fuzz, readers, run_one, wrapped

pytestmark = pytest.mark.filterwarnings("ignore::planner.language.pddl.syntax.FileWarning")

NAMES = ("pddl-domain", "pddl-problem", "pddl-file", "hddl-domain", "hddl-problem", "condition", "plan", "yaml", "json")


@cache
def few_seeds() -> dict[str, Reader]:
    return {reader.name: reader for reader in readers(12)}


def test_no_reader_is_left_out() -> None:
    assert tuple(few_seeds()) == NAMES


@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize("fuzzed", NAMES)
def test_nothing_but_our_own_errors_escapes(fuzzed: str) -> None:
    reports, memory = fuzz([few_seeds()[fuzzed]], seed=7, inputs=30)
    assert reports[fuzzed].failures == []
    assert reports[fuzzed].inputs == 30
    assert reports[fuzzed].outcomes["read"] < 30
    assert len(memory) == 11


@pytest.mark.parametrize("name", NAMES)
def test_the_texts_that_are_changed_can_be_read(name: str) -> None:
    report = Report()
    for text, use in few_seeds()[name].seeds[:20]:
        for lines in range(5):
            run_one(few_seeds()[name], text + "\n" * lines, use, report)
    assert report.failures == []
    assert report.outcomes["read"] > 0


@pytest.mark.parametrize(
    ("name", "place"),
    [(name, 0) for name in ("pddl-domain", "pddl-problem", "hddl-domain", "hddl-problem")]
    + [("pddl-domain", 1), ("pddl-problem", 1)],
)
def test_parentheses_too_many_are_read_or_refused(name: str, place: int) -> None:
    """`place` is that of the small texts which have everything: PDDL, and its constraints and preferences."""
    reader, report = few_seeds()[name], Report()
    text, use = reader.seeds[place]
    for variant in wrapped(text):
        run_one(reader, variant, use, report)
    assert report.failures == []
    assert report.outcomes["PddlError"] > report.inputs / 2


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_every_mutation_takes_any_text(mutation: object) -> None:
    assert callable(mutation)
    for text in ("", "(", "a", "(define (a) - (b - c) :types)"):
        assert all(isinstance(mutation(text, "(other)", random.Random(seed)), str) for seed in range(20))


def test_other_errors_are_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def broken(text: str, use: object) -> object:
        raise KeyError(text, use)

    report = Report()
    run_one(Reader("broken", broken, []), "text", None, report)
    assert report.outcomes == {"FAILED with KeyError": 1}
    assert "KeyError: ('text', None)" in report.failures[0]
