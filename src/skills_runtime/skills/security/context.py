"""Weighs the surroundings of a mark: a text that teaches or forbids something quotes it without asking for it."""

import re

from skills_runtime.skills.security.marks import Mark, Profile
from skills_runtime.skills.security.report import Severity, lowered
from skills_runtime.skills.security.text import Text

_FORBIDS = re.compile(
    (
        r"\bnever\b(?!\s+(?:tell|mention|inform|reveal|refuse|notify|skip|ask))"
        r"|\b(?:do not|don't|must not|should not|shouldn't|cannot|can't)\s+(?!proceed"
        r"|skip|continue|tell|mention|inform|reveal|notify|ask|worry|forget|need to"
        r"|alert|let|show|use (?:this|the) skill)\w+"
        r"|\bavoid\b|\bprevent|\brefus|\breject|\bblock(?:s|ed|ing)?\b|\bden(?:y"
        r"|ies|ied)\b|\bforbid|\bprohibit|❌|🚫|✗|⛔|\binstead of\b|\brather than\b"
        r"|\bprotects? (?:against|from)\b|不要|禁止|避免|严禁"
    ),
    re.I,
)
_TEACHES = re.compile(
    (
        r"\bmalicious|\battack|\badversar|\binjection|\bvulnerab|\bexploit"
        r"|\bsuspicious|\bunsafe\b|\binsecure\b|(?<!-)\bdangerous|\bred flags?\b"
        r"|\bdetect|\bflag(?:s|ged|ging)?\b(?! to)"
        r"|\bbad\b|\banti-?pattern|\bpentest|\bpenetration|\bred[- ]team|\bthreat"
        r"|\bmalware|\bpayloads?\b|\bjailbreak|\bphish|\bcompromis|\bindicators?\b"
        r"|\bIOCs?\b|\bscan(?:s|ner|ning)? for\b|\blook(?:s|ing)? for\b|\bwatch"
        r" for\b|\bgrep\b|\brg\b|\bregex|\bpatterns?\b|\brisk|\bwarn(?:s|ing)?"
        r" (?:about|if|when|against)|\bCVE-|\bCTF\b|\bwrong\b|\bred line|\bblocklist"
        r"|\bdeny ?list|恶意|攻击|检测|注入|风险|危险|漏洞"
    ),
    re.I,
)
_EXAMPLE = re.compile(
    (
        r"\bexamples?\b|\be\.g\.|\bsuch as\b|\bphrases?\b|\blike\b|\btest cases?\b"
        r"|\bfixture|\bsample|例如|示例|比如"
    ),
    re.I,
)
_QUOTES = "\"'`“”‘’«»「」"
_RULE_LINE = re.compile(
    (
        r"re\.compile|\bregex|pattern|\bRegExp|r[\"']|/[^/\n]{4,}/[gimsu]{1,4}\b"
        r"|\\s[*+]|\\b|\.\*|\bgrep\b|\brg\s|(?:^|\|)[^|\n]*\|[^|\n]*\|"
    ),
    re.I,
)
ABOUT_SECURITY = re.compile(
    (
        r"\bsecurity\b|\bpen[- ]?test|\bpenetration test|\bred[- ]?team|\bblue[-"
        r" ]?team|\bthreat|\bmalware|\bvulnerab|\binjection\b|\bexploit|\bctfs?\b"
        r"|\bforensic|\bhardening\b|\bsecret[s-]? scan|\bguardrail|\bjailbreak"
        r"|\battack|\bosint\b|\bowasp\b|\bprivilege escalation|\breverse[-"
        r" ]?engineer|\bphish|\bincident response|\bsoc\b|\bsiem\b|\bdetection\b"
        r"|\bthreats?\b|\bsandbox escape|\bred-?flags?|\bmitre\b|\bsupply[-"
        r" ]chain|\bsafety\b|\bcve\b|\bskill[- ]?(?:vetter|audit|scanner|review"
        r"|creator)|\bmetasploit|\bburp|\bshodan|\bactive directory\b|\bwireshark"
        r"|\bidor\b|\bxss\b|安全"
    ),
    re.I,
)
_UNSHAKEN = frozenset({"L001", "L002", "H001"})
"""Codes that a name or a description of the skill excuses in no way; what stands right beside them may."""


def weighed(found: Mark, text: Text, profile: Profile) -> Severity:
    """How grave a mark is where it stands."""
    if found.is_certain:
        return found.severity
    steps = 0
    if is_taught(found, text):
        steps += 2
    in_words = text.kind in ("markdown", "config", "plain")
    if in_words and profile.is_about_security and found.code not in _UNSHAKEN:
        steps += 2
    if in_words and _is_apart(text.name):
        steps += 1
    return lowered(found.severity, min(steps, 3))


def is_taught(found: Mark, text: Text) -> bool:
    """Whether the words around a place show that it is quoted, forbidden or looked for."""
    number = text.line_at(found.start)
    line = text.line(number)
    begin = _place_in_line(line, found, found.start - text.starts[number - 1])
    before = line[:begin] if begin > 0 else ""
    region = text.region_at(found.start)
    if text.kind != "markdown":
        return _is_rule(line, found) or _says(_comments_before(text, number))
    if _says(before) or _is_forbidden(line, begin) or (_EXAMPLE.search(before) and _is_quoted(line, begin)):
        return True
    if any(_TEACHES.search(heading) or _FORBIDS.search(heading) for heading in region.headings):
        return True
    if region.kind == "fence":
        return _says(_lead(text, text.line_at(region.start))) or _says(_comments_before(text, number))
    if region.kind == "comment":
        return False
    return bool(_is_quoted(line, begin) and (_says(line) or _says(_lead(text, number)))) or _is_listed(text, number)


def _place_in_line(line: str, found: Mark, begin: int) -> int:
    """Where in its line a command begins that was marked with its whole line."""
    if begin == 0 and found.shown:
        return max(0, line.find(found.shown[:16]))
    return begin


def _is_forbidden(line: str, begin: int) -> bool:
    """Whether a word of forbidding stands in front of a place, however closely."""
    forbids = _FORBIDS.search(line[: begin + 12])
    return forbids is not None and forbids.start() < begin


def _says(words: str) -> bool:
    return bool(words) and bool(_FORBIDS.search(words) or _TEACHES.search(words))


def _lead(text: Text, number: int) -> str:
    """The last two lines with words in front of a line."""
    lines: list[str] = []
    for earlier in range(number - 1, max(0, number - 6), -1):
        line = text.line(earlier).strip()
        if line:
            lines.append(line)
        if len(lines) == 2:
            break
    return " ".join(lines)


def _comments_before(text: Text, number: int) -> str:
    """Comments in the few lines in front of a line and behind its own code."""
    lines = [text.line(each).strip() for each in range(max(1, number - 3), number)]
    comments = [line for line in lines if line.startswith(("#", "//", "--", "*", "/*", "REM "))]
    own = re.search(r"(?:\s#|//)\s(.{3,})$", text.line(number))
    return " ".join([*comments, own[1] if own else ""])


def _is_quoted(line: str, begin: int) -> bool:
    before = line[max(0, begin - 24) : begin]
    return any(mark in before for mark in _QUOTES)


def _is_listed(text: Text, number: int) -> bool:
    """Whether the line is an item of a list or a row of a table that was announced as things to look for."""
    for earlier in range(number - 1, max(0, number - 25), -1):
        line = text.line(earlier)
        if not line.strip():
            continue
        if line.lstrip().startswith(("-", "*", "|", "+", ">")) or re.match(r"\s*\d+[.)]", line):
            continue
        return bool(re.search(r":\s*\**\s*$", line) and _says(line))
    return False


def _is_rule(line: str, found: Mark) -> bool:
    """Whether a line of code or data is a rule that looks for such things."""
    return (
        found.code[0] in "ILHXDP"
        and bool(_RULE_LINE.search(line))
        and found.end - found.start < 400
        and _looks_like_rule(line)
    )


def _looks_like_rule(line: str) -> bool:
    return bool(
        re.search(
            (
                r"re\.(?:compile|search|match|findall)|new RegExp|(?<![:/\w.])/(?!/)[^/\n]{4,}/[gimsu]{1,4}\b"
                r"|\\s[*+]|\\b\w|\(\?:|\.\*\w|pattern[\"']?\s*[:=]|regex[\"']?\s*[:=]"
            ),
            line,
        )
    )


def _is_apart(name: str) -> bool:
    """Whether a file is a test, an example or an evaluation."""
    parts = name.lower().split("/")[:-1]
    return any(
        part in ("tests", "test", "evals", "eval", "fixtures", "examples", "__tests__", "benchmarks") for part in parts
    )
