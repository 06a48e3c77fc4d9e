"""Templates that are declared: in Python, in YAML and JSON; each is tried out where it is declared."""

from __future__ import annotations

import json

import pytest

from planner import Domain, load, validate
from planner.errors import DocumentError, InputError
from planner.reuse.templates import read_templates, template

ASSISTANT = load("assistant", "one-page").domain
SUM_UP = ["search_web(topic)", "fetch(source, topic)", ("summarise(source)", {"words": 200})]
ABOUT = {"topic": "Topic", "source": "Source"}
TEXT = """
templates:
  sum-up:
    parameters: {topic: Topic, source: Source}
    steps:
      - search_web(topic)
      - fetch(source, topic)
      - {step: summarise(source), values: {words: 200}}
  mail:
    parameters: {report: Report, person: Person}
    requires: ["written(report)", "approved(report)", "address_known(person)"]
    provides: ["sent(report, person)"]
    steps: ["send(report, person)"]
"""


def test_what_a_template_needs_and_gives_follows_from_its_steps() -> None:
    found = template(ASSISTANT, "sum-up", SUM_UP, parameters=ABOUT)
    assert found.to_dict() == {
        "parameters": {"topic": "Topic", "source": "Source"},
        "requires": ["covers(source, topic)"],
        "provides": ["fetched(source)", "found(topic)", "summarised(source)"],
        "steps": ["search_web(topic)", "fetch(source, topic)", {"step": "summarise(source)", "values": {"words": 200}}],
    }


def test_a_template_gives_plans_for_its_goals() -> None:
    found = template(ASSISTANT, "sum-up", SUM_UP, parameters=ABOUT)
    domain = Domain.of(ASSISTANT)
    objects = {"heating": "Topic", "sport": "Topic", "survey": "Source", "scores": "Source"}
    initial = ["covers(survey, heating)", "covers(scores, sport)"]
    problem = domain.problem(objects=objects, initial=initial, goal=["summarised(scores)", "found(sport)"])
    plan = found.plan_for(problem)
    assert [str(step) for step in plan.steps] == ["search_web(sport)", "fetch(scores, sport)", "summarise(scores)"]
    assert validate(problem, plan).valid
    assert found.plan_for(domain.problem(objects=objects, initial=initial, goal=[])) is None
    other = domain.problem(objects=objects, initial=initial, goal=["summarised(scores)", "summarised(survey)"])
    assert found.plan_for(other) is None


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_templates_are_read_and_written(tmp_path, ending: str) -> None:
    path = tmp_path / f"templates.{ending}"
    found = template(ASSISTANT, "sum-up", SUM_UP, parameters=ABOUT)
    path.write_text(TEXT if ending == "yaml" else json.dumps({"templates": {"sum-up": found.to_dict()}}))
    first, *others = read_templates(path, ASSISTANT)
    assert first == found
    assert [each.name for each in others] == (["mail"] if ending == "yaml" else [])


@pytest.mark.parametrize(
    ("steps", "options", "message"),
    [
        (["fly(topic)"], {}, "no action is called 'fly'"),
        (["fetch(source)"], {}, "takes 2 arguments, not 1"),
        (["fetch(topic, source)"], {}, "is of type"),
        (["fetch(source, moon)"], {}, "no object is called 'moon'"),
        (["fetch(source"], {}, "is no step"),
        ([("fetch(source, topic)", {"speed": 3})], {}, "no data parameter 'speed'; those of fetch are url"),
        (SUM_UP, {"requires": []}, "do not follow each other: .*covers\\(source, topic\\)"),
        (SUM_UP, {"provides": ["archived(source)"]}, "cannot follow each other|does not work"),
        (SUM_UP, {"requires": ["covers(source)"]}, "covers"),
        (["write_report(report)"], {"parameters": {"report": "Report"}}, "more than facts; say what they need"),
        (SUM_UP, {"parameters": {"topic": "Planet", "source": "Source"}}, "Planet"),
    ],
)
def test_mistakes_are_told(steps, options, message) -> None:
    with pytest.raises(InputError, match=message):
        template(ASSISTANT, "x", steps, **{"parameters": ABOUT, **options})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found"),
        ("templates: 7", "templates"),
        ("templates: {a: {steps: [], colour: red}}", r"templates\.yaml:1:.*no key 'colour'"),
        (TEXT.replace("fetch(source, topic)", "fetch(source)"), r"templates\.yaml:7:.*takes 2 arguments"),
        (TEXT.replace("words", "word"), r"templates\.yaml:8:.*no data parameter 'word'"),
        (TEXT.replace('"approved(report)", ', ""), r"templates\.yaml:9:.*does not work: .*approved"),
    ],
)
def test_mistakes_in_files_have_a_place(tmp_path, text: str, message: str) -> None:
    path = tmp_path / "templates.yaml"
    path.write_text(text)
    with pytest.raises(DocumentError, match=message):
        read_templates(path, ASSISTANT)
