"""What the runtime server says, for people and for programs."""

from collections.abc import Iterable, Mapping
from typing import Any, TextIO

import msgspec

from skills_runtime.cli.render.text import one_line


def write_answer(answer: Mapping[str, Any], lines: Iterable[str], out: TextIO, *, as_json: bool) -> None:
    """Write an answer as JSON, or the lines that tell it."""
    if as_json:
        out.write(msgspec.json.format(msgspec.json.encode(answer)).decode() + "\n")
    else:
        out.writelines(f"{line}\n" for line in lines)


def status_lines(answer: Mapping[str, Any]) -> list[str]:
    """The state of a server."""
    if not answer["running"]:
        return ["No runtime server serves this workspace; one is started when a program needs it."]
    registry = answer["exec_registry"]
    orphans = registry["last_orphan_cleanup"]
    return [
        f"The runtime server {answer['pid']} serves {one_line(answer['workspace_root'])}.",
        f"  up for:    {answer['uptime_ms'] / 1000:.0f} s; ends after {answer['idle_seconds']:g} s without work",
        f"  sessions:  {answer['active_exec_sessions']}",
        f"  children:  {answer['active_children']}",
        f"  orphans:   {len(orphans['ended'])} ended when it began, {len(orphans['survivors'])} left",
        f"  registry:  {one_line(registry['path'])}",
    ]


def cleanup_lines(answer: Mapping[str, Any]) -> list[str]:
    """What a cleanup has done."""
    if answer["server"]:
        return [f"Ended {answer['closed_exec_sessions']} sessions and {answer['cancelled_children']} child agents."]
    ended, survivors = answer["orphans"].get("ended", ()), answer["orphans"].get("survivors", ())
    lines = [f"No runtime server was there; ended {len(ended)} processes that one had left behind."]
    return [*lines, f"Not ended: {', '.join(map(str, survivors))}"] if survivors else lines
