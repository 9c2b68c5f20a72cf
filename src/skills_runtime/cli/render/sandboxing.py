"""How the plan of a fence and the state of a machine are written for a person."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from skills_runtime.cli.render.text import one_line
from skills_runtime.ports import SandboxPlan
from skills_runtime.sandbox.adapter import Capabilities, Enclosed
from skills_runtime.sandbox.promises import PROMISES, Gap

HIDDEN = "•••"


def plan_values(plan: SandboxPlan, enclosed: Enclosed) -> dict[str, Any]:
    """The plan as values for programs; of variables only the names are told."""
    enclosure = plan.enclosure
    return {
        "argv": list(plan.argv),
        "options": [" ".join(group) for group in _grouped(_without_values(enclosed.options))],
        "placeholders": list(enclosure.placeholders),
        "control_groups": [
            {"parent": group.parent, "settings": dict(group.settings)} for group in enclosure.control_groups
        ],
        "evidence": dict(plan.evidence),
    }


def write_plan(values: Mapping[str, Any], out: TextIO) -> None:
    """Write it for a person."""
    evidence = values["evidence"]
    out.write(f"{one_line(' '.join(values['argv']))}\n")
    _write_list("options", values["options"], out)
    _write_list("kept free while it runs", values["placeholders"], out)
    groups = [f"{group['parent']}: {_settings(group['settings'])}" for group in values["control_groups"]]
    _write_list("control groups", groups, out)
    out.write(f"profile {evidence['profile']} by {evidence['adapter']} ({evidence['version']})\n")
    out.write(f"policy {evidence['policy']}\npromises: {', '.join(evidence['promises'])}\n")
    _write_list("gaps", evidence["gaps"], out)


def write_state(capabilities: Sequence[Capabilities], gaps: Sequence[Gap], out: TextIO) -> None:
    """Write what works on a machine, what is missing, and how to change that."""
    for one in capabilities:
        state = "works" if one.works else "does not work"
        out.write(f"{one.adapter}: {state}{f' ({one.version})' if one.version else ''}\n")
        if not one.works:
            out.write(f"  problem: {one_line(one.problem)}\n  fix: {one_line(one.fix)}\n")
    if not any(one.works for one in capabilities):
        return
    broken = {gap.promise for gap in gaps if not gap.partial}
    _write_list("promises", [f"{name}: {text}" for name, text in PROMISES.items() if name not in broken], out)
    _write_list("gaps", [f"{gap}{f' (fix: {gap.fix})' if gap.fix else ''}" for gap in gaps], out)


def _settings(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in settings.items())


def _write_list(heading: str, lines: Sequence[str], out: TextIO) -> None:
    if lines:
        out.write(f"{heading}:\n")
    for line in lines:
        out.write(f"  {one_line(line)}\n")


def _without_values(options: Sequence[str]) -> list[str]:
    shown = list(options)
    for place, word in enumerate(options):
        if word == "--setenv" and place + 2 < len(shown):
            shown[place + 2] = HIDDEN
    return shown


def _grouped(options: Sequence[str]) -> Iterator[list[str]]:
    """Each option with what belongs to it."""
    group: list[str] = []
    for word in options:
        if word.startswith("--") and group:
            yield group
            group = []
        group.append(word)
    if group:
        yield group
