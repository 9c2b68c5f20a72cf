"""Decides on every request before anything else looks at it: name, origin, caller, scope, kind of body.

It knows nothing of ASGI: the middleware next door turns its refusals into responses.
"""

import hmac
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

import msgspec

from skills_runtime.service.access.callers import (
    HEALTH,
    NOBODY,
    READING,
    SCOPES,
    SKILL_SERVICE,
    Caller,
    Scope,
    is_api,
    is_owners,
    needed_scope,
)
from skills_runtime.service.access.keys import ApiKey
from skills_runtime.service.access.peers import Peer
from skills_runtime.service.problems import Problem
from skills_runtime.service.settings import SkillServiceAccess, is_loopback

_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+)(?::(?P<port>[0-9]{1,5}))?")
DEFAULT_PORT = 80
BROWSER_HEADER = "x-skills-runtime"
"""Pages of the web app send it with every change; a foreign page cannot without being asked about it first."""
_FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
_BODIES = ("application/json", "application/octet-stream", "application/zip", "application/gzip", "application/x-tar")
_OTHER_JSON = re.compile(r"application/[a-z0-9.+_-]+\+json")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
EXECUTE = "/api/skills/execute"
_OWNER = Caller(kind="token", name="owner", scopes=frozenset(SCOPES))


class Host(msgspec.Struct, frozen=True):
    """The `Host` of a request."""

    name: str
    port: int = DEFAULT_PORT

    @property
    def is_loopback(self) -> bool:
        """Whether it is a name of this machine itself."""
        return is_loopback(self.name)


def parse_host(text: str) -> Host | None:
    """A host with its port, or nothing where it is none."""
    matched = _HOST.fullmatch(text)
    if matched is None:
        return None
    return Host(matched["name"].strip("[]").lower(), int(matched["port"] or DEFAULT_PORT))


def is_answered(host: Host, port: int, allowed: Iterable[str]) -> bool:
    """Whether a service that listens on `port` answers to this name: its own names with its port, or an allowed one."""
    if host.is_loopback and host.port == port:
        return True
    return any(_matches(rule, host) for rule in allowed)


def _matches(rule: str, host: Host) -> bool:
    if rule == "*":
        return True
    if rule.startswith("."):
        return host.name == rule[1:] or host.name.endswith(rule)
    named = parse_host(rule)
    if named is None or named.name != host.name:
        return False
    return named.port == host.port or not re.search(r":[0-9]+\Z", rule) or rule.endswith("]")


def is_own_origin(origin: str, host_text: str) -> bool:
    """Whether a page of this very service made the request."""
    scheme, separator, rest = origin.partition("://")
    return bool(separator) and scheme in ("http", "https") and rest.lower() == host_text.lower()


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a request before its body is read."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    """In lower case; of a name that comes twice, all values with a comma between them."""
    client: str
    """The address that connected."""
    server: str
    """The address it connected to."""
    port: int
    peer: Peer | None = None
    """The other end of the connection, where a server gave it to us."""

    @property
    def is_from_browser(self) -> bool:
        """Whether a page in a browser made it."""
        return any(name in self.headers for name in ("origin", "sec-fetch-site", "cookie"))


class RequestAuthorizer(msgspec.Struct, frozen=True, kw_only=True):
    """What decides: names, the token, keys, and to whom on this machine the skill service is open."""

    allowed_hosts: tuple[str, ...]
    token: str
    recognised: Callable[[str], ApiKey | None]
    skill_service: SkillServiceAccess = "user"

    def judge(self, asked: Asked) -> Caller | Problem:
        """Who makes the request, or why it is refused."""
        refusal = _odd_path(asked) or _two_lengths(asked) or self._wrong_host(asked) or _foreign_page(asked)
        if refusal is not None:
            return refusal
        caller = self._caller(asked)
        if isinstance(caller, Problem):
            return caller
        return self._without_scope(asked, caller) or _unsafe_change(asked, caller) or caller

    def is_local(self, asked: Asked) -> bool:
        """Whether a program of this machine made the request directly."""
        host = parse_host(asked.headers.get("host", ""))
        return (
            is_loopback(asked.client)
            and is_loopback(asked.server)
            and host is not None
            and host.is_loopback
            and not any(name in asked.headers for name in _FORWARDED)
        )

    def _wrong_host(self, asked: Asked) -> Problem | None:
        host = parse_host(asked.headers.get("host", ""))
        if host is not None and is_answered(host, asked.port, self.allowed_hosts):
            return None
        hint = "use the address the service printed, or allow the name with `--allow-host`"
        return Problem(status=400, kind="bad_host", message="the service does not answer to this name", hint=hint)

    def _caller(self, asked: Asked) -> Caller | Problem:
        shown = asked.headers.get("authorization")
        if shown is not None:
            scheme, _, text = shown.partition(" ")
            caller = self._by_text(text.strip(), asked) if scheme.lower() == "bearer" else None
            return caller or _unknown("this token or key is not valid, or was revoked")
        if not self.is_local(asked):
            return NOBODY
        if (asked_token := token_of_query(asked)) is not None:
            return self._by_text(asked_token, asked) or _unknown("this token is not valid")
        cookie = token_of_cookie(asked)
        return (self._by_cookie(cookie) if cookie else None) or NOBODY

    def _by_text(self, text: str, asked: Asked) -> Caller | None:
        if self._is_token(text):
            return _OWNER if self.is_local(asked) else None
        key = self.recognised(text)
        return Caller(kind="key", name=f"key:{key.name}", scopes=frozenset(key.scopes)) if key else None

    def _by_cookie(self, text: str) -> Caller | None:
        return msgspec.structs.replace(_OWNER, by_cookie=True) if self._is_token(text) else None

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(errors="replace"), self.token.encode())

    def _without_scope(self, asked: Asked, caller: Caller) -> Problem | None:
        scope = needed_scope(asked.method, asked.path)
        if caller.kind == "nobody" and (asked.method, asked.path) in SKILL_SERVICE:
            return None if self._is_open_to(asked) else _unknown("this needs a token or a key")
        if caller.kind == "key" and is_owners(asked.method, asked.path):
            return _owners()
        if scope is None or caller.may(scope):
            return None
        return _unknown("this needs a token or a key") if caller.kind == "nobody" else _missing(scope)

    def _is_open_to(self, asked: Asked) -> bool:
        """Whether the skill service answers a request that has no token and no key."""
        is_health = (asked.method, asked.path) == HEALTH
        if not is_health and (self.skill_service == "closed" or not self.is_local(asked)):
            return False
        return self.skill_service == "open" or (asked.peer is not None and asked.peer.is_own_user)


def token_of_query(asked: Asked) -> str | None:
    """The token in a link somebody opened."""
    found = parse_qs(asked.query).get("token") if asked.method in READING and "token=" in asked.query else None
    return found[0] if found else None


def token_of_cookie(asked: Asked) -> str | None:
    """The token that a browser sends by itself; the port is part of its name, for cookies know no ports."""
    text = asked.headers.get("cookie", "")
    try:
        morsel = SimpleCookie(text).get(cookie_name(asked.port)) if text else None
    except CookieError:
        return None
    return morsel.value if morsel else None


def cookie_name(port: int) -> str:
    """Under which name a browser keeps the token."""
    return f"skills-runtime-{port}"


def _foreign_page(asked: Asked) -> Problem | None:
    """A page of somebody else may not even read; only opening our pages by a link is fine."""
    host, origin = asked.headers.get("host", ""), asked.headers.get("origin")
    site = asked.headers.get("sec-fetch-site", "none")
    opened = asked.method == "GET" and not is_api(asked.path)
    if origin is not None and not is_own_origin(origin, host):
        return _foreign()
    return _foreign() if site not in ("none", "same-origin") and not opened else None


def _unsafe_change(asked: Asked, caller: Caller) -> Problem | None:
    if asked.method in READING:
        return None
    essence = asked.headers.get("content-type", "").partition(";")[0].strip().lower()
    if asked.path == EXECUTE and essence in _FORMS:
        return Problem(status=400, kind="unsupported_media_type", message="Invalid JSON body")
    if essence and essence not in _BODIES and not _OTHER_JSON.fullmatch(essence):
        message = "the body must be JSON, and its Content-Type must say so"
        return Problem(status=415, kind="unsupported_media_type", message=message, hint="send application/json")
    if asked.headers.get("content-encoding", "identity").strip().lower() != "identity":
        message = "the body must not be compressed"
        return Problem(status=415, kind="unsupported_media_type", message=message, hint="send it as it is")
    if (asked.is_from_browser or caller.by_cookie) and not asked.headers.get(BROWSER_HEADER):
        hint = f"send the header `{BROWSER_HEADER}: 1`"
        return Problem(status=403, kind="header_missing", message="a page must say that it means it", hint=hint)
    return None


def _odd_path(asked: Asked) -> Problem | None:
    """A route also fits a path with a line end behind it, which the rules about scopes would take for another path."""
    if asked.path.isascii() and asked.path.isprintable():
        return None
    if not any(unicodedata.category(one) in ("Cc", "Zl", "Zp") for one in asked.path):
        return None
    return Problem(status=400, kind="bad_request", message="the path has characters that no path has")


def _two_lengths(asked: Asked) -> Problem | None:
    """A request whose end two readers may see at different places could carry another one past whoever reads first."""
    if not {"transfer-encoding", "content-length"} <= asked.headers.keys():
        return None
    message = "the request says twice, and differently, how long it is"
    return Problem(status=400, kind="bad_request", message=message, headers={"Connection": "close"})


def _foreign() -> Problem:
    return Problem(status=403, kind="foreign_origin", message="a page from somewhere else may not do this")


def _unknown(message: str) -> Problem:
    hint = "send `Authorization: Bearer …`: the token that `serve` printed, or a key from `keys create`"
    headers = {"WWW-Authenticate": 'Bearer realm="skills-runtime"'}
    return Problem(status=401, kind="unauthorized", message=message, hint=hint, headers=headers)


def _owners() -> Problem:
    hint = "use the token that `serve` printed, on the machine of the service, or the command line"
    return Problem(status=403, kind="permission", message="only the owner's token may change this", hint=hint)


def _missing(scope: Scope) -> Problem:
    hint = "make a key that has it: `keys create NAME --scope …`"
    return Problem(status=403, kind="scope_missing", message=f"this needs the scope `{scope}`", hint=hint)
