"""`forethought new`, `forethought test`, `forethought schema`: what authors see, and what stays as it was."""

from __future__ import annotations

import json
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from executor.desk.loop.new import LANGUAGES
from executor.desk.loop.yaml_tree import apply_changes, insert_key, parse_tree
from executor.desk.lsp.diagnostics import find_diagnostics
from executor.desk.lsp.workspace import Texts
from planner.language.documents.text_formats import parse_yaml
from planner.language.loading.load import open_source
from planner.solve import solve

LAMPS = """\
domain: lamps
types: {lamp: object}
actions:
  light: {parameters: {lamp: lamp}, requires: ["dark(lamp)"], provides: ["lit(lamp)", "not dark(lamp)"], cost: 2}
  darken: {parameters: {lamp: lamp}, requires: ["lit(lamp)"], provides: ["not lit(lamp)", "dark(lamp)"]}
  break: {parameters: {lamp: lamp}, requires: ["broken(lamp)"], provides: ["lit(lamp)"]}
---
problem: two
objects: {a: lamp, b: lamp}
initial: ["dark(a)", "dark(b)"]
goal: ["lit(a)", "lit(b)"]
---
"""


def lamps(cases: str) -> None:
    Path("lamps.yaml").write_text(LAMPS + cases)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_new_domain_is_clean_and_passes_its_cases(forethought, language):
    assert forethought("new", "shop", "--language", language).code == 0
    assert len(Path("shop/README.md").read_text().splitlines()) == 5
    assert forethought("check", "shop").out == ""
    assert forethought("format", "shop", "--check").out == ""
    assert forethought("solve", "shop", "first", "--mode", "optimal").err.startswith("proved optimal: cost 6")
    ran = forethought("test", "shop")
    assert ran.code == 0, ran.out
    assert "6 checks of 2 cases: 6 passed" in ran.out
    assert "3 of 3 actions (100 %)" in ran.out
    if language == "hddl":
        assert "3 of 3 methods (100 %)" in ran.out


def test_new_overwrites_nothing(forethought):
    Path("shop").mkdir()
    Path("shop/README.md").write_text("mine")
    ran = forethought("new", "shop")
    assert (ran.code, ran.out) == (2, "")
    assert "shop/README.md: this is there already" in ran.err
    assert [path.name for path in Path("shop").iterdir()] == ["README.md"]
    assert forethought("new", "shop", "--into", "other/place").code == 0
    assert forethought("new", "shop", "--into", "other/place", "--language", "pddl").code == 2
    assert not Path("other/place/domain.pddl").exists()


@pytest.mark.parametrize("words", [["new", "1st"], ["new", "a", "--language", "yml"], ["schema", "domian"]])
def test_wrong_words_are_named(forethought, words):
    ran = forethought(*words)
    assert ran.code == 2
    assert ran.err.startswith("Error: ")


CASES = """\
cases:
  two:
    {stated}
"""


@pytest.mark.parametrize(
    ("stated", "code", "said"),
    [
        ("optimum: 4", 0, "1 passed"),
        ("optimum: 5", 10, "lamps.yaml:15:5: optimum 5: a plan costs 4: light("),
        ("optimum: 3", 10, "the cheapest plan found costs 4 (proved)"),
        ("at_most: 4.5", 0, "1 passed"),
        ("at_most: 3", 10, "no plan costs less than 4"),
        ("unsolvable: true", 10, "there is a plan: light("),
        ("unsolvable: false", 0, "1 passed"),
        ("{}", 0, "1 passed"),
        ('without: ["dark(a)"]', 10, "there is no plan"),
        ('{without: ["dark(a)"], unsolvable: true}', 0, "1 passed"),
        ('{without: ["dark(a)"], adding: ["broken(a)"], optimum: 3}', 0, "2 of 3 actions (66 %), never darken"),
        ('{goal: "lit(a)", optimum: 2}', 0, "1 passed"),
        ('valid: [["light(a)", "(light b)"]]', 0, "2 passed"),
        ('valid: [{steps: ["light(a)", "light(b)"], cost: 3}]', 10, "the plan costs 4, not 3"),
        ('valid: [{steps: ["light(a)", "light(a)"]}]', 10, "step 2 light(a): requires dark(a), which was retracted"),
        ('invalid: [["light(a)", "light(a)"]]', 0, "2 passed"),
        ('invalid: [{steps: ["light(a)", "light(a)"], fails_at: 2, because: "dark(a)"}]', 0, "2 passed"),
        ('invalid: [{steps: ["light(a)", "light(a)"], fails_at: 1}]', 10, "expected it to fail at step 1, but step 2"),
        ('invalid: [{steps: ["light(a)"], fails_at: goal}]', 0, "2 passed"),
        ('invalid: [{steps: ["light(a)"], because: moon}]', 10, "expected a reason with 'moon'"),
        ('invalid: [["light(a)", "light(b)"]]', 10, "the plan is valid, and costs 4"),
        ('properties: [{eventually: ["lit(a)", "dark(b)"], over: states}]', 0, "2 passed"),
        ('properties: [{never: ["lit(a)", "dark(a)"], over: states}]', 0, "2 passed"),
        ('properties: [{always: "dark(a)"}]', 10, "always dark(a): it does not hold after step 1 light(a) of the plan"),
        ('properties: [{always: "dark(a)", over: states}]', 10, "it does not hold after light(a)"),
        ('properties: [{never: "dark(a)", over: states}]', 10, "it holds in the initial state"),
        ('properties: [{never: "dark(a)"}]', 10, "it holds in the initial state of the plan"),
        ('properties: [{eventually: "broken(a)"}]', 10, "it holds in no state of the plan"),
        ('properties: [{eventually: "broken(a)", over: states}]', 10, "it holds in no state that can be reached"),
        ("runs: [{seeds: [1, 2]}]", 0, "3 passed"),
        ("runs: [{outcome: FAILED}]", 10, "the run ended SUCCEEDED"),
    ],
)
def test_expectations(forethought, stated, code, said):
    lamps(CASES.format(stated=stated))
    ran = forethought("test", "lamps.yaml")
    assert ran.code == code, ran.out
    assert said in ran.out


@pytest.mark.parametrize(
    ("stated", "place", "said"),
    [
        ("optimun: 4", "15:5", "cases.two has no key 'optimun'; did you mean 'optimum'?"),
        ("optimum: many", "15:14", "expected a number"),
        ('valid: [["light(c)"]]', "15:21", "c"),
        ("valid: [[light(a, b)]]", "15:14", "between brackets a comma ends the value"),
        ("valid: [{cost: 3}]", "15:13", "a plan has either the key 'steps' or the key 'file'"),
        ('properties: [{always: "lit(c)"}]', "15:32", "c"),
        ("properties: [{over: states}]", "15:18", "a property has one of the keys always, never, eventually"),
        ("runs: [{outcome: SUCCEDED}]", "15:22", "no run ends 'SUCCEDED'; did you mean 'SUCCEEDED'?"),
        ("runs: [{faults: 2}]", "15:", "faults are a probability from 0 to 1, not 2"),
        ('without: ["lit(a)"]', "15:15", "lit(a) does not hold in problem 'two' anyway"),
        ('adding: ["not lit(a)"]', "15:15", "expected a fact"),
        ("problem: tow", "15:14", "did you mean 'two'?"),
        ("problem: two.yaml", "15:14", "there is no file 'two.yaml'"),
        ("valid: [{file: plan}]", "15:20", "there is no file 'plan'"),
        ("invalid: [{steps: [], fails_at: 2.5}]", "15:37", "expected the number of a step; or 'goal'"),
        ("runs: [{seeds: [a]}]", "15:21", "expected a whole number"),
        ('properties: [{always: "lit(a)", over: all}]', "15:43", "expected 'plan' or 'states'"),
        ("time_limit: 0", "15:5", "above 0, not 0"),
    ],
)
def test_mistakes_have_their_places(forethought, stated, place, said):
    lamps(CASES.format(stated=stated))
    ran = forethought("test", "lamps.yaml")
    assert ran.code == 2, ran.out
    assert f"lamps.yaml:{place}" in ran.err
    assert said in ran.err


def test_a_file_of_cases_finds_its_domain(forethought):
    Path("lamps.yaml").write_text(LAMPS)
    Path("lamps.cases.yaml").write_text("cases: {two: {optimum: 4}}\n")
    Path("other.cases.yaml").write_text("domain: courier\ncases: {one-parcel: }\n")
    assert forethought("test").code == 0
    assert "2 cases: 2 passed" in forethought("test", ".").out
    assert "1 case: 1 passed" in forethought("test", "lamps.yaml").out
    assert "1 case: 1 passed" in forethought("test", ".", "-k", "other").out
    assert forethought("test", ".", "-k", "nothing").code == 2
    Path("lost.cases.yaml").write_text("cases: {two: }\n")
    Path("wrong.cases.yaml").write_text("domain: here.yaml\ncases: {two: }\n")
    assert "wrong.cases.yaml:1:9: there is no file 'here.yaml'" in forethought("test", "wrong.cases.yaml").err
    assert "write 'domain: FILE'" in forethought("test", "lost.cases.yaml").err
    assert forethought("test", "nowhere").code == 2


def test_other_commands_leave_cases_alone(forethought):
    lamps("cases: {two: {problem: two}}\n")
    assert forethought("solve", "lamps.yaml", "-q").code == 0
    assert forethought("new", "shop").code == 0
    ran = forethought("solve", "shop", "nothing")
    assert "its problems are first)" in ran.err or "its problems are first" in ran.err


def test_results_as_json_and_junit(forethought):
    lamps("cases:\n  two:\n    optimum: 4\n    valid:\n      - [light(a)]\n  again: {problem: two}\n")
    ran = forethought("test", "lamps.yaml", "--json", "--junit", "results.xml")
    assert ran.code == 10
    told = json.loads(ran.out)
    assert (told["passed"], told["failed"]) == (2, 1)
    (suite,) = told["suites"]
    first, second = suite["cases"]
    assert (first["case"], first["result"], first["cost"], second["result"]) == ("two", "failed", 4, "passed")
    assert [check["line"] for check in first["checks"]] == [15, 17]
    assert told["coverage"] == [{"domain": "lamps", "actions": {"used": ["light"], "never": ["darken", "break"]}}]
    written = ET.parse("results.xml").getroot()
    (group,) = written
    assert (group.attrib["tests"], group.attrib["failures"]) == ("3", "1")
    assert [len(each) for each in group] == [0, 1, 0]


LAMP_IN_TIME = """\
domain: lamps
actions:
  light: {requires: [dark], provides: [lit, not dark], duration: 5}
  wire: {provides: [wired], duration: 2, holds: {hand: 1}}
---
problem: one
initial: [dark]
goal: [lit, wired]
capacity: {hand: 1}
objective: makespan
---
cases:
  one:
    makespan: 5
    properties:
      - {eventually: [lit, wired]}
      - {never: [dark, lit]}
      - {always: dark}
      - {eventually: lit, over: states}
"""


def test_properties_of_plans_in_time(forethought):
    Path("lamps.yaml").write_text(LAMP_IN_TIME)
    ran = forethought("test", "lamps.yaml", "--json")
    (case,) = json.loads(ran.out)["suites"][0]["cases"]
    results = [(each["check"], each["result"]) for each in case["checks"]]
    assert results == [
        ("makespan 5", "passed"),
        ("eventually lit and wired", "passed"),
        ("never dark and lit", "passed"),
        ("always dark", "failed"),
        ("eventually lit, in all states", "unsupported"),
    ]
    assert case["checks"][3]["message"] == "it does not hold at 0 s of the plan"


def test_the_time_of_a_case_has_the_search_in_it(forethought, monkeypatch):
    def solve_slowly(*given, **options):
        time.sleep(0.2)
        return solve(*given, **options)

    monkeypatch.setattr("executor.desk.loop.case_checks.solve", solve_slowly)
    lamps(CASES.format(stated="optimum: 4"))
    told = json.loads(forethought("test", "lamps.yaml", "--json").out)
    assert told["suites"][0]["cases"][0]["checks"][0]["seconds"] >= 0.2


def test_update_writes_what_is_proved_and_keeps_the_rest(forethought):
    lamps(
        """\
cases: # kept
  two: {optimum: 7} # kept
  empty:
  # kept
  block:
    problem: two   # kept
    goal: "lit(a)"
  dead: {problem: two, without: ["dark(a)"]}
  most: {problem: two, at_most: 9}
"""
    )
    text = Path("lamps.yaml").read_text().replace("empty:", "empty: {problem: two}")
    Path("lamps.yaml").write_text(text)
    ran = forethought("test", "lamps.yaml", "--update")
    assert (ran.code, ran.err) == (10, "lamps.yaml: 4 values written\n")
    assert "optimum 7: updated from 7 to 4" in ran.out
    expected = text.replace("{optimum: 7}", "{optimum: 4}").replace("empty: {p", "empty: {optimum: 4, p")
    expected = expected.replace("    problem: two   # kept", "    optimum: 2\n    problem: two   # kept")
    expected = expected.replace("dead: {p", "dead: {unsolvable: true, p")
    assert Path("lamps.yaml").read_text() == expected
    assert forethought("test", "lamps.yaml").code == 0


def test_update_writes_what_it_says_beside_solvable_and_nothing_against_unsolvable(forethought):
    lamps("cases: {two: {unsolvable: false, optimum: 7}, dark: {problem: two, unsolvable: true, optimum: 7}}\n")
    ran = forethought("test", "lamps.yaml", "--update")
    assert (ran.code, ran.err) == (10, "lamps.yaml: 1 value written\n")
    assert "optimum 7: updated from 7 to 4" in ran.out
    assert "{two: {unsolvable: false, optimum: 4}, dark: {problem: two, unsolvable: true, optimum: 7}}" in (
        Path("lamps.yaml").read_text()
    )


def test_makespans(forethought):
    Path("oven.yaml").write_text(
        "domain: oven\nactions: {bake: {provides: done, duration: 5}, rest: {provides: rested, duration: 3}}\n"
        "---\nproblem: p\ngoal: [done, rested]\nmetric: makespan\n---\ncases: {p: {makespan: 5}, q: {problem: p}}\n"
    )
    assert forethought("test", "oven.yaml").code == 0
    assert forethought("test", "oven.yaml", "--update").code == 0
    assert "q: {makespan: 5, problem: p}" in Path("oven.yaml").read_text()
    ran = forethought("test", "oven.yaml", "-k", "p")
    assert ran.code == 0


def test_plan_files_and_methods_of_hierarchies(forethought):
    assert forethought("new", "shop", "--language", "hddl").code == 0
    Path("plan").write_text(forethought("solve", "shop", "first").out)
    Path("short").write_text("(move r1 hall office)\n")
    Path("plans.cases.yaml").write_text(
        "domain: shop\ncases:\n  first:\n    valid: [{file: plan, cost: 6}]\n    invalid: [{file: short}]\n"
    )
    ran = forethought("test", "plans.cases.yaml", "--json")
    assert ran.code == 0, ran.out
    (coverage,) = json.loads(ran.out)["coverage"]
    assert coverage["methods"] == {"used": ["carry", "be-there", "go-on"], "never": []}


@pytest.mark.parametrize("name", ["courier", "elevator", "helpdesk", "household", "incident", "runbook", "travel"])
def test_cases_of_shipped_domains(forethought, name):
    problem = next(iter(open_source(name).problems()))
    Path("a.cases.yaml").write_text(
        f"domain: {name}\ncases: {{{problem}: {{properties: [{{eventually: []}}, {{always: [], over: states}}]}}}}\n"
    )
    ran = forethought("test", "a.cases.yaml")
    assert ran.code == 0, ran.out
    assert f"coverage of {name}" in ran.out


def test_all_states_of_problems_in_time_are_not_supported(forethought):
    Path("a.cases.yaml").write_text("domain: errands\ncases: {bread: {properties: [{eventually: [], over: states}]}}\n")
    ran = forethought("test", "a.cases.yaml")
    assert ran.code == 12
    assert "unsupported: a problem in time" in ran.out


def test_the_schemas_take_what_is_read(forethought):
    assert forethought("new", "shop").code == 0
    for kind, file in (("domain", "domain.yaml"), ("problem", "first.yaml"), ("cases", "domain.cases.yaml")):
        (data,) = parse_yaml(Path("shop", file).read_text(), file)
        for schema in (forethought("schema", kind).out, forethought("schema").out):
            jsonschema.validate(json.loads(json.dumps(data, default=float)), json.loads(schema))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"cases": {"a": {"optimun": 1}}}, json.loads(forethought("schema", "cases").out))


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("a:\n", "a: {k: 1}\n"),
        ("a: {}\n", "a: {k: 1}\n"),
        ("a: { b: 2 }\n", "a: {k: 1,  b: 2 }\n"),
        ("a:\n    # c\n    b: 2\n", "a:\n    # c\n    k: 1\n    b: 2\n"),
        ('{"a": {"b": 2}}', '{"a": {"k": 1, "b": 2}}'),
    ],
)
def test_keys_are_inserted_in_place(text, changed):
    (root,) = parse_tree(text, "text")
    mapping = root.get("a")
    assert mapping is not None
    assert apply_changes(text, [insert_key(text, mapping, "k", "1", quoted="{" in text[:1])]) == changed


def test_editors_are_told_of_mistakes_in_cases(tmp_path):
    domain, cases = tmp_path / "domain.yaml", tmp_path / "domain.cases.yaml"
    domain.write_text(LAMPS)
    text = "cases:\n  two:\n    optimun: 4\n"
    cases.write_text(text)
    (found,) = find_diagnostics(cases, Texts())
    assert text[found.start :].startswith("optimun")
    assert "did you mean 'optimum'?" in found.message
    cases.write_text(text.replace("optimun", "optimum"))
    assert find_diagnostics(cases, Texts()) == []
