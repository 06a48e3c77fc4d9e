"""Lint on files with known mistakes, on the shipped domains, and on tasks of benchmarks.

`python -m benchmarks.check_trials --authors FOLDER --tasks FOLDER` prints tables: which known mistakes are found, with
code and line, what lint says of the shipped domains, of the tasks by rule, and how long it takes. Files with mistakes
say what is expected where it is, in a comment: `# expect FT202`, or `# expect FT901 above`. Those of `--authors` are by
others and from before there were codes; what is expected of them is said here.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.check_python import translate
from benchmarks.suite import BenchmarkTask, load_suite
from planner.errors import ForethoughtError
from planner.limits import LimitReached, Limits
from planner.lint.check_files import Checked, check_files
from planner.lint.findings import Finding, Level

OWN: Final = Path(__file__).parents[1] / "tests" / "planner" / "lint" / "mistakes"

Expected = tuple[int, str]
"""A line and a code."""

AUTHORS: Final[dict[str, tuple[Expected, ...]]] = {
    "k": ((7, "FT203"),),
    "k2": ((13, "FT205"),),
    "k3": ((7, "FT202"),),
    "k4": ((12, "FT204"),),
    "k5": ((7, "FT206"),),
    "contradict": ((114, "FT103"),),
    "cost_zero": ((62, "FT409"),),
    "derived_provided": ((44, "FT008"),),
    "dup_action": ((107, "FT003"),),
    "ef1": ((44, "FT105"),),
    "effect_forgotten": ((44, "FT105"),),
    "empty_goal": ((118, "FT301"),),
    "goal_contradiction": ((127, "FT205"),),
    "goal_typo_obj": ((127, "FT005"),),
    "goal_unreach_type": ((127, "FT006"),),
    "indent": ((108, "FT002"),),
    "init_missing": ((126, "FT310"),),
    "init_wrong_arg_order": ((123, "FT209"),),
    "init_wrong_type_order": ((121, "FT006"),),
    "key_typo": ((109, "FT004"),),
    "missing_type": ((83, "FT005"),),
    "modifies_missing_at": ((52, "FT202"),),
    "modifies_missing_fuel": ((52, "FT202"),),
    "neg_effect_forgotten_slot": ((68, "FT206"),),
    "no_effect": ((112, "FT105"), (126, "FT005")),
    "no_goal": ((118, "FT301"),),
    "nobody_provides": ((114, "FT114"),),
    "order_params": ((104, "FT006"),),
    "order_same_type": ((51, "FT118"),),
    "pred_arity": ((109, "FT005"),),
    "self_modify": ((42, "FT006"),),
    "string_list": (),
    "swap_at": ((52, "FT203"),),
    "tiny": ((6, "FT114"),),
    "two_values_init": ((121, "FT204"),),
    "typo_in_requires": ((114, "FT114"),),
    "typo_pred": ((105, "FT115"),),
    "typo_type": ((84, "FT005"),),
    "undeclared_param": ((109, "FT005"),),
    "unquoted": ((114, "FT005"),),
    "unquoted2": ((97, "FT001"),),
    "unused_param": ((103, "FT101"),),
    "value_missing": ((128, "FT407"),),
    "wish_typo": ((130, "FT005"),),
}
"""What lint should find in the files of `--authors`; a text for a list of one is no mistake."""
_EXPECT: Final = re.compile(r"[#;] expect (FT\d+)( above)?")


@dataclass(frozen=True, slots=True)
class Trial:
    """A file with known mistakes: what lint said, and what was expected that it did not say at its line."""

    name: str
    checked: Checked | None
    missed: tuple[Expected, ...]


def try_files(paths: Iterable[Path]) -> list[Trial]:
    """Lint the files, and the folders of a domain and a problem, each beside what it expects."""
    return [_try(path, _read_expected(path)) for path in paths]


def try_authors(folder: Path) -> list[Trial]:
    """Lint the files that others wrote, beside what is expected of them."""
    paths = {path.stem: path for path in sorted(folder.rglob("*.yaml"))}
    expected = {name: {str(paths[name]): set(each)} for name, each in AUTHORS.items() if name in paths}
    return [_try(paths[name], wanted) for name, wanted in expected.items()]


def try_as_python(paths: Iterable[Path]) -> list[Trial]:
    """Lint the files in YAML among `paths` as Python that declares the same, but for those about comments and tasks."""
    files = [path for path in paths if path.suffix == ".yaml"]
    return list(_try_as_python([(path, _read_expected(path)[str(path)]) for path in files]))


def try_authors_as_python(folder: Path) -> list[Trial]:
    """Lint the files that others wrote as Python that declares the same."""
    paths = {path.stem: path for path in sorted(folder.rglob("*.yaml"))}
    return list(_try_as_python([(paths[name], set(each)) for name, each in AUTHORS.items() if name in paths]))


def _try_as_python(files: Iterable[tuple[Path, set[Expected]]]) -> Iterator[Trial]:
    with TemporaryDirectory() as folder:
        for path, expected in files:
            try:
                text, lines = translate(path.read_text(encoding="utf-8"), str(path))
            except ForethoughtError:  # a mistake in YAML itself, or what has no Python
                continue
            if any(code.startswith("FT9") for _, code in expected):
                continue
            python = Path(folder) / f"{path.stem}.py"
            python.write_text(text, encoding="utf-8")
            checked = check_files(str(python), limits=Limits(60))
            found = {(each.span.line, each.code) for each in checked.findings if each.span}
            missed = [
                (line, code)
                for line, code in sorted(expected)
                if not any((other, code) in found for other in lines.get(line, ()))
            ]
            yield Trial(path.name, checked, tuple(missed))


def _read_expected(path: Path) -> dict[str, set[Expected]]:
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return {
        str(file): {
            (number - bool(match[2]), match[1])
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
            for match in _EXPECT.finditer(line)
        }
        for file in files
    }


def _try(path: Path, expected: dict[str, set[Expected]]) -> Trial:
    checked = check_files(str(path), limits=Limits(60))
    found = {(each.span.source, each.span.line, each.code) for each in checked.findings if each.span}
    missed = [each for file, own in expected.items() for each in sorted(own) if (file, *each) not in found]
    return Trial(path.name, checked, tuple(missed))


def report_trials(title: str, trials: Sequence[Trial]) -> Iterator[str]:
    """Yield how many of the files were judged right, and what was missed."""
    right = sum(not each.missed for each in trials)
    yield f"{title}: {right} of {len(trials)} files with all that was expected, at its line"
    for each in trials:
        yield from (f"  missed in {each.name}: {code} at line {line}" for line, code in each.missed)


def try_shipped() -> Iterator[tuple[str, Finding]]:
    """Yield the findings about each shipped domain with each of its problems."""
    from planner.language.loading.load import open_source
    from planner.language.loading.python_files import list_shipped_names

    for name in list_shipped_names():
        problems: list[str | None] = [*open_source(name).problems()]
        for problem in problems or [None]:
            yield from ((f"{name} {problem or ''}", each) for each in check_files(name, problem, Limits(60)).findings)


def choose_tasks(folder: Path, most: int) -> list[BenchmarkTask]:
    """Return the first `most` tasks of each domain below `folder`."""
    chosen: dict[tuple[str, str], list[BenchmarkTask]] = defaultdict(list)
    for suite in sorted(each for each in folder.iterdir() if each.is_dir()):
        try:
            tasks = load_suite(suite)
        except ForethoughtError:  # no tasks of planning in it
            continue
        for task in tasks:
            chosen[suite.name, task.domain].append(task)
    return [task for own in chosen.values() for task in own[:most]]


def try_tasks(
    tasks: Iterable[BenchmarkTask], seconds: float
) -> Iterator[tuple[BenchmarkTask, float, Sequence[Finding]]]:
    """Yield each task with the seconds of its check and the findings; what is not supported or too slow has none."""
    for task in tasks:
        begun = time.perf_counter()
        try:
            found: Sequence[Finding] = check_files(
                str(task.domain_path), str(task.problem_path), Limits(seconds)
            ).findings
        except (LimitReached, ForethoughtError) as error:
            sys.stderr.write(f"{task.problem_path}: {type(error).__name__}: {str(error)[:120]}\n")
            found = ()
        yield task, time.perf_counter() - begun, found


def tabulate(found: Iterable[tuple[str, Finding]]) -> Iterator[str]:
    """Yield the rows of a table: code, rule, severity, findings, and the domains that have them."""
    counts: Counter[tuple[str, str, Level]] = Counter()
    domains: dict[tuple[str, str, Level], set[str]] = defaultdict(set)
    for name, each in found:
        key = (each.code, each.rule, each.level)
        counts[key] += 1
        domains[key].add(name)
    yield "| code | rule | severity | findings | domains |"
    yield "|---|---|---|---|---|"
    for key in sorted(counts, key=lambda each: (each[0], each[2].name)):
        code, rule, level = key
        yield f"| {code} | `{rule}` | {level.name.lower()} | {counts[key]} | {len(domains[key])} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; return 1 where a file with known mistakes, or a shipped domain, is judged wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.check_trials", description=__doc__.splitlines()[0])
    parser.add_argument("--authors", type=Path, help="A folder with files whose mistakes are listed here.")
    parser.add_argument("--tasks", type=Path, help="A folder with suites of tasks.")
    parser.add_argument("--each", type=int, default=1, help="Tasks of each domain (default: 1).")
    parser.add_argument("--time-limit", type=float, default=60.0, help="Seconds for one task (default: 60).")
    parser.add_argument("--details", action="store_true", help="Print each warning and error about tasks.")
    given = parser.parse_args(arguments)
    trials = try_files(sorted(OWN.iterdir()))
    lines = list(report_trials("own mistakes", trials))
    kinds = [("own mistakes as Python", try_as_python(sorted(OWN.iterdir())))]
    if given.authors:
        kinds.append(("mistakes of authors", try_authors(given.authors)))
        kinds.append(("mistakes of authors as Python", try_authors_as_python(given.authors)))
    for title, others in kinds:
        trials += others
        lines += report_trials(title, others)
    shipped = list(try_shipped())
    serious = [(name, each) for name, each in shipped if each.level is not Level.HINT]
    lines += [f"shipped domains: {len(serious)} errors and warnings, {len(shipped) - len(serious)} hints"]
    lines += [f"  {name}: {each}" for name, each in serious]
    _write(lines)
    if given.tasks:
        _report_tasks(choose_tasks(given.tasks, given.each), given.time_limit, is_detailed=given.details)
    return int(bool(serious) or any(each.missed for each in trials))


def _report_tasks(tasks: Sequence[BenchmarkTask], seconds: float, *, is_detailed: bool) -> None:
    results = list(try_tasks(tasks, seconds))
    found = [(task.domain, each) for task, _, own in results for each in own]
    _write([f"{len(tasks)} tasks, {sum(not own for _, _, own in results)} without a finding", "", *tabulate(found)])
    if is_detailed:
        _write(f"{name}: {each.span}: {each}" for name, each in found if each.level is not Level.HINT)
    slowest = sorted(results, key=lambda each: -each[1])[:5]
    _write(f"{taken:.1f} s: {task.problem_path}" for task, taken, _ in slowest)


def _write(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
