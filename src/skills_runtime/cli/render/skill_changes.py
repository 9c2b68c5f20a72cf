"""What is about to be installed, and how installed skills compare with the lock file, for people and programs."""

from collections.abc import Sequence
from typing import TextIO

import msgspec

from skills_runtime.cli.render.text import neutral, one_line, plural
from skills_runtime.skills.install.operations import Installed
from skills_runtime.skills.install.preparing import Prepared

_SHOWN_FILES = 30
_SIGNED = {"verified": "verified", "unsigned": "none", "unchecked": "not checked; nobody said whose counts"}
_WORDS = {
    "ok": "ok",
    "changed": "changed since it was locked",
    "missing": "locked, but not installed",
    "extra": "installed, but not locked",
    "unpinned": "locked without a hash",
}


def show_prepared(prepared: Sequence[Prepared], out: TextIO) -> None:
    """Show everything somebody has to know before they agree."""
    for each in prepared:
        _show(each, out)
    out.flush()


def show_installed(skills: Sequence[Installed], out: TextIO) -> None:
    """Write one line for each skill."""
    width = max((len(each.name) for each in skills), default=0)
    for each in skills:
        out.write(f"{each.status:8} {one_line(each.name):{width}}  {_WORDS[each.status]}\n")
    wrong = sum(each.status in ("changed", "missing") for each in skills)
    out.write(f"{plural(len(skills), 'skill')}: {'all as locked' if not wrong else f'{wrong} not as locked'}\n")


def write_installed(skills: Sequence[Installed], out: TextIO) -> None:
    """Write the same as JSON."""
    rows = [
        {
            "name": each.name,
            "status": each.status,
            "directory": str(each.directory),
            "consented": each.consented,
            "computedHash": each.computed_hash,
            "source": each.entry.source if each.entry else None,
            "commit": each.entry.commit if each.entry else None,
        }
        for each in skills
    ]
    out.write(msgspec.json.format(msgspec.json.encode({"skills": rows})).decode() + "\n")


def _show(each: Prepared, out: TextIO) -> None:
    entry, screened, size = each.entry, each.screened, each.hashed.size
    out.write(f"{one_line(each.name)} ({each.becomes})\n  {one_line(screened.description)}\n")
    version = f" at {entry.commit[:12]}" if entry.commit else f" at {entry.ref}" if entry.ref else ""
    facts = {
        "source": f"{entry.source}{version}",
        "hash": each.hashed.computed_hash,
        "files": f"{plural(len(each.hashed.entries), 'file')}, {size} bytes",
        "scripts": ", ".join(screened.scripts) or "none",
        "allowed tools": ", ".join(screened.allowed_tools) or "none",
        "signature": _SIGNED[screened.signature],
        "security": screened.verdict,
        **({"action": screened.runs} if screened.runs else {}),
    }
    for label, fact in facts.items():
        out.write(f"  {label}: {one_line(fact)}\n")
    out.writelines(f"    {one_line(finding)}\n" for finding in screened.findings)
    out.writelines(f"  note: {one_line(note)}\n" for note in screened.notes)
    if each.becomes == "new":
        _show_files([entry.path for entry in each.hashed.entries], out)
    for change in each.changes:
        out.write(f"  {change.kind}: {one_line(change.path)}\n")
        out.writelines(f"    {neutral(line)}\n" for line in change.lines)


def _show_files(paths: Sequence[str], out: TextIO) -> None:
    out.writelines(f"    {one_line(path)}\n" for path in sorted(paths)[:_SHOWN_FILES])
    if len(paths) > _SHOWN_FILES:
        out.write(f"    and {len(paths) - _SHOWN_FILES} more\n")
