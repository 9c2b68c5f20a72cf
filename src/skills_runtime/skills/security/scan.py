"""Scans the directory of a skill for what harms its user; nothing in it is run."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from skills_runtime.skills.neutral import one_line
from skills_runtime.skills.security.codes import RULES
from skills_runtime.skills.security.collect import Collected, collect
from skills_runtime.skills.security.context import ABOUT_SECURITY, weighed
from skills_runtime.skills.security.hidden import INVISIBLE, hidden_marks, visible
from skills_runtime.skills.security.instructions import instruction_marks
from skills_runtime.skills.security.leaked import leaked_marks
from skills_runtime.skills.security.lures import lure_marks
from skills_runtime.skills.security.marks import Mark, Profile
from skills_runtime.skills.security.packaged import packaged
from skills_runtime.skills.security.python_code import python_marks
from skills_runtime.skills.security.report import Finding, SecurityReport, Severity, Skipped
from skills_runtime.skills.security.scoring import judged
from skills_runtime.skills.security.scripts import script_marks, sends_out
from skills_runtime.skills.security.shell import shell_marks
from skills_runtime.skills.security.text import Text, decoded, kind_of

EXCERPT = 160
PER_CODE = 5
"""How often one code is told of one file."""
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
    """What is to be said against the skill in a directory."""
    return scan_collected(collect(path))


def scan_collected(collected: Collected) -> SecurityReport:
    """What is to be said against files that were read; pure."""
    texts = [
        Text(member.name, kind_of(member), decoded(member))
        for member in collected.members
        if kind_of(member) != "binary"
    ]
    profile = profile_of(texts)
    findings: list[Finding] = [_shipped(one.code, one.severity, one.file, one.shown) for one in packaged(collected)]
    for text in texts:
        findings.extend(_of_text(text, profile))
    findings.extend(_across(findings, texts))
    verdict, score, ordered = judged(findings)
    skipped = tuple(Skipped(file=one_line(each.file), reason=each.reason) for each in collected.skipped)
    return SecurityReport(
        findings=ordered, verdict=verdict, score=score, files_read=len(collected.members), skipped=skipped
    )


def profile_of(texts: Iterable[Text]) -> Profile:
    """What the skill says of itself in the front matter of its `SKILL.md`."""
    main = next((text for text in texts if text.name.lower() == "skill.md"), None)
    if main is None:
        return Profile()
    fields = {match[1].lower(): " ".join(match[2].split()) for match in _FIELD.finditer(main.body[:16_000])}
    said = f"{fields.get('name', '')} {fields.get('description', '')}"
    return Profile(
        name=fields.get("name", ""),
        description=fields.get("description", ""),
        words=frozenset(_WORD.findall(said.lower())),
        is_about_security=bool(ABOUT_SECURITY.search(said.replace("-", " ")) or ABOUT_SECURITY.search(said)),
    )


def _across(findings: Iterable[Finding], texts: Iterable[Text]) -> Iterator[Finding]:
    """Secrets that one file reads where another one sends data away."""
    read = next((each for each in findings if each.code == "D006" and each.severity == "medium"), None)
    if read is None:
        return
    for text in texts:
        if text.name != read.file and text.kind in ("python", "script", "shell") and sends_out(text):
            yield _made("D002", "high", read.file, read.line, f"{read.excerpt} … and {text.name} sends data away")
            return


def _of_text(text: Text, profile: Profile) -> Iterator[Finding]:
    told: dict[tuple[str, Severity], int] = {}
    for found in _marks(text, profile):
        severity = weighed(found, text, profile)
        count = told.get((found.code, severity), 0)
        told[found.code, severity] = count + 1
        if count < PER_CODE:
            yield _finding(found, severity, text)


def _marks(text: Text, profile: Profile) -> Iterator[Mark]:
    yield from hidden_marks(text)
    yield from leaked_marks(text)
    if text.kind == "python":
        yield from python_marks(text, profile)
        return
    if text.kind == "script":
        yield from script_marks(text, profile)
        return
    yield from shell_marks(text.body, 0, len(text.body), profile)
    if text.kind in ("markdown", "plain"):
        yield from lure_marks(text, profile)
    if text.kind in ("markdown", "plain", "config"):
        yield from instruction_marks(text, profile)
    yield from _embedded(text, profile)
    yield from _cleared(text, profile)


def _embedded(text: Text, profile: Profile) -> Iterator[Mark]:
    """Python and JavaScript in the fences of a Markdown file, and what its front matter allows."""
    if text.kind != "markdown":
        return
    for region in text.regions:
        if region.kind == "front" and region.start == 0:
            every = _ALL_TOOLS.search(text.body, region.start, region.end)
            if every:
                yield Mark(code="R001", severity="low", start=every.start(), end=every.end())
        if region.kind != "fence" or region.language not in (
            "python",
            "py",
            "python3",
            "javascript",
            "js",
            "typescript",
            "ts",
            "node",
        ):
            continue
        body = text.body[region.start : region.end]
        inner = Text(text.name, "python" if region.language.startswith("py") else "script", _without_fence(body))
        marks = python_marks(inner, profile) if inner.kind == "python" else script_marks(inner, profile)
        for found in marks:
            yield Mark(
                code=found.code,
                severity=found.severity,
                start=region.start + found.start,
                end=region.start + found.end,
                shown=found.shown or inner.body[found.start : found.end],
            )


def _without_fence(body: str) -> str:
    """The code of a fence with blanks in the place of its first line, so that places stay the same."""
    first, _, rest = body.partition("\n")
    code, closing, _ = rest.rpartition("\n")
    return " " * len(first) + "\n" + (code if closing else rest)


def _cleared(text: Text, profile: Profile) -> Iterator[Mark]:
    """What only shows once characters are left out that nobody sees."""
    if text.kind != "markdown" or text.body.isascii() or not INVISIBLE.search(text.body):
        return
    cleared = Text(text.name, text.kind, visible(text.body))
    before = {
        found.code for found in [*instruction_marks(text, profile), *shell_marks(text.body, 0, len(text.body), profile)]
    }
    for found in [*instruction_marks(cleared, profile), *shell_marks(cleared.body, 0, len(cleared.body), profile)]:
        if found.code not in before and found.severity in ("medium", "high", "critical"):
            shown = found.shown or cleared.body[found.start : found.end]
            yield Mark(code="H003", severity="high", start=found.start, end=found.end, shown=shown)


def _finding(found: Mark, severity: Severity, text: Text) -> Finding:
    shown = found.shown or text.body[found.start : min(found.end, found.start + 400)]
    return _made(found.code, severity, text.name, text.line_at(found.start), shown)


def _shipped(code: str, severity: Severity, file: str, shown: str) -> Finding:
    return _made(code, severity, file, 0, shown)


def _made(code: str, severity: Severity, file: str, line: int, shown: str) -> Finding:
    rule = RULES[code]
    return Finding(
        code=code,
        severity=severity,
        title=rule.title,
        file=one_line(file),
        line=line,
        excerpt=_excerpt(shown),
        why=rule.why,
        remedy=rule.remedy,
    )


def _excerpt(shown: str) -> str:
    line = one_line(shown[:600]).replace("<", "‹").replace(">", "›")
    return line if len(line) <= EXCERPT else line[: EXCERPT - 1] + "…"
