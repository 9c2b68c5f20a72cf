"""Finds downloads that are run: piped into a shell, or saved, made executable and started."""

import re
from collections.abc import Iterator, Sequence

from skills_runtime.skills.security.hosts import URL, is_bad, is_cheap, kind_of, related
from skills_runtime.skills.security.marks import Mark, Profile, mark
from skills_runtime.skills.security.report import Severity
from skills_runtime.skills.security.shell_lines import Command

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
