"""The client of real models, against an endpoint on this machine: what it sends, what it takes, and how it fails."""

from __future__ import annotations

import asyncio

import pytest
from endpoint import Endpoint
from pydantic import Field
from raw_endpoint import RawEndpoint, http

from executor.errors import NoAnswer, Unpaid, Unreachable
from executor.language_model import Allowance, Answer, Meter, Part, Purpose, Reply, Request, ask_checked
from executor.language_model.client import BLOCKED, Client
from executor.language_model.event_loop import ThreadedModel
from executor.language_model.settings import Settings, model_of, settings_of
from executor.testing import ScriptedModel
from planner.errors import InputError


class Number(Answer):
    number: int = Field(ge=1, le=9)


REQUEST = Request(Purpose.FILL, "Give a number.", (Part("Said", "a small one"),), Number)


@pytest.fixture
def allowed(monkeypatch) -> None:
    monkeypatch.delenv(BLOCKED, raising=False)


def ask(settings: Settings, **options):
    async def asked():
        async with Client(settings) as client:
            return await ask_checked(client, REQUEST, Number, **options)

    return asyncio.run(asked())


@pytest.mark.usefixtures("allowed")
class TestEndpoint:
    def test_an_endpoint_is_asked_for_json_of_the_schema(self) -> None:
        with Endpoint('{"number": 3, "thought": "small"}') as endpoint:
            found = ask(Settings("small", endpoint.url, prices=(1.0, 10.0)))
        assert found.value.number == 3
        (body,) = endpoint.bodies
        assert body["response_format"]["json_schema"]["schema"]["properties"]["number"]["maximum"] == 9
        assert [message["content"] for message in body["messages"]] == ["Give a number.", "Said:\na small one"]

    def test_what_it_takes_is_counted(self) -> None:
        meter = Meter()
        with Endpoint('{"number": 12}', '{"number": 4}') as endpoint:
            assert ask(Settings("small", endpoint.url, prices=(1.0, 10.0)), meter=meter).rounds == 2
        assert (meter.spent.calls, meter.spent.input_tokens, meter.spent.output_tokens) == (2, 200, 20)
        assert meter.spent.money == pytest.approx(400 / 1_000_000)

    def test_fences_around_json_do_no_harm_and_words_can_ask_for_it(self) -> None:
        with Endpoint('```json\n{"number": 5}\n```') as endpoint:
            assert ask(Settings("small", endpoint.url, output="prompted")).value.number == 5
        assert "fits this schema" in endpoint.bodies[0]["messages"][0]["content"]
        assert "response_format" not in endpoint.bodies[0]

    def test_what_may_pass_is_tried_again(self) -> None:
        meter = Meter()
        with Endpoint(503, 429, '{"number": 5}') as endpoint:
            assert ask(Settings("small", endpoint.url, retries=2), meter=meter).value.number == 5
        assert (meter.spent.calls, meter.spent.input_tokens, meter.spent.output_tokens) == (3, 100, 10)

    def test_what_is_tried_again_is_paid_for(self) -> None:
        meter = Meter(Allowance(calls=2))
        with Endpoint(503, 503, '{"number": 5}') as endpoint, pytest.raises(Unpaid, match=r"2 of 2; .* status 503"):
            ask(Settings("small", endpoint.url, retries=2), meter=meter)
        assert len(endpoint.bodies) == meter.spent.calls == 2

    def test_an_answer_may_have_what_is_left(self) -> None:
        question = REQUEST.most_tokens
        with Endpoint('{"number": 5}', '{"number": 5}', usage=(30, 20)) as endpoint:
            ask(Settings("small", endpoint.url), meter=Meter(Allowance(tokens=question + 100)))
            ask(Settings("small", endpoint.url), meter=Meter(Allowance(tokens=10**6)))
        assert [body["max_completion_tokens"] for body in endpoint.bodies] == [100, 2000]

    def test_of_money_too(self) -> None:
        money = (REQUEST.most_tokens * 2 + 50 * 10) / 1_000_000
        with Endpoint('{"number": 5}') as endpoint:
            ask(Settings("small", endpoint.url, prices=(2, 10)), meter=Meter(Allowance(money=money)))
        assert endpoint.bodies[0]["max_completion_tokens"] == pytest.approx(50, abs=1)

    def test_what_does_not_fit_is_not_asked(self) -> None:
        meter = Meter(Allowance(tokens=REQUEST.most_tokens))
        with Endpoint('{"number": 5}') as endpoint, pytest.raises(Unpaid, match="and its answer cost more"):
            ask(Settings("small", endpoint.url), meter=meter)
        assert endpoint.bodies == []
        assert meter.spent.calls == 0

    def test_what_will_not_pass_is_not(self) -> None:
        with Endpoint(401, '{"number": 5}') as endpoint, pytest.raises(Unreachable):
            ask(Settings("small", endpoint.url))
        assert len(endpoint.bodies) == 1

    def test_nobody_there_is_said(self) -> None:
        with pytest.raises(Unreachable):
            ask(Settings("small", "http://127.0.0.1:9/v1", retries=0, timeout=2))

    @pytest.mark.parametrize("usage", [None, (0, 0)])
    def test_what_an_endpoint_does_not_count_is_counted_by_characters(self, usage) -> None:
        meter = Meter()
        with Endpoint("seven", usage=usage) as endpoint, pytest.raises(NoAnswer):
            ask(Settings("small", endpoint.url), meter=meter, rounds=1)
        asked = len("Give a number.") + len("Said:\na small one")
        assert (meter.spent.input_tokens, meter.spent.output_tokens) == (asked // 4, 1)

    def test_a_limit_on_money_needs_prices(self) -> None:
        with Endpoint('{"number": 5}') as endpoint, pytest.raises(Unpaid, match="nobody knows what the model costs"):
            ask(Settings("small", endpoint.url), meter=Meter(Allowance(money=1)))
        assert endpoint.bodies == []

    def test_settings_of_a_file_are_what_is_sent(self, tmp_path) -> None:
        path = tmp_path / "settings.yaml"
        with Endpoint('{"number": 5}') as endpoint:
            path.write_text(f"language_model: {{model: small, url: '{endpoint.url}', temperature: 0.5}}\n")
            settings = settings_of(None, {"FORETHOUGHT_SETTINGS": str(path)})
            assert settings is not None
            assert ask(settings).value.number == 5
        assert endpoint.bodies[0]["temperature"] == 0.5

    def test_an_answer_that_never_ends_is_given_up(self) -> None:
        from pydantic_ai.models.function import FunctionModel

        asked = []

        async def endless(*_given) -> None:
            asked.append(1)
            await asyncio.Event().wait()

        client = Client(Settings("small", timeout=0.01, retries=1), FunctionModel(endless))
        with pytest.raises(Unreachable, match="no answer in time"):
            asyncio.run(ask_checked(client, REQUEST, Number))
        assert len(asked) == 2

    def test_nonsense_is_no_answer(self) -> None:
        with Endpoint("seven", "eight") as endpoint, pytest.raises(NoAnswer, match="not JSON"):
            ask(Settings("small", endpoint.url), rounds=2)


def test_a_model_may_take_as_long_as_it_says() -> None:
    class Slow(ScriptedModel):
        patience = 60.0

        async def answer(self, request: Request) -> Reply:
            await asyncio.sleep(0.05)
            return await super().answer(request)

    assert asyncio.run(ask_checked(Slow([{"number": 5}]), REQUEST, Number, timeout=0.001)).value.number == 5
    with ThreadedModel(Slow([{"number": 5}])) as apart:
        assert asyncio.run(ask_checked(apart, REQUEST, Number, timeout=0.001)).value.number == 5


def test_patience_is_for_one_attempt_and_the_pause_before_it() -> None:
    model = ScriptedModel([])
    assert Client(Settings("small", timeout=300, retries=1), model).patience > 305


def test_real_models_are_never_called_in_tests() -> None:
    with pytest.raises(Unreachable, match="are not called here"):
        ask(Settings("small", "http://127.0.0.1:9/v1"))


class TestProviders:
    @pytest.fixture(autouse=True)
    def without_keys(self, monkeypatch) -> None:
        for name in ("OPENAI_API_KEY", "FORETHOUGHT_MODEL_KEY", "OPENAI_BASE_URL", "DEEPSEEK_API_KEY"):
            monkeypatch.delenv(name, raising=False)

    @pytest.mark.parametrize(
        ("model", "variable"), [("openai:gpt-5", "OPENAI_API_KEY"), ("deepseek:deepseek-chat", "DEEPSEEK_API_KEY")]
    )
    def test_a_missing_key_is_asked_for_by_its_name(self, model, variable) -> None:
        with pytest.raises(InputError, match="needs a key, and has none") as error:
            model_of(model)
        assert f"set {variable}, or FORETHOUGHT_MODEL_KEY" in str(error.value)
        assert "Agent" not in str(error.value)

    @pytest.mark.usefixtures("allowed")
    def test_a_key_of_the_settings_is_the_providers(self, monkeypatch) -> None:
        heads: list[bytes] = []
        with RawEndpoint(http(b"{}", "503 No"), heads=heads) as endpoint:
            monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
            with pytest.raises(Unreachable, match="status 503"):
                ask(Settings("openai-chat:gpt-5", key="sk-ours", retries=1))
        assert len(heads) == 2  # the provider's client makes no attempts of its own
        assert all(b"Bearer sk-ours" in each and b"identity" in each for each in heads)

    def test_a_provider_without_keys_says_so(self) -> None:
        with pytest.raises(InputError, match="takes no key from the settings"):
            model_of({"model": "openai-codex:gpt-5", "key": "sk-ours"})

    @pytest.mark.usefixtures("allowed")
    def test_a_key_that_no_header_can_carry_is_said(self, monkeypatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-é")
        with pytest.raises(Unreachable, match="key, or its URL, has characters that are not ASCII"):
            ask(Settings("openai-chat:gpt-5", retries=0))


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(InputError, match="cannot be had"):
        model_of("nobody:nothing")


class TestSettings:
    def test_arguments_go_before_the_environment_and_that_before_the_file(self, tmp_path) -> None:
        path = tmp_path / "settings.yaml"
        path.write_text("language_model: {model: filed, url: 'http://file/v1', prices: [1, 2], timeout: 5}\n")
        environ = {"FORETHOUGHT_SETTINGS": str(path)}
        assert settings_of(None, environ) == Settings("filed", "http://file/v1", timeout=5.0, prices=(1.0, 2.0))
        environ |= {"FORETHOUGHT_MODEL": "set", "FORETHOUGHT_MODEL_TIMEOUT": "7"}
        assert settings_of(None, environ) == Settings("set", "http://file/v1", timeout=7.0, prices=(1.0, 2.0))
        assert settings_of("given", environ).model == "given"
        assert settings_of({"model": "given", "output": "tool"}, {}).output == "tool"

    def test_without_any_there_is_none(self, tmp_path) -> None:
        assert settings_of(None, {"HOME": str(tmp_path)}) is None

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"model": "a", "uri": "b"}, "no setting 'uri'"),
            ({"url": "http://x"}, "there is an endpoint, and no model"),
            ({"model": "a", "timeout": "soon"}, "timeout is a number"),
            ({"model": "a", "prices": 3}, "prices are two numbers"),
            ({"model": "a", "output": "sung"}, "output is one of"),
            ({"model": "a", "retries": -1}, "retries is a number"),
            ({"model": "a", "timeout": float("nan")}, "timeout is a number"),
            ({"model": "a", "temperature": "hot"}, "temperature a number"),
            ({"model": "a", "prices": [-1, 1]}, "a price is a number"),
            ({"model": "a", "prices": "12"}, "prices are two numbers"),
            ({"model": "a", "url": 5}, "url is a text"),
            ({"model": "a", "key": 5}, "key is a text"),
            ({"model": "a", "key": "sk-é"}, "character 4 of the language model's key can be in no key: 'é'"),
            ({"model": "a", "key": "sk-1\n"}, r"character 5 .* can be in no key"),
            ({"model": "a", "url": "localhost:11434"}, "is a URL of http or https, not 'localhost:11434'"),
            ({"model": "a", "url": "http://here/v1\n"}, "is a URL of http or https"),
            ({"model": "a", "url": " http://here/v1"}, "is a URL of http or https"),
            ({"model": "a", "url": "http://"}, "is a URL of http or https"),
            ({"model": "a", "url": "http://h:x/v1"}, "is a URL of http or https"),
            ({"model": "a", "retries": 1.5}, "retries is a whole number"),
            ({"model": "a", "most_bytes": -1}, "most_bytes is a number, 0 or more"),
        ],
    )
    def test_what_means_nothing_is_refused(self, given, message, tmp_path) -> None:
        with pytest.raises(InputError, match=message):
            settings_of(given, {"HOME": str(tmp_path)})

    @pytest.mark.parametrize("text", ["", "model: x", "language_model: [1]", "language_model: {"])
    def test_a_file_that_means_nothing_is_refused(self, text, tmp_path) -> None:
        path = tmp_path / "settings.yaml"
        path.write_text(text)
        with pytest.raises(InputError, match=r"settings\.yaml"):
            settings_of(None, {"FORETHOUGHT_SETTINGS": str(path)})

    def test_models_are_taken_as_they_are(self) -> None:
        model = ScriptedModel([])
        assert model_of(model) is model
        with pytest.raises(InputError, match="no language model"):
            model_of(7)
