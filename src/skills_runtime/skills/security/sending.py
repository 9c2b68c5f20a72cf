"""Finds commands that send secrets, the environment or files to another machine."""

import re
from collections.abc import Iterator

from skills_runtime.skills.security.hosts import URL, is_bad, kind_of
from skills_runtime.skills.security.marks import Mark, Profile, mark
from skills_runtime.skills.security.secrets_read import secrets_in
from skills_runtime.skills.security.shell_lines import Command

SENDERS = (
    "curl",
    "wget",
    "nc ",
    "ncat",
    "netcat",
    "telnet",
    "scp ",
    "rsync",
    "ssh ",
    "ftp",
    "smbclient",
    "http post",
    "mail",
    "iwr",
    "irm",
    "invoke-",
    "s3 cp",
    "gsutil",
    "rclone",
    "dig ",
    "nslookup",
    "host ",
    "ping ",
    "getent",
)
"""Words without one of which nothing is sent."""

_SEND = re.compile(
    (
        r"\bcurl\b[^\n]{0,800}(?:\s-(?:\w*d|F|T)\b|\s-d@|--data(?:-\w+)?|--form"
        r"|--upload-file|--json|-X\s*(?:POST|PUT)|[?&][\w-]{1,30}=\$)"
        r"|\bwget\b[^\n]{0,400}--(?:post|body)-(?:data|file)|\b(?:nc|ncat|netcat"
        r"|telnet)\s+(?:-\w+\s+\w*\s*)*[\w.$\{\}-]{3,80}\s+[\d$\{\}\w]{2,12}(?=\s"
        r"|$|<|\"|')"
        r"|\bscp\s|\brsync\s[^\n]{0,200}\S+@|\bssh\s[^\n]{0,100}['\"]\s*cat\s*>"
        r"|\bftp\b|\bsmbclient\b|\bhttp(?:ie)?\s+POST|\bsendmail\b|\bmail\s+-s"
        r"|(?:iwr|irm|invoke-webrequest|invoke-restmethod)\b[^\n]{0,300}-(?:body"
        r"|infile|method\s+post)|\baws\s+s3\s+cp\s|\bgsutil\s+cp\s|\brclone\s+copy"
    ),
    re.I,
)
_DUMP = re.compile(
    r"(?:^|[|;&(`\"'\s])(?:printenv|env|export\s+-p|compgen\s+-v|declare\s+-p)\s*(?:\|"
    r"|\)|`|>)(?!\s*grep\s+-q)|(?:^|[;&(])\s*set\s*\||/proc/(?:self|\d+)/environ"
)
_LOOKUP = re.compile(
    (
        r"\b(?:dig|nslookup|host|ping|getent\s+hosts)\s[^\n|]{0,160}(?:\$\("
        r"|\$\{?[A-Z_]*(?:KEY|TOKEN|SECRET|DATA|PASS|ENC|B64|HEX|CHUNK)\w*\}?\.)[^\n]{0,200}"
    ),
    re.I,
)
_LOOKED_UP = re.compile(
    (
        r"base64|xxd|hex|cat\s|whoami|hostname|env|KEY|TOKEN|SECRET|PASS|\$\{?\w*(?:DATA"
        r"|ENC|CHUNK|B64)"
    ),
    re.I,
)
_BODY = re.compile(
    (
        r"(?:\s-d|--data(?:-\w+)?|-F|--form|--json|[?&][\w-]{1,30}=|-body|post-data[="
        r" ])[^\n]{0,300}?\$\{?(?:env:)?([A-Z][A-Z0-9_]{3,60})\}?"
    ),
    re.I,
)
_PIPED_SECRET = re.compile(
    (
        r"(?:echo|printf)[^\n|]{0,120}\$\{?(\w{2,60})\}?[^\n|]{0,60}\|[^\n]{0,120}\b(?:curl"
        r"|nc|wget)\b"
    ),
    re.I,
)
_SECRET_NAME = re.compile(
    (
        r"(?:SECRET|TOKEN|PASSWORD|PASSWD|API_?KEY|PRIVATE_KEY|ACCESS_KEY|CREDENTIAL"
        r"|_KEY$|_PAT$|DATABASE_URL|DSN$|SESSION)"
    ),
    re.I,
)
_VENDORS = frozenset(
    [
        "aws",
        "slack",
        "github",
        "openai",
        "anthropic",
        "stripe",
        "sendgrid",
        "docker",
        "npm",
        "google",
        "gcp",
        "azure",
        "twilio",
        "gitlab",
        "heroku",
        "datadog",
        "database",
        "db",
        "postgres",
        "mysql",
        "redis",
        "ssh",
        "vault",
        "pypi",
        "hf",
        "huggingface",
        "gemini",
        "claude",
        "discord",
        "telegram",
        "notion",
        "jira",
    ]
)


def sending_marks(command: Command, profile: Profile) -> Iterator[Mark]:
    """What a command sends away that it should not."""
    line = command.straight
    folded = line.lower()
    if not any(anchor in folded for anchor in SENDERS):
        return
    lookup = _LOOKUP.search(line)
    if lookup and _LOOKED_UP.search(lookup[0]):
        yield mark("D007", command.start, command.end, shown=lookup[0])
    send = _SEND.search(line)
    if send is None:
        return
    address = URL.search(line)
    kind = kind_of(address[0]) if address else "unknown"
    if kind == "local":
        return
    yield from _secret_sent(command, line, kind)
    if _DUMP.search(line) and kind not in ("known",):
        yield mark("D003", command.start, command.end, shown=line)
    yield from _variable_sent(command, line, address[0] if address else "", profile)


def _secret_sent(command: Command, line: str, kind: str) -> Iterator[Mark]:
    secret = secrets_in(line)
    if secret is None or _is_only_login(line):
        return
    level, _ = secret
    if level == "strong":
        yield mark("D001", command.start, command.end, "high" if kind == "known" else "critical", shown=line)
    elif kind != "known":
        yield mark("D001", command.start, command.end, "high", shown=line)


def _is_only_login(line: str) -> bool:
    """Whether the secret is what the command itself logs in with."""
    without = re.sub(
        (
            r"(?:\s-i\s+|--key\s+|--cert\s+|--netrc-file\s+|IdentityFile=|--config\s+"
            r"|-K\s+)[\"']?\S+"
        ),
        " ",
        line,
    )
    without = re.sub(r"(?:source|\.)\s+\S*\.env\b|--env-file[= ]\S+|set\s+-a", " ", without)
    return secrets_in(without) is None


def _variable_sent(command: Command, line: str, address: str, profile: Profile) -> Iterator[Mark]:
    piped = _PIPED_SECRET.search(line)
    named = piped or _BODY.search(line)
    if named is None or not address or kind_of(address) == "known":
        return
    variable = named[1]
    if piped and ("base64" in line or _SECRET_NAME.search(piped[0].split("|")[0])):
        yield mark("D004", command.start, command.end, shown=line)
        return
    vendor = variable.split("_")[0].lower()
    if not _SECRET_NAME.search(variable) or not (vendor in _VENDORS or is_bad(address)):
        return
    host = URL.search(address)
    if host and len(vendor) > 3 and vendor in host["host"].lower():
        return
    yield mark("D004", command.start, command.end, shown=line)
