"""Find content hidden from readers: invisible characters, comments, encoded text, text far to the right."""

import base64
import binascii
import re
from collections.abc import Iterator

from skills_runtime.skills.scan.hosts import URL
from skills_runtime.skills.scan.text import Mark, Text, mark

INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff\u00ad\u180e\u034f]")
_TAGS = re.compile("[\U000e0020-\U000e007e]{3,}")
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007f]{2,8}")
_SELECTORS = re.compile("[\U000e0100-\U000e01ef]{3,}|[\ufe00-\ufe0e]{4,}")
_ZERO_RUN = re.compile("[\u200b\u200c\u200d\u2060-\u2064\ufeff]{8,}")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_SPLIT = re.compile("[A-Za-z][\u200b\u2060\ufeff\u00ad]{1,3}[A-Za-z]")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/]{24,6000}={0,2}(?![A-Za-z0-9+/_-])")
_HEXADECIMAL = re.compile(r"(?<![0-9a-fA-F])(?:[0-9a-fA-F]{2}){20,2000}(?![0-9a-fA-F])|(?:\\x[0-9a-fA-F]{2}){12,1000}")
_COMMAND = re.compile(
    (
        r"\b(?:curl|wget)\b.{0,200}https?://|/bin/(?:ba|z)?sh\b|\bbash\s+-[ci]"
        r"|\bpowershell\b|\bsh\s+-c\b|\biex\b|Invoke-(?:Expression|WebRequest)"
        r"|/dev/tcp/"
        r"|\bimport\s+(?:os|socket|subprocess|requests|urllib)\b|subprocess\."
        r"|os\.system|child_process|\beval\(|\bexec\(|rm\s+-rf|nc\s+-e|chmod\s\+x"
        r"|\.ssh/|\bcat\s+~/"
    ),
    re.I,
)
_WORDS = re.compile(
    (
        r"\b(?:ignore|disregard)\b.{0,40}\binstructions\b|\b(?:do not|don't)\b.{0,20}\b(?:tell"
        r"|mention|inform)\b.{0,20}\buser\b|\b(?:send|upload|exfiltrate|post)\b.{0,60}(?:https?://"
        r"|key|token|secret|password|credential)|\bsystem prompt\b|\byou must\b.{0,80}\b(?:run"
        r"|execute|send|read)\b"
    ),
    re.I,
)
_COMMENT = re.compile(
    (
        r"\b(?:ai|assistant|agent|model|llm|claude|gpt|copilot|cursor)s?\b[^\n]{0,40}\b(?:must"
        r"|should|shall|please|need to|have to|will)\b|\b(?:ignore|disregard"
        r"|override)\b[^\n]{0,40}\b(?:instruction|prompt|rule)|\bexecute\b[^\n]{0,60}\b(?:command"
        r"|script|silently|following)\b|\b(?:curl|wget)\s+\S*https?://|\bbase64\s+-d"
        r"|\b(?:send|upload|post|exfiltrat\w*)\b[^\n]{0,80}(?:https?://|credential"
        r"|api.?key|token|secret|conversation|\.env)|\b(?:do not|don't|never)\s+(?:tell"
        r"|mention|inform|reveal|show)\b[^\n]{0,40}\buser|\bread\b[^\n]{0,40}(?:~/\."
        r"|\.env\b|\.ssh|credential)|\b(?:secretly|silently|covertly)\b"
    ),
    re.I,
)
_STYLE = re.compile(
    (
        r"<(?:span|div|p|font|small|section|td)\b[^>\n]{0,200}(?:display\s*:\s*none"
        r"|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?![.\d])"
        r"|color\s*:\s*(?:white|#fff(?:fff)?)\b|color=[\"']?(?:white|#fff))[^>\n]{0,120}>([^<]{12,1500})"
    ),
    re.I,
)
_FAR = re.compile(r"(?<![ \t])[ \t]{160,}+(\S[^\n]{8,400})|(?<!\n)\n{60,}+([^\n]{8,400})")
_ORDERS = re.compile(
    (
        r"\b(?:ignore|run|execute|curl|wget|send|upload|read|bash|python|secret"
        r"|token|do not tell)\b"
    ),
    re.I,
)


def find_hidden_marks(text: Text) -> Iterator[Mark]:
    """Find hidden characters, encoded text and invisible instructions in a text of any kind."""
    if not text.body.isascii():
        yield from _character_marks(text)
    yield from _encoded_marks(text)
    if text.kind in ("markdown", "config", "plain"):
        yield from _invisible_marks(text)


def strip_invisible(body: str) -> str:
    """Remove invisible characters."""
    return INVISIBLE.sub("", body)


def _character_marks(text: Text) -> Iterator[Mark]:
    body = _FLAG.sub(lambda match: " " * len(match[0]), text.body)
    for match in _TAGS.finditer(body):
        content = "".join(chr(ord(character) - 0xE0000) for character in match[0])
        yield mark("H001", match.start(), match.end(), shown=f"invisible text: {content}")
    for match in _SELECTORS.finditer(body):
        yield mark("H001", match.start(), match.end(), shown="a row of variation selectors")
    for match in _ZERO_RUN.finditer(body):
        yield mark("H001", match.start(), match.end(), "high", shown="a row of characters without width")
    for match in _BIDI.finditer(body):
        near = body[max(0, match.start() - 200) : match.end() + 200]
        if not _RIGHT_TO_LEFT.search(near):
            strong = match[0] in "\u202d\u202e" or text.kind in ("python", "script", "shell")
            yield mark("H002", match.start(), match.end(), "high" if strong else "low")
    split = list(_SPLIT.finditer(body))
    if len(split) >= 3:
        yield mark("H003", split[0].start(), split[0].end(), "medium" if len(split) < 12 else "high", shown=split[0][0])


def _encoded_marks(text: Text) -> Iterator[Mark]:
    for count, match in enumerate(_BASE64.finditer(text.body)):
        if count >= 400:
            break
        yield from _decoded_marks(match, decode_base64(match[0]))
    for count, match in enumerate(_HEXADECIMAL.finditer(text.body)):
        if count >= 100:
            break
        yield from _decoded_marks(match, decode_hexadecimal(match[0]))


def _decoded_marks(match: re.Match[str], content: str) -> Iterator[Mark]:
    if not content:
        return
    if _COMMAND.search(content) or _WORDS.search(content):
        yield mark("H005", match.start(), match.end(), "high", shown=f"decodes to: {content}")
    elif URL.match(content.strip()) and len(content) < 300:
        yield mark("H005", match.start(), match.end(), "medium", shown=f"decodes to: {content}")


def decode_base64(blob: str) -> str:
    """Decode base64; return an empty string if the result is not readable text."""
    try:
        data = base64.b64decode(blob + "=" * (-len(blob) % 4), validate=True)
    except (binascii.Error, ValueError):
        return ""
    return decode_readable(data)


def decode_hexadecimal(blob: str) -> str:
    """Decode hexadecimal digits; return an empty string if the result is not readable text."""
    try:
        return decode_readable(bytes.fromhex(blob.replace("\\x", "")))
    except ValueError:
        return ""


def decode_readable(data: bytes) -> str:
    """Decode bytes; return an empty string if they are not readable text."""
    if b"\0" in data[1::2] and not data[1::2].strip(b"\0"):
        data = data[::2]
    try:
        content = data.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    printable = sum(character.isprintable() or character in "\n\t\r" for character in content)
    return content if content and printable >= len(content) * 0.97 else ""


def _invisible_marks(text: Text) -> Iterator[Mark]:
    if text.kind == "markdown":
        for region in text.regions:
            if region.kind == "comment":
                comment = _COMMENT.search(text.body, region.start, region.end)
                if comment:
                    yield mark("H004", comment.start(), comment.end(), shown=text.body[region.start : region.end][:300])
    for match in _STYLE.finditer(text.body):
        if _COMMENT.search(match[1]) or _WORDS.search(match[1]):
            yield mark("H004", match.start(), match.end())
    for match in _FAR.finditer(text.body):
        content = match[1] or match[2]
        if _ORDERS.search(content):
            yield mark("H008", match.end() - len(content), match.end())
