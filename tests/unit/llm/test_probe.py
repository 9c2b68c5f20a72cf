"""Test a provider: its list of models, and a model that begins to answer."""

import socket
from typing import Any

import pytest

from skills_runtime.llm import EndpointProbe, OpenAIChatBackend, probe_endpoint, try_model
from skills_runtime.llm.probe import parse_model_names
from tests.support import model_server
from tests.support.model_lists import lists_models, names
from tests.support.model_server import Answer, falls_silent, packets, refuses, says


def test_the_listed_models_are_read_with_the_key() -> None:
    with lists_models(names("a", "b")) as service:
        probe = probe_endpoint(service.base_url, "secret", timeout_sec=5)
    assert probe == EndpointProbe(status=200, models=("a", "b"))
    assert service.requests == [("/v1/models", "Bearer secret")]


def test_without_a_key_none_is_sent_and_a_query_stays() -> None:
    with lists_models(names(), status=401) as service:
        probe = probe_endpoint(f"{service.base_url}/?api-version=2", "", timeout_sec=5)
    assert probe == EndpointProbe(status=401)
    assert service.requests == [("/v1/models?api-version=2", "")]


def test_a_redirect_is_not_followed() -> None:
    with (
        lists_models(names("stolen")) as elsewhere,
        lists_models(b"", status=302, location=elsewhere.base_url) as service,
    ):
        assert probe_endpoint(service.base_url, "secret", timeout_sec=5) == EndpointProbe(status=302)
        assert elsewhere.requests == []


def test_a_dead_address_is_a_reason_without_the_key() -> None:
    probe = probe_endpoint("http://127.0.0.1:9/v1", "secret-key", timeout_sec=5)
    assert probe == EndpointProbe(problem="Connection refused")


def test_a_service_that_stays_silent_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        probe = probe_endpoint(f"http://127.0.0.1:{port}/v1", "k", timeout_sec=0.2)
    assert probe == EndpointProbe(problem="no answer within 0.2 s")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"data": [{"id": "a"}, {"id": 7}, 3, {}]}', ("a",)),
        (b'[{"id": "a"}]', ("a",)),
        (b"<html>", ()),
        (b"{}", ()),
        (b'{"data": {"id": "a"}}', ()),
        (b"[" * 100_000, ()),
        (b"", ()),
    ],
)
def test_a_list_of_any_shape_is_read_as_far_as_it_is_one(body: bytes, expected: tuple[str, ...]) -> None:
    assert parse_model_names(body) == expected


@pytest.mark.parametrize(("listed", "name"), [("a", "a"), ("models/a", "a"), ("a:latest", "a")])
def test_a_model_is_known_by_the_names_that_providers_use(listed: str, name: str) -> None:
    assert EndpointProbe(status=200, models=(listed,)).has_model(name)
    assert not EndpointProbe(status=200, models=(listed,)).has_model("b")


def _try(answer: Answer, timeout_sec: float = 10) -> Any:
    with model_server.start([answer]) as server:
        backend = OpenAIChatBackend(base_url=server.base_url, api_key="k")
        return try_model(backend, "m", timeout_sec=timeout_sec)


def test_a_model_that_begins_to_answer_works() -> None:
    assert _try(says("O", "K")) is None


@pytest.mark.parametrize(
    ("answer", "words"), [(refuses(401), "refused the key"), (packets(b"\n"), "sent an empty stream")]
)
def test_a_model_that_does_not_answer_is_the_error_of_a_run(answer: Answer, words: str) -> None:
    assert words in _try(answer).message


def test_a_model_that_stays_silent_is_not_waited_for() -> None:
    assert _try(falls_silent(), timeout_sec=0.2).message == "`m` did not begin to answer within 0.2 s"
