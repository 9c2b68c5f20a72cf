"""What refusals of several providers mean."""

from typing import Any

import pytest

from skills_runtime.llm.failures import find_rejected_option, is_too_long, model_error, parse_refusal, parse_retry_after

TOO_LONG = [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "the request exceeds the available context size, try increasing it",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "too many tokens: total number of tokens in the prompt cannot exceed 4081",
    "Input is too long for requested model.",
    "Range of input length should be [1, 30720]",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000",
    "Invalid request: Your request exceeded model token limit: 8192",
    "Please reduce the length of the messages or completion.",
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "CONTEXT LENGTH OF 4096 TOKENS EXCEEDED",
]
SOMETHING_ELSE = [
    "max_tokens is too large: 100000. This model supports at most 4096 completion tokens.",
    "max_tokens: 10000 > 8192, which is the maximum allowed number of output tokens",
    "Invalid schema for function 'x': context is not of type 'object'",
    "The model `gpt-9` does not exist",
    "Unrecognized request argument supplied: context_window",
    "Invalid value: 'long'. Supported values are: 'short'",
    "",
]


def _body(message: str = "no", **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


@pytest.mark.parametrize("status", [400, 422, None])
@pytest.mark.parametrize("message", TOO_LONG)
def test_a_conversation_that_is_too_long_is_recognized(message: str, status: int | None) -> None:
    assert model_error(parse_refusal(_body(message), status=status)).kind == "context_length_exceeded"


@pytest.mark.parametrize("message", SOMETHING_ELSE)
def test_other_complaints_are_not_about_the_length(message: str) -> None:
    assert model_error(parse_refusal(_body(message), status=400)).kind == "http_error"


@pytest.mark.parametrize("status", [400, 413, 422, 500, None])
@pytest.mark.parametrize("code", ["context_length_exceeded", "string_above_max_length", "array_above_max_length"])
def test_a_known_code_decides_whatever_the_message(code: str, status: int | None) -> None:
    assert is_too_long(parse_refusal(_body("no", code=code), status=status))


def test_a_request_too_large_is_too_long() -> None:
    assert is_too_long(parse_refusal("<html>413 Request Entity Too Large</html>", status=413))


@pytest.mark.parametrize(("param", "too_long"), [("messages[3].content", True), ("tools[0].function.name", False)])
def test_only_what_belongs_to_the_conversation_can_be_shortened(param: str, too_long: bool) -> None:
    refusal = parse_refusal(_body("string too long", code="string_above_max_length", param=param), status=400)
    assert is_too_long(refusal) is too_long


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_a_status_with_a_meaning_of_its_own_keeps_it(status: int) -> None:
    assert not is_too_long(parse_refusal(_body("prompt is too long"), status=status))


def test_the_phrase_is_found_behind_a_long_preamble() -> None:
    assert is_too_long(parse_refusal(_body("x " * 800 + "prompt is too long"), status=400))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "m"}}, "m"),
        ({"error": "m"}, "m"),
        ({"message": "m"}, "m"),
        ({"detail": "m"}, "m"),
        ([{"error": {"message": "m", "status": "INVALID_ARGUMENT"}}], "m"),
        ("m", "m"),
        ({"detail": [{"loc": ["body", "x"]}]}, '{"detail":[{"loc":["body","x"]}]}'),
        ({"error": {"message": 7}}, '{"error":{"message":7}}'),
        ({"error": None}, '{"error":null}'),
        ([], "[]"),
        (None, ""),
    ],
)
def test_a_body_of_any_shape_is_read(body: object, message: str) -> None:
    assert parse_refusal(body, status=400).message == message


def test_a_message_can_be_written_whatever_it_holds() -> None:
    model_error(parse_refusal(_body("half \ud83c of it"), status=400)).message.encode()
    model_error(parse_refusal({"x": "\ud83c"}, status=400)).message.encode()


def test_braces_in_a_message_are_just_braces() -> None:
    assert "{status} {0}" in model_error(parse_refusal(_body("{status} {0}"), status=400)).message


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"code": "rate_limit_exceeded"}, "rate_limited", True),
        ({"type": "rate_limit_error"}, "rate_limited", True),
        ({"code": 429}, "rate_limited", True),
        ({"code": "429"}, "rate_limited", True),
        ({"status": "RESOURCE_EXHAUSTED"}, "rate_limited", True),
        ({"type": "overloaded_error"}, "server_error", True),
        ({"type": "server_error"}, "server_error", True),
        ({"code": 502}, "server_error", True),
        ({"code": "context_length_exceeded"}, "context_length_exceeded", False),
        ({"code": 400}, "llm_error", False),
        ({"code": 401}, "llm_error", False),
        ({"code": 42}, "llm_error", True),
        ({"code": ["odd"], "type": {}}, "llm_error", True),
        ({}, "llm_error", True),
    ],
)
def test_an_error_inside_a_stream_becomes_its_kind(error: dict[str, Any], kind: str, retryable: bool) -> None:
    translated = model_error(parse_refusal({"message": "no", **error}))
    assert (translated.kind, translated.retryable) == (kind, retryable)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529])
def test_failures_that_may_pass_may_be_tried_again(status: int) -> None:
    assert model_error(parse_refusal(_body(), status=status, headers={"retry-after": "3"})).retry_after_sec == 3
    assert model_error(parse_refusal(_body(), status=status)).retryable


@pytest.mark.parametrize("status", [307, 400, 401, 402, 403, 404, 418, 422])
def test_failures_that_will_not_pass_are_not_tried_again(status: int) -> None:
    assert not model_error(parse_refusal(_body(), status=status)).retryable


def test_an_exhausted_quota_is_not_retried() -> None:
    error = model_error(parse_refusal(_body(code="insufficient_quota"), status=429))
    assert (error.kind, error.retryable) == ("rate_limited", False)
    assert "billing" in error.hint


def test_a_redirect_is_reported_with_what_to_do() -> None:
    error = model_error(parse_refusal(None, status=308))
    assert error.kind == "http_error"
    assert "llm.base_url" in error.hint


@pytest.mark.parametrize(
    "body",
    [
        _body("Unrecognized request argument supplied: stream_options"),
        _body("unknown field", param="stream_options"),
        {"detail": [{"loc": ["body", "stream_options"], "msg": "extra fields not permitted"}]},
        "json: unknown field include_usage",
    ],
)
def test_a_service_that_does_not_know_stream_options_is_recognized(body: object) -> None:
    for status in (400, 404, 422):
        assert find_rejected_option(parse_refusal(body, status=status)) == "stream_options"
    for other in (401, 429, 500, None):
        assert find_rejected_option(parse_refusal(body, status=other)) is None


@pytest.mark.parametrize(
    "body",
    [
        _body("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."),
        _body("This response_format type is unavailable now"),
        _body("This model does not support response format `json_schema`."),
        _body("unknown field", param="response_format"),
    ],
)
def test_a_service_that_does_not_know_shapes_of_answers_is_recognized(body: object) -> None:
    assert find_rejected_option(parse_refusal(body, status=400)) == "response_format"


def test_other_refusals_do_not_name_stream_options() -> None:
    assert find_rejected_option(parse_refusal(_body("stream must be a boolean"), status=400)) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, 0.0),
        ({"retry-after": "Thu, 01 Jan 2026 00:01:00 GMT", "date": "Thu, 01 Jan 2026 00:00:00 GMT"}, 60.0),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:00 GMT", "date": "Thu, 01 Jan 2026 00:01:00 GMT"}, 0.0),
        ({"retry-after": "Thu, 01 Jan 2026 00:01:00 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_wait_a_provider_asks_for_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers) == seconds
