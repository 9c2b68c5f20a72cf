"""Services that misbehave: every run ends in the documented event, never in a hang or a false success."""

from pathlib import Path
from typing import Any

import pytest

from skills_runtime.events.payloads import LlmResponseFinished, LlmRetryScheduled, LlmUsage
from tests.e2e.misbehaving import KEY, Bench
from tests.support import model_server
from tests.support.model_server import (
    Answer,
    breaks_off,
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

HELLO = says("Hello")
NOT_JSON = "{not json"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def limited(retry_after: str) -> Answer:
    body = {"error": {"message": "slow down", "type": "test", "code": None}}
    return Answer((body,), status=429, headers=(("Retry-After", retry_after),))


@pytest.mark.parametrize(
    "cut",
    [
        pytest.param(hangs_up(), id="no response"),
        pytest.param(breaks_off(), id="no chunk"),
        pytest.param(breaks_off(ending="closed"), id="empty stream"),
        pytest.param(Answer((NOT_JSON,)), id="garbage"),
        pytest.param(fails_inside("busy"), id="error chunk"),
        pytest.param(Answer(({"error": {"message": "x"}},), status=500, ending="cut"), id="half a refusal"),
    ],
)
async def test_a_failure_before_the_first_piece_is_tried_again_and_reported(bench: Bench, cut: Answer) -> None:
    seen = await bench.run(cut, HELLO)
    assert seen.answer == "Hello"
    assert (seen.retries, len(seen.requests)) == (["llm_error"], 2)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        pytest.param(breaks_off("Hal"), "the connection to the model at `http://127.0.0.1:", id="cut"),
        pytest.param(breaks_off("Hal", ending="done"), "broke off", id="done without an end"),
        pytest.param(Answer((text_chunk("Hal"), NOT_JSON, end_chunk("stop"))), "not JSON", id="garbage"),
        pytest.param(fails_inside("the engine is overloaded", "Hal"), "the engine is overloaded", id="error chunk"),
    ],
)
async def test_a_failure_in_the_middle_is_the_end_and_no_answer(bench: Bench, broken: Answer, message: str) -> None:
    seen = await bench.run(broken, HELLO)
    assert (seen.failure.error_kind, seen.failure.retryable) == ("llm_error", True)
    assert message in seen.failure.message
    assert (seen.retries, len(seen.requests), seen.all(LlmResponseFinished)) == ([], 1, [])


async def test_a_service_that_falls_silent_in_the_middle_is_not_waited_for(bench: Bench) -> None:
    seen = await bench.run(falls_silent("Hal"), HELLO, timeout_sec=1)
    assert seen.failure.error_kind == "llm_error"
    assert seen.failure.message.endswith(") sent nothing for 1 s")
    assert len(seen.requests) == 1


@pytest.mark.parametrize("silence", [Answer(status=0, ending="silent"), falls_silent()])
async def test_a_service_that_says_nothing_is_asked_again(bench: Bench, silence: Answer) -> None:
    seen = await bench.run(silence, HELLO, timeout_sec=1)
    assert (seen.answer, seen.retries) == ("Hello", ["llm_error"])


async def test_the_wait_a_service_asks_for_is_kept_and_reported(bench: Bench) -> None:
    seen = await bench.run(limited("1"), HELLO)
    (retry,) = seen.all(LlmRetryScheduled)
    assert (retry.error_kind, retry.delay_ms, retry.retry_after_ms) == ("rate_limited", 1000, 1000)
    assert seen.answer == "Hello"


async def test_the_wait_may_be_given_as_a_moment(bench: Bench) -> None:
    seen = await bench.run(limited("Thu, 01 Jan 2026 00:00:00 GMT"), HELLO)
    (retry,) = seen.all(LlmRetryScheduled)
    assert (retry.delay_ms, retry.retry_after_ms, seen.answer) == (0, 0, "Hello")


@pytest.mark.parametrize("wait", ["3600", "Fri, 01 Jan 2100 00:00:00 GMT"])
async def test_a_service_that_wants_an_hour_ends_the_run(bench: Bench, wait: str) -> None:
    seen = await bench.run(limited(wait), HELLO)
    assert (seen.failure.error_kind, seen.failure.retryable, seen.retries) == ("rate_limited", True, [])


async def test_failures_that_pass_are_reported_one_by_one(bench: Bench) -> None:
    seen = await bench.run(refuses(500), refuses(503), refuses(429), HELLO, max_retries=3)
    assert (seen.answer, seen.retries) == ("Hello", ["server_error", "server_error", "rate_limited"])
    assert [one.attempt for one in seen.all(LlmRetryScheduled)] == [1, 2, 3]


async def test_a_service_that_always_fails_is_asked_as_often_as_allowed(bench: Bench) -> None:
    seen = await bench.run(*[refuses(500)] * 9, max_retries=2)
    assert (seen.failure.error_kind, seen.failure.retryable) == ("server_error", True)
    assert (len(seen.requests), seen.retries) == (3, ["server_error"] * 2)


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        (refuses(401), "auth_error"),
        (refuses(403), "auth_error"),
        (refuses(404, "no such model"), "http_error"),
        (refuses(400, "no"), "http_error"),
        (refuses(429, "no money", code="insufficient_quota"), "rate_limited"),
        (refuses(400, "prompt is too long: 9 tokens > 8 maximum"), "context_length_exceeded"),
        (refuses(413, "too big"), "context_length_exceeded"),
        (refuses(422, "`inputs` tokens + `max_new_tokens` must be <= 4097"), "context_length_exceeded"),
        (fails_inside("no", code="context_length_exceeded"), "context_length_exceeded"),
    ],
)
async def test_a_refusal_that_will_not_pass_costs_one_request(bench: Bench, refusal: Answer, kind: str) -> None:
    seen = await bench.run(refusal, HELLO, settings={"run": {"context_recovery": {"mode": "fail_fast"}}})
    assert (seen.failure.error_kind, seen.failure.retryable) == (kind, False)
    assert (len(seen.requests), seen.retries) == (1, [])


@pytest.mark.parametrize(
    ("code", "kind"), [("rate_limit_exceeded", "rate_limited"), ("server_error", "server_error"), (503, "server_error")]
)
async def test_an_error_chunk_has_its_kind(bench: Bench, code: Any, kind: str) -> None:
    assert (await bench.run(fails_inside("no", "Hal", code=code), HELLO)).failure.error_kind == kind
    assert (await bench.run(fails_inside("no", code=code), HELLO)).retries == [kind]


async def test_an_error_that_cannot_be_written_is_written(bench: Bench) -> None:
    seen = await bench.run(fails_inside("half \ud83c of it", "Hal"))
    assert "half \ufffd of it" in seen.failure.message


async def test_a_service_that_does_not_know_stream_options_still_answers(bench: Bench) -> None:
    seen = await bench.run(refuses(400, "Unrecognized request argument supplied: stream_options"), HELLO)
    assert (seen.answer, seen.retries) == ("Hello", [])
    assert ["stream_options" in request for request in seen.requests] == [True, False]


@pytest.mark.parametrize("status", [302, 307])
async def test_a_redirect_takes_nothing_to_another_host(bench: Bench, status: int) -> None:
    with model_server.start([says("stolen")]) as elsewhere:
        seen = await bench.run(redirects(status, f"{elsewhere.base_url}/chat/completions"), HELLO)
        assert elsewhere.connections == 0
    assert seen.failure.error_kind == "http_error"
    assert "llm.base_url" in seen.failure.details["hint"]


async def test_the_key_is_nowhere_in_the_run(bench: Bench) -> None:
    await bench.run(refuses(400, f"bad header: Bearer {KEY}"))
    files = [path for path in bench.place.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(Answer((text_chunk("Hello"), end_chunk("stop")), ending="closed"), id="no DONE"),
        pytest.param(
            packets(b": hi\n\n", line(text_chunk("Hello")), b": hi\n\n", line(end_chunk("stop"))), id="comments"
        ),
        pytest.param(
            packets(*(line(one, newline="\r\n") for one in (text_chunk("Hello"), end_chunk("stop")))), id="CRLF"
        ),
    ],
)
async def test_an_odd_stream_that_is_whole_is_an_answer(bench: Bench, odd: Answer) -> None:
    seen = await bench.run(odd)
    assert (seen.answer, seen.retries) == ("Hello", [])


async def test_characters_cut_by_packets_are_whole_in_the_log(bench: Bench) -> None:
    said = line(text_chunk("—")).replace(rb"\u2014", "Grüß Gott 你好 🎉".encode())
    seen = await bench.run(packets(*(said[at : at + 3] for at in range(0, len(said), 3)), line(end_chunk("stop"))))
    assert seen.answer == "Grüß Gott 你好 🎉"


async def test_without_usage_none_is_made_up(bench: Bench) -> None:
    seen = await bench.run(HELLO)
    assert (seen.all(LlmUsage), seen.result.input_tokens, seen.answer) == ([], 0, "Hello")
