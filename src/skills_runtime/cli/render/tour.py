"""After the demo: where everything is, and what to try next."""

from pathlib import Path

from rich.text import Text

from skills_runtime.cli.locate import short_id
from skills_runtime.cli.machine import shown_path
from skills_runtime.cli.render.console import labelled, talk
from skills_runtime.cli.render.verdict import show_verdict
from skills_runtime.runs import Verdict

_PLACES = {
    "deliverables/report.md": "what was asked for",
    "events.jsonl": "everything that happened, sealed line by line",
    "transcript.md": "the same as prose",
    "run.json": "the state of the run",
    "artifact-manifest.json": "what it made and read, with digests",
}


def show_tour(root: Path, verdict: Verdict, *, program: str, no_color: bool) -> None:
    """Lead through the directory of a finished run."""
    console = talk(no_color=no_color)
    console.print()
    console.print(Text(shown_path(root), style="bold"))
    console.print(labelled(_PLACES, indent=2, width=0))
    show_verdict(verdict, console)
    console.print()
    console.print(Text("try next", style="bold"))
    name = short_id(root.name)
    for command in (f"runs show {name}", f"transcript {name}", f"verify {name}", "runs list"):
        console.print(Text(f"  {program} {command}"))
