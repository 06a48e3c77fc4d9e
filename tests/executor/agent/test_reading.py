"""What a sentence means is parsed, type-checked, checked for what can be reached, and said in words of our own."""

from __future__ import annotations

import asyncio

import pytest

from executor.agent.goal_reading.goal_problem import Meaning
from executor.agent.goal_reading.read_sentence import SentenceReader, SentenceReadings, find_doubts
from executor.errors import NoAnswer
from executor.language_model import Origin
from executor.testing import ScriptedModel
from planner import Domain, Status, solve, validate
from planner.model import COST, Problem

POST = Domain("post")
POST.type("letter")
POST.type("person")
POST.predicate("written", letter="letter", description="the letter is on paper")
POST.action("write", {"letter": "letter"}, provides=["written(letter)"])
POST.action(
    "mail", {"letter": "letter", "person": "person"}, requires=["written(letter)"], provides=["told(person)"], cost=3
)
POST.action("call", {"person": "person"}, requires=["phone(person)"], provides=["told(person)"])


def post() -> Problem:
    return POST.problem(
        objects={"note": "letter", "ada": "person", "ben": "person"}, initial=["phone(ada)"], goal=["told(ben)"]
    )


def read(sentence: str, *said, **options) -> tuple[SentenceReadings, ScriptedModel]:
    model = ScriptedModel(said)
    return asyncio.run(SentenceReader(model, **options).read(sentence, post())), model


def test_a_sentence_becomes_a_goal_that_is_planned() -> None:
    found, model = read("Tell Ada.", {"thought": "she has a phone", "meanings": [{"goal": ["told(ada)"]}]})
    (reading,) = found.readings
    assert reading.is_plannable
    assert reading.words == "At the end:\n- told(ada)"
    plan = solve(reading.problem).expect_plan()
    assert [str(step) for step in plan.steps] == ["call(ada)"]
    assert validate(reading.problem, plan).valid
    assert found.thought == "she has a phone"
    prompt = model.requests[0].prompt
    assert "- written(letter: letter) = the letter is on paper" in prompt
    assert "- mail(letter: letter, person: person) [needs written(letter); then told(person)]" in prompt
    assert "- phone(ada)" in prompt
    assert model.requests[0].parts[-1].origin is Origin.USER


def test_what_is_excluded_is_kept_out_of_the_plan() -> None:
    meaning = {"goal": ["told(ada)"], "forbidden": ["call(_)"]}
    found, _ = read("Tell Ada, but do not call anybody.", {"meanings": [meaning]})
    (reading,) = found.readings
    result = solve(reading.problem)
    assert result.status is Status.OPTIMAL
    assert [step.action for step in result.expect_plan().steps] == ["write", "mail"]
    assert "never done call(_)" in reading.words


def test_a_negation_that_is_lost_is_objected_to_once() -> None:
    lost, kept = {"goal": ["told(ada)"]}, {"goal": ["told(ada)"], "forbidden": ["call(_)"]}
    found, model = read("Tell Ada, but don't call.", {"meanings": [lost]}, {"meanings": [kept]})
    assert 'the sentence says "don\'t", and nothing is excluded' in model.requests[1].parts[-1].text
    assert not found.readings[0].doubts
    found, _ = read("Tell Ada, but don't call.", {"meanings": [lost]}, {"meanings": [lost]})
    assert found.readings[0].doubts == ('the sentence says "don\'t", and nothing is excluded',)


@pytest.mark.parametrize(
    ("meaning", "objection"),
    [
        ({"goal": ["tolled(ada)"]}, "has no predicate 'tolled' (did you mean 'told'?)"),
        ({"goal": ["told(note)"]}, "'note' in told(note) is 'letter', but predicate 'told' takes 'person' there"),
        ({"goal": ["told(cleo)"]}, "cleo"),
        ({"goal": ["told(ada"]}, "told(ada"),
        ({"goal": ["told(ada)"], "forbidden": ["shout(_)"]}, "has no action 'shout'"),
        ({"goal": ["told(ada)"], "budgets": {"money": 2}}, "a budget of 'money', which no action uses"),
        ({"goal": ["told(ada)"], "new_objects": {"cleo": "person"}}, "does not name the new object 'cleo'"),
        ({"goal": ["told(ada)"], "new_objects": {"letter": "paper"}}, "there is no type 'paper'"),
        ({"goal": ["told(ada)"], "not_expressible": ["with love"]}, "is not in the sentence, word for word"),
        ({}, "a meaning asks for nothing"),
    ],
)
def test_what_cannot_be_meant_goes_back_and_is_never_taken(meaning, objection) -> None:
    model = ScriptedModel([{"meanings": [meaning]}] * 3)
    with pytest.raises(NoAnswer) as error:
        asyncio.run(SentenceReader(model).read("Tell Ada by letter.", post()))
    assert objection in str(error.value)
    assert len(model.requests) == 3


def test_all_mistakes_are_told_at_once() -> None:
    model = ScriptedModel([{"meanings": [{"goal": ["told(x)", "tolled(ada)"], "never": ["phone(note)"]}]}] * 3)
    with pytest.raises(NoAnswer) as error:
        asyncio.run(SentenceReader(model).read("Tell Ada.", post()))
    assert len(error.value.objections) == 3


def test_a_goal_that_nothing_gives_is_objected_to_and_then_reported_as_what_is_missing() -> None:
    said = {"meanings": [{"goal": ["phone(ben)"]}]}
    found, model = read("Give Ben a phone.", said, said)
    (reading,) = found.readings
    assert not reading.is_plannable
    assert [missing.fact for part in reading.unreachable for missing in part.missing] == ["phone(ben)"]
    assert "phone(ben) cannot be reached: missing: phone(ben)" in model.requests[1].parts[-1].text


def test_several_readings_are_given_as_such() -> None:
    found, _ = read(
        "Tell one of them.", {"meanings": [{"goal": ["told(ada)"]}, {"goal": ["told(ben)"]}, {"goal": ["told(ada)"]}]}
    )
    assert [reading.words for reading in found.readings] == ["At the end:\n- told(ada)", "At the end:\n- told(ben)"]


def test_an_unknown_object_is_made_if_its_type_is_open_and_asked_for_otherwise() -> None:
    meaning = {"goal": ["written(card)", "told(cleo)"], "new_objects": {"card": "letter", "cleo": "person"}}
    found, _ = read("Write a card and tell Cleo.", {"meanings": [meaning]}, open_types=("letter",))
    (reading,) = found.readings
    assert reading.unknown == {"cleo": "person"}
    assert not reading.is_plannable
    assert solve(reading.problem).has_plan


def test_what_cannot_be_said_stays_in_the_sentence_s_own_words() -> None:
    meaning = {"goal": ["told(ada)"], "not_expressible": ["in a friendly tone"]}
    found, _ = read("Tell Ada in a  friendly tone.", {"meanings": [meaning]})
    assert found.readings[0].unmodelled == ("in a friendly tone",)


def test_a_sentence_that_asks_for_nothing_has_no_reading() -> None:
    found, _ = read("The sky is blue.", {"meanings": []})
    assert found.readings == ()


def test_limits_only_get_tighter() -> None:
    meaning = {"goal": ["told(ada)"], "budgets": {"cost": 5.5}, "deadline_seconds": 60}
    found, _ = read("Tell Ada within a minute, for less than 5.50.", {"meanings": [meaning]})
    (reading,) = found.readings
    assert float(reading.problem.budgets[COST]) == 5.5
    assert reading.words.endswith("Limits:\n- at most 5.5 of costs\n- within 60 seconds")


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        ("Tell Ada rather than Bob.", "rather than"),
        ("Please do not email anyone.", "not"),
        ("Instead of Bob, tell Ada.", "Instead of"),
        ("Tell everyone but Bob.", "everyone but"),
        ("Skip the lab.", "Skip"),
        ("Avoiding the lab, tell Ada.", "Avoiding"),
        ("Tell Ada, and leave Bob out.", "leave Bob out"),
        ("Dont tell Bob.", "Dont"),
        ("Schick bitte niemandem eine Mail.", "niemandem"),
        ("Sag es keinem außer Ada.", "keinem"),
        ("Alle bis auf Bob.", "bis auf"),
        ("Statt Bob nimm Ada.", "Statt"),
        ("Lass Bob weg.", "Lass Bob weg"),
        ("N\u2019envoie rien à Bob.", "N\u2019envoie"),
        ("Dis-le à Ada plutôt qu\u2019à Bob.", "plutôt"),
        ("Évite le labo.", "Évite"),
        ("E\u0301vite le labo.", "Évite"),
        ("Díselo a Ada sin avisar a Bob.", "sin"),
        ("A ningún colega.", "ningún"),
        ("En vez de Bob, Ada.", "En vez de"),
        ("Dillo ad Ada senza avvisare Bob.", "senza"),
        ("A nessuno tranne Ada.", "nessuno"),
        ("Não avise o Bob.", "Não"),
        ("Avise a Ada sem avisar o Bob.", "sem"),
        ("Vertel het Ada, maar Bob niet.", "niet"),
        ("Ada in plaats van Bob.", "in plaats van"),
        ("Sla Bob over.", "Sla Bob over"),
    ],
)
def test_what_is_excluded_and_got_lost_is_doubted_in_seven_languages(sentence: str, word: str) -> None:
    doubt = f"the sentence says {word!r}, and nothing is excluded"
    assert list(find_doubts(sentence, Meaning(goal=["told(ada)"]))) == [doubt]
    assert not list(find_doubts(sentence, Meaning(goal=["told(ada)"], never=["told(bob)"])))
    assert not list(find_doubts(sentence, Meaning(goal=["told(ada)"], not_expressible=[sentence.strip(".")])))


@pytest.mark.parametrize(
    "sentence", ["Tell Ada, and wait.", "Sag es Ada.", "Dis-le à Ada.", "Díselo a Ada.", "Dillo ad Ada."]
)
def test_a_sentence_that_excludes_nothing_raises_no_doubt(sentence: str) -> None:
    assert not list(find_doubts(sentence, Meaning(goal=["told(ada)"])))


def test_setting_one_negation_aside_leaves_the_other_in_doubt() -> None:
    sentence = "Do not hurry, and do not email anyone."
    meaning = Meaning(goal=["told(ada)"], not_expressible=["Do not hurry"])
    assert list(find_doubts(sentence, meaning)) == ["the sentence says 'not', and nothing is excluded"]
