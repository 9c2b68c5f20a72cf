"""Skills in Redis: one hash `{prefix}meta:{namespace}:{name}` per skill, with keys for its body and its bundle.

Keys are listed in one pass and hashes fetched in batches, so the number of round trips depends on the batch size
only.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from skills_runtime.installation import find_installation
from skills_runtime.skills.problems import Problem, SkillError, failure
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.sources.bundles import Bundle, Bundles
from skills_runtime.skills.sources.source import Origin, Report
from skills_runtime.skills.sources.stored import (
    MAX_BODY_BYTES,
    MAX_SKILLS,
    Connect,
    Dsn,
    RowContext,
    StoredSkill,
    build_stored_skill,
    row_problem,
    share_connection,
)
from skills_runtime.skills.standard.specification import invalid
from skills_runtime.text import one_line

SCAN_COUNT = 2000
"""`COUNT` of each `SCAN` call."""
BATCH = 500
"""Number of hashes fetched per pipeline."""
CONNECT_SEC = 5
ANSWER_SEC = 15

_GLOB = frozenset("*?[]\\^-")
_REQUIRED = ("skill_name", "description", "created_at")


class RedisSource:
    """Lists the skills of one namespace and fetches their bodies and bundles."""

    def __init__(
        self,
        origin: Origin,
        connect: Connect,
        *,
        key_prefix: str,
        bundles: Bundles,
        dsn: Dsn | None = None,
        max_field_bytes: int = 65_536,
    ) -> None:
        self.origin = origin
        self._connect = connect
        self._prefix = key_prefix
        self._bundles = bundles
        self._dsn = dsn
        self._max_field_bytes = max_field_bytes

    def skills(self) -> Report:
        """Report every valid hash of the namespace."""
        try:
            with self._connect() as client:
                keys, is_complete = self._keys(client)
                rows = [
                    row for start in range(0, len(keys), BATCH) for row in _rows(client, keys[start : start + BATCH])
                ]
        except (*_errors(), ImportError) as error:
            return Report((), (self._unavailable_problem(error),))
        results = [result for key, row in zip(keys, rows, strict=True) if (result := self._skill(key, row)) is not None]
        return Report(
            tuple(item for item in results if isinstance(item, Skill)),
            (
                *(item for item in results if isinstance(item, Problem)),
                *([] if is_complete else [self._limit_problem()]),
            ),
        )

    def body(self, skill: Skill) -> str:
        """Fetch the body of a skill."""
        key = skill.key if isinstance(skill, StoredSkill) else self._key("body", skill.name)
        data = self._fetch_value(skill, key, MAX_BODY_BYTES, "SKILL_BODY_READ_FAILED")
        if data is None:
            raise _read_error(skill, f"redis has no key {key[:200]!a}")
        if len(data) > MAX_BODY_BYTES:
            raise failure("SKILL_BODY_TOO_LARGE", f"`{skill.mention.text}` is larger than {MAX_BODY_BYTES} bytes")
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise _read_error(skill, f"byte {error.start} is not UTF-8") from error

    def _keys(self, client: Any) -> tuple[list[str], bool]:
        """List the keys of the namespace; a colon in the name marks a longer namespace, which is skipped."""
        start = self._key("meta", "")
        pattern = "".join(f"\\{char}" if char in _GLOB else char for char in start) + "*"
        matches: set[str] = set()
        cursor = 0
        while True:
            cursor, keys = client.scan(cursor=cursor, match=pattern, count=SCAN_COUNT)
            matches.update(key for raw_key in keys if ":" not in (key := _text(raw_key))[len(start) :])
            if len(matches) > MAX_SKILLS or int(cursor) == 0:
                return sorted(matches)[:MAX_SKILLS], len(matches) <= MAX_SKILLS

    def _skill(self, key: str, row: Any) -> Skill | Problem | None:
        locator = f"redis://{self.origin.source_id}/{one_line(key)}"
        name = key.removeprefix(self._key("meta", ""))
        context = RowContext(
            origin=self.origin, locator=locator, key=self._key("body", name), max_bytes=self._max_field_bytes
        )
        if not isinstance(row, Mapping):
            return row_problem(invalid("its key does not hold a hash", hint="store it with HSET"), context, name)
        fields = {_text(field): _text(value) for field, value in cast("Mapping[Any, Any]", row).items()}
        if not fields and "\ufffd" in key:
            return row_problem(invalid("its key is not UTF-8", hint="rename the key"), context, name)
        if not fields:
            return None  # deleted since it was listed
        missing = next((field for field in _REQUIRED if not fields.get(field, "").strip()), None)
        if missing is not None:
            return row_problem(invalid(f"it has no `{missing}`", hint="store that field"), context, name)
        if fields["skill_name"] != name:
            reason = f"its `skill_name` is {fields['skill_name'][:80]!a}, and its key says {name[:80]!a}"
            return row_problem(invalid(reason, hint="make them the same"), context, name)
        context = msgspec.structs.replace(context, key=fields.get("body_key") or context.key)
        bundle = self._bundle(name, fields)
        result = build_stored_skill(fields, context)
        if bundle is None or not isinstance(result, StoredSkill):
            return result
        return msgspec.structs.replace(
            result, unpacked=lambda: self._bundles.directory(bundle, self._build_fetch(result, bundle))
        )

    def _bundle(self, name: str, fields: Mapping[str, str]) -> Bundle | None:
        """Return the bundle described by a row, or None."""
        if not any(fields.get(field) for field in ("bundle_sha256", "bundle_key", "bundle_size", "bundle_format")):
            return None
        return Bundle(
            mention=f"$[{self.origin.namespace}].{name}",
            sha256=fields.get("bundle_sha256", "").strip().lower(),
            key=fields.get("bundle_key") or self._key("bundle", name),
            size=fields.get("bundle_size", ""),
            format=fields.get("bundle_format", "") or "zip",
        )

    def _build_fetch(self, skill: Skill, bundle: Bundle) -> Any:
        limit = self._bundles.budget.max_bytes
        return lambda: self._fetch_value(skill, bundle.key, limit, "SKILL_BUNDLE_NOT_FOUND")

    def _fetch_value(self, skill: Skill, key: str, limit: int, code: str) -> bytes | None:
        """Fetch at most `limit + 1` bytes of a value; return None if the key does not exist."""
        try:
            with self._connect() as client:
                pipeline = client.pipeline(transaction=False)
                exists, data = pipeline.exists(key).getrange(key, 0, limit).execute()
        except (*_errors(), ImportError) as error:
            raise failure(
                code,
                f"what belongs to `{skill.mention.text}` cannot be fetched: {self._explain(error)}",
                hint="check the redis server and the key",
                mention=skill.mention.text,
            ) from None
        return (data.encode() if isinstance(data, str) else data) if exists else None

    def _key(self, kind: str, name: str) -> str:
        return f"{self._prefix}{kind}:{self.origin.namespace}:{name}"

    def _unavailable_problem(self, error: Exception) -> Problem:
        return Problem(
            code="SKILL_SCAN_SOURCE_UNAVAILABLE",
            message=f"the redis source `{self.origin.source_id}` cannot be searched for skills: {self._explain(error)}",
            hint=f"check `{self._dsn.variable}` and the server it names" if self._dsn else "check the client",
            locator=f"redis://{self.origin.source_id}",
            namespace=self.origin.namespace,
        )

    def _limit_problem(self) -> Problem:
        return Problem(
            code="SKILL_SCAN_LIMIT_REACHED",
            message=f"only {MAX_SKILLS} skills of the redis source `{self.origin.source_id}` were read",
            hint="divide them into namespaces",
            severity="warning",
            locator=f"redis://{self.origin.source_id}",
            namespace=self.origin.namespace,
        )

    def _explain(self, error: Exception) -> str:
        """Describe an error, in our own words where the library's message might contain the address."""
        if isinstance(error, ImportError):
            return f"the package `redis` is not installed; install it: `{find_installation().extra_command('redis')}`"
        for kind in type(error).__mro__:
            if kind.__name__ in _REASONS:
                return _REASONS[kind.__name__]
        return self._dsn.redact(str(error)) if self._dsn is not None else one_line(str(error))[:200]


_REASONS = {
    "AuthenticationError": "it refuses the user or the password",
    "AuthorizationError": "it refuses the user or the password",
    "NoPermissionError": "this user may not read there",
    "BusyLoadingError": "the server is still loading its data",
    "TimeoutError": "it does not answer in time",
    "ConnectionError": "it cannot be reached",
    "ValueError": "its address is not one of a redis server",
}


def connection_to(dsn: Dsn) -> Connect:
    """Return a factory of clients of a server, which connects on first use."""

    def client() -> Any:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        return redis.Redis.from_url(  # pyright: ignore[reportUnknownMemberType] - its options are not typed
            dsn.text,
            socket_connect_timeout=CONNECT_SEC,
            socket_timeout=ANSWER_SEC,
            retry=Retry(NoBackoff(), 1),
        )

    return share_connection(client)


def _errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that a client may raise; an injected client need not come from the package `redis`."""
    try:
        from redis.exceptions import RedisError
    except ImportError:
        return (OSError, ValueError)
    return (RedisError, OSError, ValueError)


def _rows(client: Any, keys: Sequence[str]) -> Iterable[Any]:
    pipeline = client.pipeline(transaction=False)
    for key in keys:
        pipeline.hgetall(key)
    return pipeline.execute(raise_on_error=False)


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _read_error(skill: Skill, reason: str) -> SkillError:
    return failure(
        "SKILL_BODY_READ_FAILED",
        f"the text of `{skill.mention.text}` cannot be read: {reason}",
        hint=f"check `{skill.locator}`",
    )
