"""One declaration makes a SQL query or an HTTP GET the observer of a pattern."""

import asyncio
import json
import sqlite3
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import StaticPool

from executor import Executor, RunStatus, World
from executor.tools.json_observers import MOST_BYTES, find_values
from executor.tools.sql_observers import Query, make_query_look, parse_observed
from planner import Domain, InputError

ROWS = [("o1", "pending", "ann"), ("o2", "paid", "bob"), ("o'3", "pending", None), ("o-4%s", "pending", "ann")]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table orders (id text, status text, customer text, version integer default 1)")
        connection.executemany("insert into orders (id, status, customer) values (?, ?, ?)", ROWS)
    connection.close()
    return path


def shop():
    domain = Domain("shop", types=["order", "person"])
    domain.predicate("pending(o)", "order")
    domain.predicate("paid(o)", "order")
    domain.predicate("placed(o, p)", "order", "person")
    domain.predicate("edited(o)", "order")
    return domain


def look(database, pattern, query, **arguments):
    found = make_query_look(parse_observed(pattern), query, database)(**arguments)
    return asyncio.run(found) if asyncio.iscoroutine(found) else found


LOOKS = [
    ("pending(_)", "select id from orders where status = 'pending'", {}, ["o1", "o'3", "o-4%s"]),
    ("pending(o)", "select 1 from orders where id = :o and status = :predicate", {"o": "o1"}, True),
    ("pending(o)", "select 1 from orders where id = :o and status = :predicate", {"o": "o2"}, False),
    ("pending(o)", "select 1 from orders where id = :o and status = 'pending'", {"o": "o'3"}, True),
    ("pending(o)", "select 1 from orders where id = :o", {"o": "x' or '1'='1"}, False),
    ("placed(o, _)", "select customer from orders where id = :o", {"o": "o2"}, ["bob"]),
    ("placed(o, _)", "select customer from orders where id = :o", {"o": "o'3"}, []),
    ("placed(_, _)", "select id, customer from orders where status = 'paid'", {}, [("o2", "bob")]),
    ("paid(o)", "select 1 from orders where id = :o and 'a:b' <> 'a:o' -- :x", {"o": "o1"}, True),
    ("paid(o)", "select 1 from orders where id like '%' and id = :o and :o = id", {"o": "o-4%s"}, True),
]


def opened(file):
    return sqlite3.connect(file)


DATABASES = {
    "factory": lambda file: lambda: opened(file),
    "connection": opened,
    "engine": lambda file: create_engine(f"sqlite:///{file}"),
    "session": lambda file: create_engine(f"sqlite:///{file}", poolclass=StaticPool).connect(),
}


@pytest.mark.parametrize("database", DATABASES.values(), ids=DATABASES)
def test_queries_are_answers_of_observers(file, database):
    source = database(file)
    for pattern, query, arguments, expected in LOOKS:
        assert look(source, pattern, query, **arguments) == expected
    for each in ("close", "dispose"):
        getattr(source, each, lambda: None)()


def test_a_version_is_a_column(file):
    found = look(lambda: opened(file), "edited(o)", "select version from orders where id = :o", o="o1")
    assert (found.value, found.version) == (True, 1)


STYLES = [
    ("qmark", "a ? '%' ?", ["1", "2"]),
    ("format", "a %s '%%' %s", ["1", "2"]),
    ("numeric", "a :1 '%' :2", ["1", "2"]),
    ("named", "a :x '%' :y", {"x": "1", "y": "2"}),
    ("pyformat", "a %(x)s '%%' %(y)s", {"x": "1", "y": "2"}),
]


@pytest.mark.parametrize(("style", "written", "given"), STYLES, ids=[each[0] for each in STYLES])
def test_parameters_are_written_in_every_style(style, written, given):
    assert Query.of("a :x '%' :y").write(style, {"x": "1", "y": "2"}) == (written, given)


def test_only_names_outside_of_quotes_comments_and_casts_are_parameters():
    query = "select ':a', \":b\", `:c`, x::text, $$ :d $$, /* :e */ :f -- :g"
    assert Query.of(query).names == ["f"]


def test_a_long_table_is_cut(file):
    with pytest.raises(InputError, match="more than 2 rows"):
        make_query_look(parse_observed("pending(_)"), "select id from orders", lambda: opened(file), most=2)()


MISTAKES = [
    ("pending(_)", "", "a query must be a text"),
    ("pending(", "select 1", "no pattern"),
    (7, "select 1", "no pattern"),
    ("pending(o)", "select 1 where :ordr = 1", "ordr"),
    ("pending(o)", "select 1", "neither a parameter of the observer nor a constant"),
    ("pendng(o)", "select 1 where :o = 1", "did you mean 'pending'"),
    ("pending(o, p)", "select 1 where :o = :p", "arguments"),
]


@pytest.mark.parametrize(("pattern", "query", "said"), MISTAKES, ids=[said for *_, said in MISTAKES])
def test_mistakes_are_told_where_they_are_made(pattern, query, said):
    with pytest.raises(InputError, match=said):
        World(shop()).observe_sql(pattern, query, lambda: None)


def test_what_is_no_database_is_told():
    with pytest.raises(InputError, match="no database"):
        World(shop()).observe_sql("pending(_)", "select id from orders", 7)


def test_errors_of_a_database_are_reasons(file):
    domain = shop()
    domain.action("pay", {"o": "order"}, requires=["pending(o)"], provides=["paid(o)"])
    world = World(domain)
    world.handler("pay")(lambda o: {"order": str(o)})
    world.observe_sql("paid(o)", "select 1 from no_table where id = :o", lambda: opened(file), conclusive=True)
    outcome = asyncio.run(
        Executor(world).run(domain.problem(objects={"o1": "order"}, initial=["pending(o1)"], goal=["paid(o1)"]))
    )
    assert outcome.status is RunStatus.UNVERIFIED
    assert "no such table" in outcome.steps[0].reason


def test_a_run_is_seen_in_its_tables(file):
    domain = shop()
    domain.action("pay", {"o": "order"}, requires=["pending(o)"], provides=["paid(o)", "not pending(o)"])
    world = World(domain)

    @world.handler("pay")
    def pay(o):
        with sqlite3.connect(file) as connection:
            connection.execute("update orders set status = 'paid' where id = ?", (str(o),))
        connection.close()

    by_status = "select 1 from orders where id = :o and status = :predicate"
    world.observe_sql(["pending(o)", "paid(o)"], by_status, lambda: opened(file), conclusive=True)
    problem = domain.problem(objects={"o1": "order"}, initial=["pending(o1)"], goal=["paid(o1)"])
    assert asyncio.run(Executor(world).run(problem)).status is RunStatus.SUCCEEDED


@contextmanager
def serve(answers):
    """Serve `answers`, (status, body, headers) by path; yield the URL and the paths that were asked for."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.path, self.headers.get("X-Key")))
            status, body, headers = (*answers.get(self.path, (404, "")), {})[:3]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def see(pattern, url, answers, *objects, **options):
    """Return the sightings of an observer of `pattern` for objects, or the reasons why there are none."""
    domain = shop()
    world = World(domain)
    with serve(answers) as (base, asked):
        world.observe_http(pattern, base + url, headers={"X-Key": "secret"}, **options)
        (observer,) = world.observers
        found = []
        for each in objects or [{}]:
            try:
                answer = observer.function(**each)
                bound = observer.pattern
                args = tuple(each.get(arg, arg) for arg in bound.args)
                found.append(observer.read(type(bound)(bound.predicate, args), answer))
            except Exception as error:  # noqa: BLE001 - what the run would be told
                found.append(str(error))
    assert {key for _, key in asked} <= {"secret"}
    return found, [path for path, _ in asked]


def facts(sighting):
    return {str(fact): holds for fact, holds in sighting.facts.items()}


def test_a_status_says_whether_there_is_something():
    (yes, no), asked = see("paid(o)", "/paid/{o}", {"/paid/a%2Fb": (200, "yes")}, {"o": "a/b"}, {"o": "o2"})
    assert (facts(yes), facts(no)) == ({"paid(a/b)": True}, {"paid(o2)": False})
    assert asked == ["/paid/a%2Fb", "/paid/o2"]  # an argument cannot leave its place in the URL


def test_a_value_in_the_answer_says_whether_a_fact_holds():
    answers = {
        "/o1": (200, {"state": "paid", "is": {"paid": True}}),
        "/o2": (200, {"state": "open", "is": {"paid": 1}}),
    }
    found, _ = see("paid(o)", "/{o}", answers, {"o": "o1"}, {"o": "o2"}, at="state", equals="paid")
    assert [facts(each) for each in found] == [{"paid(o1)": True}, {"paid(o2)": False}]
    (yes, odd), _ = see("paid(o)", "/{o}", answers, {"o": "o1"}, {"o": "o2"}, at="is.paid")
    assert facts(yes) == {"paid(o1)": True}
    assert "not true or false" in odd


def test_values_stand_for_open_arguments():
    answers = {"/orders": (200, {"orders": [{"id": 7, "by": {"name": "ann"}}, {"id": "o8", "by": {"name": "bob"}}]})}
    (found,), _ = see("pending(_)", "/orders", answers, at="orders.*.id")
    assert facts(found) == {"pending(7)": True, "pending(o8)": True}
    (found,), _ = see("placed(_, _)", "/orders", answers, at="orders", fields=("id", "by.name"))
    assert facts(found) == {"placed(7, ann)": True, "placed(o8, bob)": True}
    (found,), _ = see("pending(_)", "/no", answers, at="orders.*.id")
    assert facts(found) == {}


TROUBLE = {
    "an error": ((500, ""), "HTTP status 500"),
    "a redirect": ((302, "", {"Location": "http://127.0.0.1:1/"}), "HTTP status 302"),
    "no JSON": ((200, b"<html>"), "no JSON"),
    "another shape": ((200, {"total": 1}), "nothing at 'state'"),
    "too much": ((200, b" " * (MOST_BYTES + 1)), "more than 1,000,000 bytes"),
    "nested": ((200, b"[" * 100_000), "no JSON"),
}


@pytest.mark.parametrize(("answer", "said"), TROUBLE.values(), ids=TROUBLE)
def test_an_answer_that_says_nothing_is_no_sighting(answer, said):
    (found,), _ = see("paid(o)", "/{o}", {"/o1": answer}, {"o": "o1"}, at="state", equals="paid")
    assert said in found


BAD = [
    (("paid(o)", "file:///etc/passwd"), {}, "http"),
    (("paid(o)", "http://host/{p}"), {}, "does not have"),
    (("paid(_)", "http://host/"), {"equals": 1}, "open arguments"),
    (("placed(_, _)", "http://host/"), {"at": "x"}, "fields"),
    (("placed(_, _)", "http://host/"), {"fields": ("x",)}, "1 fields"),
    (("paid(o)", "http://host/{o}"), {"at": 7}, "path"),
    (("paid(o)", "http://host/"), {}, "neither a parameter"),
]


@pytest.mark.parametrize(("given", "options", "said"), BAD, ids=range(len(BAD)))
def test_mistakes_in_http_observers_are_told(given, options, said):
    with pytest.raises(InputError, match=said):
        World(shop()).observe_http(*given, **options)


def test_paths_lead_through_lists_and_mappings():
    body = {"a": [{"b": [1, 2]}, {"b": [3]}]}
    assert find_values(body, "a.*.b.*") == [1, 2, 3]
    assert find_values(body, "a.1.b") == [[3]]
    assert find_values(body, "") == [body]
    with pytest.raises(InputError, match="has no 'c'"):
        find_values(body, "a.*.c")


def test_an_observer_needs_a_tool_that_only_reads():
    with pytest.raises(InputError, match="no tool"):
        World(shop()).observe_tool("paid(o)", len)


def test_an_asynchronous_engine_is_awaited(file):
    class Connection:
        async def __aenter__(self):
            return self

        async def __aexit__(self, *_):
            pass

        async def execute(self, clause, values):
            with create_engine(f"sqlite:///{file}").connect() as connection:
                return connection.execute(clause, values).freeze()()

    class Engine:
        def connect(self):
            return Connection()

    Engine.__module__ = "sqlalchemy.ext.asyncio.engine"
    assert text("select 1") is not None
    assert look(Engine(), "paid(o)", "select 1 from orders where id = :o", o="o1") is True
