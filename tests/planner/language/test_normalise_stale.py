"""What goes stale with writes of more kinds of things than it is about becomes deletes that are well typed."""

from __future__ import annotations

import pytest

from planner.compilations.adl import compile_adl
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.export import export
from planner.model import Action, Atom, DomainModel, Goal, Not, Object, Predicate, Problem, Variable
from planner.plan import Step
from planner.validation.validate import validate

TYPES = {"thing": (), "report": ("thing",), "place": ("thing",), "draft": ("report",)}
SUMMARISED = Predicate("summarised", (Variable("?d", ("report",)),), stale_with=(Atom("kept", ("?d",)),))
PREDICATES = {each.name: each for each in (Predicate("kept", (Variable("?x", ("thing",)),)), SUMMARISED)}
STALE = Not(Atom("summarised", ("?any0",)))


def problem(written: str, *kinds: str) -> Problem:
    """Something that writes `kept` of one thing: a constant, or a parameter of these types."""
    parameters = (Variable(written, kinds),) if kinds else ()
    tidy = Action("tidy", parameters, provides=(Atom("kept", (written,)),))
    constants = (Object("home", ("place",)), Object("paper", ("report",)))
    domain = DomainModel("papers", TYPES, constants, predicates=PREDICATES, actions={"tidy": tidy})
    return Problem("p", domain, (Object("a", ("draft",)),), (Atom("summarised", ("a",)),), Goal(Atom("kept", ("a",))))


@pytest.mark.parametrize(
    ("written", "kinds", "deletes"),
    [
        ("home", (), []),
        ("paper", (), [Not(Atom("summarised", ("paper",)))]),
        ("?t", ("report",), [Not(Atom("summarised", ("?t",)))]),
        ("?t", ("draft",), [Not(Atom("summarised", ("?t",)))]),
    ],
)
def test_what_has_other_types_is_not_deleted(written: str, kinds: tuple[str, ...], deletes: list[Not]) -> None:
    (action,) = compile_adl(problem(written, *kinds)).domain.actions.values()
    assert list(action.provides[1:]) == deletes
    assert not action.when


@pytest.mark.parametrize("kinds", [("thing",), ("place", "draft"), ("place",)])
def test_what_may_have_other_types_is_deleted_where_it_has_not(kinds: tuple[str, ...]) -> None:
    (action,) = compile_adl(problem("?t", *kinds)).domain.actions.values()
    (effect,) = action.when
    assert effect.provides == (STALE,)
    assert effect.variables == (Variable("?any0", ("report",)),)
    assert str(effect.requires) == "?any0 == ?t"


@pytest.mark.parametrize(("written", "kinds"), [("home", ()), ("?t", ("thing",)), ("?t", ("place",))])
def test_what_is_written_as_pddl_is_read_again(written: str, kinds: tuple[str, ...]) -> None:
    source = problem(written, *kinds)
    found = export(source)
    again = parse_problem(found.problem, parse_domain(found.domain))
    if kinds == ("thing",):
        for each in (source, again):
            verdict = validate(each, [Step("tidy", ("a",), 1)])
            assert verdict.valid
    assert again.domain.actions.keys() == {"tidy"}
