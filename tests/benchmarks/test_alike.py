"""Functions that use the same names in different files are found, in whatever order they use them."""

from __future__ import annotations

from pathlib import Path

from benchmarks.alike import find_pairs, read_functions

ONE = """
def sort_steps(steps, costs):
    \"\"\"Sort steps.\"\"\"
    found = []
    for step in steps:
        # the cost counts
        cost = costs[step]
        found.append((cost, step))
    found.sort()
    best = found[0]
    least = best[0]
    print(least)
    print(best)
    names = [step for cost, step in found]
    print(names)
    return names
"""


def write(folder: Path, **modules: str) -> Path:
    for package in ("planner", "htn", "executor"):
        (folder / package).mkdir()
    for name, text in modules.items():
        (folder / "planner" / f"{name}.py").write_text(text)
    return folder


def test_a_copy_with_another_name_and_its_lines_in_another_order_is_found(tmp_path: Path) -> None:
    other = ONE.replace("sort_steps", "rank").replace("    print(least)\n    print(best)\n", "    print(best, least)\n")
    functions = list(read_functions(write(tmp_path, one=ONE, other=other)))
    assert [(each.name, each.lines) for each in functions] == [("sort_steps", 13), ("rank", 12)]
    [(likeness, one, twin)] = find_pairs(functions)
    assert (one.path, twin.path) == ("planner/one.py", "planner/other.py")
    assert 0.95 < likeness <= 1


def test_other_names_and_twins_in_one_file_are_no_pairs(tmp_path: Path) -> None:
    other = ONE
    for name in ("found", "step", "cost", "best", "least", "names", "print"):
        other = other.replace(name, f"{name}_of_another")
    assert not find_pairs(list(read_functions(write(tmp_path, one=ONE + ONE, other=other))))
