"""Values are described by what changes: any two lead from one to the other and back, also through JSON."""

import json

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from executor.tools.kept_values import Keeper, mark_changes, recall_value
from executor.tools.value_changes import Version, Versions, describe_change

LONG = st.sampled_from(["x" * 120, "y" * 150, "xy" * 80])
LEAVES = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, -0.0, 1.0]) | st.text(max_size=3) | LONG
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from(["a", "b", "c", "$bytes"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@st.composite
def two_values(draw):
    """Draw a value and one that may share its beginning, end or fields."""
    before = draw(VALUES)
    if isinstance(before, str | list):
        begin, end = draw(st.integers(0, len(before))), draw(st.integers(0, len(before)))
        middle = draw(st.text(max_size=4) if isinstance(before, str) else st.lists(VALUES, max_size=3))
        return before, before[:begin] + middle + before[end:]
    if isinstance(before, dict):
        return before, {**before, **draw(st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=2))}
    return before, draw(VALUES)


def spell(value):
    """Return a text that tells values of different types apart, and 0.0 from -0.0."""
    return repr(value)


@given(two_values())
def test_a_change_leads_to_the_value_and_back(pair):
    before, after = pair
    change = describe_change(before, after)
    if change is not None:
        assert spell(change.apply(before)) == spell(after)
        assert spell(change.invert(before).apply(after)) == spell(before)


@given(two_values())
def test_a_change_is_kept_as_json(pair):
    before, after = (Keeper().keep(each) for each in pair)
    change = describe_change(before, after)
    if change is not None:
        kept = json.loads(json.dumps(mark_changes(change)))
        assert spell(recall_value(kept).apply(recall_value(before))) == spell(recall_value(after))


@given(st.lists(two_values(), max_size=8), VALUES)
def test_all_versions_can_be_read(pairs, value):
    versions, values = [Version(value)], [value]
    for _, after in pairs:
        change = describe_change(values[-1], after)
        versions.append(Version(after) if change is None else versions[-1].change(change))
        values.append(after)
    assert [spell(each.read()) for each in versions] == [spell(each) for each in values]
    assert spell(dict(Versions(dict(enumerate(versions))))) == spell(dict(enumerate(values)))


def test_what_grows_is_described_by_what_is_new():
    text, items = "x" * 1000, [{"content": "y" * 200}, 1]
    assert describe_change(text, text + "more").middle == "more"
    assert describe_change(items, [*items, {"content": "z"}]).middle == [{"content": "z"}]
    nested = {"items": items, "count": 2}
    assert describe_change(nested, {"items": [*items, 3], "count": 3}).fields["items"].middle == [3]


def test_values_that_are_equal_but_of_other_types_are_not_the_same():
    long = "x" * 200
    assert describe_change([long, 1], [long, True]).middle == [True]
    assert describe_change([long, 0.0], [long, -0.0]).middle == [-0.0]
    assert describe_change([long, (1,)], [long, [1]]).middle == [[1]]


def test_models_are_the_same_by_their_fields_and_other_objects_by_identity():
    class Message(BaseModel):
        content: str

    class Thing:
        def __eq__(self, other):
            return True

        __hash__ = None

    long = "x" * 200
    assert describe_change([Message(content=long)] * 9, [*[Message(content=long)] * 9, 1]).middle == [1]
    thing = Thing()
    assert describe_change([long, Thing()], [long, thing]).middle == [thing]
