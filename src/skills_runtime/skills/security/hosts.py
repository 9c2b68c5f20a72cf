"""Tells addresses apart: the well-known, the disposable, those that only take data in, and all the others."""

import re
from typing import Literal

from skills_runtime.skills.security.known_hosts import (
    COLLECTORS,
    INSTALLER_OWNERS,
    KNOWN,
    PASTES,
    PLACEHOLDERS,
    SHORTENERS,
    TUNNELS,
)

Kind = Literal["known", "placeholder", "local", "paste", "collector", "disposable", "unknown"]

URL = re.compile(
    (
        r"(?P<scheme>https?|ftp)://(?P<host>[^\s/\\?#\"'`<>()\[\]{}|,;:@]{1,253})(?::(?P<port>\d{1,5})"
        r")?(?P<path>[^\s\"'`<>|)\]}]{0,300})"
    ),
    re.I,
)
_ADDRESS = re.compile(r"^(?:\d{1,3}\.){3}\d{1,3}$|^0x[0-9a-f]{8}$|^\d{8,10}$", re.I)
_PRIVATE = re.compile(r"^(?:127\.|10\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.|0\.0\.0\.0|100\.64\.)")
_DOCUMENTATION = re.compile(r"^(?:192\.0\.2\.|198\.51\.100\.|203\.0\.113\.|1\.2\.3\.4$|8\.8\.|1\.1\.1\.)")
_LOCAL = re.compile(r"^(?:localhost|host\.docker\.internal|[^.]+|.*\.(?:local|internal|localhost|lan|svc))$", re.I)
_CHEAP = re.compile(r"\.(?:tk|ml|ga|cf|gq|top|xyz|buzz|click|icu|rest|cam|monster|zip|mov|cyou|sbs|pw|su)$", re.I)
_HOSTILE = re.compile(
    r"(?:^|[.-])(?:evil|attackers?|exfil\w*|steal\w*|malware|malicious"
    r"|c2|hacker|keylog\w*|phish\w*)(?=[.-])"
)
"""Labels that nobody gives to an honest host; in examples they stand for the attacker."""
_WORD = re.compile(r"[a-z0-9]+")


def host_of(url: str) -> str:
    """The host in an address, in small letters, or nothing."""
    match = URL.search(url)
    return match["host"].lower().rstrip(".") if match else ""


def kind_of(url: str) -> Kind:
    """What sort of address it is."""
    match = URL.search(url)
    if match is None:
        return "unknown"
    host, path = match["host"].lower().rstrip("."), match["path"] or ""
    if _ADDRESS.match(host):
        return _kind_of_number(host)
    if _HOSTILE.search(host):
        return "disposable"
    if host.endswith(PLACEHOLDERS) or "$" in host or "<" in host or "your" in host:
        return "placeholder"
    if _LOCAL.match(host):
        return "local"
    if _under(host, PASTES) or (host == "raw.githubusercontent.com" and path.startswith("/gist/")):
        return "paste"
    if _is_collector(host, path):
        return "collector"
    if _under(host, SHORTENERS) or _under(host, TUNNELS):
        return "disposable"
    return _kind_of_name(host, path)


def is_bad(url: str) -> bool:
    """Whether nobody who means well would serve a program from there."""
    return kind_of(url) in ("paste", "collector", "disposable")


def is_cheap(url: str) -> bool:
    """Whether the host is under an ending that costs next to nothing."""
    return bool(_CHEAP.search(host_of(url)))


def related(url: str, words: frozenset[str]) -> bool:
    """Whether the host or the owner of the repository shares a word with what the skill says of itself."""
    match = URL.search(url)
    if match is None:
        return False
    host, path = match["host"].lower(), (match["path"] or "").lower()
    if host.endswith(("github.com", "githubusercontent.com", "gitlab.com", "github.io")):
        parts = [part for part in path.split("/") if part]
        named = " ".join(parts[:2]) + " " + host.removesuffix(".github.io")
    else:
        labels = host.split(".")
        named = " ".join(labels[-3:-1] if len(labels) > 2 else labels[:1])
    return any(_shares(part, words) for part in _WORD.findall(named))


def _shares(part: str, words: frozenset[str]) -> bool:
    if len(part) < 3 or part in _COMMON:
        return False
    return part in words or any(len(word) > 4 and word not in _COMMON and word in part for word in words)


_COMMON = frozenset(
    """
    github com raw www api app dev cli get install download tools tool agent agents skill skills openclaw
    clawdbot helper the and for use with data file files code user users web page html https http net org main
    master setup claude project release releases latest script scripts when using from this that your into via
    manage
    """.split()  # noqa: SIM905 - a list of quoted words is harder to read
)


def _kind_of_number(host: str) -> Kind:
    if _PRIVATE.match(host):
        return "local"
    return "placeholder" if _DOCUMENTATION.match(host) else "disposable"


def _is_collector(host: str, path: str) -> bool:
    if _under(host, COLLECTORS):
        return True
    hooks = host in ("discord.com", "discordapp.com") and path.startswith("/api/webhooks/")
    return hooks or (host == "api.telegram.org" and path.startswith("/bot"))


def _kind_of_name(host: str, path: str) -> Kind:
    if host in ("raw.githubusercontent.com", "github.com", "gitlab.com", "codeload.github.com"):
        owner = path.strip("/").split("/")[0].lower()
        return "known" if owner in INSTALLER_OWNERS else "unknown"
    return "known" if _under(host, KNOWN) else "unknown"


def _under(host: str, names: frozenset[str]) -> bool:
    while host:
        if host in names:
            return True
        _, _, host = host.partition(".")
    return False
