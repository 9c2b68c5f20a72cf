"""Redact text, plain data, log lines and streams; decide which values are secrets.

`matcher` finds the secrets; its expressions are compiled when the first redactor is created.
"""

import json
import re
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from skills_runtime.safety.redaction.matcher import SHAPE_WINDOW, Matcher, Span
from skills_runtime.safety.redaction.secret_patterns import is_secret_member

MARK = "<redacted>"
"""Replacement for a secret."""
# Characters of earlier output that are remembered, because the text before a secret identifies it.
CONTEXT = 256
# A possible key that is longer than this counts as one; a known value is awaited for its own length.
MAX_PENDING = 4096

assert MAX_PENDING + CONTEXT < SHAPE_WINDOW

_TOKEN = re.compile(rb'("(?:[^"\\]++|\\.)*+")(\s*+:\s*+)?|-?[0-9][0-9.eE+-]*+', re.DOTALL)
_QUOTED_MARK = json.dumps(MARK).encode()

_SHORTEST = 4
_MIN_SINGLE_CLASS_LENGTH = 8
# Longer words that appear where a secret belongs but are common in ordinary text.
_NO_SECRETS = frozenset(
    ("password", "passwort", "changeme", "postgres", "postgresql", "localhost", "disabled", "undefined")
)
_SECRET_NAME_ENDS = ("password", "passwd", "passphrase", "apikey", "_pass", "_pwd", "_pat")
_PATH = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:)[/\\].*"
    r"|/(?:home|Users|root|etc|usr|var|run|tmp|opt|mnt|srv|dev|proc|private|Volumes|app|workspace|secrets)(?:/.*)?"
    r"|/(?:[\w.@ -]+/)*[\w@ -]+\.[A-Za-z0-9]{1,8}"
)


def is_redactable(value: str) -> bool:
    """Return whether the value can be distinguished from ordinary text.

    It cannot if it is shorter than four characters, or shorter than eight and only digits or only letters (`true`,
    `8080`, `admin`), or one of a few longer words: redacting those would destroy text and hide nothing. Nor can
    parts of the mark itself.
    """
    if len(value) < _SHORTEST or value in MARK or value.lower() in _NO_SECRETS:
        return False
    one_kind = value.isalpha() or value.isdigit() or len(set(value)) == 1
    return not (one_kind and value.isascii() and len(value) < _MIN_SINGLE_CLASS_LENGTH)


def find_secrets(environment: Mapping[str, str], names: Iterable[str] = ()) -> frozenset[str]:
    """Return the secret values of an environment: the `named` variables, and those with a secret name.

    The password of a URL counts separately, raw and decoded. A path to a secret is not secret.
    """
    from skills_runtime.config import is_secret_name  # the settings around it are slow to load

    names = set(names)
    values = {
        value.strip()
        for name, value in environment.items()
        if name in names or is_secret_name(name) or name.lower().endswith(_SECRET_NAME_ENDS)
    }
    for value in environment.values():
        if "://" in value and "@" in value:
            with suppress(ValueError):  # not a URL
                password = urlsplit(value.strip()).password or ""
                values |= {password, unquote(password)}
    return frozenset(value for value in values if is_redactable(value) and not _PATH.fullmatch(value))


class StreamRedactor:
    """Redacts a text that arrives in pieces; created by `Redactor.stream`."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._pending: bytes = b""
        """Held-back bytes, with some of those emitted before."""
        self._emitted: int = 0
        """Number of buffered bytes that were emitted already."""
        self._half_character = ""

    def feed(self, text: str) -> str:
        """Add the next piece; return what can be emitted now."""
        text = self._half_character + text
        # A chunk may end inside a character: its first half waits for the second.
        self._half_character = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        data = self._pending + _encode(text.removesuffix(self._half_character))
        spans, known_wait, shape_wait = self._matcher.spans_so_far(data)
        out = self._redact(data, spans, min(known_wait, shape_wait))
        if len(data) - shape_wait <= MAX_PENDING or known_wait <= shape_wait:
            self._pending = _cut(data, min(self._emitted, known_wait, shape_wait) - CONTEXT)
            self._emitted += len(self._pending) - len(data)
            return _decode(out)
        # What waited for too long counts as a secret; its middle is dropped, since more of it changes nothing.
        mark = b"" if shape_wait < self._emitted else MARK.encode()
        head = data[: shape_wait + MAX_PENDING // 2].rstrip(b"\\")
        tail = data[max(len(head), min(known_wait, len(data) - CONTEXT)) :]
        self._pending = _cut(head, shape_wait - CONTEXT) + tail
        self._emitted = len(self._pending) - len(data) + max(self._emitted, known_wait)
        return _decode(out + mark)

    def finish(self) -> str:
        """Return the rest; no more pieces may follow."""
        data = self._pending + _encode(self._half_character)
        out = self._redact(data, self._matcher.spans(data), len(data))
        self._pending, self._emitted, self._half_character = b"", 0, ""
        return _decode(out)

    def _redact(self, data: bytes, spans: list[Span], end: int) -> bytes:
        """Return the redacted bytes up to `end`; a secret that started earlier has its mark already."""
        pieces: list[bytes] = []
        for start, stop in spans:
            if start >= end:
                break
            if start >= self._emitted:
                pieces += (data[self._emitted : start], MARK.encode())
            self._emitted = max(self._emitted, stop)
        pieces.append(data[self._emitted : end])
        self._emitted = max(self._emitted, end)
        return b"".join(pieces)


def _cut(data: bytes, start: int) -> bytes:
    # A letter stands for the text before, so that half a word does not look like a word.
    return b"x" + data[start:] if start > 0 else data


class Redactor:
    """Replaces secrets by `<redacted>`: the given values, and text shaped like a key.

    Values are found plain, escaped for JSON (also nested), URLs, HTML and shells, as base64, as hex, and with
    colors in between. Values common in ordinary text are ignored: see `is_redactable`. Immutable, so runs and
    threads can share it.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        values = {stripped for secret in secrets if is_redactable(stripped := secret.strip())}
        self._numbers = frozenset(value for value in values if value.isascii() and value.isdigit())
        self._matcher = Matcher(values)
        self._match = self._matcher.match

    def line(self, data: bytes) -> bytes:
        """Redact the strings and keys of a JSON document; the same object if it has no secrets."""
        if self._match(data) is None:  # the common case, so it comes first
            return data
        if not self._matcher.may_match(data):
            return data
        names: dict[str, str] = {}
        name, value_start = "", -1

        def replace(token: re.Match[bytes]) -> bytes:
            nonlocal name, value_start
            raw, colon = token[1], token[2] or b""
            if raw is None:
                return _QUOTED_MARK if token[0].decode() in self._numbers else token[0]
            try:
                text = json.loads(raw)
            except ValueError:  # unreadable, so it may hold a secret
                return _QUOTED_MARK + colon
            if colon:
                name, value_start = text, token.end()
                new = self._rename(text, names)
            elif token.start() == value_start and is_secret_member(name, text):
                new = MARK
            else:
                new = self.text(text)
            if new is text:
                return token[0]
            try:
                return json.dumps(new, ensure_ascii=False).encode() + colon
            except UnicodeEncodeError:  # a lone surrogate
                return json.dumps(new).encode() + colon

        redacted = _TOKEN.sub(replace, data)
        return data if redacted == data else redacted

    def text(self, text: str) -> str:
        """Redact a text; the same object if it has no secrets."""
        data = _encode(text)
        pieces: list[bytes] = []
        offset = 0
        for start, end in self._matcher.spans(data):
            pieces += (data[offset:start], MARK.encode())
            offset = end
        return _decode(b"".join((*pieces, data[offset:]))) if pieces else text

    def value(self, value: Any) -> Any:
        """Redact the strings and keys of plain data; the same object if it has no secrets."""
        return self._value(value, {})

    def stream(self) -> StreamRedactor:
        """Return a redactor for one text that arrives in pieces."""
        return StreamRedactor(self._matcher)

    def _value(self, value: Any, names: dict[str, str]) -> Any:
        match value:
            case str():
                return self.text(value)
            case dict():
                members = cast("dict[Any, Any]", value)
                redacted = {
                    self._rename(name, names): self._member(name, member, names) for name, member in members.items()
                }
                same = len(redacted) == len(members) and all(
                    new[0] is old[0] and new[1] is old[1]
                    for new, old in zip(redacted.items(), members.items(), strict=True)
                )
                return members if same else redacted
            case list() | tuple():
                items = cast("list[Any] | tuple[Any, ...]", value)
                new = [self._value(item, names) for item in items]
                if all(new_item is other for new_item, other in zip(new, items, strict=True)):
                    return items
                return new if isinstance(items, list) else tuple(new)
            case int() if str(value) in self._numbers:
                return MARK
            case _:
                return value

    def _member(self, name: Any, value: Any, names: dict[str, str]) -> Any:
        hidden = isinstance(name, str) and isinstance(value, str) and is_secret_member(name, value)
        return MARK if hidden else self._value(value, names)

    def _rename(self, name: Any, names: dict[str, str]) -> Any:
        """Redact a member name; different names stay different, and equal ones equal."""
        redacted = self.text(name) if isinstance(name, str) else name
        if redacted is name:
            return name
        return names.setdefault(name, f"{redacted}{len(names) + 1}" if names else redacted)


@lru_cache(maxsize=16)
def _redactor(secrets: frozenset[str]) -> Redactor:
    """Build a redactor; cached, because agents of a process mostly share their secrets and building is slow."""
    return Redactor(secrets)


class SecretRegistry:
    """Holds secrets and accepts more; safe to share between runs and threads."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._values = frozenset(secrets)
        self._redactor: Redactor | None = None
        self._lock = threading.Lock()

    def hide(self, *values: str) -> None:
        """Add secrets to redact from now on."""
        redactable = {stripped for value in values if is_redactable(stripped := value.strip())}
        with self._lock:
            if not redactable <= self._values:
                self._values |= redactable
                self._redactor = None

    def text(self, text: str) -> str:
        """Redact a text; return the same object if it has no secrets."""
        return (self._redactor or self._build_redactor()).text(text)

    def value(self, value: Any) -> Any:
        """Redact plain data; return the same object if it has no secrets."""
        return (self._redactor or self._build_redactor()).value(value)

    def line(self, data: bytes) -> bytes:
        """Redact a JSON document; return the same object if it has no secrets."""
        return (self._redactor or self._build_redactor()).line(data)

    def stream(self) -> StreamRedactor:
        """Return a redactor for one text that arrives in pieces."""
        return (self._redactor or self._build_redactor()).stream()

    def _build_redactor(self) -> Redactor:
        with self._lock:
            self._redactor = _redactor(self._values)
            return self._redactor


def _encode(text: str) -> bytes:
    """Encode as UTF-8, joining surrogate pairs; lone surrogates stay as they are."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return joined.encode(errors="surrogatepass")


def _decode(data: bytes) -> str:
    return data.decode(errors="surrogatepass")
