"""How skills and what is wrong with them are written: as lines for people, as JSON for programs."""

from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import msgspec

from skills_runtime.cli.render.text import one_line, plural
from skills_runtime.cli.skill_reports import Checked
from skills_runtime.skills.standard.diagnostics import Diagnostic


def write_findings(reports: Sequence[Checked], out: TextIO) -> None:
    """Write the findings for programs."""
    _write_json({"valid": all(report.valid for report in reports), "skills": reports}, out)


def show_findings(reports: Sequence[Checked], out: TextIO) -> None:
    """Write the findings for a person."""
    for report in reports:
        out.write(f"{'valid    ' if report.valid else 'not valid'} {one_line(report.path)}\n")
        _show_diagnostics(report.diagnostics, out)
    if len(reports) > 1:
        valid = sum(report.valid for report in reports)
        out.write(f"{plural(len(reports), 'skill')}: {valid} valid, {len(reports) - valid} not\n")


def write_skill(skill: Mapping[str, Any], out: TextIO) -> None:
    """Write a skill for programs."""
    _write_json(skill, out)


def show_skill(skill: Mapping[str, Any], out: TextIO) -> None:
    """Write a skill for a person."""
    out.write(f"{one_line(skill['name'] or 'no name')}\n")
    if skill["description"]:
        out.write(f"  {one_line(skill['description'])}\n")
    for label in ("mention", "directory", "license", "compatibility"):
        if skill[label]:
            out.write(f"{label}: {one_line(skill[label])}\n")
    if skill["allowed_tools"]:
        out.write(f"allowed tools: {one_line(', '.join(skill['allowed_tools']))}\n")
    others = [name for name in skill["fields"] if name not in ("license", "compatibility", "allowed-tools")]
    if others:
        out.write(f"other fields: {one_line(', '.join(others))}\n")
    if skill["run"] is not None:
        out.write(f"action run: {skill['run'].runtime}\n")
    out.write(f"body: {plural(skill['body']['lines'], 'line')}\nfiles:\n")
    out.writelines(f"  {one_line(file)}\n" for file in skill["files"])
    if skill["diagnostics"]:
        out.write("findings:\n")
        _show_diagnostics(skill["diagnostics"], out)


def _show_diagnostics(diagnostics: Sequence[Diagnostic], out: TextIO) -> None:
    for one in diagnostics:
        place = one.file + (f":{one.line}" if one.line else "") + (f":{one.column}" if one.line and one.column else "")
        out.write(f"  {one.severity:7} {place}  {one_line(one.message)} [{one.code}]\n")
        if one.hint and one.severity != "info":
            out.write(f"          hint: {one_line(one.hint)}\n")


def _write_json(value: Any, out: TextIO) -> None:
    out.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")
