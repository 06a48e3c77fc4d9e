"""Parts of the service: requests as data, keys in files, metrics as text, spans."""

from __future__ import annotations

import base64
import hashlib
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.service.jobs import Job, State
from executor.service.keys import Client, Clients, digest_of, read_authorization, read_clients
from executor.service.messages import Answer
from executor.service.metrics import Metrics
from executor.service.questions import OPTIONS, Question, Request, read_request
from executor.service.tracing import Tracing
from planner.errors import InputError

WORDS = st.sampled_from(
    [
        "domain",
        "problem",
        "plan",
        "time_limit",
        "priority",
        "wait",
        "fresh",
        "mode",
        "search",
        "seed",
        "number",
        "within",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("(define (domain d))"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(list(OPTIONS)), st.dictionaries(WORDS | st.text(max_size=8), VALUES, max_size=6) | VALUES)
def test_any_data_is_a_question_or_a_mistake(kind, data):
    try:
        request = read_request(kind, data)
    except InputError:
        return
    assert Question(**json.loads(json.dumps(request.question.to_dict()))) == request.question
    assert len(request.question.content_hash) == 64
    assert 0 <= request.priority <= 9
    assert request.question.time_limit is None or 0 < request.question.time_limit < 1e9


def test_the_hash_is_of_the_content_alone():
    first = read_request("solve", {"domain": "(define (domain d))", "time_limit": 5, "priority": 1}).question
    second = read_request("solve", {"domain": "(define (domain d))", "time_limit": 6, "mode": None}).question
    other = read_request("solve", {"domain": "(define (domain d))", "mode": "first"}).question
    assert first.content_hash == second.content_hash != other.content_hash


def test_texts_may_begin_with_a_byte_order_mark():
    plain = {"domain": "(define (domain d))", "plan": "(a)"}
    marked = {name: f"\ufeff{text}" for name, text in plain.items()}
    assert read_request("validate", marked) == read_request("validate", plain)


KEY = "k" * 20


def test_keys_stand_in_a_file_or_in_the_environment(tmp_path, monkeypatch):
    path = tmp_path / "keys.toml"
    path.touch(0o600)
    digest = hashlib.sha256(b"another-secret-key").hexdigest()
    path.write_text(f'[alice]\nkey = "{KEY}"\nper_minute = 5\n[bob]\nsha256 = "{digest}"\n', encoding="utf-8")
    clients = read_clients(path)
    assert clients.find(f"Bearer {KEY}").name == "alice"
    assert clients.find(f"Bearer {KEY}").quota.per_minute == 5
    assert clients.find("bearer another-secret-key").name == "bob"
    assert clients.find("Basic " + base64.b64encode(f"me:{KEY}".encode()).decode()).name == "alice"
    for stranger in (None, "", "Bearer", "Bearer x", "Basic !", "Basic /w==", f"Token {KEY}", f"Bearer {KEY}x"):
        assert clients.find(stranger) is None
    monkeypatch.setenv("FORETHOUGHT_SERVE_KEY", KEY)
    assert read_clients(None).find(f"Bearer {KEY}").name == "client"
    monkeypatch.delenv("FORETHOUGHT_SERVE_KEY")
    assert read_clients(None).find(None).name == "anyone"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file has no keys"),
        ("alice = 1", "the file has no keys"),
        ("[alice", "no TOML"),
        ("[alice]\nper_minute = 5", "one of key"),
        (f'[alice]\nkey = "{KEY}"\nsha256 = "{"0" * 64}"', "one of key"),
        ('[alice]\nsha256 = "12"', "one of key"),
        ('[alice]\nkey = "short"', "16 characters or more"),
        (f'[alice]\nkey = "{KEY}"\nper_minut = 5', "did you mean 'per_minute'?"),
        (f'[alice]\nkey = "{KEY}"\nper_minute = 0', "1 or more, got 0"),
        (f'[alice]\nkey = "{KEY}"\nat_once = 1.5', "1 or more, got 1.5"),
        (f'[alice]\nkey = "{KEY}"\ntime_limit = true', "got True"),
        (f'[a]\nkey = "{KEY}"\n[b]\nkey = "{KEY}"', "two clients have the same key"),
    ],
)
def test_mistakes_in_a_file_of_keys_are_told(tmp_path, text, says):
    path = tmp_path / "keys.toml"
    path.touch(0o600)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_clients(path)
    assert says in str(error.value)
    assert "keys.toml" in str(error.value)
    assert KEY not in str(error.value)


@pytest.mark.skipif(os.name != "posix", reason="needs modes of files")
@pytest.mark.parametrize(
    ("mode", "is_own", "mend"),
    [
        (0o600, True, None),
        (0o400, True, None),
        (0o440, False, None),
        (0o640, True, "chmod 600 '{}'"),
        (0o604, True, "chmod 600 '{}'"),
        (0o444, False, "chmod o= '{}'"),
    ],
)
def test_a_file_of_keys_that_others_may_read_is_refused(tmp_path, monkeypatch, mode, is_own, mend):
    path = tmp_path / "our keys.toml"
    path.write_text(f'[alice]\nkey = "{KEY}"', encoding="utf-8")
    path.chmod(mode)
    owner = path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner if is_own else owner + 1)
    if mend is None:
        assert read_clients(path).need_keys
        return
    with pytest.raises(InputError, match="others may read this secret") as error:
        read_clients(path)
    assert error.value.hint == mend.format(path)
    assert f"{mode:04o}" in error.value.message


@given(st.text(max_size=30))
def test_any_header_is_read(header):
    assert isinstance(read_authorization(header), str)
    assert Clients([(digest_of(KEY), Client("c"))]).find(header) is None


def test_metrics_are_written_for_prometheus():
    metrics = Metrics()
    for seconds in (0.001, 0.3, 1000.0):
        metrics.note("solve", "done", 0.0, seconds)
    metrics.note("solve", "cached", 0.0, 0.0)
    metrics.count("refused", reason='a "quoted"\nreason')
    text = metrics.write({"queued": ("Questions that wait.", 3)})
    assert "# TYPE forethought_queued gauge\nforethought_queued 3\n" in text
    assert 'forethought_questions_total{kind="solve",outcome="done"} 3\n' in text
    assert 'forethought_question_seconds_bucket{kind="solve",le="0.005"} 1\n' in text
    assert 'forethought_question_seconds_bucket{kind="solve",le="0.5"} 2\n' in text
    assert 'forethought_question_seconds_bucket{kind="solve",le="+Inf"} 3\n' in text
    assert 'forethought_question_seconds_count{kind="solve"} 3\n' in text
    assert r'reason="a \"quoted\"\nreason"' in text
    assert metrics.mean_seconds() == pytest.approx(1000.301 / 3)


class Recorded:
    """A tracer and its only span."""

    def start_span(self, name, context, *, kind, attributes):
        self.name, self.context, self.kind, self.known, self.status, self.ended = (
            name,
            context,
            kind,
            attributes,
            None,
            0,
        )
        return self

    def set_attributes(self, attributes):
        self.known |= attributes

    def set_attribute(self, name, value):
        self.known[name] = value

    def set_status(self, status):
        self.status = status

    def end(self):
        self.ended += 1


def trace(kind, finish):
    recorded = Recorded()
    tracing = Tracing(recorded)
    question = Question(kind, "(define (domain secret))")
    job = Job(Request(question), Client("alice"), 5.0, 5, question.content_hash)
    parent = tracing.read_context({"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
    job.span = tracing.begin(job, parent)
    finish(job)
    tracing.end(job)
    assert recorded.ended == 1
    assert "secret" not in str(recorded.known)
    return recorded


@pytest.mark.anyio
async def test_spans_tell_of_questions():
    from opentelemetry.trace import get_current_span

    def solved(job):
        job.answer = Answer.of({"status": "OPTIMAL", "stopped_by": "exhausted", "cost": 2, "plan": {"steps": [1, 2]}})
        job.change(State.DONE)

    found = trace("solve", solved)
    assert found.name == "plan forethought"
    assert found.known["gen_ai.operation.name"] == "plan"
    assert found.known["forethought.plan.status"] == "OPTIMAL"
    assert found.known["forethought.plan.steps"] == 2
    assert found.status is None
    assert get_current_span(found.context).get_span_context().span_id == 0xB7AD6B7169203331
    failed = trace("validate", lambda job: job.fail("memory", "too much"))
    assert failed.name == "execute_tool validate"
    assert failed.known["gen_ai.tool.name"] == "validate"
    assert failed.known["error.type"] == "memory"
    assert not failed.status.is_ok
