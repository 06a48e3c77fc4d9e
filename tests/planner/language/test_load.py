"""Loading: files of every kind, folders, shipped domains, and what is said when there is nothing to load."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

import planner
from planner import DeclarationError, Domain, InputError, Problem, load, load_domain
from planner.language.loading import python_files

LAMP_PY = """\
from __future__ import annotations

from planner import Domain, Entity
print("made")


class Lamp(Entity): ...


lamps = Domain("lamps")


@lamps.action(provides="lit(lamp)")
def light(lamp: Lamp) -> None: ...


one = lamps.problem("one", objects=[Lamp("a")], goal="lit(a)")
two = lamps.problem("two", objects=[Lamp("a"), Lamp("b")], goal=["lit(a)", "lit(b)"])


def three():
    return lamps.problem("three", goal="lit(c)", objects={"c": Lamp})
"""

DOMAIN_YAML = "domain: lamps\ntypes: [Lamp]\nactions: {light: {parameters: {lamp: Lamp}, provides: lit(lamp)}}\n"
ONE_YAML = "problem: one\nobjects: {a: Lamp}\ngoal: lit(a)\n"
DOMAIN_PDDL = """(define (domain lamps) (:types lamp) (:predicates (lit ?x - lamp))
(:action light :parameters (?lamp - lamp) :effect (lit ?lamp)))"""
ONE_PDDL = "(define (problem one) (:domain lamps) (:objects a - lamp) (:init) (:goal (lit a)))"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with one of each kind of file, which is also where relative names are looked up."""
    files = {"lamps.py": LAMP_PY, "domain.yaml": DOMAIN_YAML, "one.yaml": ONE_YAML}
    files |= {"both.yaml": f"{DOMAIN_YAML}---\n{ONE_YAML}", "d.pddl": DOMAIN_PDDL, "p.pddl": ONE_PDDL}
    files |= {"p01": ONE_PDDL, "one": "not the problem of that name"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (("lamps.py",), "one"),
        (("lamps.py", "two"), "two"),
        (("lamps.py:two",), "two"),
        (("lamps.py:three",), "three"),
        (("lamps.py:lamps", "one.yaml"), "one"),
        (("lamps.py", "one.yaml"), "one"),
        (("domain.yaml", "lamps.py:two"), "two"),
        (("both.yaml",), "one"),
        (("both.yaml", "one"), "one"),
        (("domain.yaml", "one.yaml"), "one"),
        (("both.yaml", "one.yaml"), "one"),
        (("d.pddl", "p.pddl"), "one"),
        (("d.pddl", "p01"), "one"),
    ],
)
def test_what_is_loaded(folder: Path, given: tuple[str, ...], name: str) -> None:
    problem = load(*given)
    assert problem.name == name
    assert load(folder / given[0], *given[1:]) == problem


@pytest.mark.parametrize("path", ["lamps.py", "domain.yaml", "both.yaml", "d.pddl", "."])
@pytest.mark.usefixtures("folder")
def test_domains_alone(path: str) -> None:
    assert load_domain(path).name == "lamps"


def test_what_a_file_prints_goes_to_stderr(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load(folder / "lamps.py")
    assert capsys.readouterr() == ("", "made\n")


def test_a_file_may_import_its_neighbours(folder: Path) -> None:
    (folder / "vocabulary_of_lamps.py").write_text("from planner import Domain\nlamps = Domain('lamps')\n")
    (folder / "main.py").write_text("from vocabulary_of_lamps import lamps\nnight = lamps.problem('night')\n")
    before = list(sys.path)
    assert load("main.py").name == "night"
    assert sys.path == before


def test_a_problem_of_a_folder_is_found_by_its_file_and_by_its_declared_name(folder: Path) -> None:
    """Reports call it by the name that it declares, so commands take that."""
    other = folder / "folder"
    (other / "problems").mkdir(parents=True)
    (other / "domain.yaml").write_text(DOMAIN_YAML, encoding="utf-8")
    for name, declared in {"p1": "first", "p2": "same", "p3": "same"}.items():
        (other / "problems" / f"{name}.yaml").write_text(ONE_YAML.replace("one", declared), encoding="utf-8")
    (other / "problems" / "broken.yaml").write_text("problem: [", encoding="utf-8")
    assert load(other, "p1") == load(other, "first")
    with pytest.raises(InputError, match="2 problems that are declared as 'same'; name one of them: p2, p3"):
        load(other, "same")
    with pytest.raises(InputError, match="no problem 'third'"):
        load(other, "third")


def test_a_folder(folder: Path) -> None:
    (folder / "problems").mkdir()
    for name in ("p10", "p9", "p1"):
        (folder / "problems" / f"{name}.yaml").write_text(ONE_YAML.replace("one", name), encoding="utf-8")
    for name in ("one.yaml", "both.yaml", "d.pddl", "p.pddl"):
        (folder / name).unlink()
    (folder / "config.json").write_text('{"colour": "no problem"}', encoding="utf-8")
    assert load(folder).name == "p1"
    assert load(folder, "p10").name == "p10"
    with pytest.raises(InputError) as caught:
        load(folder, "p2")
    assert str(caught.value) == (
        f"{folder} has no problem 'p2', and there is no such file; its problems are p1, p9, p10"
    )


def test_a_folder_that_is_a_package(tmp_path: Path) -> None:
    package = tmp_path / "lamps"
    package.mkdir()
    (package / "__init__.py").write_text("from .parts import domain, problems\n", encoding="utf-8")
    text = "from planner import Domain\n\ndef domain():\n    return Domain('lamps')\n\n"
    text += "def problems():\n    return {'dark': domain().problem('dark')}\n"
    (package / "parts.py").write_text(text, encoding="utf-8")
    assert load(package).name == "dark"
    assert load_domain(package).name == "lamps"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0\n", "bad.py:1: the file raises ZeroDivisionError: division by zero"),
        ("def f():\n    raise KeyError\n\nf()\n", "bad.py:2: the file raises KeyError"),
        ("raise SystemExit(3)\n", "bad.py:1: the file raises SystemExit: 3"),
        ("import json\njson.loads('{')\n", "bad.py:2: the file raises JSONDecodeError: Expecting property name"),
        ("x = (\n", "bad.py:1:5: this is no Python: '(' was never closed"),
        ("import nothing_like_that\n", "bad.py:1: the file raises ModuleNotFoundError: No module named"),
        ("from planner import Domain\nDomain('a b')\n", "bad.py:2: 'a b' cannot name a domain"),
        ("x = 1\n", "bad.py: the file leaves no domain behind; it needs a value made with Domain(…), or a Problem"),
        (
            "from planner import Domain\na, b = Domain('a'), Domain('b')\n",
            "bad.py: the file has several domains: a, b; name one: bad.py:a",
        ),
        (
            "from planner import Domain\na = Domain('a')\n",
            "bad.py: there is a domain, but no problem; give a problem after the domain",
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_mistakes_in_python_files(text: str, message: str) -> None:
    Path("bad.py").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load("bad.py")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("__init__.py",), "__init__.py: there is no such file"),
        (("lamp.py",), "lamp.py: there is no such file; did you mean 'lamps.py'?"),
        (("lamps.py:twoo",), "lamps.py: the file has no name 'twoo'; did you mean 'two'?"),
        (
            ("lamps.py", "oen"),
            "lamps.py has no problem 'oen', and there is no such file; did you mean 'one'? (its problems are one, two)",
        ),
        (("lamps.py", "oen.yaml"), "oen.yaml: there is no such file; did you mean 'one.yaml'?"),
        (("domain.yaml",), "domain.yaml: there is a domain, but no problem; give a problem after the domain"),
        (
            ("domain.yaml", "two"),
            "domain.yaml has no problem 'two', and there is no such file; it has no problems of its own: give a file",
        ),
        (("one.yaml",), "one.yaml:1:10: the domain of problem 'one' is not in this file; give its file before the "),
        (("domain.yaml", "domain.yaml"), "domain.yaml: the file declares no problem; it begins with 'problem: NAME'"),
        (("d.pddl",), "d.pddl: there is a domain, but no problem; give a problem after the domain"),
        (("notes.txt",), "notes.txt: the ending of a file's name tells its kind, and .txt is no known one; copy it to"),
        (
            ("pipe",),
            "pipe: the ending of a file's name tells its kind, and none is no known one; copy it",
        ),
        (("",), "the name of the domain is empty; '.' is the folder where you are"),
        (("missing.yaml",), "missing.yaml: there is no such file"),
        ((None,), "None is no path and no name of a domain or problem; give a text or a path"),
        (("both.yaml", 3), "3 is no path and no name of a domain or problem; give a text or a path"),
        (
            ("domain.yaml", "other.yaml"),
            "other.yaml: problem 'day' is for the domain 'other', not for 'lamps'",
        ),
        (("d.pddl", "other.yaml"), "other.yaml: problem 'day' is for the domain 'other', not for 'lamps'"),
        (("empty",), "empty: the folder has no domain; it needs a file domain.yaml, domain.json, domain.pddl, dom"),
    ],
)
def test_what_cannot_be_loaded(folder: Path, given: tuple[str, ...], message: str) -> None:
    (folder / "notes.txt").write_text("notes", encoding="utf-8")
    (folder / "empty").mkdir()
    (folder / "bin.yaml").write_text("", encoding="utf-8")
    (folder / "other.yaml").write_text("domain: other\n---\nproblem: day\ndomain: other\ngoal: []\n", encoding="utf-8")
    os.mkfifo(folder / "pipe")
    with pytest.raises(InputError) as caught:
        load(*given)
    assert str(caught.value).startswith(message)
    assert "bin.yaml" not in str(caught.value)


@pytest.mark.usefixtures("folder")
def test_a_problem_of_another_domain() -> None:
    Path("other.py").write_text("from planner import Domain\nday = Domain('other').problem('day')\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load("domain.yaml", "other.py")
    assert str(caught.value) == "other.py: problem 'day' is for the domain 'other', not for 'lamps'"


class Shipped:
    """What a shipped domain's module has."""

    made: list[str]

    @staticmethod
    def domain() -> Domain:
        return Domain("night")

    @staticmethod
    def problems() -> dict[str, Problem]:
        return {"short": Domain("night").problem("short"), "long": Domain("night").problem("long")}


@pytest.fixture
def _shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ship a sound domain and several that are not."""
    module = f"{__name__}:Shipped"
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or sys.modules[Shipped.__module__])
    values = {"night": module, "nothing": "no_such_module_anywhere", "plain": "json", "odd": f"{__name__}:Odd"}
    entries = [EntryPoint(name, value, python_files.GROUP) for name, value in values.items()]
    entries += [EntryPoint("twice", "json", python_files.GROUP), EntryPoint("twice", "re", python_files.GROUP)]
    found = EntryPoints(entries)
    monkeypatch.setattr(python_files, "entry_points", lambda group: found.select(group=group))


class Odd(Shipped):
    """A module that gives what it should not."""

    @staticmethod
    def domain() -> Domain:
        raise RuntimeError("dark")

    @staticmethod
    def problems() -> list[Problem]:  # type: ignore[override]
        return []


@pytest.mark.usefixtures("_shipped")
def test_shipped_domains() -> None:
    assert load("night").name == "short"
    assert load("night", "long").name == "long"
    assert load_domain("night").name == "night"


@pytest.mark.usefixtures("_shipped")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ("nihgt",),
            "there is no file, folder or shipped domain 'nihgt'; did you mean 'night'? (the shipped domains are ni",
        ),
        (
            ("night", "shrot"),
            "night has no problem 'shrot', and there is no such file; did you mean 'short'? (its problems are short, l",
        ),
        (("plain",), "the shipped domain 'plain' has no function problems()"),
        (("odd",), "problems() of odd gives list, not a mapping from names"),
        (("twice",), "the domain name 'twice' is ambiguous: it leads to json and re"),
        (("nothing",), "the shipped domain 'nothing' cannot be imported from no_such_module_anywhere: No module named"),
    ],
)
def test_mistakes_with_shipped_domains(given: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(*given)
    assert str(caught.value).startswith(message)


@pytest.mark.usefixtures("_shipped")
def test_a_shipped_domain_that_raises() -> None:
    with pytest.raises(DeclarationError, match="the file raises RuntimeError: dark"):
        load_domain("odd")


def test_everything_public_is_there() -> None:
    assert planner.__all__ == sorted(planner.__all__, key=lambda name: (not name.isupper(), name.lower() == name, name))
    for name in planner.__all__:
        assert getattr(planner, name) is not None
    assert set(planner.__all__) <= set(dir(planner))
    with pytest.raises(AttributeError, match="module 'planner' has no attribute 'nothing'"):
        _ = planner.nothing


def test_declaring_loads_nothing_heavy() -> None:
    script = (
        "import sys\nfrom planner import Domain\nd = Domain('d', types=['t'])\n"
        "d.action('a', {'x': 't'}, requires='p(x)')\nd.problem(goal='p(o)', objects={'o': 't'})\n"
        "print(*{'pydantic', 'ruamel', 'numpy', 'networkx', 'numba'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "\n"


def test_functions_named_like_their_modules_stay_functions() -> None:
    import planner.language.loading.load
    import planner.resources.label_setting
    import planner.solve
    import planner.validation.validate

    assert [each.__name__ for each in (planner.resources, planner.solve, planner.validate)] == [
        "resources",
        "solve",
        "validate",
    ]
    assert all(callable(each) for each in (planner.resources, planner.solve, planner.validate))


@pytest.mark.parametrize(("text", "name"), [("", "one"), ("from planner import load\nproblems = {}\n", "one")])
def test_a_folder_with_a_package_that_gives_no_problems(folder: Path, text: str, name: str) -> None:
    (folder / "__init__.py").write_text(text, encoding="utf-8")
    assert load(folder).name == name
