"""Takes secrets out of text, plain data, log lines and streams; and knows which values are secrets.

Where they stand is found by `matcher`, which is loaded when the first redactor is made.
"""

import json
import re
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from skills_runtime.safety.redaction.matcher import WINDOW, Found, Matcher
from skills_runtime.safety.redaction.secret_patterns import is_secret_member

MARK = "<redacted>"
"""What stands for a secret that was taken out."""
CONTEXT = 256
"""How much of what went out is remembered, for what stands before a secret tells that it is one."""
LONGEST_WAIT = 4096
"""What may be a key for longer than this is taken for one; a known value waits for as long as it is."""

assert LONGEST_WAIT + CONTEXT < WINDOW

_TOKEN = re.compile(rb'("(?:[^"\\]++|\\.)*+")(\s*+:\s*+)?|-?[0-9][0-9.eE+-]*+', re.DOTALL)
_QUOTED_MARK = json.dumps(MARK).encode()
_Hide = Callable[[str], str]

_SHORTEST = 4
_SHORTEST_OF_ONE_KIND = 8
_NO_SECRETS = frozenset(
    ("password", "passwort", "changeme", "postgres", "postgresql", "localhost", "disabled", "undefined")
)
"""Longer words that people put where a secret belongs, and that ordinary text is full of."""
_SECRET_NAME_ENDS = ("password", "passwd", "passphrase", "apikey", "_pass", "_pwd", "_pat")
_PATH = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:)[/\\].*"
    r"|/(?:home|Users|root|etc|usr|var|run|tmp|opt|mnt|srv|dev|proc|private|Volumes|app|workspace|secrets)(?:/.*)?"
    r"|/(?:[\w.@ -]+/)*[\w@ -]+\.[A-Za-z0-9]{1,8}"
)


def is_redactable(value: str) -> bool:
    """Whether the value can be told from ordinary text.

    It cannot if it is shorter than four characters, or shorter than eight and nothing but digits or nothing but
    letters (`true`, `8080`, `admin`), or one of a few longer words: taking those out would tear text to pieces and hide
    nothing. Nor can what is part of the mark itself.
    """
    if len(value) < _SHORTEST or value in MARK or value.lower() in _NO_SECRETS:
        return False
    one_kind = value.isalpha() or value.isdigit() or len(set(value)) == 1
    return not (one_kind and value.isascii() and len(value) < _SHORTEST_OF_ONE_KIND)


def secrets_of(environment: Mapping[str, str], named: Iterable[str] = ()) -> frozenset[str]:
    """The secret values of an environment: of the variables that are named, and of those whose own name says so.

    Of a URL with a password the password is one more, as it is and decoded. A path to a secret is none.
    """
    from skills_runtime.config.secrets import is_secret_name  # the settings around it are slow to load

    wanted = set(named)
    values = {
        value.strip()
        for name, value in environment.items()
        if name in wanted or is_secret_name(name) or name.lower().endswith(_SECRET_NAME_ENDS)
    }
    passwords = {password for value in environment.values() for password in _passwords_of(value.strip())}
    return frozenset(value for value in values | passwords if is_redactable(value) and not _PATH.fullmatch(value))


def _passwords_of(value: str) -> tuple[str, ...]:
    if "://" not in value or "@" not in value:
        return ()
    try:
        password = urlsplit(value).password
    except ValueError:
        return ()
    return (password, unquote(password)) if password else ()


class StreamRedactor:
    """Redacts one text; made by `Redactor.stream`."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._kept = b""
        self._done = 0  # this much of what is kept went out already
        self._half = ""

    def feed(self, text: str) -> str:
        """Take in the next piece, and give what may go out now."""
        text = self._half + text
        # A service may cut a character in two: its first half waits for the second.
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        data = self._kept + _encoded(text.removesuffix(self._half))
        found = self._matcher.found(data)
        wait = min(found.known_wait, found.shape_wait)
        out = self._out(data, found, wait)
        if len(data) - found.shape_wait > LONGEST_WAIT and found.shape_wait < found.known_wait:
            out += self._give_up(data, found)
        else:
            self._keep(data, wait)
        return _decoded(out)

    def finish(self) -> str:
        """What still waited; nothing may be fed after this."""
        data = self._kept + _encoded(self._half)
        out = self._out(data, Found(self._matcher.spans(data), len(data), len(data)), len(data))
        self._kept, self._done, self._half = b"", 0, ""
        return _decoded(out)

    def _out(self, data: bytes, found: Found, wait: int) -> bytes:
        """What may go out up to where the text waits; a span that was begun earlier has its mark already."""
        pieces: list[bytes] = []
        place = self._done
        for start, end in found.spans:
            if start >= wait:
                break
            if start >= place:
                pieces += (data[place:start], MARK.encode())
            place = max(place, end)
        pieces.append(data[place:wait])
        self._done = max(place, wait)
        return b"".join(pieces)

    def _keep(self, data: bytes, wait: int) -> None:
        """Remember what waits, with what was given up of it, and a little of what went before."""
        self._kept = _behind(data, max(0, min(self._done, wait) - CONTEXT))
        self._done += len(self._kept) - len(data)

    def _give_up(self, data: bytes, found: Found) -> bytes:
        """Take what waited for too long for a secret, and forget its middle, for any more of it is the same."""
        start = found.shape_wait
        mark = b"" if start < self._done else MARK.encode()
        head = data[: start + LONGEST_WAIT // 2].rstrip(b"\\")
        tail = data[max(len(head), min(found.known_wait, len(data) - CONTEXT)) :]
        left = len(data) - max(self._done, found.known_wait)
        self._kept = _behind(head, max(0, start - CONTEXT)) + tail
        self._done = len(self._kept) - left
        return mark


def _behind(data: bytes, start: int) -> bytes:
    """The data from `start` on; a letter stands for what was before, so that half a word does not look like a word."""
    return b"x" + data[start:] if start else data


class Redactor:
    """Replaces secrets by `<redacted>`: values it is given, and what looks like a key whoever it belongs to.

    A given value is found as it is, escaped for JSON (also within JSON), URLs, HTML and shells, as base64, as hex, and
    with colors in between. Values that ordinary text is full of are not looked for: see `is_redactable`.
    Immutable, so that one may serve every run and every thread.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        values = {stripped for secret in secrets if is_redactable(stripped := secret.strip())}
        self._numbers = frozenset(value for value in values if value.isascii() and value.isdigit())
        self._matcher = Matcher(values)
        self._match = self._matcher.match

    def line(self, data: bytes) -> bytes:
        """The JSON document with secrets taken out of its strings and keys; the same object if it has none."""
        if self._match(data) is None:  # nearly always; so nothing may stand before it
            return data
        return _rewritten(data, self.text, self._numbers) if self._matcher.touches(data) else data

    def text(self, text: str) -> str:
        """The text without secrets; the same object if it has none."""
        data = _encoded(text)
        spans = self._matcher.spans(data)
        if not spans:
            return text
        pieces: list[bytes] = []
        place = 0
        for start, end in spans:
            pieces += (data[place:start], MARK.encode())
            place = end
        return _decoded(b"".join((*pieces, data[place:])))

    def value(self, value: Any) -> Any:
        """The plain data with secrets taken out of its strings and keys; the same object if it has none."""
        return self._changed(value, {})

    def stream(self) -> StreamRedactor:
        """A redactor for one text that comes in pieces."""
        return StreamRedactor(self._matcher)

    def _changed(self, value: Any, names: dict[str, str]) -> Any:
        match value:
            case str():
                return self.text(value)
            case dict():
                return self._members(cast("dict[Any, Any]", value), names)
            case list() | tuple():
                old = cast("list[Any] | tuple[Any, ...]", value)
                new = [self._changed(item, names) for item in old]
                if all(one is other for one, other in zip(new, old, strict=True)):
                    return old
                return new if isinstance(old, list) else tuple(new)
            case int() if str(value) in self._numbers:
                return MARK
            case _:
                return value

    def _members(self, old: dict[Any, Any], names: dict[str, str]) -> dict[Any, Any]:
        new: dict[Any, Any] = {}
        same = True
        for name, value in old.items():
            hidden = isinstance(name, str) and isinstance(value, str) and is_secret_member(name, value)
            renamed = _new_name(name, self.text, names) if isinstance(name, str) else name
            changed = MARK if hidden else self._changed(value, names)
            new[renamed] = changed
            same = same and changed is value and renamed is name
        return old if same else new


@lru_cache(maxsize=16)
def _redactor(secrets: frozenset[str]) -> Redactor:
    """Making one takes longer than a small run, and the agents of a process mostly know the same secrets."""
    return Redactor(secrets)


class SecretRegistry:
    """Knows secrets, and learns more of them; safe to share between runs and threads."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known = frozenset(secrets)
        self._made: Redactor | None = None
        self._lock = threading.Lock()

    def hide(self, *values: str) -> None:
        """Know more secrets from now on."""
        worth = {stripped for value in values if is_redactable(stripped := value.strip())}
        with self._lock:
            if not worth <= self._known:
                self._known |= worth
                self._made = None

    def text(self, text: str) -> str:
        """The text without secrets; the same object if it has none."""
        return (self._made or self._make()).text(text)

    def value(self, value: Any) -> Any:
        """The plain data without secrets; the same object if it has none."""
        return (self._made or self._make()).value(value)

    def line(self, data: bytes) -> bytes:
        """The JSON document without secrets; the same object if it has none."""
        return (self._made or self._make()).line(data)

    def stream(self) -> StreamRedactor:
        """For one text that comes in pieces."""
        return (self._made or self._make()).stream()

    def _make(self) -> Redactor:
        with self._lock:
            self._made = _redactor(self._known)
            return self._made


def _rewritten(data: bytes, hide: _Hide, numbers: Collection[str]) -> bytes:
    """The document with secrets taken out of its strings and keys; the same object if it has none."""
    changed = _TOKEN.sub(_Rewriting(hide, numbers).token, data)
    return data if changed == data else changed


def _new_name(name: str, hide: _Hide, names: dict[str, str]) -> str:
    """The name without secrets; two names stay two names, and one name stays one."""
    hidden = hide(name)
    if hidden is name:
        return name
    return names.setdefault(name, f"{hidden}{len(names) + 1}" if names else hidden)


class _Rewriting:
    """One pass over one document."""

    def __init__(self, hide: _Hide, numbers: Collection[str]) -> None:
        self._hide = hide
        self._numbers = numbers
        self._names: dict[str, str] = {}
        self._name = ""
        self._value_starts = -1

    def token(self, token: re.Match[bytes]) -> bytes:
        """What is to stand in the place of one string or number."""
        raw, colon = token[1], token[2]
        if raw is None:
            return _QUOTED_MARK if token[0].decode() in self._numbers else token[0]
        try:
            text = json.loads(raw)
        except ValueError:  # it cannot be read, so nobody can say that it holds no secret
            return _QUOTED_MARK + (colon or b"")
        if colon:
            self._name, self._value_starts = text, token.end()
            new = _new_name(text, self._hide, self._names)
        elif token.start() == self._value_starts and is_secret_member(self._name, text):
            new = MARK
        else:
            new = self._hide(text)
        return token[0] if new is text else _quoted(new) + (colon or b"")


def _quoted(text: str) -> bytes:
    try:
        return json.dumps(text, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(text).encode()


def _encoded(text: str) -> bytes:
    """The text as UTF-8, with the halves of a character joined; what is no character stays what it is."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return joined.encode(errors="surrogatepass")


def _decoded(data: bytes) -> str:
    return data.decode(errors="surrogatepass")
