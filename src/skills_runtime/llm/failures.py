"""Translate a provider's error response into a `ModelError`.

Messages of providers are shortened and redacted before they are logged. Pure functions: they know the error formats of
several providers, and nothing of HTTP libraries.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, cast

import msgspec

from skills_runtime.errors import ModelError
from skills_runtime.text import one_line, well_formed

MAX_MESSAGE_CHARS = 500
"""Maximum length of a provider's message in our errors."""
MIN_SECRET_CHARS = 8
"""Shorter strings would match ordinary words."""


def shorten(text: str, *, limit: int = MAX_MESSAGE_CHARS, secret: str = "") -> str:
    """Return a provider's message on one line, truncated and without the secret."""
    if len(secret) >= MIN_SECRET_CHARS:
        text = text.replace(secret, "***")
    return one_line(well_formed(text[: 2 * limit]), limit=limit)


RefusalKind = Literal[
    "too_long", "spent", "key", "access", "limited", "broken", "redirect", "passing", "unknown_model", "missing",
    "refused", "inside", "rejected",
]  # fmt: skip
DOCTOR_HINT = "`skills-runtime doctor` checks the address, the key and the model"
MAX_CAUSES = 10
"""Longest chain of causes that is searched for a reason."""
MAX_EXPLANATION_CHARS = 4000
"""Maximum length of a message that is searched for known patterns."""
TRANSIENT_STATUSES = (408, 409, 425)
"""Statuses that are not the fault of the request, so that a retry may help."""

TOO_LONG_CODES = frozenset(
    {"context_length_exceeded", "string_above_max_length", "array_above_max_length", "exceed_context_size_error"}
)
TOO_LONG_PATTERN = re.compile(
    "|".join(
        [
            r"maximum (?:context|prompt|input|model) length",
            r"context[ _-](?:length|window|size|limit)\b.{0,60}\bexceed",
            r"\b(?:exceed\w*|overflow\w*|longer than|larger than|too large for)\b.{0,60}\bcontext\b",
            r"\bexceed\w*\b.{0,40}\b(?:input|prompt|token) limit",
            r"\b(?:prompt|input|inputs|conversation|messages)\b.{0,20} too (?:long|large)",
            r"too many (?:input |prompt )?tokens",
            r"\binput (?:length|token count)\b.{0,60}\b(?:should be|must be|exceed)",
            r"`inputs` tokens \+ `max_new_tokens` must be",
            r"reduce the length of the (?:messages|prompt|input)",
        ]
    ),
    re.IGNORECASE | re.DOTALL,
)
UNKNOWN_MODEL_CODES = frozenset({"model_not_found", "unknown_model", "invalid_model", "model_not_exist"})
UNKNOWN_MODEL_PATTERN = re.compile(
    r"\bmodel\b.{0,120}\b(?:not found|not exist|does not exist|unknown|not available)\b"
    r"|\b(?:invalid|unknown|no such|unsupported) model\b",
    re.IGNORECASE | re.DOTALL,
)
CONVERSATION_PARAMETERS = re.compile("messages|input|prompt|content")
"""Names of parameters that a shorter conversation makes shorter."""

OPTIONAL_PARAMETERS = {
    "stream_options": re.compile("stream_options|include_usage"),
    "response_format": re.compile("response[_ ]format|json_schema", re.IGNORECASE),
}
"""Parameters that a run can do without, with the patterns by which providers name them in errors."""

QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
RATE_LIMIT_CODES = frozenset(
    {"rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests", "resource_exhausted"}
)
SERVER_ERROR_CODES = frozenset(
    {
        "server_error", "internal_error", "internal_server_error", "api_error", "overloaded", "overloaded_error",
        "engine_overloaded_error", "service_unavailable", "service_unavailable_error", "unavailable", "timeout_error",
    }
)  # fmt: skip


class _ErrorTemplate(NamedTuple):
    message: str
    kind: str
    hint: str = ""
    retryable: bool = False


_TEMPLATES: dict[RefusalKind, _ErrorTemplate] = {
    "too_long": _ErrorTemplate("the conversation is too long for the model: {reason}", "context_length_exceeded"),
    "spent": _ErrorTemplate(
        "the quota at {provider} is used up: {reason}", "rate_limited", "check the plan and its billing"
    ),
    "key": _ErrorTemplate(
        "{provider} refused the key in `{key_variable}`",
        "auth_error",
        "set the right one with `skills-runtime init`; `skills-runtime doctor` shows where it comes from",
    ),
    "access": _ErrorTemplate(
        "{provider} refused access: {reason}",
        "auth_error",
        "check what the key in `{key_variable}` may use; `skills-runtime doctor` tests it",
    ),
    "limited": _ErrorTemplate("{provider} limits the request rate", "rate_limited", retryable=True),
    "broken": _ErrorTemplate("{provider} failed with {status}", "server_error", retryable=True),
    "redirect": _ErrorTemplate(
        "{provider} answered {status}, and redirects are not followed",
        "http_error",
        "set `llm.base_url` to the final URL: `skills-runtime config set llm.base_url URL`",
    ),
    "passing": _ErrorTemplate("{provider} answered {status}: {reason}", "http_error", retryable=True),
    "unknown_model": _ErrorTemplate(
        "{provider} does not have this model: {reason}",
        "http_error",
        "`skills-runtime doctor` checks the name; choose another model with `skills-runtime init`",
    ),
    "missing": _ErrorTemplate(
        "{provider} answered {status}: {reason}",
        "http_error",
        f"{DOCTOR_HINT}; `skills-runtime config show llm` shows the settings",
    ),
    "refused": _ErrorTemplate("{provider} answered {status}: {reason}", "http_error"),
    "inside": _ErrorTemplate("{provider} reported an error: {reason}", "llm_error", retryable=True),
    "rejected": _ErrorTemplate("{provider} reported an error: {reason}", "llm_error"),
}


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a model, what configured it, and the variable of its key, as errors name them."""

    url: str = ""
    source: str = ""
    """What set `llm.base_url`, such as a file; empty if a program passed the address."""
    key_variable: str = "OPENAI_API_KEY"

    def __str__(self) -> str:
        if not self.url:
            return "the model's provider"
        address = self.url.partition("?")[0].partition("#")[0]
        origin = f" (`llm.base_url` from {self.source})" if self.source else ""
        return f"the model at `{one_line(address)}`{origin}"


ANY_ENDPOINT = Endpoint()


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """An error response of a provider."""

    status: int | None = None
    """Status of the response, or the one that an error inside a stream names."""
    in_stream: bool = False
    codes: frozenset[str] = frozenset()
    """Its code, type and status, in lower case."""
    param: str = ""
    message: str = ""
    retry_after_sec: float | None = None


def parse_refusal(
    body: object, *, status: int | None = None, headers: Mapping[str, str] | None = None, secret: str = ""
) -> Refusal:
    """Parse an error response of any known format, without the secret; `status` is `None` inside a stream."""
    error = _find_error_object(body)
    match = re.fullmatch("[45][0-9]{2}", str(error.get("code")))
    code_fields = (error.get(name) for name in ("code", "type", "status"))
    texts = (error.get(name) for name in ("message", "detail"))
    message = next((text for text in texts if isinstance(text, str) and text), "")
    return Refusal(
        status=int(match[0]) if status is None and match else status,
        in_stream=status is None,
        codes=frozenset(code.lower() for code in code_fields if isinstance(code, str)),
        param=str(error.get("param") or ""),
        message=shorten(message or _body_text(body), limit=MAX_EXPLANATION_CHARS, secret=secret),
        retry_after_sec=parse_retry_after(headers or {}),
    )


def is_too_long(refusal: Refusal) -> bool:
    """Return whether a shorter conversation would have been accepted."""
    if refusal.param and not CONVERSATION_PARAMETERS.match(refusal.param):
        return False  # a tool description can be too long as well, and compacting does not shorten it
    if refusal.codes & TOO_LONG_CODES or refusal.status == 413:
        return True
    return refusal.status in (None, 400, 422) and TOO_LONG_PATTERN.search(refusal.message) is not None


def find_rejected_option(refusal: Refusal) -> str | None:
    """Return the optional parameter that the provider does not support, if the error names one."""
    if refusal.status not in (400, 404, 422):
        return None
    text = f"{refusal.param} {refusal.message}"
    return next((option for option, pattern in OPTIONAL_PARAMETERS.items() if pattern.search(text)), None)


def classify_refusal(refusal: Refusal) -> RefusalKind:
    """Return the kind of an error response."""
    if is_too_long(refusal):
        return "too_long"
    if refusal.codes & QUOTA_CODES:
        return "spent"
    if refusal.in_stream:
        if refusal.status == 429 or refusal.codes & RATE_LIMIT_CODES:
            return "limited"
        if (refusal.status or 0) >= 500 or refusal.codes & SERVER_ERROR_CODES:
            return "broken"
        return "inside" if refusal.status in (None, *TRANSIENT_STATUSES) else "rejected"
    status = refusal.status or 0
    kinds: dict[int, RefusalKind] = {
        401: "key",
        403: "access",
        429: "limited",
        **dict.fromkeys(TRANSIENT_STATUSES, "passing"),
    }
    if status in kinds:
        return kinds[status]
    if status >= 500:
        return "broken"
    if 300 <= status < 400:
        return "redirect"
    if refusal.codes & UNKNOWN_MODEL_CODES or UNKNOWN_MODEL_PATTERN.search(refusal.message):
        return "unknown_model"
    return "missing" if status == 404 else "refused"


def model_error(refusal: Refusal, endpoint: Endpoint = ANY_ENDPOINT) -> ModelError:
    """Return the `ModelError` for an error response."""
    template = _TEMPLATES[classify_refusal(refusal)]
    reason = shorten(refusal.message) or "no reason given"
    facts = {
        "status": refusal.status or f"an error: {reason}",
        "reason": reason,
        "provider": endpoint,
        "key_variable": endpoint.key_variable,
    }
    return ModelError(
        template.message.format(**facts),
        kind=template.kind,
        hint=template.hint.format(**facts),
        retryable=template.retryable,
        retry_after_sec=refusal.retry_after_sec if template.retryable else None,
    )


def missing_stream_error(text: str, *, secret: str = "", endpoint: Endpoint = ANY_ENDPOINT) -> ModelError:
    """Return the error for a response without any event: the error in its body, or an excerpt of the body."""
    try:
        body = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        body = None
    if isinstance(body, dict) and cast(dict[str, Any], body).get("error"):
        return model_error(parse_refusal(cast(object, body), secret=secret), endpoint)
    reason = shorten(text, secret=secret)
    return ModelError(f"{endpoint} did not send a stream: {reason}", hint=DOCTOR_HINT, retryable=True)


def connection_error(error: BaseException, endpoint: Endpoint, *, secret: str = "") -> ModelError:
    """Return the error for a connection that could not be opened, or was cut."""
    reason = find_os_reason(error) or shorten(str(error), secret=secret) or type(error).__name__
    if "connect" in type(error).__name__.lower():
        hint = f"start the server, or set its address with `skills-runtime init`; {DOCTOR_HINT}"
        return ModelError(f"could not reach {endpoint}: {reason}", hint=hint, retryable=True)
    return ModelError(f"the connection to {endpoint} failed: {reason}", hint=DOCTOR_HINT, retryable=True)


def find_os_reason(error: BaseException) -> str:
    """Return the operating system's reason behind an error of an HTTP library, which hides it."""
    reason, current = "", error
    for _ in range(MAX_CAUSES):
        if isinstance(current, OSError) and current.errno is not None:
            reason = os.strerror(current.errno) if current.errno > 0 else str(current.strerror)
        group = cast("tuple[BaseException, ...]", getattr(current, "exceptions", ()))
        following = next(iter(group), None) or current.__cause__ or current.__context__
        if following is None:
            break
        current = following
    return reason


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of `Retry-After`, which may be a date by the provider's clock; `None` if it is invalid."""
    from email.utils import parsedate_to_datetime

    text = headers.get("retry-after", "")
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        wait = parsedate_to_datetime(text) - parsedate_to_datetime(headers.get("date", ""))
    except (TypeError, ValueError):
        return None
    return max(0.0, wait.total_seconds())


def _find_error_object(body: object) -> Mapping[str, Any]:
    """Return the object that describes the error: providers nest it in `error`, and some in a list."""
    if isinstance(body, list) and body:
        return _find_error_object(cast(list[object], body)[0])
    if not isinstance(body, Mapping):
        return {"message": body}
    error = cast(Mapping[str, Any], body)
    return _find_error_object(error["error"]) if error.get("error") else error


def _body_text(body: object) -> str:
    """Return a body that has no message as text."""
    if body is None or isinstance(body, str):
        return body or ""
    try:
        return msgspec.json.encode(body).decode()
    except (TypeError, ValueError, RecursionError):
        return repr(body)[:2000]
