"""Rules that outsiders' models asked for: each with a model that breaks it at a line, and one that does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.language.declare import Domain
from planner.lint.check_files import check_files, check_texts
from planner.lint.findings import Finding, Level
from planner.lint.outlines import SourceText
from planner.lint.problem_lint import check_domain, check_problem
from planner.plan import Status
from planner.solve import solve

PUMPS = """\
domain: pumps
types: {pump: object, pool: object}
actions:
  couple:
    parameters: {p: pump, q: pool}
    requires: ["idle(p)", "power"]
    provides: ["at_work(p, q)", "not idle(p)"]
  fill:
    parameters: {p: pump, q: pool}
    requires: ["at_work(p, q)"]
    provides: ["wet(q)"]
  uncouple:
    parameters: {p: pump, q: pool}
    requires: ["at_work(p, q)", "wet(q)"]
    provides: ["idle(p)", "not at_work(p, q)"]
  tow:
    parameters: {p: pump, q: pool}
    requires: ["at_work(p, q)"]
    provides: ["towed(q)", "idle(p)", "not at_work(p, q)"]
---
problem: two-pools
objects: {p1: pump, big: pool, small: pool}
initial: ["idle(p1)", "power"]
goal: ["wet(big)", "wet(small)", "towed(big)"]
"""


def found(text: str, *changes: tuple[str, str], name: str = "model.yaml") -> list[Finding]:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return list(check_texts([SourceText(name, text)]).findings)


def lines(findings: list[Finding], rule: str) -> list[int]:
    return [each.span.line for each in findings if each.rule == rule and each.span]


def test_a_clean_model_is_clean() -> None:
    assert found(PUMPS) == []


class TestProof:
    def test_conditions_of_two_predicates_that_exclude_each_other(self) -> None:
        findings = found(PUMPS, ('["at_work(p, q)", "wet(q)"]', '["at_work(p, q)", "idle(p)", "wet(q)"]'))
        assert lines(findings, "never-applies") == [14]
        assert "idle(p) never hold at once" in str(findings)

    def test_a_problem_without_a_plan_is_an_error(self) -> None:
        findings = found(PUMPS, ('"towed(big)"]', '"towed(big)", "at_work(p1, big)", "at_work(p1, small)"]'))
        assert [each.level for each in findings if each.rule in {"no-plan", "two-goal-values"}] == [Level.ERROR]

    def test_what_one_lacks_to_come_back_is_named(self) -> None:
        text = """\
domain: roads
types: {car: object, town: object}
actions:
  drive:
    parameters: {c: car, a: town, b: town}
    requires: ["at(c, a)", "road(a, b)"]
    provides: ["at(c, b)", "seen(b)"]
    modifies: ["at(c, _)"]
---
problem: round
objects: {c1: car, x: town, y: town}
initial: ["at(c1, x)", "road(x, y)"]
goal: ["seen(y)", "at(c1, x)"]
"""
        findings = found(text)
        assert [each.rule for each in findings if each.level is Level.ERROR] == ["no-plan"]
        assert any("road(y, x) is stated" in each.message for each in findings if each.rule == "single-repair")
        assert lines(findings, "no-plan") == [13]

    def test_a_deadline_before_the_critical_path(self) -> None:
        text = """\
domain: kiln
types: {pot: object}
actions:
  dry: {parameters: {p: pot}, provides: ["dry(p)"], duration: 40}
  fire: {parameters: {p: pot}, requires: ["dry(p)"], provides: ["fired(p)"], duration: 30}
---
problem: one
objects: {jar: pot}
goal: ["fired(jar)"]
deadline: 60
objective: makespan
"""
        assert lines(found(text), "no-plan") == [10]
        assert found(text, ("deadline: 60", "deadline: 75")) == []

    def test_causes_are_as_loud_as_their_consequences(self) -> None:
        text = """\
domain: lifts
types: {box: object}
actions:
  lift: {parameters: {b: box}, provides: ["up(b)"], duration: 5, holds: {crew: 3}}
---
problem: one
objects: {b1: box}
goal: ["up(b1)"]
capacity: {crew: 2}
objective: makespan
"""
        levels = {each.rule: each.level for each in found(text)}
        assert levels == {"too-much-held": Level.ERROR, "no-plan": Level.ERROR}

    def test_a_proof_and_solve_agree_on_a_model_with_a_plan(self) -> None:
        domain = Domain("shop")
        domain.action("open", provides=["open"])
        problem = domain.problem(goal=["open"])
        assert solve(problem).status is not Status.UNSOLVABLE
        assert not [each for each in check_problem(problem) if each.rule == "no-plan"]

    def test_what_begins_nowhere_is_missing_in_the_initial_state(self) -> None:
        findings = found(PUMPS, ('"idle(p1)", ', ""))
        assert lines(findings, "missing-fact") == [23]
        assert "missing is idle(p1)" in next(each.hint for each in findings if each.rule == "unreachable-goal")


class TestPairs:
    def test_the_one_action_that_gives_nothing_back(self) -> None:
        findings = found(PUMPS, ('"towed(q)", "idle(p)", "not', '"towed(q)", "not'))
        assert lines(findings, "unlike-pair") == [19]

    def test_an_action_that_goes_on_with_it_loses_nothing(self) -> None:
        moved = found(PUMPS, ('"towed(q)", "idle(p)", "not', '"towed(q)", "worn(p)", "not'))
        assert not lines(moved, "unlike-pair")

    def test_nobody_gives_it_back(self) -> None:
        changes = [('"towed(q)", "idle(p)", "not at_work(p, q)"', '"towed(q)"'), ('["idle(p)", "not at', '["not at')]
        findings = [each for each in found(PUMPS, *changes) if each.rule == "never-given-back"]
        assert [(each.level, each.place) for each in findings] == [(Level.HINT, "action uncouple")]

    def test_given_back_and_kept(self) -> None:
        declared = ("actions:", "predicates: {at_work: {parameters: [pump, pool], functional: true}}\nactions:")
        findings = found(PUMPS, ('["idle(p)", "not at_work(p, q)"]', '["idle(p)"]'), declared)
        assert lines(findings, "unlike-pair") == [16]

    def test_a_durative_action_that_keeps_what_it_takes(self, tmp_path: Path) -> None:
        (tmp_path / "domain.pddl").write_text("""\
(define (domain saws)
  (:requirements :typing :durative-actions)
  (:types saw log)
  (:predicates (free ?s - saw) (cut ?l - log))
  (:durative-action cut
    :parameters (?s - saw ?l - log)
    :duration (= ?duration 3)
    :condition (at start (free ?s))
    :effect (and (at start (not (free ?s))) (at end (cut ?l)))))
""")
        findings = check_files(str(tmp_path / "domain.pddl")).findings
        assert [(each.rule, each.place) for each in findings if each.rule == "never-given-back"] == [
            ("never-given-back", "action cut")
        ]


class TestItems:
    def test_what_is_carried_keeps_its_old_place(self, tmp_path: Path) -> None:
        domain, problem = tmp_path / "domain.pddl", tmp_path / "problem.pddl"
        text = """\
(define (domain ferry)
  (:requirements :typing :conditional-effects)
  (:types port car)
  (:predicates (ship ?p - port) (parked ?c - car ?p - port) (aboard ?c - car))
  (:action sail
    :parameters (?a ?b - port)
    :precondition (ship ?a)
    :effect (and (ship ?b) (not (ship ?a))
                 (forall (?c - car) (when (aboard ?c) (and (parked ?c ?b))))))
  (:action board
    :parameters (?c - car ?p - port)
    :precondition (and (ship ?p) (parked ?c ?p))
    :effect (aboard ?c)))
"""
        domain.write_text(text)
        problem.write_text("""\
(define (problem p) (:domain ferry)
  (:objects a b - port c - car)
  (:init (ship a) (parked c a))
  (:goal (parked c b)))
""")
        findings = check_files(str(domain), str(problem)).findings
        assert [(each.rule, each.span.line) for each in findings if each.span] == [("second-value", 9)]
        assert "(not (parked ?c ?a))" in findings[0].hint
        domain.write_text(text.replace("(parked ?c ?b))))))", "(parked ?c ?b) (not (parked ?c ?a)))))))"))
        assert check_files(str(domain), str(problem)).findings == ()

    def test_modifies_of_the_wrong_item_is_told_at_the_action(self) -> None:
        text = """\
domain: shelves
types: {book: object, shelf: object}
actions:
  take:
    parameters: {b: book, s: shelf}
    requires: ["on(b, s)"]
    provides: ["out(b)"]
    modifies: ["on(_, s)"]
  put:
    parameters: {b: book, s: shelf}
    requires: ["out(b)"]
    provides: ["on(b, s)"]
    modifies: ["out(b)"]
---
problem: two
objects: {b1: book, b2: book, low: shelf, top: shelf}
initial: ["on(b1, low)", "on(b2, low)"]
goal: ["on(b1, top)", "on(b2, top)"]
"""
        findings = found(text)
        assert lines(findings, "several-values") == [8]
        assert "on(b, _)" in str(findings)
        assert not lines(findings, "two-initial-values")
        assert not lines(findings, "two-goal-values")

    def test_the_giver_of_a_functional_predicate_is_told(self) -> None:
        domain = Domain("desk", types=["ticket", "clerk"])
        domain.predicate("owner", "ticket", "clerk", functional=True)
        domain.action("assign", {"t": "ticket", "c": "clerk"}, provides=["owner(t, c)"])
        problem = domain.problem(
            objects={"t1": "ticket", "a": "clerk", "b": "clerk"}, initial=["owner(t1, a)"], goal=["owner(t1, b)"]
        )
        finding = next(each for each in check_problem(problem) if each.rule == "unproved-functional")
        assert finding.place == "action assign"
        assert "owner(t, _)" in finding.hint

    def test_one_cause_is_told_once(self) -> None:
        text = """\
domain: tiles
types: {bot: object, tile: object}
actions:
  hop:
    parameters: {b: bot, x: tile, y: tile}
    requires: ["on(b, x)", "on(b, y)", "x != y"]
    provides: ["on(b, y)"]
    modifies: ["on(b, _)"]
"""
        assert [each.rule for each in found(text)] == ["contradicting-requires"]


class TestNames:
    def test_stale_with_what_nobody_writes(self) -> None:
        domain = Domain("build", types=["file"])
        domain.predicate("linked(f)", "file", stale_with=["editd(f)"])
        domain.action("edit", {"f": "file"}, provides=["edited(f)"], modifies=["edited(f)"])
        domain.action("link", {"f": "file"}, requires=["edited(f)"], provides=["linked(f)"])
        finding = next(each for each in check_domain(domain.model) if each.rule == "unknown-name")
        assert (finding.level, finding.place) == (Level.ERROR, "predicate linked")
        assert finding.hint == "did you mean 'edited'?"

    def test_the_single_odd_name_is_doubted_and_not_the_stated_one(self) -> None:
        text = PUMPS.replace('["idle(p)", "power"]', '["idle(p)", "powr"]')
        findings = found(text)
        assert lines(findings, "misspelt") == [6]
        assert "did you mean 'power'?" in [each.hint for each in findings]
        assert not any(each.fix for each in findings)

    def test_a_given_name_that_nothing_requires_beside_one_that_is_used_up(self) -> None:
        findings = found(
            PUMPS, ('["idle(p)", "not at_work', '["idled(p)", "not at_work'), ('"towed(q)", "idle(p)",', '"towed(q)",')
        )
        assert "did you mean 'idle'?" in [each.hint for each in findings if each.rule == "misspelt"]


class TestNumbersAndTime:
    VAN = """\
domain: boats
types: {boat: object, port: object}
functions: {fuel: {parameters: [boat], low: 0, high: 90}, miles: {parameters: [port, port]}}
actions:
  sail:
    parameters: {b: boat, x: port, y: port}
    requires: ["at(b, x)", "fuel(b) >= miles(x, y)"]
    provides: ["at(b, y)"]
    modifies: ["at(b, _)", "fuel(b) -= miles(x, y)"]
---
problem: trip
objects: {b1: boat, kiel: port, oslo: port}
initial: ["at(b1, kiel)", "fuel(b1) = 50"]
values: {"miles(kiel, oslo)": 30, "miles(oslo, kiel)": 30, "miles(kiel, kiel)": 0, "miles(oslo, oslo)": 0}
goal: ["at(b1, oslo)"]
"""

    def test_an_effect_with_the_wrong_sign(self) -> None:
        assert found(self.VAN) == []
        assert lines(found(self.VAN, ("fuel(b) -=", "fuel(b) +=")), "wrong-sign") == [9]

    def test_durations_in_other_units(self) -> None:
        text = """\
domain: cabs
types: {stop: object}
functions: {minutes: {parameters: [stop]}}
actions:
  go: {parameters: {s: stop}, provides: ["seen(s)"], duration: 60 * minutes(s)}
  wait: {parameters: {s: stop}, requires: ["seen(s)"], provides: ["done(s)"], duration: minutes(s)}
"""
        assert lines(found(text), "unlike-units") == [6]
        assert not lines(found(text, ("duration: minutes", "duration: 60 * minutes")), "unlike-units")

    def test_costs_that_no_metric_counts(self, tmp_path: Path) -> None:
        domain, problem = tmp_path / "domain.pddl", tmp_path / "problem.pddl"
        domain.write_text("""\
(define (domain walk)
  (:requirements :action-costs)
  (:predicates (there))
  (:functions (total-cost) - number)
  (:action go :parameters () :precondition () :effect (and (there) (increase (total-cost) 4))))
""")
        text = "(define (problem p) (:domain walk)\n (:init (= (total-cost) 0))\n (:goal (there)))\n"
        problem.write_text(text)
        findings = check_files(str(domain), str(problem)).findings
        assert [(each.rule, each.span.source) for each in findings if each.span] == [("no-metric", str(problem))]
        problem.write_text(text.replace("(:goal (there))", "(:goal (there)) (:metric minimize (total-cost))"))
        assert check_files(str(domain), str(problem)).findings == ()

    def test_a_second_value_in_a_file_is_a_finding(self, tmp_path: Path) -> None:
        domain, problem = tmp_path / "domain.pddl", tmp_path / "problem.pddl"
        domain.write_text("""\
(define (domain tank)
  (:requirements :numeric-fluents)
  (:predicates (full))
  (:functions (level))
  (:action pour :parameters () :precondition (>= (level) 2) :effect (full)))
""")
        problem.write_text(
            "(define (problem p) (:domain tank)\n (:init (= (level) 3)\n  (= (level) 5))\n (:goal (full)))\n"
        )
        findings = check_files(str(domain), str(problem)).findings
        assert [(each.rule, each.span.line) for each in findings if each.span] == [("twice", 3)]

    def test_each_capacity_that_is_missing_is_told_and_no_other(self) -> None:
        text = """\
domain: mills
types: {sack: object}
actions:
  grind: {parameters: {s: sack}, provides: ["flour(s)"], duration: 4, holds: {mill: 1}}
  bake: {parameters: {s: sack}, requires: ["flour(s)"], provides: ["bread(s)"], duration: 4, holds: {oven: 1}}
---
problem: one
objects: {s1: sack}
goal: ["bread(s1)"]
capacity: {mill: 1}
"""
        messages = [each.message for each in found(text)]
        assert any("'oven'" in each for each in messages)
        assert not any("'mill'" in each for each in messages)

    def test_what_is_needed_throughout_and_ended_at_the_start(self) -> None:
        text = """\
domain: trams
types: {tram: object, stop: object}
actions:
  run:
    parameters: {t: tram, a: stop, b: stop}
    requires: ["at(t, a)"]
    throughout: ["at(t, a)"]
    provides: ["at(t, b)"]
    modifies: ["at(t, _)"]
    duration: 5
"""
        findings = [each for each in found(text) if each.level is Level.ERROR]
        assert [(each.rule, each.span.line) for each in findings if each.span] == [("contradicting-requires", 7)]
        assert "ends that at its own start" in findings[0].message


class TestParameters:
    def test_a_parameter_that_something_may_tie_is_not_removed(self) -> None:
        text = """\
domain: bench
types: {smith: object, tool: object, bar: object}
actions:
  fetch: {parameters: {s: smith, t: tool}, requires: ["hangs(t)"], provides: ["holds(s, t)", "not hangs(t)"]}
  bend: {parameters: {s: smith, t: tool, b: bar}, requires: ["near(s, b)"], provides: ["bent(b)"]}
"""
        finding = next(each for each in found(text) if each.rule == "unused-parameter")
        assert finding.fix is None
        assert "holds(s, t)" in finding.hint
        spare = found(text, ('"holds(s, t)", ', ""))
        assert next(each for each in spare if each.rule == "unused-parameter" and each.span.line == 5).fix


TASKS = """\
domain: sheds
types: {shed: object, cart: object, yard: object}
functions: {coal: {low: 0, high: 90}}
actions:
  pull: {parameters: {c: cart, a: yard, b: yard}, requires: ["at(c, a)"], provides: ["not at(c, a)", "at(c, b)"]}
  unlock: {parameters: {s: shed}, requires: ["shut(s)"], provides: ["not shut(s)"]}
  stow: {parameters: {c: cart, s: shed, y: yard}, requires: ["at(c, y)", "not shut(s)"], provides: ["stowed(c)"]}
  mark: {parameters: {c: cart}, requires: ["stowed(c)"], provides: ["marked(c)"]}
  fetch: {modifies: ["coal += 10"]}
  burn: {requires: ["coal >= 20"], modifies: ["coal -= 20"], provides: ["warm"]}
tasks:
  store: {parameters: {c: cart, s: shed}}
  heat: {}
methods:
  store_it:
    task: store(c, s)
    parameters: {c: cart, s: shed, a: yard, b: yard}
    requires: ["at(c, a)", "of(s, b)", "shut(s)"]
    subtasks:
      - pull(c, a, b)
      - unlock(s)
      - stow(c, s, b)
      - mark(c)
  more:
    task: heat
    requires: ["coal < 20"]
    subtasks: ["fetch", "heat"]
  enough:
    task: heat
    requires: ["coal >= 20"]
    subtasks: ["burn"]
---
problem: one
objects: {c1: cart, s1: shed, x: yard, y: yard}
initial: ["at(c1, x)", "of(s1, y)", "shut(s1)", "coal = 0"]
tasks: ["store(c1, s1)", "heat"]
"""


IDLE = """\
  idle:
    task: rest(c)
    parameters: {c: cart}
    requires: ["marked(c)", "stowed(c)"]
    subtasks: ["mark(c)"]
"""


class TestMethods:
    def test_a_clean_hierarchy_is_clean(self) -> None:
        assert found(TASKS) == []

    @pytest.mark.parametrize(
        ("old", "new", "rule", "line"),
        [
            ("      - pull(c, a, b)", "      - pull(c, b, a)", "swapped-arguments", 20),
            ("      - unlock(s)\n", "", "contradicting-requires", 18),
            ("      - stow(c, s, b)\n      - mark(c)", "      - mark(c)\n      - stow(c, s, b)", "wrong-order", 22),
            ('requires: ["coal < 20"]', 'requires: ["coal > 20"]', "endless-method", 26),
            ('modifies: ["coal += 10"]', 'provides: ["fetched"]', "endless-method", 26),
        ],
        ids=["swapped", "contradiction", "order", "comparison", "nothing-changes"],
    )
    def test_a_mistake_is_told_at_its_method(self, old: str, new: str, rule: str, line: int) -> None:
        findings = found(TASKS, (old, new))
        assert line in lines(findings, rule)
        assert any(each.level is not Level.HINT for each in findings)

    def test_a_recursion_before_anything_has_changed(self) -> None:
        findings = found(TASKS, ('["fetch", "heat"]', '["heat", "fetch"]'))
        assert lines(findings, "endless-method") == [27]

    def test_a_method_that_changes_nothing(self) -> None:
        findings = found(
            TASKS,
            ("  heat: {}\n", "  heat: {}\n  rest: {parameters: {c: cart}}\n"),
            ("methods:\n", f"methods:\n{IDLE}"),
        )
        assert lines(findings, "known-effect")

    def test_a_fact_that_only_one_object_lacks(self) -> None:
        findings = found(
            TASKS,
            ("s1: shed,", "s1: shed, s2: shed, c2: cart,"),
            ('"shut(s1)",', '"shut(s1)", "shut(s2)", "at(c2, x)",'),
            ('tasks: ["store(c1, s1)"', 'tasks: ["store(c1, s1)", "store(c2, s2)"'),
        )
        assert lines(findings, "missing-fact") == [35]
        assert len([each for each in findings if each.rule == "impossible-task"]) <= 2
