"""Test a provider: its list of models, and a model that begins to answer."""

import socket

import pytest

from skills_runtime.errors import ModelError
from skills_runtime.llm import Endpoint, EndpointProbe, ModelProbe, probe_endpoint, probe_model
from skills_runtime.llm.probe import parse_model_names
from tests.support import model_server
from tests.support.model_lists import lists_models, names
from tests.support.model_server import Answer, calls, falls_silent, packets, refuses, says


async def test_the_listed_models_are_read_with_the_key() -> None:
    with lists_models(names("a", "b")) as service:
        probe = await probe_endpoint(service.base_url, "secret", timeout_sec=5)
    assert probe == EndpointProbe(status=200, models=("a", "b"))
    assert service.requests == [("/v1/models", "Bearer secret")]


async def test_without_a_key_none_is_sent_and_a_query_stays() -> None:
    with lists_models(names(), status=401) as service:
        probe = await probe_endpoint(f"{service.base_url}/?api-version=2", "", timeout_sec=5)
    assert probe == EndpointProbe(status=401)
    assert service.requests == [("/v1/models?api-version=2", "")]


async def test_a_redirect_is_not_followed() -> None:
    with (
        lists_models(names("stolen")) as elsewhere,
        lists_models(b"", status=302, location=elsewhere.base_url) as service,
    ):
        assert await probe_endpoint(service.base_url, "secret", timeout_sec=5) == EndpointProbe(status=302)
        assert elsewhere.requests == []


async def test_a_dead_address_is_a_reason_without_the_key() -> None:
    probe = await probe_endpoint("http://127.0.0.1:9/v1", "secret-key", timeout_sec=5)
    assert probe == EndpointProbe(problem="Connection refused")


async def test_a_service_that_stays_silent_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        probe = await probe_endpoint(f"http://127.0.0.1:{port}/v1", "k", timeout_sec=0.2)
    assert probe == EndpointProbe(problem="no answer within 0.2 s")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"data": [{"id": "a"}, {"id": 7}, 3, {}]}', ("a",)),
        (b'[{"id": "a"}]', ("a",)),
        (b'[{"id": "b"}, {"id": "models/a"}, {"id": "b"}]', ("a", "b")),
        (b"<html>", ()),
        (b"{}", ()),
        (b'{"data": {"id": "a"}}', ()),
        (b"[" * 100_000, ()),
        (b"", ()),
    ],
)
def test_a_list_of_any_shape_is_read_as_far_as_it_is_one(body: bytes, expected: tuple[str, ...]) -> None:
    assert parse_model_names(body) == expected


@pytest.mark.parametrize(("listed", "name"), [("a", "a"), ("a", "models/a"), ("a:latest", "a")])
def test_a_model_is_known_by_the_names_that_providers_use(listed: str, name: str) -> None:
    assert EndpointProbe(status=200, models=(listed,)).has_model(name)
    assert not EndpointProbe(status=200, models=(listed,)).has_model("b")


async def _probe(*answers: Answer, timeout_sec: float = 10, key: str = "sk-the-key") -> ModelProbe:
    with model_server.start(answers) as server:
        endpoint = Endpoint(url=server.base_url, key_variable="MY_KEY")
        return await probe_model(endpoint, key, "m", timeout_sec=timeout_sec)


@pytest.mark.parametrize(
    ("answers", "calls_tools"),
    [
        ([calls(("report_ready", {}))], True),
        ([says("rea", "dy")], False),
        ([refuses(400, "this model does not support tools"), says("ready")], False),
    ],
)
async def test_a_model_that_answers_works_with_or_without_tools(answers: list[Answer], *, calls_tools: bool) -> None:
    assert (await _probe(*answers)).calls_tools is calls_tools


async def test_a_model_that_begins_to_answer_is_not_waited_for() -> None:
    assert (await _probe(falls_silent("I", " think"), timeout_sec=0.5)).calls_tools is None


@pytest.mark.parametrize(
    ("answer", "key", "message", "hint"),
    [
        (refuses(401), "sk-wrong", "refused the key in `MY_KEY`", "check the key in `MY_KEY`"),
        (refuses(401), "", "requires a key, and `MY_KEY` is not set", "set `MY_KEY`, or store a key"),
        (packets(b"\n"), "sk-the-key", "sent an empty stream", "`skills-runtime doctor` checks"),
        (refuses(400, "no db"), "sk-the-key", "answered 400: no db", "check the address and the key"),
        (says(), "sk-the-key", "its answer is empty", "check the address and the key"),
    ],
)
async def test_a_failure_names_the_model_the_key_and_what_to_correct(
    answer: Answer, key: str, message: str, hint: str
) -> None:
    with pytest.raises(ModelError) as caught:
        await _probe(answer, key=key)
    assert caught.value.message.startswith("`m` does not work: ")
    assert message in caught.value.message
    assert hint in caught.value.hint


async def test_a_model_that_stays_silent_is_not_waited_for() -> None:
    with pytest.raises(ModelError, match=r"^`m` does not work: it did not begin to answer within 0.2 s$"):
        await _probe(falls_silent(), timeout_sec=0.2)
