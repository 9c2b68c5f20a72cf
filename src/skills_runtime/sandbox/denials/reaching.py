"""Reads out of what a command wrote that it could not reach a host, and what the proxy decided about its requests.

Pure.
"""

import re
from collections.abc import Iterator

from skills_runtime.sandbox.denials.complaints import MAX_LINE, MAX_LINES
from skills_runtime.sandbox.denials.forbidden import why_not_host
from skills_runtime.sandbox.denials.values import Aftermath, Certainty, Denial, Grant
from skills_runtime.sandbox.egress import canonical_host
from skills_runtime.sandbox.egress.values import Refused
from skills_runtime.sandbox.policy import SandboxPolicy

REFUSED_BY_RULE = ("not_allowed",)
"""Decisions that a rule could change; a denied host and a private address stay what they are."""

_HOST = r"(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9][A-Za-z0-9.-]*)"
_NAMED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"could not resolve (?:host(?:name)?|proxy)[:\s]+['‘\"]?{_HOST}",
        rf"unable to resolve host address ['‘]{_HOST}",
        rf"temporary failure resolving ['‘]{_HOST}",
        rf"getaddrinfo (?:EAI_AGAIN|ENOTFOUND) {_HOST}(?::(?P<port>\d+))?",
        rf"connect (?:ENETUNREACH|EHOSTUNREACH) {_HOST}:(?P<port>\d+)",
        rf"failed to connect to {_HOST} port (?P<port>\d+)",
        rf"host='{_HOST}', port=(?P<port>\d+)\).*(?:name resolution|not known|unreachable|newconnectionerror)",
        rf"dial tcp: lookup {_HOST}",
        rf"dial tcp {_HOST}:(?P<port>\d+): connect: network is unreachable",
        rf"failed to lookup address information.*{_HOST}",
        rf"resolving {_HOST} \(.*failed: temporary failure",
        rf"ssh: connect to host {_HOST} port (?P<port>\d+): network is unreachable",
        rf"request to https?://{_HOST}(?::(?P<port>\d+))?\S* failed, reason: (?:getaddrinfo|connect)",
        rf"(?:connecting to|connect to) {_HOST}.*(?:network is unreachable|name resolution)",
    )
)
_UNNAMED = re.compile(
    r"network is unreachable|temporary failure in name resolution|name or service not known|could not resolve host\b"
    r"|failed to lookup address information|\bENETUNREACH\b|\bEAI_AGAIN\b",
    re.IGNORECASE,
)
_URL = re.compile(
    r"\b(?P<scheme>https?|ssh|git)://(?:[^\s/@'\"]+@)?(?P<host>[A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\])(?::(?P<port>\d+))?"
)
_PORTS = {"https": 443, "http": 80, "ssh": 22, "git": 9418}
_LOCAL = re.compile(r"localhost|127\.[\d.]+|\[?::1\]?|0\.0\.0\.0", re.IGNORECASE)


def network_denials(aftermath: Aftermath, policy: SandboxPolicy) -> Iterator[Denial]:
    """What was not reached because of the fence."""
    if policy.network == "host":
        return
    told: set[str] = set()
    for record in aftermath.decisions:
        target = f"{record.host}:{record.port}"
        if record.stage == "decided" and record.verdict == "deny" and target not in told and record.host:
            told.add(target)
            yield _denied("proven", target, record.reason, grantable=record.kind in REFUSED_BY_RULE)
    if told or not aftermath.failed:
        return
    yield from _suspected(f"{aftermath.stdout}\n{aftermath.stderr}")


def _suspected(text: str) -> Iterator[Denial]:
    targets = list(dict.fromkeys(_targets(text)))
    for target in targets:
        yield _denied("suspected", target, "the sandbox lets a command reach only the hosts it was given")
    if not targets and _UNNAMED.search(text):
        sentence = "The command seems to have tried to use the network, which the sandbox does not give it."
        yield Denial(certainty="suspected", what="network", target="", grant=None, sentence=sentence)


def _targets(text: str) -> Iterator[str]:
    urls = {match["host"].lower(): match for match in _URL.finditer(text)}
    for line in (line[:MAX_LINE] for line in text.splitlines()[-MAX_LINES:]):
        for pattern in _NAMED:
            found = pattern.search(line)
            if found is None or _LOCAL.fullmatch(found["host"]):
                continue
            host = canonical_host(found["host"].rstrip("."))
            if isinstance(host, Refused):
                continue
            port = found.groupdict().get("port") or _port_of(urls.get(host.text), line)
            yield f"{host.text}:{port}"
            break


def _port_of(url: "re.Match[str] | None", line: str) -> int:
    if url is not None:
        return int(url["port"] or _PORTS[url["scheme"].lower()])
    return _PORTS["ssh"] if line.startswith("ssh:") else _PORTS["https"]


def _denied(certainty: Certainty, target: str, reason: str, *, grantable: bool = True) -> Denial:
    closed = why_not_host(target)
    verb = "was not let" if certainty == "proven" else "seems not to have been let"
    sentence = f"The command {verb} reach `{target}`: {reason}."
    if grantable and closed is not None:
        sentence += f" No grant opens it, for {closed}."
    grant = Grant(hosts=(target,)) if grantable and closed is None else None
    return Denial(certainty=certainty, what="network", target=target, grant=grant, sentence=sentence)
