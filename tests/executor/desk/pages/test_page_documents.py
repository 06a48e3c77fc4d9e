"""Documents of pages: their parts agree with the plan, and with what a simulation of it says."""

from __future__ import annotations

import json
from itertools import pairwise

import jsonschema
import pytest
from sample_pages import SHIPPED, chain_plan, page_of, solved

from executor.desk.pages import document as doc
from executor.desk.pages.candidates_page import candidates_page, is_result, page_of_data
from executor.desk.pages.domain_page import domain_page
from executor.desk.pages.plan_page import plan_page
from executor.desk.pages.search_part import search_of_data, search_part
from planner import Plan, load
from planner.errors import InputError
from planner.model import Problem
from planner.model.problem import is_temporal
from planner.plan import Step
from planner.problem_kinds import classical_of
from planner.semantics.simulation import Simulation
from planner.topk.top_k import k_best


@pytest.mark.parametrize("domain", SHIPPED)
def test_a_document_follows_its_schema_and_comes_back_from_json(domain: str) -> None:
    page = page_of(domain)
    data = json.loads(doc.to_json(page))
    assert doc.from_data(data) == page
    jsonschema.validate(data, doc.schema())


@pytest.mark.parametrize("domain", SHIPPED)
def test_steps_and_links_are_those_of_the_plan(domain: str) -> None:
    page, plan = page_of(domain), solved(domain, SHIPPED[domain]).plan
    assert [(each.action, each.arguments) for each in page.steps] == [
        (each.action, each.arguments) for each in plan.steps
    ]
    assert page.links
    for provider, consumer, text in page.links:
        assert 0 <= provider <= len(plan)
        assert 1 <= consumer <= len(plan) + 1
        assert page.texts[text]


@pytest.mark.parametrize("domain", SHIPPED)
def test_a_graph_runs_from_left_to_right_and_its_nodes_do_not_touch(domain: str) -> None:
    graph = page_of(domain).graph
    assert graph is not None
    for edge in graph.edges:
        layers = [graph.nodes[edge.source].layer, *[layer for layer, _ in edge.bends], graph.nodes[edge.target].layer]
        assert layers == sorted(set(layers))
    places = sorted((node.layer, node.y) for node in graph.nodes)
    for (layer, y), (other, below) in pairwise(places):
        assert layer != other or below - y >= 0.98


@pytest.mark.parametrize(
    "domain", [name for name in SHIPPED if not is_temporal(classical_of(load(name, SHIPPED[name])))]
)
def test_states_are_those_of_a_simulation(domain: str) -> None:
    page, plan = page_of(domain), solved(domain, SHIPPED[domain]).plan
    assert page.states is not None
    facts = {page.texts[place] for place in (*page.states.initial, *page.states.constant)}
    simulation = Simulation(page_problem(plan))
    for delta, step in zip(page.states.deltas, plan.steps, strict=True):
        simulation.apply(step)
        facts -= {page.texts[place] for place in delta.removed}
        facts |= {page.texts[place] for place in delta.added}
        assert {str(fact) for fact in simulation.facts} == {fact for fact in facts if " = " not in fact}


def page_problem(plan: Plan) -> Problem:
    from planner.compilations.object_creation import for_steps
    from planner.validation.validate import apply_suppositions

    classical = for_steps(classical_of(plan.problem), plan.steps)
    from planner.lightweight import replace

    return apply_suppositions(classical, replace(plan, problem=classical, tree=None))[0]


def test_states_in_time_say_what_starts_and_what_ends() -> None:
    page = page_of("workshop")
    assert page.states is not None
    assert {each.phase for each in page.states.deltas} == {"starts", "ends"}
    times = [each.time for each in page.states.deltas]
    assert times == sorted(times)


def test_numbers_change_with_the_steps() -> None:
    page = page_of("mules")
    assert page.states is not None
    first = dict(page.states.numbers)
    for delta in page.states.deltas:
        for fluent, before, after in delta.numbers:
            assert first[fluent] == before
            first[fluent] = after


@pytest.mark.parametrize("domain", ["workshop", "outing", "errands", "tools"])
def test_a_schedule_in_seconds_has_the_makespan(domain: str) -> None:
    page, plan = page_of(domain), solved(domain, SHIPPED[domain]).plan
    assert page.chart is not None
    assert page.chart.unit == "seconds"
    if plan.times:
        assert max(page.chart.ends) == pytest.approx(float(plan.makespan))
        assert page.chart.critical


def test_steps_that_do_not_wait_for_each_other_share_a_round() -> None:
    page = plan_page(chain_plan(12, wide=3))
    assert page.chart is not None
    assert page.chart.unit == "rounds"
    assert page.chart.starts == (0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3)


def test_a_sequence_without_durations_has_no_schedule() -> None:
    assert plan_page(chain_plan(4)).chart is None


@pytest.mark.parametrize("domain", ["household", "incident", "travel"])
def test_a_decomposition_has_each_step_once_and_judges_other_methods(domain: str) -> None:
    page = page_of(domain)
    assert page.tree is not None
    assert sorted(node.step for node in page.tree.nodes if node.step) == list(range(1, len(page.steps) + 1))
    others = [each for node in page.tree.nodes for each in node.alternatives]
    assert any(each.works is False and each.lacks for each in others)


def test_what_breaks_without_a_step_is_what_a_replay_finds() -> None:
    page = page_of("courier")
    first = page.steps[0]
    assert first.breaks == doc.Break(2, page.texts.index("at(r2, hall)"))
    assert page.steps[-1].breaks is not None
    assert page.steps[-1].breaks.step == 0


def test_redundant_steps_are_marked() -> None:
    page = plan_page(chain_plan(2))
    assert [each.redundant for each in page.steps] == [True, True]


def test_an_empty_plan_has_a_page() -> None:
    plan = chain_plan(0)
    page = plan_page(plan)
    assert page.graph is None
    assert any("empty" in note for note in page.notes)


@pytest.mark.parametrize("domain", SHIPPED)
def test_a_domain_shows_all_that_it_declares(domain: str) -> None:
    problem = load(domain, SHIPPED[domain])
    page = domain_page(problem.domain, problem)
    assert page.domain is not None
    names = [each.name for each in page.domain.items]
    classical = classical_of(problem).domain
    assert {*classical.actions, *classical.predicates} <= {*names}
    assert page.domain.graph is not None
    objects = {name for each in page.domain.types for name in each.objects}
    assert {each.name for each in classical_of(problem).all_objects} <= objects
    assert doc.from_data(json.loads(doc.to_json(page))) == page


def test_candidates_stand_side_by_side_with_what_they_share() -> None:
    page = candidates_page(k_best(load("courier", "two-robots"), 3, orders=True))
    assert [len(each.steps) for each in page.candidates] == [9, 9, 9]
    assert {step.shared for each in page.candidates for step in each.steps} == {3}


def test_a_result_as_json_has_a_page_of_its_own() -> None:
    result = solved("household", "supper")
    data = json.loads(json.dumps(result.to_dict()))
    assert is_result(data)
    page = page_of_data(data, "result.json")
    assert len(page.steps) == len(result.plan)
    assert page.tree is not None
    assert (page.search.points[-1].cost, page.search.points[-1].bound) == (result.cost, result.lower_bound)
    assert {each.search for each in page.search.lanes} == {each.search for each in result.history.searches}
    assert ("stopped by", "nothing was left to search") in page.search.statistics


def test_a_search_with_wishes_is_about_charges() -> None:
    result = solved("outing", "stroll")
    assert search_part(result).measure == "charge"
    assert search_part(result).points[-1].cost == result.plan.charge > result.cost
    assert page_of_data(json.loads(json.dumps(result.to_dict())), "r.json").search == search_part(result)
    assert search_part(solved("courier", "one-parcel")).measure == "cost"


def test_lanes_join_the_turns_of_one_search_by_several_heuristics() -> None:
    turns = [
        {"search": "weighted", "heuristic": "hff", "turns": [[0.0, 0.1], [0.3, 0.4]]},
        {"search": "symbolic", "heuristic": "", "turns": [[0.2, 0.9]]},
        {"search": "weighted", "heuristic": "hff and landmarks", "turns": [[0.1, 0.2]]},
    ]
    found = search_of_data({"searches": turns}, {"expanded": 1200, "generated": 0})
    weighted, symbolic = found.lanes
    assert (weighted.begins, weighted.ends) == ((0.0, 0.1, 0.3), (0.1, 0.2, 0.4))
    assert weighted.heuristics == ("hff", "hff and landmarks")
    assert (symbolic.search, symbolic.heuristics) == ("symbolic", ())
    assert found.statistics == (("expanded", "1,200"),)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"plan": None, "status": "UNSOLVABLE", "reason": "no door"}, "holds no plan: no door"),
        ({"candidates": []}, "candidates: .* at least 1"),
        ({"steps": [3]}, "plan.steps.0"),
        ({"steps": [{"action": 3}]}, "plan.steps.0.action"),
        ({"steps": [{"action": "go", "cost": "dear"}]}, "plan.steps.0.cost"),
        ({"candidates": [{"cost": 3}]}, "candidates.0.steps"),
        ({"plan": {"steps": []}, "history": {"milestones": [{"elapsed": -1}]}}, "history.milestones.0.elapsed"),
        ({"steps": [], "decomposition": {"roots": [1], "nodes": []}}, "names node 1"),
        ({"steps": [], "decomposition": {"roots": [0, 0], "nodes": [{"task": "t"}]}}, "named twice"),
        ({"steps": [], "decomposition": {"roots": [], "nodes": [{"task": "t", "children": [0]}]}}, "none of its roots"),
        ({"steps": [], "decomposition": {"roots": [0], "nodes": [{"task": "t", "step": 0}]}}, "is step 0"),
    ],
)
def test_bad_results_are_refused_by_name(data: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        page_of_data(data, "r.json")
    assert "r.json" in str(error.value)


def test_a_plan_with_unknown_facts_has_states_and_suppositions() -> None:
    from planner import Domain

    door = Domain("doors")
    door.action("look", {}, senses=["locked"])
    door.action("enter", {}, requires=["not locked"], provides=["inside"])
    problem = door.problem("p", goal=["inside"], unknown=["locked"])
    from planner import solve

    result = solve(problem)
    page = plan_page(result.expect_plan(), result)
    assert any("supposes" in note for note in page.notes)
    assert page.states is not None


def test_a_plan_that_does_not_work_goes_without_reasons() -> None:
    plan = chain_plan(2)
    broken = Plan((Step("move", ("r0", "b", "a"), 1),), plan.problem)
    page = plan_page(broken)
    assert page.links == ()
    assert any("no graph" in note for note in page.notes)
