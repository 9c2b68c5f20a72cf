"""Skills stored in databases: addresses, shared connections, and the conversion of rows to skills.

Invalid field values never raise; they are returned as problems.
"""

import re
import threading
import weakref
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import msgspec

from skills_runtime.skills.problems import Problem
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.sources.source import Origin
from skills_runtime.skills.standard.skill_yaml import is_variable
from skills_runtime.skills.standard.specification import check_fields, invalid
from skills_runtime.text import one_line, well_formed

MAX_SKILLS = 100_000
"""Maximum number of skills listed per namespace."""
MAX_BODY_BYTES = 16 << 20
"""Maximum size of a body, regardless of the settings."""
MAX_DEPTH = 20
_DIGITS = 18


class StoredSkill(Skill, frozen=True, kw_only=True):
    """A skill whose body is fetched from its database when needed."""

    key: str
    """Database key of the body."""
    body_size: int | None = None
    scope: str = ""
    unpacked: Callable[[], Path] | None = None
    """Fetches and verifies the files and returns their directory; None for a skill without files."""

    @property
    def directory(self) -> Path | None:
        """The directory of its files, verified on each access; raises `SkillError` if they are unavailable."""
        return self.unpacked() if self.unpacked is not None else None


class RowContext(msgspec.Struct, frozen=True, kw_only=True):
    """Location of a row and limits of its fields."""

    origin: Origin
    locator: str
    key: str
    max_bytes: int


def build_stored_skill(
    fields: Mapping[str, Any], context: RowContext, unpacked: Callable[[], Path] | None = None
) -> Skill | Problem:
    """Build a skill from the fields of a row."""
    name, result = fields.get("skill_name"), _check_row(fields, context.max_bytes)
    if isinstance(result, Problem):
        display_name = name if isinstance(name, str) else context.key
        return row_problem(result, context, display_name)
    return msgspec.structs.replace(
        result,
        unpacked=unpacked,
        namespace=context.origin.namespace,
        space_id=context.origin.space_id,
        source_id=context.origin.source_id,
        locator=context.locator,
        key=context.key,
    )


def row_problem(problem: Problem, context: RowContext, name: str) -> Problem:
    """Add the location of the row to a problem."""
    display_name = one_line(well_formed(name))[:200]
    return msgspec.structs.replace(
        problem, locator=context.locator, namespace=context.origin.namespace, name=display_name
    )


def _check_row(fields: Mapping[str, Any], max_bytes: int) -> StoredSkill | Problem:
    metadata = _decode_json(fields.get("metadata"), dict, "metadata", max_bytes)
    variables = _decode_json(fields.get("required_env_vars"), list, "required_env_vars", max_bytes)
    size = _size(fields.get("body_size"))
    for value in (metadata, variables, size):
        if isinstance(value, Problem):
            return value
    front_matter = check_fields(
        fields.get("skill_name"), _text(fields.get("description")), cast("dict[str, Any]", metadata)
    )
    if isinstance(front_matter, Problem):
        return front_matter
    names = cast("list[Any]", variables)
    if not all(isinstance(name, str) and is_variable(name) for name in names):
        return invalid("its `required_env_vars` are not names of variables", hint="store a JSON list of names")
    return StoredSkill(
        namespace="",
        name=front_matter.name,
        description=front_matter.description,
        locator="",
        space_id="",
        source_id="",
        key="",
        metadata=front_matter.metadata,
        required_env_vars=tuple(dict.fromkeys(names)),
        body_size=cast("int | None", size),
        scope=one_line(_text(fields.get("scope"))),
    )


def _decode_json(value: Any, kind: type, field: str, max_bytes: int) -> Any:
    """Decode a JSON field with every scalar as text; a missing or `null` field is empty."""
    if isinstance(value, str):
        if len(value) > max_bytes:
            return invalid(f"its `{field}` is longer than {max_bytes} bytes", hint="keep it short")
        try:
            value = msgspec.json.decode(value) if value.strip() else None
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return invalid(f"its `{field}` is not JSON", hint="store JSON in it")
    if value is None:
        return kind()
    if not isinstance(value, kind):
        expected = "an object" if kind is dict else "a list"
        return invalid(f"its `{field}` is not {expected}", hint=f"store {expected} of JSON in it")
    try:
        return _stringify(value, MAX_DEPTH)
    except ValueError:
        return invalid(f"its `{field}` is nested more than {MAX_DEPTH} deep", hint="make it flat")


def _stringify(value: Any, depth: int) -> Any:
    """Convert a value to mappings, lists and texts, as in front matter."""
    if depth < 0:
        raise ValueError
    if isinstance(value, dict):
        return {_text(key): _stringify(inner, depth - 1) for key, inner in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_stringify(inner, depth - 1) for inner in cast("list[Any]", value)]
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return _text(value)


def _text(value: Any) -> str:
    return well_formed(value if isinstance(value, str) else "" if value is None else str(value))


def _size(value: Any) -> int | Problem | None:
    if value is None or value == "":
        return None
    text = str(value)
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        return invalid("its `body_size` is not a number of bytes", hint="store a whole number, or nothing")
    return int(text)


Connect = Callable[[], AbstractContextManager[Any]]
"""Opens a context manager that lends a connection."""


class _SharedConnection:
    """A connection that is opened on first use and used by one thread at a time."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._open: Any = None
        self._closing: weakref.finalize[..., Any] | None = None

    @contextmanager
    def borrow(self) -> Generator[Any]:
        """Lend the connection; close it after an error, so that the next caller gets a new one."""
        with self._lock:
            if self._open is None:
                self._open = self._make()
                self._closing = weakref.finalize(self, self._open.close)
            try:
                yield self._open
            except BaseException:
                self._open = None
                if self._closing is not None:
                    self._closing()
                raise


def share_connection(make: Callable[[], Any]) -> Connect:
    """Return a factory that lends one shared connection, closed when the factory is garbage collected."""
    return _SharedConnection(make).borrow


def adapt_client(client: Any, marker: str) -> Connect:
    """Adapt an injected client (an object with the attribute `marker`), pool with `.connection()`, or factory.

    Only clients created by a factory are closed.
    """
    if hasattr(client, marker):
        return lambda: _lend(client)
    if callable(getattr(client, "connection", None)):
        return client.connection
    if callable(client):
        return lambda: _open_client(client)
    raise TypeError(f"a client, a pool with `.connection()` or a factory is needed, not `{type(client).__name__}`")


@contextmanager
def _lend(client: Any) -> Generator[Any]:
    yield client


@contextmanager
def _open_client(factory: Callable[[], Any]) -> Generator[Any]:
    client = factory()
    try:
        yield client
    finally:
        close = getattr(client, "close", None)
        if callable(close):
            close()


_PASSWORD = re.compile(r"(?i)\bpassword\s*=\s*('(?:[^'\\]|\\.)*'|[^\s&]+)")
_SHOWN_CHARS = 200
_HIDDEN = "***"


class Dsn(msgspec.Struct, frozen=True):
    """A database address and the variable it was read from."""

    variable: str
    text: str

    def __repr__(self) -> str:
        return f"Dsn({self.variable!r})"

    def redact(self, text: str) -> str:
        """Return a server or library message on one line, without the address and the password."""
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, _HIDDEN)
        return one_line(text)[:_SHOWN_CHARS]

    def _secrets(self) -> set[str]:
        secrets = {self.text, *(match.strip("'") for match in _PASSWORD.findall(self.text))}
        for text in (self.text, self.text.rpartition("@")[0]):
            try:
                secrets.add(urlsplit(text).password or "")
            except ValueError:
                continue
        credentials = self.text.partition("://")[2].rpartition("@")[0]  # also of an invalid address
        secrets |= {credentials, credentials.partition(":")[2]}
        return {variant for secret in secrets if secret for variant in (secret, unquote(secret))}
