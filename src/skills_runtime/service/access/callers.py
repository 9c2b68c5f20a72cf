"""Who makes a request, what they may do, and which scope a request needs.

Whatever path nobody has thought of is closed.
"""

import re
from collections.abc import Sequence
from typing import Literal, get_args

import msgspec

Scope = Literal["read", "run", "approve", "execute", "admin"]
"""`read` looks, `run` starts and changes runs, `approve` decides, `execute` executes skills, `admin` does the rest."""
SCOPES: tuple[Scope, ...] = get_args(Scope)
READ_METHODS = frozenset({"GET", "HEAD"})
HEALTH = ("GET", "/api/health")
SKILL_SERVICE = frozenset({HEALTH, ("GET", "/api/skills"), ("POST", "/api/skills/execute")})
"""What programs of the service's own user may do without a token; a setting opens it to all of this machine, or to
none, health excepted."""
_PUBLIC = re.compile(r"/api/health|/api/v1/(health|ready)|/livez|/readyz|/api/openapi\.json|/api/docs")
_ADMIN_ONLY = re.compile(r"(/studio)?/api/v1/(keys|model)(/.*)?")
"""What only who may change it may look at."""
_OWNER_ONLY = re.compile(r"(/studio)?/api/v1/(model|skills/install|sessions/[^/]+/skills/sources)")
"""Changes of where conversations go and where skills come from: the owner's token's alone."""
_PRIVATE = re.compile(r"(/studio)?/api/v1/runs/[^/]+/blobs/.*")
"""What the log leaves out: for whoever may steer runs, not for everybody who may look on."""
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
    """Somebody who was recognised, or nobody in particular."""

    kind: Literal["nobody", "token", "key"]
    name: str
    """For logs and for whoever reads who decided."""
    scopes: frozenset[Scope] = frozenset()
    by_cookie: bool = False
    """Whether a browser sent the token by itself."""

    def has_scope(self, scope: Scope) -> bool:
        """Whether this caller has a scope; `admin` does not stand for the others."""
        return scope in self.scopes


ANONYMOUS = Caller(kind="nobody", name="nobody")


def find_scope(method: str, path: str) -> Scope | None:
    """The scope a request needs, or nothing where everybody may make it."""
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
    """Whether no key may make a request, whatever its scopes."""
    return method not in READ_METHODS and _OWNER_ONLY.fullmatch(path) is not None


def is_api(path: str) -> bool:
    """Whether a path has data; everything else is the pages of the web app, which have no secrets."""
    return path.startswith(("/api/", "/studio/api/")) or path == "/metrics"
