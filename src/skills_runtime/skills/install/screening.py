"""What a person should know of a skill before it is installed: its programs, what it asks for, what is odd."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from skills_runtime.errors import PolicyDenied
from skills_runtime.skills.install.hashing import Hashed
from skills_runtime.skills.install.signatures import Signed
from skills_runtime.skills.standard.directories import Inspected
from skills_runtime.storage.nofollow import open_directory, read_below

if TYPE_CHECKING:
    from skills_runtime.skills.scan import Finding

_PROGRAMS = (
    ".py", ".pyc", ".sh", ".bash", ".zsh", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".lua", ".go", ".rs",
    ".ps1", ".bat", ".cmd", ".exe", ".dll", ".so", ".dylib", ".jar", ".wasm", ".applescript",
)  # fmt: skip


class Screened(msgspec.Struct, frozen=True, kw_only=True):
    """Everything to be shown of one skill."""

    description: str
    scripts: tuple[str, ...]
    """Files that are programs."""
    allowed_tools: tuple[str, ...]
    runs: str | None
    """The kind of program its action is, if it has one."""
    notes: tuple[str, ...]
    """What is odd about its `SKILL.md`, and what the scan did not read."""
    signature: Signed
    verdict: Literal["clean", "suspicious", "malicious"]
    """What the security scan comes to."""
    findings: tuple[str, ...] = ()


def screen(directory: Path, hashed: Hashed, inspected: Inspected, signature: Signed) -> Screened:
    """Look at a skill that is about to be installed."""
    from skills_runtime.skills.scan import scan_directory  # a large table of rules that nothing else here needs

    skill, run = inspected.skill, inspected.run
    report = scan_directory(directory)
    odd = [one.message for one in inspected.diagnostics if one.severity == "warning"]
    unread = [f"`{each.file}` was not scanned: {each.reason}" for each in report.skipped]
    return Screened(
        description=skill.description if skill else run.description if run and run.description else "",
        scripts=tuple(_scripts(directory, hashed)),
        allowed_tools=skill.allowed_tools if skill else (),
        runs=run.runtime if run else None,
        notes=(*odd, *unread),
        signature=signature,
        verdict=report.verdict,
        findings=tuple(map(_told, report.findings)),
    )


def refuse_malicious(name: str, screened: Screened) -> None:
    """Stop where the scan found more than a suspicion."""
    if screened.verdict == "malicious":
        what = f": {screened.findings[0]}" if screened.findings else ""
        raise PolicyDenied(
            f"the security scan takes the skill `{name}` for malicious{what}",
            hint="look at its files; `--accept-risk` installs it all the same",
            details={"code": "SKILL_INSTALL_MALICIOUS", "findings": list(screened.findings)},
        )


def _scripts(directory: Path, hashed: Hashed) -> list[str]:
    found: list[str] = []
    with open_directory(directory.resolve()) as top:
        for entry in hashed.entries:
            named = entry.path.startswith("scripts/") or entry.path.lower().endswith(_PROGRAMS) or entry.executable
            if named or (entry.kind == "file" and read_below(top, entry.path.split("/"), limit=2) == b"#!"):
                found.append(entry.path)
    return sorted(found)


def _told(finding: "Finding") -> str:
    place = f"{finding.file}:{finding.line}" if finding.line else finding.file
    return f"{finding.severity} {place} {finding.title}: {finding.excerpt} [{finding.code}]"
