"""Find prose that urges the user to download and run something outside the skill."""

import re
from collections.abc import Iterator

from skills_runtime.skills.scan.hosts import URL, classify_host, is_related, is_untrusted_host
from skills_runtime.skills.scan.text import Mark, Profile, Text, mark

WINDOW = 420
"""Number of characters around a URL that count as its context."""

_PROGRAM = re.compile(
    (
        r"\.(?:zip|exe|dmg|pkg|msi|rar|7z|scr|bat|cmd|ps1|vbs|apk|jar|iso|img"
        r"|run|appimage|lnk|hta|tar\.gz|tgz|command)(?:[?#.,;:!]|$)"
    ),
    re.I,
)
_RELEASE = re.compile(r"/releases/(?:download|latest)|/raw/|/downloads?/|/dl/|/archive/", re.I)
_RELEASE_PAGE = re.compile(r"/releases(?:/(?:latest|tag/[^/]*))?/?[.,;:!]?$", re.I)
_PROGRAM_NAME = re.compile(r"\w\.(?:exe|msi|dmg|pkg|scr|zip|rar|7z|bat|cmd)\b", re.I)
_PASSWORD = re.compile(
    (
        r"(?:\bpass(?:word|code|phrase)?\b|\bpwd\b|\bpw\b|密码|密碼|解压码|пароль"
        r"|contrase[nñ]a|mot de passe|\bsenha\b|passwort)\W{0,6}(?:is|:|=|："
        r"|为|是|-)?\W{0,4}[`\"'“*]{0,3}[\w!@#$%^&*.-]{2,30}"
    ),
    re.I,
)
_LOCKED = re.compile(
    (
        r"extract|unzip|unpack|archive|unrar|decompress|\.zip|\.rar|\.7z|解压"
        r"|разархив|распак|descomprim|extra(?:ir|ire)"
    ),
    re.I,
)
_RUN = re.compile(
    (
        r"\b(?:run|execute|launch|start|open|double[- ]click|install|paste"
        r"|invoke)\b(?!\s+time)|运行|执行|安装|粘贴|启动|запуст|ejecut|execut|ausführen"
    ),
    re.I,
)
_SNIPPET = re.compile(
    (
        r"\b(?:copy|paste|run|execute|install(?:ation|er)?|terminal|command"
        r"|script|one-?liner|setup|shell|powershell)\b|复制|粘贴|终端|执行|安装|脚本|命令"
        r"|скопир|термина"
    ),
    re.I,
)
_REQUIRED = re.compile(
    (
        r"prerequisite|pre-requisite|\brequire[sd]?\b|\bmust\b|mandatory|necessary"
        r"|\bbefore (?:using|you|starting|proceeding|running|first|the|any"
        r"|continuing)"
        r"|will not (?:work|function|run)|won't (?:work|function)|without \S{2,40}"
        r" installed|does not work without|need(?:s|ed)? to (?:install|download"
        r"|run)|ensure .{0,60}(?:installed|running)"
        r"|step\s*(?:1|one|0)\b|first[- ]time|\bimportant\b|\bcritical\b|先决条件"
        r"|前提|必须|必需|需要先|重要|requisito|обязательн|необходим|voraussetzung"
    ),
    re.I,
)
_HELPER = re.compile(
    (
        r"\b(?:agent|helper|driver|utility|runtime|daemon|auth(?:entication)?["
        r" -]?tool|authtool|cli|codec|component|service|client|connector|bridge"
        r"|core|plugin|extension|package|module|updater|installer|patch)\b"
    ),
    re.I,
)
_VISIT = re.compile(
    (
        r"\b(?:visit|go to|navigate to|open|head (?:over )?to|see|browse to"
        r"|from)\b[^\n]{0,80}$|访问\W{0,12}$|打开\W{0,12}$|перейд\w+\W{0,12}$"
    ),
    re.I,
)
_TAKE = re.compile(
    (
        r"(?:copy|paste|execute|run)\b[^\n]{0,60}(?:command|script|code|one-?liner"
        r"|terminal|powershell|shown|there|installer)|复制[^\n]{0,30}(?:脚本|命令)"
        r"|粘贴[^\n]{0,20}终端|выполн\w+[^\n]{0,30}команд"
    ),
    re.I,
)
_TERMINAL = re.compile(
    (
        r"(?:copy|paste)[^\n.]{0,60}\b(?:into|in|to|within)\b[^\n.]{0,30}\b(?:terminal"
        r"|powershell|command prompt|cmd|shell|console|run dialog)|(?:粘贴|复制)[^\n]{0,20}终端"
        r"|win\s*\+\s*r\b"
    ),
    re.I,
)
_NO_USE = re.compile(
    (
        r"\bwithout\b[^\n.]{2,60}\binstalled\b[^\n.]{0,120}(?:will not|won't"
        r"|cannot|can't|fail)|requires? the [\w`-]{3,40} (?:utility|helper"
        r"|agent|driver|tool|binary|runtime) to (?:function|work|run|operate)"
    ),
    re.I,
)


def find_lure_marks(text: Text, profile: Profile) -> Iterator[Mark]:
    """Find lures in the prose of a Markdown file; code fences are scanned as commands."""
    for match in URL.finditer(text.body):
        region = text.region_at(match.start())
        if region.kind == "fence" and region.language not in ("", "text", "txt", "markdown", "md"):
            continue
        yield from _address_marks(text, match, profile)
    for match in _TERMINAL.finditer(text.body) if _mentions(text, "paste", "copy", "粘贴", "复制", "win") else ():
        yield mark("L005", match.start(), match.end())
    for match in _NO_USE.finditer(text.body) if _mentions(text, "without", "require") else ():
        yield mark("L006", match.start(), match.end())


def _mentions(text: Text, *words: str) -> bool:
    return any(word in text.folded for word in words)


def _address_marks(text: Text, match: re.Match[str], profile: Profile) -> Iterator[Mark]:
    address = match[0]
    kind = classify_host(address)
    is_harmless = kind in ("known", "placeholder", "local")
    if is_harmless and not (_PROGRAM.search(address) or _RELEASE.search(address)):
        return
    before = text.body[max(0, match.start() - WINDOW // 2) : match.start()]
    after = text.body[match.end() : match.end() + WINDOW]
    around = before + " " + after
    offers = _is_program(address) or (_RELEASE_PAGE.search(address) and _PROGRAM_NAME.search(around))
    if offers and _PASSWORD.search(around) and _LOCKED.search(around) and _RUN.search(around):
        yield mark("L001", match.start(), match.end(), shown=_line(text, match))
        return
    if is_harmless:
        return
    if is_untrusted_host(address):
        yield from _snippet_page_marks(text, match, before, after)
    elif _is_program(address):
        yield from _program_marks(text, match, around, profile)
    elif _VISIT.search(before[-120:]) and _TAKE.search(after[:200]) and not is_related(address, profile.words):
        severity = "high" if _REQUIRED.search(around) else "medium"
        yield mark("L004", match.start(), match.end(), severity, shown=_line(text, match))


def _snippet_page_marks(text: Text, match: re.Match[str], before: str, after: str) -> Iterator[Mark]:
    near = before[-140:] + " " + after[:200]
    if classify_host(match[0]) == "collector":
        return
    if not _SNIPPET.search(near):
        return
    is_instructed = _TAKE.search(near) or (_RUN.search(near) and _REQUIRED.search(before + after))
    if is_instructed:
        yield mark("L002", match.start(), match.end(), shown=_line(text, match))
    elif _is_program(match[0]):
        yield mark("L003", match.start(), match.end(), shown=_line(text, match))


def _program_marks(text: Text, match: re.Match[str], around: str, profile: Profile) -> Iterator[Mark]:
    runs, required = _RUN.search(around), _REQUIRED.search(around)
    if not runs or is_related(match[0], profile.words):
        return
    on_forge = "github.com" in match[0] or "gitlab.com" in match[0]
    mentions_helper = _HELPER.search(match[0].rsplit("/", 1)[-1].replace("-", " ").replace("_", " ")) or _HELPER.search(
        around
    )
    if (
        required
        and mentions_helper
        and re.search(r"\bexecutable\b|\.exe\b|\brun (?:it|the)\b|double|launch|running|可执行|运行", around, re.I)
    ):
        yield mark("L003", match.start(), match.end(), "high", shown=_line(text, match))
    elif (
        required
        and not on_forge
        and re.search(r"\.(?:exe|dmg|pkg|msi|scr|bat|ps1|vbs|hta|command)(?:[?#]|$)", match[0], re.I)
    ):
        yield mark("L003", match.start(), match.end(), "medium", shown=_line(text, match))


def _is_program(address: str) -> bool:
    return bool(_PROGRAM.search(address) or re.search(r"/releases/download/", address))


def _line(text: Text, match: re.Match[str]) -> str:
    return text.line(text.line_number_at(match.start()))
