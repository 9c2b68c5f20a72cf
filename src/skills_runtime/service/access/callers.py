"""Callers, their scopes, and the scope that each request needs.

Unlisted changes need the scope `admin`, unlisted reads of the API the scope `read`.
"""

import re
from collections.abc import Sequence
from typing import Literal, get_args

import msgspec

Scope = Literal["read", "run", "approve", "execute", "admin"]
"""`read` reads, `run` controls runs, `approve` decides, `execute` executes skills, `admin` covers everything else."""
SCOPES: tuple[Scope, ...] = get_args(Scope)
READ_METHODS = frozenset({"GET", "HEAD"})
HEALTH = ("GET", "/api/health")
SKILL_SERVICE = frozenset({HEALTH, ("GET", "/api/skills"), ("POST", "/api/skills/execute")})
"""Requests that programs of the service's own user may make without a token. A setting opens them to all local users or
to none, except for health.
"""
_PUBLIC = re.compile(r"/api/health|/api/v1/(health|ready)|/livez|/readyz|/api/openapi\.json|/api/docs")
_ADMIN_ONLY = re.compile(r"(/studio)?/api/v1/(keys|model|doctor)(/.*)?")
"""Data that only callers who may change it may read; the doctor also tests the model with its key."""
_OWNER_ONLY = re.compile(r"(/studio)?/api/v1/(model|skills/(install|[^/]+/trust)|sessions/[^/]+/skills/sources)")
"""Where conversations are sent, where skills come from, which are trusted: changed only with the owner's token."""
_PRIVATE = re.compile(r"(/studio)?/api/v1/runs/[^/]+/blobs/.*")
"""Private contents that the log leaves out: for callers who may control runs, not for all who may read."""
_CHANGES: Sequence[tuple[re.Pattern[str], Scope]] = (
    (re.compile(r"/api/skills/execute"), "execute"),
    (re.compile(r"(/studio)?/api/v1/executions(/.*)?"), "execute"),
    (re.compile(r"(/studio)?/api/v1/(runs/[^/]+/)?approvals(/.*)?"), "approve"),
    (re.compile(r"(/studio)?/api/v1/runs/[^/]+/review"), "approve"),
    (re.compile(r"(/studio)?/api/v1/(skills/(validate|route)|policy/check)"), "read"),
    (re.compile(r"(/studio)?/api/v1/((sessions/[^/]+/)?skills|config|keys|model|sandbox)(/.*)?"), "admin"),
    (re.compile(r"(/studio)?/api/v1/.*"), "run"),
)


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """An authenticated caller, or an anonymous one."""

    kind: Literal["nobody", "token", "key"]
    name: str
    """Name for logs and for the record of who decided."""
    scopes: frozenset[Scope] = frozenset()
    by_cookie: bool = False
    """Whether a browser sent the token as a cookie."""

    def has_scope(self, scope: Scope) -> bool:
        """Return whether this caller has a scope; `admin` does not imply the others."""
        return scope in self.scopes


ANONYMOUS = Caller(kind="nobody", name="nobody")


def find_scope(method: str, path: str) -> Scope | None:
    """Return the scope that a request needs, or `None` if it is public."""
    if method in READ_METHODS:
        if _PUBLIC.fullmatch(path):
            return None
        if _ADMIN_ONLY.fullmatch(path):
            return "admin"
        if _PRIVATE.fullmatch(path):
            return "run"
        return "read" if is_api(path) else None
    for pattern, scope in _CHANGES:
        if pattern.fullmatch(path):
            return scope
    return "admin"


def is_owner_only(method: str, path: str) -> bool:
    """Return whether a request needs the owner's token: no key may make it."""
    return method not in READ_METHODS and _OWNER_ONLY.fullmatch(path) is not None


def is_api(path: str) -> bool:
    """Return whether a path serves data; everything else is pages of the web app, which contain no secrets."""
    return path.startswith(("/api/", "/studio/api/")) or path == "/metrics"
