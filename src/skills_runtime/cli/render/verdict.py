"""What verification found, finding by finding."""

from typing import TextIO

import msgspec
from rich.console import Console
from rich.text import Text

from skills_runtime.cli.render.text import one_line, plural
from skills_runtime.runs import Finding, Verdict


def write_verdict(verdict: Verdict, output: TextIO) -> None:
    """The verdict as one JSON object."""
    output.write(msgspec.json.encode({"ok": verdict.ok, **msgspec.to_builtins(verdict)}).decode() + "\n")


def show_verdict(verdict: Verdict, console: Console) -> None:
    """The verdict for people."""
    for finding in verdict.findings:
        console.print(_line(finding))
    if verdict.ok:
        how = "authentic" if verdict.authentic else "authenticity not checked"
        text = f"✓ verified: {plural(verdict.events, 'event')}, {how}"
        console.print(Text(text, style="green"))
    else:
        errors = sum(finding.severity == "error" for finding in verdict.findings)
        console.print(Text(f"✗ not verified: {plural(errors, 'finding')}", style="bold red"))


def _line(finding: Finding) -> Text:
    mark, style = ("✗", "red") if finding.severity == "error" else ("note:", "dim")
    return Text.assemble((f"{mark} {one_line(finding.where)}  ", style), one_line(finding.message))
