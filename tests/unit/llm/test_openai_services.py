"""Services that misbehave on the wire, over real HTTP."""

import asyncio
import threading
from typing import Any

import msgspec
import pytest

from skills_runtime.errors import ModelError
from skills_runtime.llm import OpenAIChatBackend
from skills_runtime.ports import ChatRequest, ChatStreamEvent
from tests.support import model_server
from tests.support.model_server import (
    Answer,
    ModelServer,
    breaks_off,
    chunk,
    end_chunk,
    fails_inside,
    falls_silent,
    hangs_up,
    line,
    packets,
    redirects,
    refuses,
    says,
    text_chunk,
)

REQUEST = ChatRequest(model="m", messages=[{"role": "user", "content": "go"}])
NO_OPTIONS = refuses(400, "Unrecognized request argument supplied: stream_options")


async def _ask(server: ModelServer, *, times: int = 1, timeout_sec: float = 10) -> list[list[ChatStreamEvent]]:
    backend = OpenAIChatBackend(base_url=server.base_url, api_key="sk-very-secret", timeout_sec=timeout_sec)
    try:
        return [[event async for event in backend.stream_chat(REQUEST)] for _ in range(times)]
    finally:
        await backend.aclose()


async def _text(*answers: Answer) -> str:
    with model_server.start(answers) as server:
        (events,) = await _ask(server)
    return "".join(event.text or "" for event in events if event.type == "text_delta")


async def _error(*answers: Answer, timeout_sec: float = 10) -> ModelError:
    with model_server.start(answers) as server, pytest.raises(ModelError) as caught:
        await _ask(server, timeout_sec=timeout_sec)
    return caught.value


@pytest.mark.parametrize("answer", [hangs_up(), breaks_off(), breaks_off("Hal")])
async def test_a_connection_that_is_cut_is_an_error_that_may_pass(answer: Answer) -> None:
    error = await _error(answer)
    assert (error.kind, error.retryable) == ("llm_error", True)


async def test_a_refusal_that_is_cut_is_an_error_that_may_pass() -> None:
    body = {"error": {"message": "no"}}
    error = await _error(Answer((body,), status=500, ending="cut"))
    assert (error.kind, error.retryable) == ("llm_error", True)


@pytest.mark.parametrize("answer", [Answer(status=0, ending="silent"), falls_silent(), falls_silent("Hal")])
async def test_a_service_is_not_waited_for_longer_than_it_may_be_silent(answer: Answer) -> None:
    error = await _error(answer, timeout_sec=0.2)
    assert error.message.endswith("` sent nothing for 0.2 s")
    assert error.retryable


async def test_a_request_that_is_cancelled_lets_go_of_the_service_at_once() -> None:
    begun = asyncio.Event()

    async def listen(backend: OpenAIChatBackend) -> None:
        async for _ in backend.stream_chat(REQUEST):
            begun.set()

    with model_server.start([falls_silent("Hal")]) as server:
        backend = OpenAIChatBackend(base_url=server.base_url, api_key="k", timeout_sec=60)
        work = asyncio.create_task(listen(backend))
        await asyncio.wait_for(begun.wait(), 30)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert await asyncio.to_thread(server.left_alone.wait, 30)
        await backend.aclose()


@pytest.mark.slow
async def test_an_answer_may_take_longer_than_the_service_may_be_silent() -> None:
    slow = Answer((*map(text_chunk, "slow"), end_chunk("stop")), gap_sec=0.7)
    with model_server.start([slow]) as server:
        (events,) = await _ask(server, timeout_sec=3)
    assert "".join(event.text or "" for event in events) == "slow"


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param("{not json", id="half"),
        pytest.param("{}{}", id="two"),
        pytest.param("null", id="null"),
        pytest.param("[]", id="list"),
        pytest.param('"text"', id="text"),
        pytest.param("7", id="number"),
        pytest.param("1" * 5000, id="long number"),
        pytest.param("[" * 100_000, id="deep"),
    ],
)
async def test_garbage_is_an_error_of_the_model(garbage: str) -> None:
    error = await _error(Answer((text_chunk("Hal"), garbage, end_chunk("stop"))))
    assert (error.kind, error.retryable) == ("llm_error", True)


async def test_bytes_that_are_no_text_are_an_error_of_the_model() -> None:
    assert (await _error(packets(b'data: {"x": "\xff\xfe"}\n\n', line(end_chunk("stop"))))).kind == "llm_error"


@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b'{"choices": [{"message": {"content": "Hi"}}]}'])
async def test_a_page_that_is_no_stream_is_no_answer(body: bytes) -> None:
    error = await _error(packets(body))
    assert error.message.endswith(f"` did not send a stream: {body.decode()}")
    assert (error.kind, error.retryable) == ("llm_error", True)
    assert "`skills-runtime doctor`" in error.hint


async def test_an_empty_stream_is_an_error() -> None:
    assert "empty stream" in (await _error(packets(b"\n"))).message


@pytest.mark.parametrize("more", ["", "\n", "\n\n"])
async def test_a_page_that_tells_of_an_error_is_that_error(more: str) -> None:
    body = '{"error":\n{"message": "prompt too long, sk-very-secret", "code": "context_length_exceeded"}}'
    error = await _error(packets(f"{body}{more}".encode()))
    assert (error.kind, "prompt too long, ***" in error.message) == ("context_length_exceeded", True)


@pytest.mark.parametrize(
    "field", [b"retry: 3000\n\n", b"id: 1\n\n", b"event: ping\n\n", b"data:\n\n", b"\xef\xbb\xbf", b"what: ever\n\n"]
)
async def test_what_the_standard_says_is_no_event_is_none(field: bytes) -> None:
    answer = packets(field + line(text_chunk("Hi")), line(text_chunk("!")), line(end_chunk("stop")))
    assert await _text(answer) == "Hi!"


@pytest.mark.parametrize("begin", [b": ", b"data: "])
async def test_a_chunk_that_does_not_end_is_an_error(begin: bytes) -> None:
    error = await _error(packets(line(text_chunk("Hal")), begin, *[b"x" * (1 << 20)] * 65))
    assert error.message == "the model's provider sent a chunk that is too long"


async def test_a_stream_may_end_without_saying_done() -> None:
    assert await _text(Answer((text_chunk("Hi"), end_chunk("stop")), ending="closed")) == "Hi"


async def test_comments_that_keep_the_connection_alive_are_no_answer() -> None:
    comment = b": still working\n\n"
    assert await _text(packets(comment, line(text_chunk("Hi")), comment, comment, line(end_chunk("stop")))) == "Hi"


async def test_lines_may_end_as_on_windows() -> None:
    parts = [line(part, newline="\r\n") for part in (text_chunk("Hi"), end_chunk("stop"), "[DONE]")]
    assert await _text(packets(*parts)) == "Hi"


async def test_lines_and_characters_may_be_cut_anywhere() -> None:
    text_chunk = chunk({"content": "—"})
    whole = line(text_chunk).replace(rb"\u2014", "Grüß 🎉".encode()) + line(end_chunk("stop"))
    assert await _text(packets(*(whole[at : at + 1] for at in range(len(whole))))) == "Grüß 🎉"


async def test_a_split_character_is_joined() -> None:
    assert await _text(says("\ud83c", "\udf89")) == "\ud83c\udf89"


@pytest.mark.parametrize(
    ("code", "kind"),
    [("context_length_exceeded", "context_length_exceeded"), (429, "rate_limited"), (502, "server_error")],
)
async def test_an_error_inside_the_stream_has_its_kind(code: Any, kind: str) -> None:
    assert (await _error(fails_inside("no", "Hal", code=code))).kind == kind


async def test_an_error_inside_the_stream_may_be_just_a_sentence() -> None:
    assert "the GPU is on fire" in (await _error(Answer(({"error": "the GPU is on fire"},)))).message


async def test_a_refusal_of_the_model_is_an_error() -> None:
    assert "the model refused: No." in (await _error(Answer((chunk({"refusal": "No."}), end_chunk("stop"))))).message


async def test_a_key_that_the_service_repeats_is_not_shown() -> None:
    error = await _error(refuses(400, "bad header: Bearer sk-very-secret"))
    assert error.message.endswith("bad header: Bearer ***")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_other_host_gets_the_key_or_the_conversation(status: int) -> None:
    with model_server.start([says("stolen")] * 2) as elsewhere:
        error = await _error(redirects(status, f"{elsewhere.base_url}/chat/completions"))
        assert (elsewhere.requests, elsewhere.connections) == ([], 0)
    assert (error.kind, error.retryable) == ("http_error", False)


@pytest.mark.parametrize("status", [400, 404, 422])
async def test_a_service_without_stream_options_is_asked_once_more_and_remembered(status: int) -> None:
    rejected = refuses(status, "Unrecognized request argument supplied: stream_options")
    with model_server.start([rejected, says("a"), says("b")]) as server:
        first, second = await _ask(server, times=2)
    assert [events[0].text for events in (first, second)] == ["a", "b"]
    assert ["stream_options" in request for request in server.requests] == [True, False, False]


async def test_a_model_that_knows_no_shapes_of_answers_is_asked_without_and_other_models_with() -> None:
    shaped = msgspec.structs.replace(REQUEST, response_format={"type": "json_schema"})

    def answer(request: dict[str, Any]) -> Answer:
        refused = request["model"] == "m" and "response_format" in request
        return refuses(400, "'response_format' is not supported with this model") if refused else says("x")

    with model_server.start(answer) as server:
        backend = OpenAIChatBackend(base_url=server.base_url, api_key="sk-very-secret")
        for model in ("m", "m", "other"):
            async for _ in backend.stream_chat(msgspec.structs.replace(shaped, model=model)):
                pass
        await backend.aclose()
    assert ["response_format" in request for request in server.requests] == [True, False, False, True]
    assert all("stream_options" in request for request in server.requests)


async def test_a_request_under_way_while_another_learns_it_learns_it_too() -> None:
    both, learned = threading.Barrier(2, timeout=30), threading.Event()

    def answer(request: dict[str, Any]) -> Answer:
        if "stream_options" not in request:
            return says("a")
        if both.wait() == 0:
            learned.wait(30)  # one of them hears of it only when the other is done
        return NO_OPTIONS

    with model_server.start(answer) as server:
        backend = OpenAIChatBackend(base_url=server.base_url, api_key="k", timeout_sec=30)

        async def ask() -> list[str]:
            return [event.type async for event in backend.stream_chat(REQUEST)]

        tasks = [asyncio.create_task(ask()) for _ in range(2)]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        learned.set()
        assert await asyncio.gather(*tasks) == [["text_delta", "completed"]] * 2
        await backend.aclose()


async def test_a_service_that_still_refuses_is_not_asked_a_third_time() -> None:
    with model_server.start([NO_OPTIONS, NO_OPTIONS]) as server, pytest.raises(ModelError) as caught:
        await _ask(server)
    assert caught.value.kind == "http_error"
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 404, 422, 429, 500])
async def test_every_other_refusal_costs_one_request(status: int) -> None:
    with model_server.start([refuses(status, "no such model"), says("x")]) as server, pytest.raises(ModelError):
        await _ask(server)
    assert len(server.requests) == 1
