"""Layered layouts of random graphs: order, distances, and the regression that places nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.desk.pages.layout import fit_increasing, lay_out, longest_paths, pull_late


@st.composite
def graphs(draw) -> tuple[int, list[tuple[int, int]]]:
    size = draw(st.integers(1, 14))
    pairs = [(one, other) for one in range(size) for other in range(one + 1, size)]
    return size, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []


@pytest.mark.drawn
@given(graphs())
def test_edges_go_forwards_and_nodes_keep_their_distance(graph: tuple[int, list[tuple[int, int]]]) -> None:
    size, edges = graph
    drawn = lay_out(size, edges)
    for source, target in edges:
        assert drawn.layers[source] < drawn.layers[target]
        for layer, _ in drawn.bends[source, target]:
            assert drawn.layers[source] < layer < drawn.layers[target]
    for one in range(size):
        for other in range(one):
            if drawn.layers[one] == drawn.layers[other]:
                assert abs(drawn.heights[one] - drawn.heights[other]) >= 0.98


@pytest.mark.drawn
@given(graphs())
def test_pulling_nodes_late_keeps_the_order_and_shortens_edges(graph: tuple[int, list[tuple[int, int]]]) -> None:
    size, edges = graph
    early = longest_paths(size, edges)
    late = pull_late(early, edges)
    assert all(late[source] < late[target] for source, target in edges)
    assert sum(late[b] - late[a] for a, b in edges) <= sum(early[b] - early[a] for a, b in edges)
    assert max(late) == max(early)


@pytest.mark.drawn
@given(st.lists(st.integers(-20, 20), max_size=7))
def test_the_fit_is_increasing_and_none_of_its_neighbours_is_nearer(values: list[int]) -> None:
    fitted = fit_increasing(values)
    assert fitted == sorted(fitted)

    def distance(others: list[float]) -> float:
        return sum((one - other) ** 2 for one, other in zip(values, others, strict=True))

    for place in range(len(values)):
        for step in (-0.01, 0.01):
            other = list(fitted)
            other[place] += step
            if other == sorted(other):
                assert distance(other) >= distance(fitted) - 1e-9
