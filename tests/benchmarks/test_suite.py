"""Suites: which tasks a folder holds, which of them are taken, and what features they have."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.pddltext import classify_numeric, find_features, read_expression, write_expression
from benchmarks.suite import BenchmarkTask, Selection, domain_of, load_suite
from planner.errors import DocumentError, PddlError

TABLE = """domain\tdomain_file\tproblem_file\toptimal_track\tsatisficing_track
blocks\tdomain.pddl\tp1.pddl\topt\tsat
blocks\tdomain.pddl\tp2.pddl\t\tsat
rooms\tp1-domain.pddl\tp1.pddl\topt\t
"""


def make(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


def test_a_suite_with_a_table(tmp_path: Path) -> None:
    (tmp_path / "tasks.tsv").write_text(TABLE)
    tasks = load_suite(tmp_path)
    assert [task.name for task in tasks] == ["blocks/p1.pddl", "blocks/p2.pddl", "rooms/p1.pddl"]
    assert tasks[2] == BenchmarkTask(
        tmp_path.name,
        "rooms",
        "rooms/p1.pddl",
        tmp_path / "rooms/p1-domain.pddl",
        tmp_path / "rooms/p1.pddl",
        frozenset({"opt"}),
    )


def test_a_table_without_a_column(tmp_path: Path) -> None:
    (tmp_path / "tasks.tsv").write_text("domain\tproblem_file\nblocks\tp1.pddl\n")
    with pytest.raises(DocumentError, match=r"tasks\.tsv:2: there is no column 'domain_file'"):
        load_suite(tmp_path)


def test_a_suite_of_files_and_folders(tmp_path: Path) -> None:
    make(
        tmp_path, "blocks/domain.pddl", "blocks/p1.pddl", "blocks/p2.pddl", "a/b/domain.pddl", "a/b/x.pddl", "notes.txt"
    )
    found = [
        (task.domain, task.name, task.domain_path.relative_to(tmp_path).as_posix()) for task in load_suite(tmp_path)
    ]
    assert found == [
        ("a/b", "a/b/x.pddl", "a/b/domain.pddl"),
        ("blocks", "blocks/p1.pddl", "blocks/domain.pddl"),
        ("blocks", "blocks/p2.pddl", "blocks/domain.pddl"),
    ]


def test_a_folder_of_one_domain(tmp_path: Path) -> None:
    make(tmp_path, "domain.pddl", "p1.pddl")
    assert [(task.domain, task.name) for task in load_suite(tmp_path)] == [(tmp_path.name, "p1.pddl")]


def test_a_folder_without_tasks(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="no planning tasks found"):
        load_suite(make(tmp_path, "p1.pddl"))


@pytest.mark.parametrize(
    ("problem", "domains", "expected"),
    [
        ("p01", ["domain"], "domain"),
        ("p01", ["p01-domain", "p02-domain"], "p01-domain"),
        ("p02", ["domain_p01", "domain_p02"], "domain_p02"),
        ("p02", ["domain01", "domain02"], "domain02"),
        ("p1", ["domain-p1", "domain-p11"], "domain-p1"),
        ("p11", ["domain-p1", "domain-p11"], "domain-p11"),
        ("p11-airport3", ["p01-domain", "p11-domain"], "p11-domain"),
        ("p01", ["domain", "p01-domain"], "p01-domain"),
        ("P02", ["Domain"], "Domain"),
        ("p03", ["p01-domain"], None),
    ],
)
def test_which_domain_belongs_to_a_problem(problem: str, domains: list[str], expected: str | None) -> None:
    found = domain_of(Path(f"{problem}.pddl"), [Path(f"{name}.pddl") for name in domains])
    assert (found.stem if found else None) == expected


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(), [0, 1, 2, 3]),
        (Selection(track="opt"), [0, 2]),
        (Selection(domains=["room*", "hall"]), [2, 3]),
        (Selection(names=["*/p1.pddl"]), [0, 2, 3]),
        (Selection(track="opt", names=["*/p2.pddl"]), []),
        (Selection(sample=9), [0, 1, 2, 3]),
    ],
)
def test_selection(selection: Selection, expected: list[int]) -> None:
    assert selection.of(TASKS) == [TASKS[index] for index in expected]


def test_a_sample_is_determined_by_its_seed_and_keeps_the_order() -> None:
    many = [TASKS[index % 4] for index in range(40)]
    numbered = [BenchmarkTask("s", "d", str(index), Path(), Path()) for index in range(len(many))]
    first, again, other = (Selection(sample=8, seed=seed).of(numbered) for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == 8
    assert [int(task.name) for task in first] == sorted(int(task.name) for task in first)


TASKS = [
    BenchmarkTask("s", domain, f"{domain}/{name}.pddl", Path(), Path(), frozenset(tracks))
    for domain, name, tracks in [
        ("blocks", "p1", ["opt", "sat"]),
        ("blocks", "p2", ["sat"]),
        ("rooms", "p1", ["opt"]),
        ("hall", "p1", []),
    ]
]


NUMERIC = {"numeric conditions", "numeric effects"}
NONLINEAR = {"numeric effects", "nonlinear expressions"}


@pytest.mark.parametrize(
    ("domain", "problem", "expected"),
    [
        ("", "", set()),
        ("(:action a :precondition (and (p) (q)) :effect (and (p) (not (q))))", "", set()),
        ("(:action a :precondition (not (p)) :effect (q))", "", {"negative conditions"}),
        ("(:action a :precondition (not (= ?x ?y)) :effect (q))", "", {"equality"}),
        ("(:action a :precondition () :effect (when (p) (q)))", "", {"conditional effects"}),
        ("(:action a :effect (forall (?x) (q ?x)))", "", {"universal effects"}),
        (
            "(:action a :effect (forall (?x) (when (or (p) (not (r))) (q ?x))))",
            "",
            {"universal effects", "conditional effects", "disjunctive conditions", "negative conditions"},
        ),
        ("(:derived (p ?x) (exists (?y) (q ?x ?y)))", "", {"axioms", "quantified conditions"}),
        ("(:constants a - b)", "(:metric minimize (total-cost))", {"constants", "costs"}),
        ("", "(:goal (imply (p) (q)))", {"disjunctive conditions"}),
        ("(:action a :precondition (= (x) 1))", "", {"numeric conditions"}),
        ("(:action a :precondition (not (= ?n 1)))", "", {"numeric conditions", "negative conditions"}),
        ("(:method m :subtasks (and (t1 (a)) (t2 (b))) :ordering (< t1 t2))", "", set()),
        ("", "(:goal (and (>= (x) 1.5) (p)))", {"numeric conditions"}),
        ("(:action a :effect (increase (total-cost) (fee)))", "(:metric minimize (total-cost))", {"costs"}),
        (
            "(:action a :precondition (> (x) 0) :effect (increase (x) (step)))",
            "",
            {"numeric conditions", "numeric effects"},
        ),
        (
            "(:action a :precondition (> (x) 0) :effect (and (increase (x) (y)) (decrease (y) 1)))",
            "",
            {"numeric conditions", "numeric effects", "linear effects"},
        ),
        (
            "(:action a :precondition (> (x) 0) :effect (and (scale-up (x) 2) (assign (y) (* (x) (y)))))",
            "",
            {
                "numeric conditions",
                "numeric effects",
                "scaling",
                "assignments",
                "linear effects",
                "nonlinear expressions",
            },
        ),
        (
            "(:action a :precondition (> (/ 1 (x)) (x)) :effect (decrease (x) 1))",
            "",
            {"numeric conditions"} | NONLINEAR,
        ),
        ("(:action a :precondition (> (/ (x) 2) (* 3 (x))) :effect (increase (x) 1))", "", NUMERIC),
        (
            "(:action a :precondition (> (x) 0) :effect (and (increase (x) 1) (increase (c) (x)) (decrease (d) 1)))",
            "(:metric minimize (c))",
            NUMERIC | {"costs", "state-dependent costs"},
        ),
        (
            "(:action a :precondition (p) :effect (decrease (c) 1))",
            "(:metric minimize (c))",
            {"costs", "decreased costs"},
        ),
        ("(:action a :precondition (p) :effect (decrease (c) 1))", "", {"numeric effects"}),
        ("(:action a :precondition (p) :effect (increase (c) 1))", "", set()),
        (
            "(:action a :precondition (> (x) 0) :effect (and (increase (x) 1) (increase (c) 1)))",
            "(:metric minimize (+ (c) (x)))",
            NUMERIC | {"costs", "general metric"},
        ),
        (
            "(:action a :precondition (> (x) 0) :effect (increase (x) 1))",
            "(:metric maximize (x))",
            NUMERIC | {"costs", "general metric", "maximised metric"},
        ),
        ("(:ACTION a :Precondition (NOT (p)) ; (or (p))\n :effect (q))", "", {"negative conditions"}),
    ],
)
def test_features(domain: str, problem: str, expected: set[str]) -> None:
    texts = (f"(define (domain d) {domain})", f"(define (problem p) {problem})")
    assert find_features(*(read_expression(text, "text") for text in texts)) == expected


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        (set(), ""),
        ({"costs", "state-dependent costs"}, ""),
        (NUMERIC, "simple"),
        (NUMERIC | {"assignments"}, "linear"),
        (NUMERIC | {"linear effects"}, "linear"),
        (NONLINEAR, "nonlinear"),
    ],
)
def test_classes_of_tasks_with_numbers(features: set[str], expected: str) -> None:
    assert classify_numeric(features) == expected


@pytest.mark.parametrize("text", ["", "word", "(a (b)", ")", "; (a)"])
def test_parentheses_that_do_not_match(text: str) -> None:
    with pytest.raises(PddlError, match="there: the parentheses do not match"):
        read_expression(text, "there")


def test_deep_nesting_is_read_and_written() -> None:
    text = "(" * 50_000 + "x" + ")" * 50_000
    assert write_expression(read_expression(text, "text")).replace(" ", "") == text
