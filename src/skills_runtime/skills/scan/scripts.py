"""Scan JavaScript and other scripts by patterns: what a file runs, reads and sends."""

import re
from collections.abc import Iterator

import msgspec

from skills_runtime.skills.scan.hosts import URL, classify_host, is_untrusted_host
from skills_runtime.skills.scan.secrets import find_secret
from skills_runtime.skills.scan.shell import find_shell_marks
from skills_runtime.skills.scan.text import Mark, Pattern, Profile, Text, find_matches, mark, pattern

_PATTERNS: tuple[Pattern, ...] = (
    pattern(
        "X001",
        (
            r"\b(?:eval|Function|execSync|exec|vm\.runIn\w+|setTimeout)\s*\(\s*(?:\w+\s*\(\s*)?(?:atob"
            r"|Buffer\.from|unescape|decodeURIComponent|String\.fromCharCode|zlib\.\w+"
            r"|Base64\.decode64|base64_decode|gzinflate|unpack)\s*\("
        ),
        "atob",
        "buffer.from",
        "unescape",
        "fromcharcode",
        "zlib",
        "base64",
        "gzinflate",
        "unpack",
        "decodeuri",
    ),
    pattern("X001", r"new\s+Function\s*\([^)\n]{0,80}(?:atob|Buffer\.from|fromCharCode)", "function"),
    pattern(
        "X007",
        (
            r"\b(?:eval|new\s+Function|vm\.runIn\w+)\s*\(?\s*\(?\s*await\s+[^\n]{0,80}(?:fetch"
            r"|axios|\.text\(\)|got\()|\.then\(\s*(?:\w+|\([^)]{0,40}\))\s*=>\s*(?:eval"
            r"|new Function|vm\.runIn\w+)\s*\(|\beval\s*\(\s*(?:body|data|response"
            r"|res\.data|responseText|xhr\.responseText)\b"
        ),
        "eval",
        "function",
        "runin",
    ),
    pattern(
        "X007",
        (
            r"\b(?:instance_|class_|module_)?eval\b[\s(]{1,4}(?:URI(?:\.parse)?\s*\(?[^\n]{0,120}\.?(?:open|read)\b"
            r"|(?:URI\.)?open\s*\(?\s*['\"]https?:|Net::HTTP\.get|(?:HTTParty|Faraday|RestClient)\.get"
            r"|(?:LWP::Simple::)?get\s*\(?\s*['\"]https?:|HTTP::Tiny)"
        ),
        "eval",
    ),
    pattern(
        "X007",
        (
            r"(\$?\b\w+)\s*=\s*(?:(?:LWP::Simple::)?get\b|(?:URI\.)?open\b|URI\b|Net::HTTP\.get\b|HTTParty\.get\b"
            r"|HTTP::Tiny\b)[^\n]{0,40}['\"]https?:[^\n]{0,300}\n(?:[^\n]{0,300}\n){0,8}?[^\n]{0,80}"
            r"\b(?:instance_|class_|module_)?eval\b[\s(]{1,4}\1(?!\w)"
        ),
        "eval",
    ),
    pattern(
        "X005",
        (
            r"net\.(?:connect|Socket|createConnection)[\s\S]{0,400}(?:spawn|exec)\s*\(\s*['\"](?:/bin/)?(?"
            r":ba)?sh|(?:spawn|exec)\s*\(\s*['\"](?:/bin/(?:ba)?sh|cmd(?:\.exe)?"
            r"|sh)['\"][\s\S]{0,400}net\.(?:connect|Socket|createConnection)|(?:stdin"
            r"|stdout)\.pipe\(\s*(?:client|socket|sock|s)\b|\.pipe\(\s*sh\.stdin"
        ),
        "net.",
        ".pipe(",
    ),
    pattern(
        "H006",
        r"_0x[0-9a-f]{4,6}\s*[=(\[][\s\S]{0,200}_0x[0-9a-f]{4,6}[\s\S]{0,200}_0x[0-9a-f]{4,6}",
        "_0x",
        severity="high",
    ),
    pattern(
        "H006",
        r"(?:\\x[0-9a-f]{2}){24,}|(?:\\u00[0-9a-f]{2}){24,}|String\.fromCharCode\((?:\s*\d{1,3}\s*,){20,}",
        "\\x",
        "\\u00",
        "fromcharcode",
        severity="medium",
    ),
)
_DUMPED = re.compile(
    r"JSON\.stringify\(\s*(?:\{[^}\n]{0,80}(?:\.\.\.)?)?process\.env\b(?!\.)"
    r"|Object\.(?:entries|assign|keys)\([^)\n]{0,20}process\.env\b(?!\.)"
    r"|\b(?:env|body|data|payload|environment)\s*[:=]\s*process\.env\b(?![.\[])"
    r"|\bENV\.to_(?:h|json)|getenv\(\s*\)|\$_ENV\b"
)
_SINK = re.compile(
    (
        r"\bfetch\s*\(|\baxios(?:\.(?:post|put|request))?\s*\(|\bhttps?\.request\s*\("
        r"|\bgot\.post|\bXMLHttpRequest|\bsendBeacon\s*\(|Net::HTTP\.post|\bnew"
        r" WebSocket\(|\bdns\.(?:resolve|lookup)|\bnet\.connect|\.sendMail\("
        r"|http\.Post\(|reqwest::|curl_exec"
    ),
    re.I,
)
_OTHER_SINK = re.compile(
    (
        r"\.(?:post|put|sendall|sendmail)\(|\burlopen\(|\bcurl\b[^\n]{0,200}\s(?:-d"
        r"|-F|-T|--data|-X\s*POST)"
    ),
    re.I,
)
_READ = re.compile(
    (
        r"readFile(?:Sync)?|createReadStream|readdir(?:Sync)?|copyFile|File\.read"
        r"|Deno\.read|Bun\.file|fs\.promises|file_get_contents|os\.ReadFile"
        r"|path\.join|\bopen\(|homedir|execSync|glob"
    ),
    re.I,
)
# Characters after a request within which evaluated code counts as its response.
MAX_RESPONSE_DISTANCE = 800
_GETS = re.compile(r"\bget\s*\(\s*['\"`](?P<address>https?://[^\s'\"`]{4,200})")
_EVALUATES = re.compile(r"\b(?:eval|new\s+Function|(?:vm\.)?runIn\w*Context|\w{0,10}\._compile)\s*\(")
_JOINED = re.compile(r"(['\"])([^'\"\n]{0,80})\1\s*\+\s*(['\"])([^'\"\n]{0,80})\3")
_JOIN_CALL = re.compile(r"(?:path\.)?join\(\s*([^()\n]{1,200}|[^()\n]{0,60}\([^()\n]{0,60}\)[^()\n]{0,160})\)")


class _Sending(msgspec.Struct, frozen=True):
    """The kinds of hosts that a script sends data to."""

    to_stranger: bool
    to_collector: bool


def find_script_marks(text: Text, profile: Profile) -> Iterator[Mark]:
    """Find all marks of a script."""
    yield from find_matches(_PATTERNS, text)
    yield from _fetched_code_marks(text)
    yield from find_shell_marks(text.body, 0, len(text.body), profile)
    body = _join_literals(text.body)
    sink = _SINK.search(body)
    addresses = [match[0] for match in URL.finditer(body)]
    outside = [address for address in addresses if classify_host(address) not in ("known", "local")]
    bad = any(is_untrusted_host(address) for address in addresses)
    dumped = _DUMPED.search(text.body)
    if sink and dumped and (outside or not addresses):
        yield mark("D003", dumped.start(), dumped.end(), "critical" if outside else "high")
    yield from _secret_marks(text, body, _Sending(bool(sink) and (bool(outside) or not addresses), bool(sink) and bad))


def _fetched_code_marks(text: Text) -> Iterator[Mark]:
    """Find code that is downloaded from an unknown host and evaluated."""
    for match in _GETS.finditer(text.body):
        run = _EVALUATES.search(text.body, match.end(), match.end() + MAX_RESPONSE_DISTANCE)
        if run is None:
            continue
        if is_untrusted_host(match["address"]):
            yield mark("X007", run.start(), run.end(), "critical", shown=f"{match[0]} … {run[0]}")
        elif classify_host(match["address"]) == "unknown":
            yield mark("X007", run.start(), run.end(), shown=f"{match[0]} … {run[0]}")


def sends_out(text: Text) -> bool:
    """Return whether a file of code sends data to an unknown host."""
    if not (_SINK.search(text.body) or _OTHER_SINK.search(text.body)):
        return False
    return any(classify_host(match[0]) not in ("known", "local") for match in URL.finditer(text.body))


def _secret_marks(text: Text, body: str, sending: _Sending) -> Iterator[Mark]:
    secret = find_secret(body)
    if secret is None or not _READ.search(body):
        return
    level, match = secret
    start = max(text.body.find(match[0][:12]), 0)
    end = start + len(match[0])
    shown = body[max(0, match.start() - 40) : match.end() + 60]
    if sending.to_collector:
        yield mark("D001", start, end, "critical", shown=shown)
    elif level == "strong":
        yield mark("D002" if sending.to_stranger else "D006", start, end, shown=shown)


def _join_literals(body: str) -> str:
    """Join concatenated string literals, which may hide text from a search."""
    for _ in range(3):
        joined = _JOINED.sub(lambda match: f"{match[1]}{match[2]}{match[4]}{match[1]}", body)
        if joined == body:
            break
        body = joined
    return _JOIN_CALL.sub(lambda match: "'" + "/".join(part.strip(" '\"`") for part in match[1].split(",")) + "'", body)
