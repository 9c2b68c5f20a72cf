"""The OpenAI-compatible backend against a real service on this machine: what goes out, what comes in, what breaks."""

import asyncio
import gc
import json
import ssl
import subprocess
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.errors import ConfigError, ModelError
from skills_runtime.llm import OpenAIChatBackend
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolCall
from tests.support import model_server
from tests.support.model_server import Answer, ModelServer, breaks_off, calls, chunk, fails_inside, refuses, says

REQUEST = ChatRequest(model="m", messages=[{"role": "user", "content": "go"}])


def _backend(server: ModelServer) -> OpenAIChatBackend:
    return OpenAIChatBackend(base_url=server.base_url, api_key="sk-very-secret", timeout_sec=10)


async def _stream(backend: OpenAIChatBackend, request: ChatRequest = REQUEST) -> list[ChatStreamEvent]:
    try:
        return [event async for event in backend.stream_chat(request)]
    finally:
        await backend.aclose()


async def _answer(*answers: Answer, request: ChatRequest = REQUEST) -> list[ChatStreamEvent]:
    with model_server.start(answers) as server:
        return await _stream(_backend(server), request)


async def _error(*answers: Answer) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await _answer(*answers)
    return caught.value


def _batches(events: Sequence[ChatStreamEvent]) -> list[list[ToolCall]]:
    return [list(event.tool_calls or []) for event in events if event.type == "tool_calls"]


@pytest.mark.parametrize(
    ("status", "code", "kind", "retryable"),
    [
        (401, None, "auth_error", False),
        (403, None, "auth_error", False),
        (429, None, "rate_limited", True),
        (500, None, "server_error", True),
        (503, None, "server_error", True),
        (400, None, "http_error", False),
        (404, None, "http_error", False),
        (400, "context_length_exceeded", "context_length_exceeded", False),
    ],
)
async def test_a_refusal_becomes_the_kind_its_status_means(
    status: int, code: str | None, kind: str, retryable: bool
) -> None:
    error = await _error(refuses(status, code=code))
    assert (error.kind, error.retryable) == (kind, retryable)


async def test_no_error_shows_the_key() -> None:
    for answer in (refuses(401), refuses(500), breaks_off("Hal"), fails_inside("broken")):
        error = await _error(answer)
        assert "sk-very-secret" not in f"{error!r} {error.hint} {error.details}"


@pytest.mark.parametrize("ending", ["cut", "done"])
async def test_an_answer_that_breaks_off_is_an_error_and_may_be_tried_again(ending: model_server.Ending) -> None:
    error = await _error(breaks_off("Hal", ending=ending))
    assert error.kind == "llm_error"
    assert error.retryable


async def test_an_answer_cut_before_its_first_piece_is_an_error() -> None:
    assert (await _error(breaks_off())).retryable


async def test_an_error_inside_the_stream_is_an_error_that_says_so() -> None:
    error = await _error(fails_inside("the engine is overloaded", "Hal"))
    assert error.kind == "llm_error"
    assert "the engine is overloaded" in error.message


async def test_a_chunk_that_is_not_json_is_an_error_of_the_model() -> None:
    assert (await _error(Answer(("{not json",)))).kind == "llm_error"


async def test_a_service_that_is_not_there_is_an_error_that_may_be_tried_again() -> None:
    with model_server.start([]) as server:
        backend = _backend(server)
    with pytest.raises(ModelError) as caught:
        await _stream(backend)
    assert caught.value.retryable


async def test_usage_is_reported_under_our_names() -> None:
    (end,) = [event for event in await _answer(says("x", usage=(12, 3))) if event.type == "completed"]
    assert end.usage == {
        "input_tokens": 12,
        "output_tokens": 3,
        "total_tokens": 15,
        "cached_tokens": 0,
        "reasoning_tokens": 0,
    }
    assert (end.provider, end.request_id) == ("openai", "chatcmpl-1")


async def test_cached_tokens_are_counted() -> None:
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 1,
        "total_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 8},
    }
    events = await _answer(Answer((chunk({}, finish_reason="stop"), chunk(None, choices=[], usage=usage))))
    assert (events[-1].usage or {})["cached_tokens"] == 8


async def test_the_request_is_what_the_wire_expects() -> None:
    tool = {"name": "t", "description": "d", "parameters": {"type": "object"}}
    request = ChatRequest(model="m", messages=[{"role": "user", "content": "go"}], tools=[tool], max_tokens=5)
    with model_server.start([says("x")]) as server:
        await _stream(_backend(server), request)
    assert server.authorizations == ["Bearer sk-very-secret"]
    assert server.requests == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "go"}],
            "tools": [{"type": "function", "function": tool}],
            "max_tokens": 5,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ]


async def _sent(**more: Any) -> dict[str, Any]:
    request = msgspec.structs.replace(REQUEST, **more)
    with model_server.start([says("x")]) as server:
        await _stream(_backend(server), request)
    return server.requests[0]


async def test_images_reach_the_service() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    message = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, picture]}
    assert (await _sent(messages=[message]))["messages"] == [message]


async def test_the_shape_of_the_answer_reaches_the_service() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
    shape = {"type": "json_schema", "json_schema": {"name": "number", "strict": True, "schema": schema}}
    assert (await _sent(response_format=shape))["response_format"] == shape


async def test_unset_parameters_are_left_to_the_service() -> None:
    assert (await _sent()).keys() == {"model", "messages", "stream", "stream_options"}


async def test_a_conversation_that_is_not_unicode_is_refused_before_it_is_sent() -> None:
    with model_server.start([says("x")]) as server:
        with pytest.raises(ModelError, match="not valid Unicode"):
            await _stream(_backend(server), ChatRequest(model="m", messages=[{"role": "user", "content": "\ud83c"}]))
        assert server.requests == []


async def test_pieces_without_an_index_belong_to_the_call_whose_id_they_carry() -> None:
    pieces: list[dict[str, Any]] = [
        {"id": "a", "function": {"name": "one", "arguments": '{"x":'}},
        {"function": {"arguments": "1}"}},
        {"id": "b", "function": {"name": "two", "arguments": "{}"}},
    ]
    sent = [chunk({"tool_calls": [piece]}) for piece in pieces]
    ((first, second),) = _batches(await _answer(Answer((*sent, chunk({}, finish_reason="tool_calls")))))
    assert (first.id, first.name, json.loads(first.arguments)) == ("a", "one", {"x": 1})
    assert (second.id, second.name, second.arguments) == ("b", "two", "{}")


async def test_a_repeated_finish_reason_does_not_repeat_the_calls() -> None:
    answer = calls(("t", {"x": 1}))
    twice = Answer((*answer.chunks, chunk({}, finish_reason="tool_calls")))
    ((call,),) = _batches(await _answer(twice))
    assert json.loads(call.arguments) == {"x": 1}


async def test_arguments_that_come_behind_the_finish_reason_are_not_lost() -> None:
    first = chunk(
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "t", "arguments": '{"x":'}}]},
        finish_reason="tool_calls",
    )
    rest = chunk({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]})
    ((call,),) = _batches(await _answer(Answer((first, rest))))
    assert json.loads(call.arguments) == {"x": 1}


async def test_a_chunk_without_delta_or_choices_is_passed_over() -> None:
    odd = (chunk(None), chunk(None, choices=None), chunk({"content": "x"}), chunk(None, finish_reason="stop"))
    events = await _answer(Answer(odd))
    assert [event.type for event in events] == ["text_delta", "completed"]


async def test_calls_without_an_id_get_ids_of_their_own() -> None:
    nameless = [chunk({"tool_calls": [{"index": i, "function": {"name": "t", "arguments": ""}}]}) for i in (0, 1)]
    ((first, second),) = _batches(await _answer(Answer((*nameless, chunk({}, finish_reason="tool_calls")))))
    assert first.id
    assert first.id != second.id
    assert first.arguments == "{}"


async def test_one_connection_serves_many_requests() -> None:
    with model_server.start([says("a"), says("b")]) as server:
        backend = _backend(server)
        for _ in range(2):
            assert [event async for event in backend.stream_chat(REQUEST)][-1].type == "completed"
        await backend.aclose()
        assert server.connections == 1


def test_a_backend_outlives_the_event_loop_it_was_first_used_in() -> None:
    async def once(backend: OpenAIChatBackend) -> str | None:
        first, *_ = [event async for event in backend.stream_chat(REQUEST)]
        return first.text

    with model_server.start([says("a"), says("b")]) as server:
        backend = _backend(server)
        with asyncio.Runner() as first, asyncio.Runner() as second:
            assert first.run(once(backend)) == "a"
            assert second.run(once(backend)) == "b"
            second.run(backend.aclose())
            first.run(backend.aclose())


async def test_a_caller_that_stops_listening_leaves_no_connection_open() -> None:
    with model_server.start([says("a", "b", "c")]) as server:
        backend = _backend(server)
        stream = backend.stream_chat(REQUEST)
        assert (await anext(aiter(stream))).text == "a"
        await stream.aclose()
        await backend.aclose()


def test_importing_the_backend_does_not_import_the_openai_package() -> None:
    code = "import sys, skills_runtime.llm; sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_another_service_is_not_told_of_the_user_s_organization(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-mine")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Token: mine\nAuthorization: Bearer mine")
    with model_server.start([says("x")]) as server:
        await _stream(_backend(server))
    assert "mine" not in str(server.headers)


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("HTTP_PROXY", "ftp://proxy", "Unknown scheme for proxy URL URL('ftp://proxy')"),
        ("HTTP_PROXY", "http://proxy:secret", "the address of a proxy is invalid"),
        ("SSL_CERT_FILE", "/nowhere", "[Errno 2] No such file or directory"),
    ],
)
async def test_an_environment_that_allows_no_connection_is_reported_and_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, variable: str, value: str, reason: str
) -> None:
    monkeypatch.setenv(variable, value)
    with model_server.start([says("x")]) as server, pytest.raises(ConfigError) as caught:
        await _stream(_backend(server))
    assert caught.value.message == f"no connection to the model can be opened: {reason}"
    assert "`HTTP_PROXY`" in caught.value.hint
    gc.collect()
    await asyncio.sleep(0)
    assert not caplog.records, "nothing half made complains when it is forgotten"


async def test_certificates_are_read_once_for_all_connections(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "none.pem").touch()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    read: list[str] = []

    def create_context(cafile: str) -> ssl.SSLContext:
        read.append(cafile)
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    monkeypatch.setattr(ssl, "create_default_context", create_context)
    with model_server.start([says("x"), says("y")]) as server:
        for _ in range(2):
            await _stream(_backend(server))
    assert read == [str(tmp_path / "none.pem")]


async def test_what_an_address_asks_for_is_asked_for_behind_the_path() -> None:
    with model_server.start([says("x")]) as server:
        backend = OpenAIChatBackend(base_url=f"{server.base_url}/d?api-version=2#there", api_key="k" * 20)
        await _stream(backend)
    assert server.paths == ["/v1/d/chat/completions?api-version=2"]


@pytest.mark.filterwarnings("ignore:unclosed transport:ResourceWarning")
def test_connections_that_were_left_open_in_a_loop_that_ended_are_forgotten_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def ask(backend: OpenAIChatBackend) -> None:
        async for _ in backend.stream_chat(REQUEST):
            pass
        gc.collect()

    with model_server.start([says("a"), says("b")]) as server:
        backend = _backend(server)
        asyncio.run(ask(backend))
        asyncio.run(_close_after(ask(backend), backend))
    assert not caplog.records


async def _close_after(work: Coroutine[Any, Any, None], backend: OpenAIChatBackend) -> None:
    await work
    await backend.aclose()
