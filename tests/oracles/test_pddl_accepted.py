"""Fast Downward, pyperplan and unified-planning take what is exported, and their plans are plans of the source."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path

import pytest

from planner import Domain
from planner.language.pddl.export import Export, Level, export
from planner.model.actions import Action, CostFunction, When
from planner.model.domain import Axiom, DomainModel, Predicate
from planner.model.formulas import And, Atom, Exists, Forall, Imply, Not, Number, Object, Or, Variable
from planner.model.object_names import term_of
from planner.model.problem import Goal, Problem
from planner.validation.validate import check_steps


@dataclass(frozen=True)
class Example:
    """A problem, the cost of its cheapest plan, and the level on which it is exported."""

    problem: Problem
    optimum: Number
    level: Level


def mail() -> Example:
    """Names that PDDL does not take, several parents, alternatives, decimals and costs that Python computes."""
    either = Variable("?Robot", ("Robot", "robot"))
    thing, x = Variable("?robot", ("Thing",)), Variable("?x")
    domain = DomainModel(
        "Send & Go",
        {"Robot": ("object",), "robot": ("Thing",), "Thing": (), "and": ("Robot", "Thing")},
        (Object("Hall 1", ("Thing",)),),
        {
            "and": Predicate("and", (x,)),
            "At": Predicate("At", (either, Variable("?where"))),
            "at": Predicate("at"),
            "Größe": Predicate("Größe"),
        },
        actions={
            "Send E-mail": Action(
                "Send E-mail",
                (either, thing),
                Atom("At", ("?Robot", "?robot")),
                (Atom("and", ("?robot",)), Not(Atom("At", ("?Robot", "?robot")))),
                cost=(Decimal("2.5"),),
            ),
            "send-e-mail": Action("send-e-mail", (x,), Atom("and", ("?x",)), (Atom("at"),), cost=(CostFunction(len),)),
            "go": Action(
                "go",
                (either, Variable("?from"), thing),
                Atom("At", ("?Robot", "?from")),
                (Atom("At", ("?Robot", "?robot")),),
                modifies=(Atom("At", ("?Robot", "_")),),
            ),
        },
    )
    objects = (Object("r 2", ("Robot",)), Object("R-2", ("robot",)), Object("x", ("and",)), Object("robot", ("Thing",)))
    initial = (Atom("At", ("r 2", "robot")), Atom("At", ("R-2", "robot")))
    goal = Goal(And((Atom("at"), Atom("and", ("Hall 1",)))))
    return Example(Problem("Problem 1", domain, objects, initial, goal), 8, "strips")


def lamps() -> Example:
    """Quantified and disjunctive conditions, universal and conditional effects."""
    lamp = Variable("?lamp", ("lamp",))
    lit, broken = Atom("lit", ("?lamp",)), Atom("broken", ("?lamp",))
    domain = DomainModel(
        "lamps",
        {"lamp": ("object",)},
        predicates={name: Predicate(name, (lamp,)) for name in ("lit", "broken")} | {"bored": Predicate("bored")},
        actions={
            "mend": Action("mend", (lamp,), Or((broken, And((Not(lit), Atom("bored"))))), (Not(broken),), cost=(3,)),
            "switch": Action(
                "switch",
                requires=Imply(Atom("bored"), Forall((lamp,), Not(broken))),
                when=(
                    When(And((Not(broken), Not(lit))), (lit,), (), (lamp,)),
                    When(Exists((lamp,), broken), (Atom("bored"),)),
                ),
            ),
        },
    )
    objects = tuple(Object(name, ("lamp",)) for name in ("one", "two", "three"))
    initial = (Atom("broken", ("two",)),)
    goal = Goal(Forall((lamp,), lit))
    return Example(Problem("evening", domain, objects, initial, goal), 4, "adl")


def tower() -> Example:
    """A derived predicate, and a negated one."""
    x, y, z = Variable("?x"), Variable("?y"), Variable("?z")
    on, above = Atom("on", ("?x", "?y")), Atom("above", ("?x", "?y"))
    step = Exists((z,), And((Atom("on", ("?x", "?z")), Atom("above", ("?z", "?y")))))
    domain = DomainModel(
        "tower",
        predicates={name: Predicate(name, (x, y)) for name in ("on", "above")} | {"done": Predicate("done")},
        actions={
            "put": Action("put", (x, y), Not(Atom("above", ("?y", "?x"))), (on,), cost=(2,)),
            "finish": Action("finish", (x, y), above, (Atom("done"),), cost=()),
        },
        axioms=(Axiom("above", (x, y), on), Axiom("above", (x, y), step)),
    )
    objects = tuple(Object(name) for name in "abc")
    goal = Goal(And((Atom("above", ("a", "c")), Not(Atom("on", ("a", "c"))), Atom("done"))))
    return Example(Problem("three", domain, objects, (Atom("on", ("b", "c")),), goal), 2, "adl")


def doors() -> Example:
    """Disjunctions, which only ground STRIPS can say without."""
    room = Variable("?x", ("room",))
    here, key = Atom("here", ("?x",)), Atom("key", ("?x",))
    domain = DomainModel(
        "doors",
        {"room": ("object",)},
        predicates={name: Predicate(name, (room,)) for name in ("here", "key", "seen")},
        actions={
            "look": Action("look", (room,), Or((here, key)), (Atom("seen", ("?x",)), Not(key)), cost=(2,)),
            "fetch": Action("fetch", (room,), Not(here), (key,), cost=(1,)),
        },
    )
    objects = (Object("Hall", ("room",)), Object("hall", ("room",)))
    goal = Goal(And((Atom("seen", ("Hall",)), Atom("seen", ("hall",)))))
    return Example(Problem("two", domain, objects, (Atom("here", ("Hall",)),), goal), 5, "strips")


def orders() -> Example:
    """Objects of any names, among them two that share one."""
    domain = Domain("shop", types=["order", "customer"])
    domain.action("send", {"o": "order", "c": "customer"}, requires=["bears(o, c)"], provides=["sent(o)"])
    names = [
        "o 7",
        "Müller & Söhne",
        "https://x/a?b=1",
        'say "no", (yes) ; \\',
        "_",
        "?x",
        "",
        "define",
        "7",
        "注文",
        "A",
        "a",
    ]
    terms = list(map(term_of, names))
    problem = domain.problem(
        objects={**dict.fromkeys(terms, "order"), 'customer:"o 7"': "customer"},
        initial=[f"bears({each}, {terms[0]})" for each in terms],
        goal=[f"sent({each})" for each in terms],
    )
    return Example(problem, len(names), "strips")


EXAMPLES = {"mail": mail(), "lamps": lamps(), "tower": tower(), "doors": doors(), "orders": orders()}
STRIPS = [name for name, example in EXAMPLES.items() if example.level == "strips"]


def exported(example: Example, folder: Path, *, costs: bool = True) -> Export:
    """Return the export, whose two files are in `folder`."""
    written = export(example.problem, "strips" if example.level == "strips" else None, costs=costs)
    assert written.level == example.level
    (folder / "domain.pddl").write_text(written.domain)
    (folder / "problem.pddl").write_text(written.problem)
    return written


@pytest.mark.skipif(find_spec("up_fast_downward") is None, reason="Fast Downward is not installed")
@pytest.mark.parametrize("name", EXAMPLES)
def test_fast_downward(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    written = exported(example, tmp_path)
    spec = find_spec("up_fast_downward")
    assert spec is not None
    assert spec.origin is not None
    driver = Path(spec.origin).parent / "downward"
    code = f"import sys; sys.path.insert(0, {str(driver)!r}); from driver.main import main; main()"
    files = ["--plan-file", "plan", "domain.pddl", "problem.pddl"]
    command = [sys.executable, "-c", code, *files, "--search", "astar(blind())"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    plan = written.read_plan((tmp_path / "plan").read_text())
    assert check_steps(example.problem, plan).valid
    assert plan.cost == example.optimum


@pytest.mark.parametrize("name", STRIPS)
def test_pyperplan(name: str, tmp_path: Path) -> None:
    from pyperplan.grounding import ground
    from pyperplan.pddl.parser import Parser
    from pyperplan.search import breadth_first_search

    example = EXAMPLES[name]
    written = exported(example, tmp_path, costs=False)
    parser = Parser(str(tmp_path / "domain.pddl"), str(tmp_path / "problem.pddl"))
    steps = breadth_first_search(ground(parser.parse_problem(parser.parse_domain())))
    plan = written.read_plan("\n".join(step.name for step in steps))
    assert check_steps(example.problem, plan).valid


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # its own use of pyparsing
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "tower"])
def test_unified_planning(name: str, tmp_path: Path) -> None:
    from unified_planning.io import PDDLReader

    written = exported(EXAMPLES[name], tmp_path)
    problem = PDDLReader().parse_problem(str(tmp_path / "domain.pddl"), str(tmp_path / "problem.pddl"))
    assert {action.name for action in problem.actions} == set(written.written.domain.actions)
