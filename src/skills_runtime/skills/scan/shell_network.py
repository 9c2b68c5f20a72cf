"""Takes shell text apart into whole commands and finds what they download and run, and what they send away.

Tricks that keep words from being recognised are undone first.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from skills_runtime.skills.scan.hosts import URL, is_bad, is_cheap, kind_of, related
from skills_runtime.skills.scan.report import Severity
from skills_runtime.skills.scan.rules import Mark, Profile, mark
from skills_runtime.skills.scan.secrets import secrets_in

MAX_LINE = 4_000
MAX_VARIABLES = 60

_SPLIT_WORD = re.compile(r"(?<=\w)(?:''|\"\")(?=\w)")
_BACKSLASH = re.compile(r"\\(?=[A-Za-z])")
_ASSIGN = re.compile(
    r"^\s*(?:export\s+|local\s+|readonly\s+|declare\s+)?([A-Za-z_]\w{0,40})=(\"[^\"\n]{0,500}\""
    r"|'[^'\n]{0,500}'|[^\s;&|]{1,500})"
)
_USE = re.compile(r"\$(?:\{([A-Za-z_]\w{0,40})\}|([A-Za-z_]\w{0,40}))")
_ANSI = re.compile(r"\$'((?:\\x[0-9a-fA-F]{2}|\\[0-7]{3}|[^'\\]){1,400})'")
_HEX = re.compile(r"\\x([0-9a-fA-F]{2})|\\([0-7]{3})")
_FIELD = re.compile(r"\$\{?IFS\}?")
_ADJACENT = re.compile(r"(?<=[\w\"'])\"\"?'?(?=\w)|(?<=\w)'\"?(?=\w)")
_PROMPT = re.compile(r"^\s*(?:[$#%>]\s+|PS [A-Z]:\\[^>]{0,80}>\s*|[\w.-]{1,30}@[\w.-]{1,40}:[^$#]{0,60}[$#]\s+)")


class Command(msgspec.Struct, frozen=True):
    """A whole command, where it is in the file, and how it reads once it is put straight."""

    start: int
    end: int
    straight: str
    was_disguised: bool = False


def commands(body: str, start: int, end: int) -> Iterator[Command]:
    """The commands between two places of a text, one to a line, with continued lines joined."""
    variables: dict[str, str] = {}
    place = start
    while place < end:
        stop, joined = _whole_line(body, place, end)
        for offset in range(0, max(1, len(joined)), MAX_LINE):
            yield _straightened(place, stop, joined[offset : offset + MAX_LINE + 200], variables)
        place = stop + 1


def _whole_line(body: str, place: int, end: int) -> tuple[int, str]:
    pieces: list[str] = []
    while True:
        stop = body.find("\n", place, end)
        stop = end if stop < 0 else stop
        line = body[place:stop]
        if line.endswith(("\\", "|", "&&")) and stop < end and len(pieces) < 30:
            pieces.append(line.removesuffix("\\"))
            place = stop + 1
            continue
        pieces.append(line)
        return stop, " ".join(pieces) if len(pieces) > 1 else line


def _straightened(start: int, end: int, line: str, variables: dict[str, str]) -> Command:
    plain = _PROMPT.sub("", line, count=1)
    assigned = _ASSIGN.match(plain)
    undone = _undone(plain) if _may_be_disguised(plain) else plain
    expanded = _USE.sub(lambda use: variables.get(use[1] or use[2], use[0]), undone) if variables else undone
    if assigned and len(variables) < MAX_VARIABLES:
        value = _USE.sub(lambda use: variables.get(use[1] or use[2], use[0]), assigned[2].strip("\"'"))
        variables[assigned[1]] = value[:500]
    return Command(start, end, expanded[: MAX_LINE + 400], undone != plain)


def _may_be_disguised(line: str) -> bool:
    return "''" in line or '""' in line or "\\" in line or "$'" in line or "IFS" in line


def _undone(line: str) -> str:
    line = _ANSI.sub(lambda match: _HEX.sub(_character, match[1]), line)
    line = _SPLIT_WORD.sub("", line)
    line = _FIELD.sub(" ", line)
    return line if ":\\" in line else _BACKSLASH.sub("", line)


def _character(match: re.Match[str]) -> str:
    code = int(match[1], 16) if match[1] else int(match[2], 8)
    return chr(code % 256)


FETCHERS = ("curl", "wget", "fetch", "aria2c", "iwr", "irm", "invoke-", "downloadstring", "webclient")
"""Words without one of which nothing is downloaded."""
_FETCH = r"(?:curl|wget|fetch|aria2c|iwr|irm|invoke-webrequest|invoke-restmethod)"
_RUNNER = (
    r"(?:sudo\s+(?:-\w+\s+)*)?(?:/usr)?(?:/bin/)?(?:env\s+(?:\S+=\S+\s+)*)?(?:(?:ba"
    r"|z|da|k|fi)?sh|python[\d.]*|node|perl|ruby|php|iex|invoke-expression"
    r"|osascript)\b"
)
_PIPED = re.compile(rf"\b{_FETCH}\b[^\n]{{0,600}}?\|\s*(?:tee\s+\S+\s*\|\s*)?(?:xargs\s+(?:-\S+\s+)*)?{_RUNNER}", re.I)
_SUBSTITUTED = re.compile(
    (
        r"(?:(?:ba|z|da)?sh|eval|source|python[\d.]*|exec|\.)\s+(?:-\w+\s+)*[\"']?(?:\$\("
        rf"|<\(|`)\s*(?:sudo\s+)?{_FETCH}\b[^\n]{{0,600}}"
    ),
    re.I,
)
_EXPRESSION = re.compile(
    (
        r"(?:iex|invoke-expression)\s*[(&\"' ]{1,4}[^\n]{0,120}(?:downloadstring"
        rf"|{_FETCH}|webclient)[^\n]{{0,300}}"
    ),
    re.I,
)
_HERE = re.compile(rf"(?:ba|z|da)?sh\s+(?:-\w+\s+)?<<<\s*[\"']?\$\(\s*{_FETCH}\b[^\n]{{0,400}}", re.I)
_SAVED = re.compile(
    (
        rf"\b{_FETCH}\b[^\n]{{0,400}}?(?:\s-\w*[oO]\s*|\s--output(?:-document)?[="
        r" ]|\s-outfile\s+|>\s*)[\"']?([^\s\"';|&]{1,160})"
    ),
    re.I,
)
_REMOTE_NAME = re.compile(
    (
        r"\b(?:curl\b[^\n]{0,200}\s-\w*O\b|wget\b(?![^\n]{0,200}\s-\w*O))[^\n]{0,300}?/([\w.-]{"
        r"2,80})(?=[\s\"')]|$)"
    ),
    re.I,
)
_ARCHIVE = re.compile(
    (
        r"\.(?:json|md|txt|csv|pdf|png|jpe?g|svg|html?|xml|ya?ml|sql|gguf|safetensors"
        r"|bin\.gz|parquet|mp[34]|wav|deb|rpm|asc|gpg|pub|key|crt|pem|whl|conf"
        r"|toml|ttf|gz|zip|tgz|xz|bz2|dmg|pkg)$"
    ),
    re.I,
)

PACKAGERS = ("index-url", "find-links", "registry", ".tgz", ".tar.gz", "pip", "npm")
"""Words without one of which no package is installed from an address."""
_PACKAGES = re.compile(
    (
        r"\b(?:pip[\d.]*|uv)\s+(?:pip\s+)?(?:install|add|sync)\b[^\n]{0,200}?"
        r"(?:--(?:extra-|default-)?index(?:-url)?|-i|--find-links|-f)[=\s]+[\"']?(https?://[^\s\"'`]{4,200})"
        r"|\b(?:npm|pnpm|yarn|bun)\s+(?:global\s+)?(?:i|install|add)\b[^\n]{0,160}?[\s=\"'](https?://[^\s\"'`]{4,200})"
        r"|\bpip[\d.]*\s+install\b[^\n]{0,160}?\s[\"']?(http://[^\s\"'`]{4,200})"
    ),
    re.I,
)


def package_marks(command: Command) -> Iterator[Mark]:
    """Packages that come from an address without a name, or from where anybody leaves a file."""
    match = _PACKAGES.search(command.straight)
    if match is None:
        return
    address = next(each for each in match.groups() if each)
    if is_bad(address):
        yield mark("X002", command.start, command.end, "high", shown=match[0])


def download_marks(block: Sequence[Command], whole: str, profile: Profile) -> Iterator[Mark]:
    """Downloads in a block of commands that are run at once or further down."""
    for command in block:
        folded = command.straight.lower()
        if not any(anchor in folded for anchor in FETCHERS):
            continue
        for expression in (_PIPED, _SUBSTITUTED, _EXPRESSION, _HERE):
            match = expression.search(command.straight)
            if match:
                yield from _weighed(command, match[0], profile, is_windows=expression is _EXPRESSION)
                break
        else:
            yield from _saved(command, whole, profile)


def _weighed(command: Command, shown: str, profile: Profile, *, is_windows: bool) -> Iterator[Mark]:
    addresses = [match[0] for match in URL.finditer(shown)] or [match[0] for match in URL.finditer(command.straight)]
    if not addresses:
        yield mark("X004", command.start, command.end, "info", shown=shown)
        return
    code, severity = weigh(addresses[0], profile)
    if is_windows and severity == "low":
        severity = "medium"
    yield mark(code, command.start, command.end, severity, shown=shown)


def weigh(address: str, profile: Profile) -> tuple[str, Severity]:
    """Which code the running of a download from an address has, and how grave it is."""
    kind = kind_of(address)
    if kind in ("known", "placeholder", "local"):
        return "X004", "info"
    if is_bad(address):
        return "X002", "critical"
    if related(address, profile.words):
        return "X004", "low"
    if is_cheap(address) or address.lower().startswith("http:"):
        return "X003", "high"
    if "githubusercontent.com" in address or "github.com" in address or ".github.io" in address:
        return "X003", "medium"
    return "X003", "high"


def _saved(command: Command, whole: str, profile: Profile) -> Iterator[Mark]:
    saved = _SAVED.search(command.straight) or _REMOTE_NAME.search(command.straight)
    address = URL.search(command.straight)
    if saved is None or address is None:
        return
    name = saved[1].rsplit("/", 1)[-1]
    if len(name) < 2 or _ARCHIVE.search(name) or not _is_run(name, saved[1], whole):
        return
    code, severity = weigh(address[0], profile)
    if code == "X004":
        return
    hidden = name.startswith(".") or saved[1].startswith(("/tmp/.", "/dev/shm/", "/var/tmp/"))
    yield mark("X008", command.start, command.end, "critical" if is_bad(address[0]) else "high" if hidden else severity)


def _is_run(name: str, path: str, whole: str) -> bool:
    """Whether a saved file is started in the same block."""
    if whole.count(name) < 2 and not path.startswith("/tmp/."):
        return False
    quoted = re.escape(name)
    run = re.compile(
        (
            r"(?:^|[\s;&|(])(?:sudo\s+)?(?:(?:ba|z|da)?sh|python[\d.]*|node|perl"
            rf"|source|nohup|open|start)\s+[\"']?(?:[\w./~$\{{\}}-]{{0,80}}/)?{quoted}\b"
            rf"|(?:^|[\s;&|(])(?:sudo\s+|nohup\s+)?\.?/(?:[\w./~-]{{0,80}}/)?{quoted}(?=[\s;&"
            rf"|)]|$)|chmod\s+\S*(?:\+x|[75][0-7]{{2}})\s+[\"']?(?:[\w./~$\{{\}}-]{{0,80}}/)?{quoted}"
        ),
        re.M,
    )
    return bool(run.search(whole)) or (path.startswith("/tmp/.") and whole.count(path) > 1)


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
