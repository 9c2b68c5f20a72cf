"""Scan the directory of a skill for malicious content, without running any of it.

Detectors mark text; a mark weighs less if its context quotes, forbids or teaches the marked behavior. The remaining
marks become findings.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from skills_runtime.skills.scan.files import Collected, collect_files, find_file_issues
from skills_runtime.skills.scan.hidden import INVISIBLE, find_hidden_marks, strip_invisible
from skills_runtime.skills.scan.instructions import find_instruction_marks
from skills_runtime.skills.scan.python import find_python_marks
from skills_runtime.skills.scan.rules import (
    SCAN_RULES,
    Finding,
    FindingSeverity,
    SecurityReport,
    SkippedFile,
    build_verdict,
    lower_severity,
)
from skills_runtime.skills.scan.scripts import find_script_marks, sends_out
from skills_runtime.skills.scan.secrets import find_leaked_secrets
from skills_runtime.skills.scan.shell import find_shell_marks
from skills_runtime.skills.scan.social_engineering import find_lure_marks
from skills_runtime.skills.scan.text import Mark, Profile, Text, decode_text, detect_text_kind
from skills_runtime.text import one_line

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
_RULE_CODE = re.compile(
    r"re\.(?:compile|search|match|findall)|new RegExp|(?<![:/\w.])/(?!/)[^/\n]{4,}/[gimsu]{1,4}\b"
    r"|\\s[*+]|\\b\w|\(\?:|\.\*\w|pattern[\"']?\s*[:=]|regex[\"']?\s*[:=]"
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
_EXAMPLE_FOLDERS = frozenset({"tests", "test", "evals", "eval", "fixtures", "examples", "__tests__", "benchmarks"})
_UNEXCUSED_CODES = frozenset({"L001", "L002", "H001"})
"""Codes whose severity is not lowered by the skill's name or description."""


def weigh_mark(mark: Mark, text: Text, profile: Profile) -> FindingSeverity:
    """Lower the severity of a mark by its context."""
    if mark.is_certain:
        return mark.severity
    steps = 0
    if is_example_or_warning(mark, text):
        steps += 2
    in_words = text.kind in ("markdown", "config", "plain")
    if in_words and profile.is_about_security and mark.code not in _UNEXCUSED_CODES:
        steps += 2
    if in_words and not _EXAMPLE_FOLDERS.isdisjoint(text.name.lower().split("/")[:-1]):
        steps += 1
    return lower_severity(mark.severity, min(steps, 3))


def is_example_or_warning(mark: Mark, text: Text) -> bool:
    """Return whether the context shows that the match is an example, a warning or a detection rule."""
    number = text.line_number_at(mark.start)
    line = text.line(number)
    begin = mark.start - text.starts[number - 1]
    if begin == 0 and mark.shown:  # a command that was marked with its whole line
        begin = max(0, line.find(mark.shown[:16]))
    before = line[:begin] if begin > 0 else ""
    region = text.region_at(mark.start)
    if text.kind != "markdown":
        return _is_rule(line, mark) or _warns_or_teaches(_comments_before(text, number))
    forbids = _FORBIDS.search(line[: begin + 12])
    is_forbidden = forbids is not None and forbids.start() < begin
    if _warns_or_teaches(before) or is_forbidden or (_EXAMPLE.search(before) and _is_quoted(line, begin)):
        return True
    if any(_TEACHES.search(heading) or _FORBIDS.search(heading) for heading in region.headings):
        return True
    if region.kind == "fence":
        return _warns_or_teaches(_preceding_lines(text, text.line_number_at(region.start))) or _warns_or_teaches(
            _comments_before(text, number)
        )
    if region.kind == "comment":
        return False
    return bool(
        _is_quoted(line, begin) and (_warns_or_teaches(line) or _warns_or_teaches(_preceding_lines(text, number)))
    ) or _is_listed(text, number)


def _warns_or_teaches(words: str) -> bool:
    return bool(words) and bool(_FORBIDS.search(words) or _TEACHES.search(words))


def _preceding_lines(text: Text, number: int) -> str:
    """Return the last two non-empty lines before a line."""
    lines: list[str] = []
    for earlier in range(number - 1, max(0, number - 6), -1):
        line = text.line(earlier).strip()
        if line:
            lines.append(line)
        if len(lines) == 2:
            break
    return " ".join(lines)


def _comments_before(text: Text, number: int) -> str:
    """Join the comments in the three lines before a line and at its end."""
    lines = [text.line(earlier).strip() for earlier in range(max(1, number - 3), number)]
    comments = [line for line in lines if line.startswith(("#", "//", "--", "*", "/*", "REM "))]
    own = re.search(r"(?:\s#|//)\s(.{3,})$", text.line(number))
    return " ".join([*comments, own[1] if own else ""])


def _is_quoted(line: str, begin: int) -> bool:
    before = line[max(0, begin - 24) : begin]
    return any(mark in before for mark in _QUOTES)


def _is_listed(text: Text, number: int) -> bool:
    """Return whether the line is in a list or table that is introduced as examples or warnings."""
    for earlier in range(number - 1, max(0, number - 25), -1):
        line = text.line(earlier)
        if not line.strip():
            continue
        if line.lstrip().startswith(("-", "*", "|", "+", ">")) or re.match(r"\s*\d+[.)]", line):
            continue
        return bool(re.search(r":\s*\**\s*$", line) and _warns_or_teaches(line))
    return False


def _is_rule(line: str, mark: Mark) -> bool:
    """Return whether a line of code or data is a detection rule."""
    return (
        mark.code[0] in "ILHXDP"
        and bool(_RULE_LINE.search(line))
        and mark.end - mark.start < 400
        and bool(_RULE_CODE.search(line))
    )


_EMBEDDED = ("python", "py", "python3", "javascript", "js", "typescript", "ts", "node")
MAX_EXCERPT_CHARS = 160
MAX_PER_CODE = 5
"""Maximum number of findings per code, severity and file."""
_FIELD = re.compile(r"^(name|description)\s*:\s*(.*(?:\n[ \t]+.*){0,20})", re.M | re.I)
_WORD = re.compile(r"[a-z0-9]{3,}")
_ALL_TOOLS = re.compile(
    (
        r"^allowed-tools\s*:.*(?:\n[ \t]+.*){0,10}?(?:Bash\(\*\)|Bash\(\*:\*\)"
        r"|(?<!\w)\*(?![\w:/.]))"
    ),
    re.M | re.I,
)


def scan_directory(path: Path) -> SecurityReport:
    """Scan the skill in a directory."""
    return scan_collected(collect_files(path))


def scan_collected(collected: Collected) -> SecurityReport:
    """Scan collected files, without I/O."""
    texts = [
        Text(member.name, detect_text_kind(member), decode_text(member))
        for member in collected.members
        if detect_text_kind(member) != "binary"
    ]
    profile = build_profile(texts)
    findings = [
        _build_finding(issue.code, issue.severity, issue.file, 0, issue.shown) for issue in find_file_issues(collected)
    ]
    for text in texts:
        counts: Counter[tuple[str, FindingSeverity]] = Counter()
        for mark in _find_marks(text, profile):
            severity = weigh_mark(mark, text, profile)
            counts[mark.code, severity] += 1
            if counts[mark.code, severity] <= MAX_PER_CODE:
                shown = mark.shown or text.body[mark.start : min(mark.end, mark.start + 400)]
                findings.append(_build_finding(mark.code, severity, text.name, text.line_number_at(mark.start), shown))
    findings.extend(_cross_file_findings(findings, texts))
    verdict, score, ordered = build_verdict(findings)
    skipped = tuple(SkippedFile(file=one_line(file.file), reason=file.reason) for file in collected.skipped)
    return SecurityReport(
        findings=ordered, verdict=verdict, score=score, files_read=len(collected.members), skipped=skipped
    )


def build_profile(texts: Iterable[Text]) -> Profile:
    """Build the profile of a skill from the front matter of its `SKILL.md`."""
    main = next((text for text in texts if text.name.lower() == "skill.md"), None)
    if main is None:
        return Profile()
    fields = {match[1].lower(): " ".join(match[2].split()) for match in _FIELD.finditer(main.body[:16_000])}
    summary = f"{fields.get('name', '')} {fields.get('description', '')}"
    return Profile(
        name=fields.get("name", ""),
        description=fields.get("description", ""),
        words=frozenset(_WORD.findall(summary.lower())),
        is_about_security=bool(ABOUT_SECURITY.search(summary.replace("-", " ")) or ABOUT_SECURITY.search(summary)),
    )


def _cross_file_findings(findings: Iterable[Finding], texts: Iterable[Text]) -> Iterator[Finding]:
    """Report secrets that one file reads while another sends data away."""
    secret_read = next(
        (finding for finding in findings if finding.code == "D006" and finding.severity == "medium"), None
    )
    if secret_read is None:
        return
    for text in texts:
        if text.name != secret_read.file and text.kind in ("python", "script", "shell") and sends_out(text):
            yield _build_finding(
                "D002",
                "high",
                secret_read.file,
                secret_read.line,
                f"{secret_read.excerpt} … and {text.name} sends data away",
            )
            return


def _find_marks(text: Text, profile: Profile) -> Iterator[Mark]:
    yield from find_hidden_marks(text)
    yield from find_leaked_secrets(text)
    if text.kind == "python":
        yield from find_python_marks(text, profile)
        return
    if text.kind == "script":
        yield from find_script_marks(text, profile)
        return
    yield from find_shell_marks(text.body, 0, len(text.body), profile)
    if text.kind in ("markdown", "plain"):
        yield from find_lure_marks(text, profile)
    if text.kind in ("markdown", "plain", "config"):
        yield from find_instruction_marks(text, profile)
    yield from _embedded_marks(text, profile)
    yield from _unmasked_marks(text, profile)


def _embedded_marks(text: Text, profile: Profile) -> Iterator[Mark]:
    """Scan the Python and JavaScript code fences of a Markdown file, and its `allowed-tools`."""
    if text.kind != "markdown":
        return
    for region in text.regions:
        if region.kind == "front" and region.start == 0:
            wildcard = _ALL_TOOLS.search(text.body, region.start, region.end)
            if wildcard:
                yield Mark(code="R001", severity="low", start=wildcard.start(), end=wildcard.end())
        if region.kind != "fence" or region.language not in _EMBEDDED:
            continue
        # Blanks replace the opening line of the code block, so that offsets stay the same.
        first, _, rest = text.body[region.start : region.end].partition("\n")
        code, closing, _ = rest.rpartition("\n")
        body = " " * len(first) + "\n" + (code if closing else rest)
        inner = Text(text.name, "python" if region.language.startswith("py") else "script", body)
        marks = find_python_marks(inner, profile) if inner.kind == "python" else find_script_marks(inner, profile)
        for mark in marks:
            yield Mark(
                code=mark.code,
                severity=mark.severity,
                start=region.start + mark.start,
                end=region.start + mark.end,
                shown=mark.shown or inner.body[mark.start : mark.end],
            )


def _unmasked_marks(text: Text, profile: Profile) -> Iterator[Mark]:
    """Find marks that appear only after invisible characters are removed."""
    if text.kind != "markdown" or text.body.isascii() or not INVISIBLE.search(text.body):
        return
    visible_text = Text(text.name, text.kind, strip_invisible(text.body))
    visible_codes = {
        mark.code
        for mark in [*find_instruction_marks(text, profile), *find_shell_marks(text.body, 0, len(text.body), profile)]
    }
    for mark in [
        *find_instruction_marks(visible_text, profile),
        *find_shell_marks(visible_text.body, 0, len(visible_text.body), profile),
    ]:
        if mark.code not in visible_codes and mark.severity in ("medium", "high", "critical"):
            shown = mark.shown or visible_text.body[mark.start : mark.end]
            yield Mark(code="H003", severity="high", start=mark.start, end=mark.end, shown=shown)


def _build_finding(code: str, severity: FindingSeverity, file: str, line: int, shown: str) -> Finding:
    rule = SCAN_RULES[code]
    excerpt = one_line(shown[:600]).replace("<", "‹").replace(">", "›")
    return Finding(
        code=code,
        severity=severity,
        title=rule.title,
        file=one_line(file),
        line=line,
        excerpt=excerpt if len(excerpt) <= MAX_EXCERPT_CHARS else excerpt[: MAX_EXCERPT_CHARS - 1] + "…",
        why=rule.why,
        remedy=rule.remedy,
    )
