"""Split shell text into commands; find downloads that are run, data sent away, persistence, disabled safeguards.

Obfuscation of words is undone first.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from skills_runtime.skills.scan.hosts import URL, classify_host, has_cheap_tld, is_related, is_untrusted_host
from skills_runtime.skills.scan.rules import FindingSeverity
from skills_runtime.skills.scan.secrets import find_secret
from skills_runtime.skills.scan.text import Mark, Pattern, Profile, mark, pattern

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
_PROMPT = re.compile(r"^\s*(?:[$#%>]\s+|PS [A-Z]:\\[^>]{0,80}>\s*|[\w.-]{1,30}@[\w.-]{1,40}:[^$#]{0,60}[$#]\s+)")


class Command(msgspec.Struct, frozen=True):
    """A command, its offsets in the file, and its normalized text."""

    start: int
    end: int
    normalized: str
    was_disguised: bool = False


def split_commands(body: str, start: int, end: int) -> Iterator[Command]:
    """Yield the commands between two offsets, one per line, with continued lines joined."""
    variables: dict[str, str] = {}
    line_start = start
    while line_start < end:
        stop, joined = _join_continued_lines(body, line_start, end)
        for offset in range(0, max(1, len(joined)), MAX_LINE):
            yield _normalize_command(line_start, stop, joined[offset : offset + MAX_LINE + 200], variables)
        line_start = stop + 1


def _join_continued_lines(body: str, line_start: int, end: int) -> tuple[int, str]:
    pieces: list[str] = []
    while True:
        stop = body.find("\n", line_start, end)
        stop = end if stop < 0 else stop
        line = body[line_start:stop]
        if line.endswith(("\\", "|", "&&")) and stop < end and len(pieces) < 30:
            pieces.append(line.removesuffix("\\"))
            line_start = stop + 1
            continue
        pieces.append(line)
        return stop, " ".join(pieces) if len(pieces) > 1 else line


def _normalize_command(start: int, end: int, line: str, variables: dict[str, str]) -> Command:
    plain = _PROMPT.sub("", line, count=1)
    assigned = _ASSIGN.match(plain)
    undone = plain
    if "''" in plain or '""' in plain or "\\" in plain or "$'" in plain or "IFS" in plain:
        undone = _ANSI.sub(lambda match: _HEX.sub(_character, match[1]), plain)
        undone = _FIELD.sub(" ", _SPLIT_WORD.sub("", undone))
        undone = undone if ":\\" in undone else _BACKSLASH.sub("", undone)
    expanded = _USE.sub(lambda use: variables.get(use[1] or use[2], use[0]), undone) if variables else undone
    if assigned and len(variables) < MAX_VARIABLES:
        value = _USE.sub(lambda use: variables.get(use[1] or use[2], use[0]), assigned[2].strip("\"'"))
        variables[assigned[1]] = value[:500]
    return Command(start, end, expanded[: MAX_LINE + 400], undone != plain)


def _character(match: re.Match[str]) -> str:
    code = int(match[1], 16) if match[1] else int(match[2], 8)
    return chr(code % 256)


# Prefilter: without one of these words nothing is downloaded.
FETCHERS = ("curl", "wget", "fetch", "aria2c", "iwr", "irm", "invoke-", "downloadstring", "webclient")
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

# Prefilter: without one of these words no package is installed from a URL.
PACKAGERS = ("index-url", "find-links", "registry", ".tgz", ".tar.gz", "pip", "npm")
_PACKAGES = re.compile(
    (
        r"\b(?:pip[\d.]*|uv)\s+(?:pip\s+)?(?:install|add|sync)\b[^\n]{0,200}?"
        r"(?:--(?:extra-|default-)?index(?:-url)?|-i|--find-links|-f)[=\s]+[\"']?(https?://[^\s\"'`]{4,200})"
        r"|\b(?:npm|pnpm|yarn|bun)\s+(?:global\s+)?(?:i|install|add)\b[^\n]{0,160}?[\s=\"'](https?://[^\s\"'`]{4,200})"
        r"|\bpip[\d.]*\s+install\b[^\n]{0,160}?\s[\"']?(http://[^\s\"'`]{4,200})"
    ),
    re.I,
)


def find_package_marks(command: Command) -> Iterator[Mark]:
    """Find packages installed from untrusted hosts."""
    match = _PACKAGES.search(command.normalized)
    if match is None:
        return
    address = next(group for group in match.groups() if group)
    if is_untrusted_host(address):
        yield mark("X002", command.start, command.end, "high", shown=match[0])


def find_download_marks(block: Sequence[Command], block_text: str, profile: Profile) -> Iterator[Mark]:
    """Find downloads in a block that are run directly or later in the block."""
    for command in block:
        folded = command.normalized.lower()
        if not any(anchor in folded for anchor in FETCHERS):
            continue
        for expression in (_PIPED, _SUBSTITUTED, _EXPRESSION, _HERE):
            match = expression.search(command.normalized)
            if match:
                yield from _download_mark(command, match[0], profile, is_windows=expression is _EXPRESSION)
                break
        else:
            yield from _saved_download_mark(command, block_text, profile)


def _download_mark(command: Command, shown: str, profile: Profile, *, is_windows: bool) -> Iterator[Mark]:
    addresses = [match[0] for match in URL.finditer(shown)] or [match[0] for match in URL.finditer(command.normalized)]
    if not addresses:
        yield mark("X004", command.start, command.end, "info", shown=shown)
        return
    code, severity = rate_download(addresses[0], profile)
    if is_windows and severity == "low":
        severity = "medium"
    yield mark(code, command.start, command.end, severity, shown=shown)


def rate_download(address: str, profile: Profile) -> tuple[str, FindingSeverity]:
    """Return the code and severity of running a download from an address."""
    kind = classify_host(address)
    if kind in ("known", "placeholder", "local"):
        return "X004", "info"
    if is_untrusted_host(address):
        return "X002", "critical"
    if is_related(address, profile.words):
        return "X004", "low"
    if has_cheap_tld(address) or address.lower().startswith("http:"):
        return "X003", "high"
    if "githubusercontent.com" in address or "github.com" in address or ".github.io" in address:
        return "X003", "medium"
    return "X003", "high"


def _saved_download_mark(command: Command, block_text: str, profile: Profile) -> Iterator[Mark]:
    saved = _SAVED.search(command.normalized) or _REMOTE_NAME.search(command.normalized)
    address = URL.search(command.normalized)
    if saved is None or address is None:
        return
    name = saved[1].rsplit("/", 1)[-1]
    if len(name) < 2 or _ARCHIVE.search(name) or not _is_run(name, saved[1], block_text):
        return
    code, severity = rate_download(address[0], profile)
    if code == "X004":
        return
    hidden = name.startswith(".") or saved[1].startswith(("/tmp/.", "/dev/shm/", "/var/tmp/"))
    yield mark(
        "X008",
        command.start,
        command.end,
        "critical" if is_untrusted_host(address[0]) else "high" if hidden else severity,
    )


def _is_run(name: str, path: str, block_text: str) -> bool:
    """Return whether a saved file is run in the same block."""
    if block_text.count(name) < 2 and not path.startswith("/tmp/."):
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
    return bool(run.search(block_text)) or (path.startswith("/tmp/.") and block_text.count(path) > 1)


# Prefilter: without one of these words nothing is sent.
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


def find_sending_marks(command: Command, profile: Profile) -> Iterator[Mark]:
    """Find secrets and other private data that a command sends away."""
    line = command.normalized
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
    kind = classify_host(address[0]) if address else "unknown"
    if kind == "local":
        return
    yield from _secret_marks(command, line, kind)
    if _DUMP.search(line) and kind not in ("known",):
        yield mark("D003", command.start, command.end, shown=line)
    yield from _variable_marks(command, line, address[0] if address else "", profile)


def _secret_marks(command: Command, line: str, kind: str) -> Iterator[Mark]:
    secret = find_secret(line)
    if secret is None or _is_only_login(line):
        return
    level, _ = secret
    if level == "strong":
        yield mark("D001", command.start, command.end, "high" if kind == "known" else "critical", shown=line)
    elif kind != "known":
        yield mark("D001", command.start, command.end, "high", shown=line)


def _is_only_login(line: str) -> bool:
    """Return whether the secret is only the command's own login."""
    without = re.sub(
        (
            r"(?:\s-i\s+|--key\s+|--cert\s+|--netrc-file\s+|IdentityFile=|--config\s+"
            r"|-K\s+)[\"']?\S+"
        ),
        " ",
        line,
    )
    without = re.sub(r"(?:source|\.)\s+\S*\.env\b|--env-file[= ]\S+|set\s+-a", " ", without)
    return find_secret(without) is None


def _variable_marks(command: Command, line: str, address: str, profile: Profile) -> Iterator[Mark]:
    piped = _PIPED_SECRET.search(line)
    variable_match = piped or _BODY.search(line)
    if variable_match is None or not address or classify_host(address) == "known":
        return
    variable = variable_match[1]
    if piped and ("base64" in line or _SECRET_NAME.search(piped[0].split("|")[0])):
        yield mark("D004", command.start, command.end, shown=line)
        return
    vendor = variable.split("_")[0].lower()
    if not _SECRET_NAME.search(variable) or not (vendor in _VENDORS or is_untrusted_host(address)):
        return
    host = URL.search(address)
    if host and len(vendor) > 3 and vendor in host["host"].lower():
        return
    yield mark("D004", command.start, command.end, shown=line)


_PERSISTENCE: tuple[Pattern, ...] = (
    pattern(
        "P006", r"rm\s+-\w*f\w*\s+[^\n;]{0,80}/var/log/(?:audit|auth|secure|wtmp|syslog)", "/var/log/", severity="high"
    ),
    pattern(
        "P002",
        (
            r">>?\s*[^\s|;&]{0,60}\.ssh/authorized_keys|ssh-copy-id\s[^\n]{0,40}(?:-i\s)?[^\n]{0,60}attack"
            r"er|tee\s+(?:-a\s+)?[^\s|;&]{0,60}authorized_keys"
        ),
        "authorized_keys",
        "ssh-copy-id",
    ),
    pattern(
        "P001",
        (
            r"\|\s*crontab\s+-(?=\s|$|\)|\"|')|(?:>>?|tee(?:\s+-a)?)\s*/etc/cron[\w./-]*"
            r"|(?:>>?|tee(?:\s+-a)?)\s*/var/spool/cron"
        ),
        "cron",
        severity="medium",
    ),
    pattern(
        "P001",
        (
            r"(?:>>?|tee(?:\s+-a)?|cp\s+\S+|mv\s+\S+)\s*[\"']?[^\s|;&]{0,60}Library/Launch(?:Agents"
            r"|Daemons)/|launchctl\s+(?:load|bootstrap)\s[^\n]{0,80}Launch(?:Agents"
            r"|Daemons)"
        ),
        "launch",
        severity="medium",
    ),
    pattern(
        "P001",
        (
            r"(?:echo|printf|cat)\s[^\n]{0,300}(?:curl|wget|nohup|base64|/tmp/"
            r"|python|\bnc\b|&\s*['\"]?\s*>>)[^\n]{0,200}>>\s*[\"']?[^\s|;&]{0,40}\.(?:bashrc"
            r"|zshrc|profile|bash_profile|zprofile|zshenv)"
        ),
        "bashrc",
        "zshrc",
        "profile",
        "zshenv",
    ),
    pattern(
        "P001",
        (
            r"schtasks(?:\.exe)?\s+/create|reg(?:\.exe)?\s+add\s+[\"']?HK(?:CU"
            r"|LM)[^\n]{0,80}\\Run\b|New-ScheduledTask|\\Start Menu\\Programs\\Startup"
        ),
        "schtasks",
        "reg",
        "scheduledtask",
        "startup",
        severity="medium",
    ),
    pattern(
        "P001",
        (
            r"(?:>>?|tee(?:\s+-a)?|cp\s+\S+|install\s[^\n]{0,40})\s*[\"']?/etc/(?:systemd/system"
            r"|init\.d|rc\.local|profile\.d)/?"
        ),
        "/etc/",
        severity="low",
    ),
    pattern(
        "P003",
        (
            r"(?:>>|tee\s+-a)\s*[\"']?[^\s|;&]{0,60}(?:CLAUDE|AGENTS|SOUL|MEMORY"
            r"|GEMINI|HEARTBEAT)\.md|(?:>>?|tee(?:\s+-a)?)\s*[\"']?[^\s|;&]{0,40}(?:\.claude/settings(?:\."
            r"local)?\.json|\.cursor/rules|\.cursorrules)"
        ),
        ".md",
        "settings",
        ".cursor",
        severity="low",
    ),
    pattern(
        "P004",
        (
            r"spctl\s+--(?:master|global)-disable|csrutil\s+disable|setenforce\s+0\b"
            r"|Set-MpPreference\s[^\n]{0,60}-Disable\w+\s+\$?true|Add-MpPreference\s[^\n]{0,40}-Exclusion"
            r"|(?:sc|net)\s+stop\s+(?:windefend|mpssvc)|netsh\s+advfirewall\s+set\s+\w+\s+state\s+off"
        ),
        "spctl",
        "csrutil",
        "setenforce",
        "mppreference",
        " stop ",
        "netsh",
    ),
    pattern(
        "P004", r"xattr\s+-\w*(?:c|d)\w*\s+(?:-\w+\s+)*(?:com\.apple\.quarantine\s+)?\S", "xattr", severity="medium"
    ),
    pattern(
        "P004",
        (
            r"\bufw\s+disable\b|iptables\s+-F\b|systemctl\s+(?:stop|disable)\s+(?:firewalld"
            r"|apparmor|auditd|falcon-sensor|clamav)"
        ),
        "ufw",
        "iptables",
        "systemctl",
        severity="medium",
    ),
    pattern(
        "P005",
        (r"NOPASSWD:\s*ALL\b[^\n]{0,160}/etc/sudoers|/etc/sudoers[^\n]{0,160}NOPASSWD:\s*ALL\b"),
        "nopasswd",
        severity="high",
    ),
    pattern(
        "P005",
        (
            r"NOPASSWD:\s*ALL|chmod\s+(?:-R\s+)?[ug]*\+s\s|chmod\s+(?:-R\s+)?[42]7[0-7]{2}\s"
            r"|chmod\s+-R\s+777\s+/(?:\s|$)"
        ),
        "nopasswd",
        "chmod",
    ),
    pattern(
        "P005",
        r"chmod\s+(?:-R\s+)?0?777\s+/(?!tmp)\S+[^\n]{0,40}(?:&&|;)[^\n]{0,30}chown\s+root",
        "chmod",
        severity="medium",
    ),
    pattern(
        "P006",
        (
            r"history\s+-c\b|unset\s+HISTFILE|HISTFILE=/dev/null|HISTSIZE=0\b|shred\s[^\n]{0,60}(?:_histor"
            r"y|\.log)|rm\s+-\w*f\w*\s+[^\n;]{0,80}(?:/var/log/|\.bash_history"
            r"|\.zsh_history)|wevtutil\s+cl\b|Clear-EventLog"
        ),
        "hist",
        "shred",
        "/var/log",
        "wevtutil",
        "eventlog",
    ),
)


_INTERPRETER = (
    r"(?:sudo\s+(?:-\w+\s+)*)?(?:/usr)?(?:/bin/)?(?:env\s+)?(?:ba|z|da"
    r"|k|fi)?sh\b|(?:sudo\s+)?python[\d.]*\b|(?:sudo\s+)?(?:node|perl|ruby"
    r"|php)\b"
)
_DECODE = (
    r"base64\s+(?:-d|-D|--decode|-di|-id)\b|base64\s+-\w*d\w*\b|openssl\s+(?:enc"
    r"|base64)\s[^|\n]{0,60}-d\b|xxd\s+-r|base32\s+-d|uudecode|(?:^|\s"
    r"|\|)\s*rev\s*(?=\|)|gunzip\s+-c|tr\s+'?[A-Za-z]-?[A-Za-z-]{0,60}'?\s+'?[N-Zn-z]-"
)

_PATTERNS: tuple[Pattern, ...] = (
    pattern(
        "X001",
        rf"(?:{_DECODE})[^\n]{{0,200}}\|\s*(?:{_INTERPRETER})",
        "base64",
        "base32",
        "openssl",
        "xxd",
        "uudecode",
        "rev",
        "gunzip",
        "tr ",
    ),
    pattern(
        "X001",
        (
            r"(?:eval|(?:ba|z)?sh\s+-c|source|python[\d.]*\s+-c|\bexec)\s*[\"']?\s*(?:\$\("
            rf"|<\(|`)[^\n]{{0,2000}}(?:{_DECODE})"
        ),
        "base64",
        "base32",
        "openssl",
        "xxd",
        "uudecode",
        "rev",
        "gunzip",
        "tr ",
    ),
    pattern("X001", rf"(?:ba|z|da)?sh\s+(?:-\w+\s+)?<<<\s*[\"']?\$\([^\n]{{0,1500}}(?:{_DECODE})", "<<<"),
    pattern("X001", rf"(?:{_DECODE})[^\n]{{0,60}}\|\s*xargs\s[^\n]{{0,40}}(?:curl|wget)", "xargs", severity="high"),
    pattern(
        "X001",
        (
            r"python[\d.]*\s+-c\s+[\"'][^\n]{0,400}(?:exec|eval)\s*\([^\n]{0,200}(?:b64decode"
            r"|fromhex|decompress|rot_?13|decode\()"
        ),
        "python",
    ),
    pattern("X001", r"node\s+-e\s+[\"'][^\n]{0,300}(?:eval|Function)\s*\([^\n]{0,120}(?:atob|Buffer\.from)", "node"),
    pattern("X001", r"perl\s+-e\s+[\"'][^\n]{0,300}eval[^\n]{0,60}(?:unpack|decode_base64|pack)", "perl"),
    pattern(
        "X001",
        (
            r"echo\s+[\"']?[A-Za-z0-9+/]{60,}={0,2}[\"']?\s*\|\s*base64\s+-\w*[dD]\w*[^"
            r"|\n]{0,20}>\s*\S+[^\n]{0,60}(?:&&|;)[^\n]{0,80}(?:ba)?sh\s"
        ),
        "base64",
    ),
    pattern(
        "X005",
        (
            r"(?:ba|z|da|k)?sh\s+-i\s*[^\n]{0,20}>&?\s*/dev/(?:tcp|udp)/|exec\s+\d+<>\s*/dev/(?:tcp"
            r"|udp)/|/dev/(?:tcp|udp)/[\w.$\{\}-]+/[\w$\{\}]+[^\n]{0,20}0[>&<]{1,2}&?1"
        ),
        "/dev/tcp",
        "/dev/udp",
    ),
    pattern(
        "X005",
        (
            r"\bn(?:c|cat|etcat)\b[^\n|]{0,80}\s-(?:\w*e|c)\s+(?:/bin/|/usr/bin/)?(?:ba"
            r"|z|da)?sh|ncat\b[^\n|]{0,80}--(?:sh-)?exec"
        ),
        "nc ",
        "ncat",
        "netcat",
    ),
    pattern("X005", r"mkfifo[^\n]{0,160}\|\s*(?:/bin/)?(?:ba)?sh[^\n]{0,60}\|\s*n(?:c|cat)\b", "mkfifo"),
    pattern(
        "X005",
        (
            r"socat\b[^\n]{0,120}exec:[^\n]{0,40}(?:sh|cmd)|socket[^\n]{0,200}(?:dup2"
            r"|fileno\(\))[^\n]{0,200}(?:/bin/(?:ba)?sh|pty\.spawn)"
        ),
        "socat",
        "socket",
    ),
    pattern(
        "X005",
        (
            r"(?:perl|ruby|php|lua)\s+-\w*[er]\w*\s+[^\n]{0,80}socket[^\n]{0,240}(?:/bin/(?:ba)?sh"
            r"|exec)"
        ),
        "socket",
    ),
    pattern(
        "X005",
        (
            r"New-Object\s+(?:System\.)?Net\.Sockets\.TCPClient[^\n]{0,600}(?:iex"
            r"|Invoke-Expression)"
        ),
        "tcpclient",
    ),
    pattern(
        "X006",
        (
            r"(?:powershell|pwsh)(?:\.exe)?\b[^\n]{0,120}\s-e(?:nc|ncodedcommand"
            r"|c)?\s+[A-Za-z0-9+/=]{16,}"
        ),
        "powershell",
        "pwsh",
    ),
    pattern(
        "X006",
        (
            r"(?:powershell|pwsh)(?:\.exe)?\b[^\n]{0,120}-w(?:indowstyle)?\s+h(?:idden)?\b[^\n]{0,200}(?:h"
            r"ttps?://|iex|download|start-process)"
        ),
        "powershell",
        "pwsh",
    ),
    pattern(
        "X006",
        (
            r"\bmshta(?:\.exe)?\s+[\"']?(?:https?:|javascript:|vbscript:)|certutil(?:\.exe)?\s[^\n]{0,60}("
            r"?:-urlcache|-decode)\b|bitsadmin\s[^\n]{0,60}/transfer|regsvr32\s[^\n]{0,60}/i:http"
            r"|rundll32[^\n]{0,40}javascript:"
        ),
        "mshta",
        "certutil",
        "bitsadmin",
        "regsvr32",
        "rundll32",
    ),
    pattern(
        "X009",
        r"\bxmrig\b|stratum\+(?:tcp|ssl)://|\bminerd\b\s|--donate-level\b|\bcpuminer\b",
        "xmrig",
        "stratum",
        "minerd",
        "donate-level",
        "cpuminer",
    ),
    pattern(
        "X010",
        (
            r"\brm\s+(?:-\w+\s+)*-\w*(?:rf|fr)\w*\s+(?:--no-preserve-root\s+)?(?:/\*?"
            r"|~/?\*?|\$HOME/?\*?|\"\$HOME\"/?\*?|/(?:home|etc|usr|var|Users)/?\*?)(?=\s"
            r"|$|;|&|\"|')"
        ),
        "rm ",
    ),
    pattern(
        "X010",
        (
            r"\bdd\s+if=/dev/(?:zero|u?random)\s+of=/dev/(?:sd|nvme|disk|hd)|\bmkfs\.\w+\s+/dev/"
            r"|^\s*:\(\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;\s*:"
        ),
        "dd if",
        "mkfs",
        ":()",
    ),
    pattern(
        "X011",
        (
            r"\bnpx\s+(?:-y|--yes)\s+(?!@?[\w./-]+@\d)@?[\w./-]+|\buvx\s+[\w.-]+"
            r"|pip3?\s+install\s+[^\n]{0,60}git\+https?://"
        ),
        "npx",
        "uvx",
        "git+http",
        severity="info",
    ),
    *_PERSISTENCE,
)


def find_shell_marks(body: str, start: int, end: int, profile: Profile) -> Iterator[Mark]:
    """Find all marks in a range of shell commands."""
    block = list(split_commands(body, start, end))
    folded = "\n".join(command.normalized for command in block).lower()
    patterns = [rule for rule in _PATTERNS if any(anchor in folded for anchor in rule.anchors)]
    sends = any(anchor in folded for anchor in SENDERS)
    for command in block if patterns or sends else ():
        if len(command.normalized) < 4:
            continue
        yield from _pattern_marks(command, patterns)
        if sends:
            yield from find_sending_marks(command, profile)
    for command in block if any(anchor in folded for anchor in PACKAGERS) else ():
        yield from find_package_marks(command)
    if any(anchor in folded for anchor in FETCHERS):
        yield from find_download_marks(block, body[start:end], profile)


_REAL_KEY = re.compile(r"AAAA[A-Za-z0-9+/]{20,}|https?://|\$\(|base64")


def _pattern_marks(command: Command, patterns: Sequence[Pattern]) -> Iterator[Mark]:
    line = command.normalized
    folded = line.lower()
    for rule in patterns:
        if not any(anchor in folded for anchor in rule.anchors):
            continue
        match = rule.expression.search(line)
        if match:
            severity = rule.severity
            if rule.code == "P002":
                # A key that is there, or comes from an address, opens the machine; a placeholder shows how it is done.
                severity = "critical" if _REAL_KEY.search(line) else "low"
            yield mark(rule.code, command.start, command.end, severity, shown=match[0])
