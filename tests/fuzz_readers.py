"""Mutates real files and gives them to the readers: nothing but a `ForethoughtError` may come out.

    python tests/fuzz_readers.py --seconds 600 [--seed 1] [--reader pddl-domain …] [--coverage]

Prints how many inputs each reader took and refused, the slowest input, how the memory grew and, with `--coverage`,
which lines of the readers were not reached. Ends with 1 where anything else than a `ForethoughtError` was raised, or
where an input took longer than `PATIENCE` seconds; such inputs are kept in files.
"""

from __future__ import annotations

import argparse
import csv
import gc
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from htn.language import hddl
from htn.language.hddl.hddl_writer import write_domain, write_problem
from htn.model import HtnDomain
from planner.errors import ForethoughtError
from planner.language.documents import read_documents, write_json, write_yaml
from planner.language.documents.text_formats import parse_yaml
from planner.language.pddl import parse_condition, parse_domain, parse_problem, read
from planner.language.pddl.pddl_writer import write_condition
from planner.language.pddl.plan_files import read_plan, write_plan
from planner.limits import resident_bytes
from planner.model import DomainModel, Problem, TypeHierarchy

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data" / "ipc-classical"
HTN_DATA = DATA.with_name("ipc2020-htn")
LARGEST = 40_000
"""Files up to this many characters are mutated: larger ones have nothing that these have not."""
PATIENCE = 10
"""Seconds that one input may take."""
DENSE = 0.2
"""How often the first seed is taken, which has everything in little room."""
READER_MODULES = [
    *(
        "pddl/text",
        "pddl/trees",
        "pddl/typed",
        "pddl/declarations",
        "pddl/vocabulary",
        "pddl/conditions",
        "pddl/refused",
    ),
    *(
        "pddl/effects",
        "pddl/actions",
        "pddl/definitions",
        "pddl/domains",
        "pddl/initial",
        "pddl/problems",
        "pddl/plans",
    ),
    "documents/",
    "hddl/",
]
"""What is measured with `--coverage`."""

DOMAIN = """(define (domain rooms) (:requirements :adl :action-costs) ; a small one, where no others are at hand
  (:types robot room - object box - (either robot room)) (:constants hall - room)
  (:predicates (at ?r - robot ?x - room) (door ?x ?y - room) (clean ?x) (safe ?x - room) (idle))
  (:functions (total-cost) - number (distance ?x ?y - room) - number (base) - number)
  (:derived (safe ?x - room) (exists (?b - (either box robot)) (or (clean ?b) (not (idle)))))
  (:action move :parameters (?r - robot ?x ?y - room)
    :precondition (and (at ?r ?x) (imply (idle) (forall (?z - room) (door ?x ?z))) (not (= ?x ?y)))
    :effect (and (not (at ?r ?x)) (at ?r ?y) (when (and) (idle)) (when (safe ?y) (forall (?z - room) (not (clean ?z))))
      (increase (total-cost) (+ (distance ?x ?y) 1 base))))
  (:action sweep :parameters (?x - room) :effect (and (when (idle) (oneof (clean ?x) (and)))
    (probabilistic 1/4 (when (safe ?x) (clean ?x)) 0.5 (not (idle))))))
"""
PROBLEM = """(define (problem one) (:domain rooms) (:objects r2 - robot kitchen - room)
  (:init (at r2 hall) (door hall kitchen) (not (clean hall)) (= (distance hall kitchen) 3) (= base 0.5) (idle))
  (:goal (and (at r2 kitchen) (exists (?x) (clean ?x)))) (:metric minimize (total-cost)))
"""
WISHES_DOMAIN = """(define (domain wishes) (:types room) (:constants hall - room)
  (:predicates (at ?x - room) (lit ?x - room) (calm)) (:functions (total-cost) - number (fee ?x - room) - number)
  (:constraints (and (always (calm)) (forall (?x - room) (at-most-once (at ?x)))))
  (:action go :parameters (?x ?y - room)
    :precondition (and (at ?x) (preference p (lit ?y)) (forall (?z - room) (preference q (lit ?z))))
    :effect (and (at ?y) (not (at ?x)) (increase (total-cost) (fee ?x)))))
"""
WISHES_PROBLEM = """(define (problem one) (:domain wishes) (:objects den - room)
  (:init (at hall) (calm) (= (total-cost) 0) (= (fee hall) 2) (= (fee den) 1))
  (:goal (and (at den) (preference g (lit den)) (forall (?x - room) (preference h (lit ?x)))))
  (:constraints (and (preference c (sometime (at hall))) (sometime-before (at den) (at hall)) (at end (calm))))
  (:metric minimize (+ (total-cost) (* 3 (is-violated p)) (* 2 (is-violated q)) (is-violated g) (is-violated c))))
"""
HDDL_DOMAIN = """(define (domain trips) (:requirements :hierarchy :method-preconditions)
  (:types place thing - object town - place) (:constants home - town)
  (:predicates (at ?x - thing ?p - place) (near ?p ?q - place))
  (:task bring :parameters (?x - thing ?p - place)) (:task idle :precondition () :effect ())
  (:method done :parameters (?x - thing ?p - place) :task (bring ?x ?p) :precondition (at ?x ?p) :subtasks ())
  (:method far :parameters (?x - thing ?p ?q ?r - place) :task (bring ?x ?r)
    :precondition (and (at ?x ?p) (not (near ?p ?r)) (forall (?y - thing) (not (= ?y ?x))))
    :subtasks (and (a (move ?x ?p ?q)) (b (bring ?x ?r)) (c (idle))) :ordering (and (< a b) (b < c))
    :constraints (and (not (= ?p ?q)) (sortof ?r - town)))
  (:method rest :task (idle) :ordered-tasks (and (idle) (t (idle))) :constraints (= home home))
  (:action move :parameters (?x - thing ?p ?q - place) :precondition (and (at ?x ?p) (near ?p ?q))
    :effect (and (not (at ?x ?p)) (at ?x ?q) (increase (total-cost) 2))))
"""
HDDL_PROBLEM = """(define (problem one) (:domain trips) (:objects box - thing shop - place)
  (:htn :parameters (?p - town) :tasks (and (first (bring box ?p)) (last (idle)) (idle)) :ordering (< first last)
    :constraints (not (= ?p shop)))
  (:init (at box shop) (near shop home)) (:goal (at box home)) (:metric minimize (total-cost)))
"""
DOCUMENTS = """domain: errands
resolution: 0.5
types: {robot: thing, thing: object, place: [], file: []}
constants: {hall: place}
predicates:
  at: [thing, place]
  clean: {parameters: {where: place}, stale_with: ["at(_, where)"], tags: trusted, description: swept}
  idle:
functions: {distance: {parameters: [place, place]}, base: []}
actions:
  go: &go
    parameters: {who: robot, to: place, note: {type: str, default: "?", description: a word}}
    requires: ["not clean(to)", "(exists (?p - place) (at ?who ?p))"]
    provides: at(who, to)
    modifies: at(who, _)
    cost: [1, "distance(hall, to)", base]
    when: {requires: idle, provides: clean(p), variables: {p: place}}
    similes: [walk, travel]
  count:
    requires: idle
    parameters:
      n: {type: int, default: 3}
      many: {type: "list[float]", default: [1.5, 2]}
      table: {type: "dict[str, float]", default: {a: 2.5}}
      price: {type: decimal, default: 1.25}
      flag: {type: bool, default: true}
      text: {type: str, from: {fact: idle, path: a.b}, fixed: true}
    outcomes: [{probability: 0.5, provides: idle, name: well}, {probability: 0.5}]
    duration: 2
    risk: 0.1
    creates: {f: file}
    after: [go]
    examples: [count them]
derived:
  - {head: tidy(p), parameters: {p: place}, condition: ["clean(p)", idle]}
---
problem: first
domain: errands
objects: {r2: robot, kitchen: place, desk: place}
initial: ["at(r2, hall)", idle]
goal: {hard: [tidy(hall), "(exists (?p - place) (clean ?p))"], soft: {clean(kitchen): 2}}
values: {"distance(hall, kitchen)": !!int 3, base: !!float 0.5}
unknown: clean(desk)
---
problem: second
goal: &g [idle]
initial: *g
resolution: 0x10
...
"""
ODD_YAML = """!!int_!!int five_!!float .inf_!!float 1_!!bool true_!!bool 1_!!null ~_!!str 5_! 5_!odd 5_!odd [a]_!!map {}
_!!seq []_-.inf_.nan_.INF_0o17_0x1F_1e9_~_null_True_*go_*g_*nothing_? [a]_? *g_? {a: b}_&b [1, 2]_'a'_"\\u263a"_"\\q"_|
_>_<<: *go_{a: 1, a: 2}_problem: third_domain: errands_domian: x_- a_&c [&d [1, 1], *d, *d]_%YAML 1.2_--- !odd
"""
WORDS = """( ) (( )) () - ? ?x ?y x a1 = < * + and or not imply forall exists when either increase decrease assign
object number :action :parameters :precondition :effect :vars :derived :types :constants :predicates :functions
:objects :init :goal :metric :domain :requirements :durative-action :constraints :axiom :invariant :method minimize
:task :htn :subtasks :tasks :ordered-subtasks :ordered-tasks :ordering sortof typeof
maximize total-cost total-time define domain problem at over oneof preference always probabilistic 5 2.5 -1 1e40 ;
0: [1] : , { } [ ] null true types actions requires provides modifies parameters cost initial goal hard soft &a *a !!t
"""
NOISE = "\0\n\r\t \N{NO-BREAK SPACE};()?:-\"'{}[]#&*!|>%@`\\éİß\N{ZERO WIDTH NO-BREAK SPACE}日\U0001f916\udc80"


@dataclass(slots=True)
class Reader:
    """Something that reads text, and texts that it takes, each with what it is read for."""

    name: str
    read: Callable[[str, Any], object]
    seeds: list[tuple[str, Any]]
    weight: int = 12


@dataclass(slots=True)
class Report:
    """What came of the inputs of one reader; times in seconds."""

    inputs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    slowest_size: int = 0
    failures: list[str] = field(default_factory=list)


def seeds(folders: int | None) -> list[tuple[str, str]]:
    """Return texts of domains with problems for them: the smallest pair of each of the first `folders` folders."""
    found = [(DOMAIN, PROBLEM), (WISHES_DOMAIN, WISHES_PROBLEM)]
    for folder in sorted(DATA.glob("*/"))[:folders]:
        domains = {path.stem.replace("domain", ""): path for path in folder.glob("*domain*.pddl")}
        problems = [path for path in sorted(folder.glob("*.pddl"), key=_size) if "domain" not in path.name]
        pairs = [
            (domains.get(f"{path.stem}-", domains.get(f"_{path.stem}", domains.get(""))), path) for path in problems
        ]
        texts = [(one.read_text("latin-1"), other.read_text("latin-1")) for one, other in pairs[:1] if one is not None]
        found += [(one, other) for one, other in texts if len(one) + len(other) < LARGEST]
    return found


def hierarchical_seeds(folders: int | None) -> list[tuple[str, str]]:
    """Return small HDDL domains with a problem each, ours and those of the competition, if they are at hand."""
    found = [(HDDL_DOMAIN, HDDL_PROBLEM)]
    if not HTN_DATA.exists():
        return found
    rows = csv.DictReader((HTN_DATA / "tasks.tsv").read_text("utf-8").splitlines(), delimiter="\t")
    files = {row["domain"]: (row["track"], row["domain_file"], row["problem_file"]) for row in rows}
    for domain, (track, *names) in list(files.items())[:folders]:
        one, other = [(HTN_DATA / track / domain / name).read_text("latin-1") for name in names]
        if len(one) + len(other) < LARGEST and "(problem" in other:
            found.append((one, other))
    return found


def _size(path: Path) -> int:
    return path.stat().st_size


def readers(folders: int | None = None) -> list[Reader]:
    """Return every reader with its seeds, of all competition domains or the first `folders`."""
    pairs, hierarchies = seeds(folders), hierarchical_seeds(folders)
    known = [parse_problem(problem, parse_domain(domain)) for domain, problem in pairs]
    domains = [problem.domain for problem in known]
    goals = [write_condition(problem.goal.hard) for problem in known]
    goals += [write_condition(action.requires) for domain in domains for action in domain.actions.values()]
    plans = [
        (_plan(problem, random.Random(number)), problem) for number, problem in enumerate([*known, *known[:1] * 9])
    ]
    written = [(path.read_text("utf-8"), None) for path in sorted(ROOT.glob("domains/**/*.y*ml"))]
    small = [problem for problem in known if len(problem.initial) < 20]
    documents, as_json = (DOCUMENTS, known[0].domain), (json.dumps(parse_yaml(DOCUMENTS, "seed"), default=float), None)
    problems = [(text, problem.domain) for (_, text), problem in zip(pairs, known, strict=True)]
    return [
        Reader("pddl-domain", lambda text, _: parse_domain(text), [(domain, None) for domain, _ in pairs]),
        Reader("pddl-problem", parse_problem, problems),
        Reader("pddl-file", _through_files, pairs[:20]),
        Reader("hddl-domain", _hddl_domain, [(domain, None) for domain, _ in hierarchies]),
        Reader("hddl-problem", _hddl_problem, [(text, hddl.parse_domain(domain)) for domain, text in hierarchies]),
        Reader("condition", lambda text, _: parse_condition(text), [(goal, None) for goal in goals]),
        Reader("plan", lambda text, problem: write_plan(read_plan(text, problem)), plans),
        Reader("yaml", _document, [documents, *written, *((write_yaml(problem), None) for problem in small)], 4),
        Reader("json", _document, [as_json, *((write_json(problem), None) for problem in small)]),
    ]


def _hddl_domain(text: str, _: object) -> HtnDomain:
    """Read a domain; what is written of it is read as itself, once its names are legal."""
    found = hddl.parse_domain(text)
    once = hddl.parse_domain(write_domain(found))
    if hddl.parse_domain(write_domain(once)) != once:
        raise AssertionError("another domain is read of what is written of this one")
    return found


def _hddl_problem(text: str, domain: HtnDomain) -> object:
    """Read a problem, and what is written of it as well."""
    found = hddl.parse_problem(text, domain)
    once = hddl.parse_problem(write_problem(found), domain)
    if hddl.parse_problem(write_problem(once), domain) != once:
        raise AssertionError("another problem is read of what is written of this one")
    return found


def _document(text: str, domain: DomainModel | None) -> object:
    """Read documents from `text`, or as often from a file; now and then for a domain that is given."""
    draw = random.Random(text.encode("utf-8", "surrogatepass"))
    given = draw.choice([None, None, domain])
    if draw.random() < 0.5:
        return read_documents(text + "\n", domain=given)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / draw.choice(["errands.yaml", "errands.json"])
        path.write_bytes(text.encode(draw.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1"]), "ignore"))
        return read_documents(path, domain=given)


def _through_files(text: str, problem: str) -> object:
    """Read a domain and `problem` from files in some encoding, with some bytes changed, or not there at all."""
    draw = random.Random(text.encode("utf-8", "surrogatepass"))
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "domain.pddl", Path(folder) / "problem.pddl"]
        for path, content in zip(paths, [text, problem], strict=True):
            data = bytearray(content.encode(draw.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1"]), "ignore"))
            for _ in range(draw.choice([0, 0, 0, 1, 5])):
                start = draw.randrange(len(data) + 1)
                data[start:start] = bytes([draw.randrange(256)])
            path.write_bytes(data)
        others: list[Path | str] = [folder, paths[0].with_suffix(".pdl"), f"{folder}\0"]
        return read(draw.choice([paths[0]] * 9 + others), draw.choice([paths[1]] * 9 + others))


def _plan(problem: Problem, draw: random.Random) -> str:
    """Return a plan whose steps fit their actions' parameters, and may do nothing else."""
    members = TypeHierarchy(problem.domain.types).objects_by_type(problem.all_objects)
    steps = draw.choices(list(problem.domain.actions.values()), k=draw.choice([1, 3, 10]))
    fitting = [[[name for kind in each.types for name in members[kind]] for each in step.parameters] for step in steps]
    rows = [(step.name, *map(draw.choice, names)) for step, names in zip(steps, fitting, strict=True) if all(names)]
    lines = map(" ".join, rows)
    return "".join(
        f"{draw.choice(['', '0: ', 'step 1: '])}({line}){draw.choice(['', ' [1]', ' ; ok'])}\n" for line in lines
    )


def mutated(text: str, other: str, draw: random.Random) -> str:
    """Return `text` with a few changes; `other` is a text to take parts from."""
    for _ in range(draw.choice([0, 1, 1, 1, 2, 3, 8])):
        text = draw.choice(MUTATIONS)(text, other, draw)
    return text


def _word(text: str, draw: random.Random) -> tuple[int, int]:
    """Return where a word, a parenthesis or a gap of `text` starts and ends."""
    start = draw.randrange(len(text) + 1)
    end = start + 1
    while end < len(text) and text[end].isalnum() and text[start].isalnum():
        end += 1
    return start, end


def _delete(text: str, _: str, draw: random.Random) -> str:
    start, end = _word(text, draw)
    return text[:start] + text[end:]


def _duplicate(text: str, _: str, draw: random.Random) -> str:
    start, end = _word(text, draw)
    return text[:end] + " " + text[start:]


def _swap(text: str, _: str, draw: random.Random) -> str:
    (one, end_one), (two, end_two) = sorted([_word(text, draw), _word(text, draw)])
    if end_one > two:
        return text
    return text[:one] + text[two:end_two] + text[end_one:two] + text[one:end_one] + text[end_two:]


def _insert(text: str, _: str, draw: random.Random) -> str:
    start, end = _word(text, draw)
    word = " ".join(draw.choices(WORDS.split(), k=draw.choice([1, 1, 2, 4])))
    return f"{text[:start]} {word} {text[draw.choice([start, end]) :]}"


def _noise(text: str, _: str, draw: random.Random) -> str:
    start = draw.randrange(len(text) + 1)
    return text[:start] + "".join(draw.choices(NOISE, k=draw.choice([1, 1, 3]))) + text[start:]


def _truncate(text: str, _: str, draw: random.Random) -> str:
    start = draw.randrange(len(text) + 1)
    return text[:start] if draw.random() < 0.8 else text[start:]


def _splice(text: str, other: str, draw: random.Random) -> str:
    one, two = sorted(draw.randrange(len(other) + 1) for _ in range(2))
    start = draw.randrange(len(text) + 1)
    return text[:start] + other[one : min(two, one + 300)] + text[start:]


def _nest(text: str, _: str, draw: random.Random) -> str:
    opening, closing = draw.choice([("(", ")"), ("(not ", ")"), ("(and ", ")"), ("[", "]"), ('{"a":', "}"), ("- ", "")])
    depth = draw.choice([2, 20, 90, 110, 1_000, 30_000])
    start = draw.randrange(len(text) + 1)
    return text[:start] + opening * depth + draw.choice(["", closing * depth]) + text[start:]


def _number(text: str, _: str, draw: random.Random) -> str:
    start, end = _word(text, draw)
    number = draw.choice(["9" * 30, "9" * 5_000, "1e999999999", "0." + "0" * 400 + "1", "-0", "1_000", "0x10", "NaN"])
    return f"{text[:start]} {number} {text[end:]}"


def _yaml(text: str, _: str, draw: random.Random) -> str:
    """Replace what is behind a colon, or insert, something that YAML alone knows."""
    word = draw.choice(ODD_YAML.replace("\n", "").split("_"))
    start = text.find(": ", draw.randrange(len(text) + 1)) + 2
    end = min((text.find(sign, start) for sign in ",}]\n" if text.find(sign, start) >= 0), default=start)
    return text[:start] + word + text[draw.choice([start, end]) :] if start >= 2 else f"{text}{word}\n"


def _rename(text: str, _: str, draw: random.Random) -> str:
    """Replace a word by another one of the same text."""
    (one, end_one), (two, end_two) = _word(text, draw), _word(text, draw)
    return text[:one] + text[two:end_two] + text[end_one:]


def _span(text: str, draw: random.Random) -> tuple[int, int]:
    """Return where a balanced part of `text` starts and ends; an empty one where none is found."""
    start = max(text.find("(", draw.randrange(len(text) + 1)), 0)
    depth = 0
    for end in range(start, min(len(text), start + 2_000)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth <= 0:
            return start, end + 1
    return start, start


def _part(text: str, _: str, draw: random.Random) -> str:
    """Replace a balanced part by another one, so that what is inside is looked at."""
    (one, end_one), (two, end_two) = _span(text, draw), _span(text, draw)
    other = draw.choice([text[two:end_two], text[two:end_two], "", "()", f"({draw.choice(WORDS.split())} x)"])
    return text[:one] + other + text[end_one:]


def wrapped(text: str) -> Iterator[str]:
    """Yield `text` with each of its words and balanced parts in one pair of parentheses too many."""
    opened: list[int] = []
    for token in re.finditer(r"[()]|[^\s()]+", re.sub(r";[^\n]*", lambda comment: " " * len(comment[0]), text)):
        if token[0] == "(":
            opened.append(token.start())
        else:
            start, end = opened.pop() if token[0] == ")" else token.start(), token.end()
            yield f"{text[:start]}({text[start:end]}){text[end:]}"


def _wrap(text: str, _: str, draw: random.Random) -> str:
    """Put a balanced part into one pair of parentheses too many."""
    start, end = _span(text, draw)
    return f"{text[:start]}({text[start:end]}){text[end:]}"


def _copy(text: str, _: str, draw: random.Random) -> str:
    """Repeat a balanced part, there or elsewhere."""
    (one, end_one), (two, _end) = _span(text, draw), _span(text, draw)
    place = draw.choice([end_one, end_one, two])
    return text[:place] + text[one:end_one] + text[place:]


def _typed(text: str, _: str, draw: random.Random) -> str:
    """Change what is after a `-`."""
    start = text.find(" - ", draw.randrange(len(text) + 1))
    one, end = _word(text, draw)
    words = [text[one:end], "object", "(either a b)", "(either)", "number", "-", ""]
    return f"{text[:start]} - {draw.choice(words)} {text[start + 3 :]}" if start >= 0 else text


def _type_chain(text: str, _: str, draw: random.Random) -> str:
    """Add a chain of types, perhaps a ring."""
    start = text.find(":types")
    length, last = draw.choice([1, 3, 120, 5_000]), draw.choice(["object", "link0"])
    chain = "".join(f" link{number} - link{number + 1}" for number in range(length)) + f" link{length} - {last}"
    return f"{text[: start + 6]}{chain}{text[start + 6 :]}" if start >= 0 else text


STRUCTURAL = [_rename, _rename, _part, _part, _wrap, _copy, _typed, _type_chain]
MUTATIONS = [
    _delete,
    _duplicate,
    _swap,
    _insert,
    _insert,
    _noise,
    _truncate,
    _splice,
    _nest,
    _number,
    _yaml,
    *STRUCTURAL,
]


class _TooSlowError(BaseException):
    """An input took longer than `PATIENCE`; not an `Exception`, so that no reader can catch it."""


@contextmanager
def _patience() -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _TooSlowError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run_one(reader: Reader, text: str, use: object, report: Report) -> None:
    """Give `text` to `reader`, to be read for `use`, and note in `report` what came of it."""
    started = time.process_time()
    try:
        with _patience():
            reader.read(text, use)
        outcome = "read"
    except ForethoughtError as error:
        outcome = type(error).__name__
    except (Exception, _TooSlowError) as error:  # noqa: BLE001 - that none comes is what is tested
        outcome = f"FAILED with {type(error).__name__}"
        report.failures.append(f"{_kept(reader.name, text)}\n{traceback.format_exc(limit=-4)}")
    elapsed = time.process_time() - started
    report.inputs += 1
    report.outcomes[outcome] += 1
    if elapsed > report.slowest:
        report.slowest, report.slowest_size = elapsed, len(text)


def _kept(name: str, text: str) -> str:
    with tempfile.NamedTemporaryFile(
        "w", prefix=f"fuzz-{name}-", suffix=".txt", delete=False, encoding="utf-8", errors="surrogatepass"
    ) as file:
        file.write(text)
    return f"{name}: the input is kept in {file.name}"


def fuzz(
    chosen: Sequence[Reader], *, seed: int, inputs: int | None = None, seconds: float | None = None
) -> tuple[dict[str, Report], list[int]]:
    """Return the report of each reader, and the resident memory in bytes at ten moments, evenly spread."""
    draw = random.Random(seed)
    reports = {reader.name: Report() for reader in chosen}
    memory: list[int] = []
    weights = [reader.weight for reader in chosen]
    started, count = time.monotonic(), 0
    while True:
        done = count / inputs if inputs is not None else (time.monotonic() - started) / (seconds or 1)
        if done * 10 >= len(memory):
            gc.collect()
            memory.append(resident_bytes())
        if done >= 1:
            return reports, memory
        reader = draw.choices(chosen, weights)[0]
        text, use = draw.choice(reader.seeds[:1] if draw.random() < DENSE else reader.seeds)
        other, _ = draw.choice(draw.choice(chosen).seeds)
        run_one(reader, mutated(text, other, draw), use, reports[reader.name])
        count += 1


def tell(line: str) -> None:
    """Write `line` for people."""
    sys.stdout.write(f"{line}\n")


def print_reports(reports: dict[str, Report], memory: list[int]) -> None:
    """Print what was found, for people."""
    for name, report in reports.items():
        outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in report.outcomes.most_common())
        slowest = f"slowest {report.slowest * 1000:,.0f} ms ({report.slowest_size:,} characters)"
        tell(f"{name:13} {report.inputs:>9,} inputs: {outcomes}; {slowest}")
    tell(f"resident memory in MiB, from start to end: {' '.join(f'{size / 2**20:.0f}' for size in memory)}")
    for report in reports.values():
        for failure in report.failures[:5]:
            tell(f"\n{failure}")


def main() -> int:
    """Run the fuzzer as its options say; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reader", action="append", help="only this reader (may be given several times)")
    parser.add_argument(
        "--coverage", action="store_true", help="measure which lines of the readers are reached; slower"
    )
    options = parser.parse_args()
    if options.coverage:
        return _measured([argument for argument in sys.argv[1:] if argument != "--coverage"])
    chosen = [reader for reader in readers() if not options.reader or reader.name in options.reader]
    reports, memory = fuzz(chosen, seed=options.seed, seconds=options.seconds)
    print_reports(reports, memory)
    return 1 if any(report.failures for report in reports.values()) else 0


def _measured(arguments: list[str]) -> int:
    """Run the fuzzer in another process, from its first import on under coverage; return its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "coverage"]
        data = f"--data-file={folder}/data"
        include = ",".join(f"*/{name}*" for name in READER_MODULES)
        done = subprocess.run([*command, "run", data, f"--include={include}", __file__, *arguments], check=False)
        subprocess.run(
            [*command, "report", data, "--show-missing", "--omit=*/documents/writer.py,*/documents/emit.py"],
            check=False,
        )
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
