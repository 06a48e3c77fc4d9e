"""A domain's own tags: declared in Python or YAML, kept by documents, and used by rules and criteria of rankings."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner import Domain, k_best, load, rank
from planner.errors import InputError
from planner.language.documents import write_yaml

LETTERS = """
domain: letters
actions:
  email: {provides: [told], tags: [external, cheap]}
  call: {provides: [told], cost: 5}
---
problem: tell
goal: [told]
"""


def letters() -> Domain:
    domain = Domain("letters")
    domain.action("email", provides=["told"], tags=["external", "cheap"])
    domain.action("call", provides=["told"], cost=5)
    return domain


def test_rules_and_criteria_take_a_domains_own_tags() -> None:
    found = k_best(letters().problem(goal=["told"]), 2).plans
    ranking = rank(found, by=["cost"], rules=["never @external"])
    assert [step.action for step in ranking.best.steps] == ["call"]
    assert "never @external" in ranking.excluded[0].reasons[0]
    assert [step.action for step in rank(found, by=["count @external"]).best.steps] == ["call"]
    with pytest.raises(InputError, match="did you mean 'external'"):
        rank(found, rules=["never @externl"])


def test_documents_keep_own_tags(tmp_path: Path) -> None:
    path = tmp_path / "letters.yaml"
    path.write_text(LETTERS)
    problem = load(path)
    assert problem.domain.actions["email"].tags == {"external", "cheap"}
    assert problem.domain == letters().model
    path.write_text(write_yaml(problem))
    assert load(path).domain.actions["email"].tags == {"external", "cheap"}


@pytest.mark.parametrize(
    ("tag", "meant"),
    [
        ("irreversable", "irreversible"),
        ("IRREVERSIBLE", "irreversible"),
        ("reversible", "irreversible"),
        ("read-only", "read_only"),
        ("readonly", "read_only"),
        ("needs_approved", "needs_approval"),
    ],
)
def test_a_tag_that_is_nearly_one_with_a_meaning_is_refused(tag: str, meant: str) -> None:
    with pytest.raises(InputError, match=f"did you mean '{meant}'"):
        Domain("d").action("a", provides=["p"], tags=[tag])


def test_a_tag_that_no_rule_could_name_is_refused() -> None:
    with pytest.raises(InputError, match="cannot name a tag"):
        Domain("d").action("a", provides=["p"], tags=["two words"])
