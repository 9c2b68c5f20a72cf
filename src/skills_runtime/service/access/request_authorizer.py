"""Authorize every request by host name, origin, caller, scope and content type.

Knows nothing of ASGI: the middleware turns its refusals into responses.
"""

import hmac
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

import msgspec

from skills_runtime.service.access.callers import (
    ANONYMOUS,
    HEALTH,
    READ_METHODS,
    SCOPES,
    SKILL_SERVICE,
    Caller,
    Scope,
    find_scope,
    is_api,
    is_owner_only,
)
from skills_runtime.service.access.keys import ApiKey
from skills_runtime.service.access.peers import Peer
from skills_runtime.service.problems import Problem
from skills_runtime.service.settings import SkillServiceAccess, is_loopback

_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+)(?::(?P<port>[0-9]{1,5}))?")
DEFAULT_PORT = 80
BROWSER_HEADER = "x-skills-runtime"
"""Sent by Studio with every change; pages of other origins cannot send it without a CORS preflight."""
_FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
_BODIES = ("application/json", "application/octet-stream", "application/zip", "application/gzip", "application/x-tar")
_OTHER_JSON = re.compile(r"application/[a-z0-9.+_-]+\+json")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
EXECUTE = "/api/skills/execute"
_OWNER = Caller(kind="token", name="owner", scopes=frozenset(SCOPES))


class Host(msgspec.Struct, frozen=True):
    """The `Host` header of a request."""

    name: str
    port: int = DEFAULT_PORT

    @property
    def is_loopback(self) -> bool:
        """Whether it names this machine."""
        return is_loopback(self.name)


def parse_host(text: str) -> Host | None:
    """Parse a host with an optional port; return `None` if it is invalid."""
    matched = _HOST.fullmatch(text)
    if matched is None:
        return None
    return Host(matched["name"].strip("[]").lower(), int(matched["port"] or DEFAULT_PORT))


def is_allowed_host(host: Host, port: int, allowed: Iterable[str]) -> bool:
    """Return whether a service on `port` answers to this name: a local name with its port, or an allowed one."""
    if host.is_loopback and host.port == port:
        return True
    return any(_matches(rule, host) for rule in allowed)


def _matches(rule: str, host: Host) -> bool:
    if rule == "*":
        return True
    if rule.startswith("."):
        return host.name == rule[1:] or host.name.endswith(rule)
    allowed = parse_host(rule)
    if allowed is None or allowed.name != host.name:
        return False
    return allowed.port == host.port or not re.search(r":[0-9]+\Z", rule) or rule.endswith("]")


def is_own_origin(origin: str, host_text: str) -> bool:
    """Return whether a page of this service made the request."""
    scheme, separator, authority = origin.partition("://")
    return bool(separator) and scheme in ("http", "https") and authority.lower() == host_text.lower()


class RequestHead(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a request before its body is read."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    """Names in lower case; values of repeated headers are joined with commas."""
    client: str
    """The address that connected."""
    server: str
    """The address it connected to."""
    port: int
    peer: Peer | None = None
    """The other end of the connection, if the server provides it."""

    @property
    def is_from_browser(self) -> bool:
        """Whether a browser made the request."""
        return any(name in self.headers for name in ("origin", "sec-fetch-site", "cookie"))


class RequestAuthorizer(msgspec.Struct, frozen=True, kw_only=True):
    """Authorizes requests by host name, token and keys."""

    allowed_hosts: tuple[str, ...]
    token: str
    find_key: Callable[[str], ApiKey | None]
    skill_service: SkillServiceAccess = "user"

    def authorize(self, head: RequestHead) -> Caller | Problem:
        """Return the caller, or the problem if the request is refused."""
        refusal = _check_path(head) or _check_length(head) or self._check_host(head) or _check_origin(head)
        if refusal is not None:
            return refusal
        caller = self._identify(head)
        if isinstance(caller, Problem):
            return caller
        return self._check_scope(head, caller) or _check_change(head, caller) or caller

    def is_local(self, head: RequestHead) -> bool:
        """Return whether a program on this machine made the request directly, without a proxy."""
        host = parse_host(head.headers.get("host", ""))
        return (
            is_loopback(head.client)
            and is_loopback(head.server)
            and host is not None
            and host.is_loopback
            and not any(name in head.headers for name in _FORWARDED)
        )

    def _check_host(self, head: RequestHead) -> Problem | None:
        host = parse_host(head.headers.get("host", ""))
        if host is not None and is_allowed_host(host, head.port, self.allowed_hosts):
            return None
        hint = "use the address the service printed, or allow the name with `--allow-host`"
        return Problem(status=400, kind="bad_host", message="the service does not answer to this host name", hint=hint)

    def _identify(self, head: RequestHead) -> Caller | Problem:
        header = head.headers.get("authorization")
        if header is not None:
            scheme, _, text = header.partition(" ")
            caller = self._find_caller(text.strip(), head) if scheme.lower() == "bearer" else None
            return caller or _unauthorized("this token or key is invalid or was revoked")
        if not self.is_local(head):
            return ANONYMOUS
        if (query_token := token_of_query(head)) is not None:
            return self._find_caller(query_token, head) or _unauthorized("this token is invalid")
        cookie = token_of_cookie(head)
        return (self._find_cookie_caller(cookie) if cookie else None) or ANONYMOUS

    def _find_caller(self, text: str, head: RequestHead) -> Caller | None:
        if self._is_token(text):
            return _OWNER if self.is_local(head) else None
        key = self.find_key(text)
        return Caller(kind="key", name=f"key:{key.name}", scopes=frozenset(key.scopes)) if key else None

    def _find_cookie_caller(self, text: str) -> Caller | None:
        return msgspec.structs.replace(_OWNER, by_cookie=True) if self._is_token(text) else None

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(errors="replace"), self.token.encode())

    def _check_scope(self, head: RequestHead, caller: Caller) -> Problem | None:
        scope = find_scope(head.method, head.path)
        if caller.kind == "nobody" and (head.method, head.path) in SKILL_SERVICE:
            return None if self._is_open_to(head) else _unauthorized("this needs a token or key")
        if caller.kind == "key" and is_owner_only(head.method, head.path):
            return _owner_only()
        if scope is None or caller.has_scope(scope):
            return None
        return _unauthorized("this needs a token or key") if caller.kind == "nobody" else _missing_scope(scope)

    def _is_open_to(self, head: RequestHead) -> bool:
        """Return whether the skill service accepts a request without a token or key."""
        is_health = (head.method, head.path) == HEALTH
        if not is_health and (self.skill_service == "closed" or not self.is_local(head)):
            return False
        return self.skill_service == "open" or (head.peer is not None and head.peer.is_own_user)


def token_of_query(head: RequestHead) -> str | None:
    """Return the token from a link."""
    values = parse_qs(head.query).get("token") if head.method in READ_METHODS and "token=" in head.query else None
    return values[0] if values else None


def token_of_cookie(head: RequestHead) -> str | None:
    """Return the token from the cookie; its name contains the port, because cookies are shared across ports."""
    text = head.headers.get("cookie", "")
    try:
        morsel = SimpleCookie(text).get(cookie_name(head.port)) if text else None
    except CookieError:
        return None
    return morsel.value if morsel else None


def cookie_name(port: int) -> str:
    """Return the name of the token cookie."""
    return f"skills-runtime-{port}"


def _check_origin(head: RequestHead) -> Problem | None:
    """Refuse requests of other sites, even for reading; only following a link to our pages is allowed."""
    host, origin = head.headers.get("host", ""), head.headers.get("origin")
    site = head.headers.get("sec-fetch-site", "none")
    is_navigation = head.method == "GET" and not is_api(head.path)
    if origin is not None and not is_own_origin(origin, host):
        return _foreign_origin()
    return _foreign_origin() if site not in ("none", "same-origin") and not is_navigation else None


def _check_change(head: RequestHead, caller: Caller) -> Problem | None:
    if head.method in READ_METHODS:
        return None
    essence = head.headers.get("content-type", "").partition(";")[0].strip().lower()
    if head.path == EXECUTE and essence in _FORMS:
        return Problem(status=400, kind="unsupported_media_type", message="Invalid JSON body")
    if essence and essence not in _BODIES and not _OTHER_JSON.fullmatch(essence):
        message = "the body must be JSON with the matching `Content-Type`"
        return Problem(status=415, kind="unsupported_media_type", message=message, hint="send application/json")
    if head.headers.get("content-encoding", "identity").strip().lower() != "identity":
        message = "the body must not be compressed"
        return Problem(status=415, kind="unsupported_media_type", message=message, hint="send it uncompressed")
    if (head.is_from_browser or caller.by_cookie) and not head.headers.get(BROWSER_HEADER):
        hint = f"send the header `{BROWSER_HEADER}: 1`"
        return Problem(status=403, kind="header_missing", message="a change from a browser needs a header", hint=hint)
    return None


def _check_path(head: RequestHead) -> Problem | None:
    """Refuse control characters: a route also matches a path with a trailing newline, but scope rules would not."""
    if head.path.isascii() and head.path.isprintable():
        return None
    if not any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in head.path):
        return None
    return Problem(status=400, kind="bad_request", message="the path contains invalid characters")


def _check_length(head: RequestHead) -> Problem | None:
    """Refuse ambiguous lengths: a proxy could see the end elsewhere, and let a smuggled request through."""
    if not {"transfer-encoding", "content-length"} <= head.headers.keys():
        return None
    message = "the request has both `Content-Length` and `Transfer-Encoding`"
    return Problem(status=400, kind="bad_request", message=message, headers={"Connection": "close"})


def _foreign_origin() -> Problem:
    return Problem(status=403, kind="foreign_origin", message="pages of other origins are not allowed to do this")


def _unauthorized(message: str) -> Problem:
    hint = "send `Authorization: Bearer …`: the token that `serve` printed, or a key from `keys create`"
    headers = {"WWW-Authenticate": 'Bearer realm="skills-runtime"'}
    return Problem(status=401, kind="unauthorized", message=message, hint=hint, headers=headers)


def _owner_only() -> Problem:
    hint = "use the token that `serve` printed, on the machine of the service, or use the command line"
    return Problem(status=403, kind="permission", message="only the owner's token may change this", hint=hint)


def _missing_scope(scope: Scope) -> Problem:
    hint = "create a key that has it: `keys create NAME --scope …`"
    return Problem(status=403, kind="scope_missing", message=f"this needs the scope `{scope}`", hint=hint)
