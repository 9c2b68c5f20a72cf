"""`runtime`: the server of a workspace that keeps sessions and child agents."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from skills_runtime.cli.help import ExampleCommand, create_app
from skills_runtime.cli.options import Json, WorkspaceRoot
from skills_runtime.cli.text import write_json
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    from skills_runtime.runtime.client import RuntimeClient

app = create_app(
    "runtime",
    "Look after the server that keeps sessions and child agents.",
    "runtime status",
    "runtime stop",
)


@app.command("status", cls=ExampleCommand, epilog="runtime status\nruntime status --workspace-root ../other --json")
def show_status(*, as_json: Json = False, workspace_root: WorkspaceRoot = ".") -> int:
    """Say whether a runtime server is there and what it does, without starting one."""
    from skills_runtime.processes.server.directory import NoServer

    try:
        answer = {"running": True, **_client(workspace_root).call("runtime.status")}
    except NoServer:
        answer = {"running": False}
    return _write(answer, _status_lines(answer), as_json=as_json)


@app.command("stop", cls=ExampleCommand, epilog="runtime stop\nruntime stop --workspace-root ../other")
def stop_server(*, as_json: Json = False, workspace_root: WorkspaceRoot = ".") -> int:
    """End the runtime server with its sessions; child agents can be resumed."""
    stopped = _client(workspace_root).stop()
    text = "The runtime server has ended." if stopped else "No runtime server was there."
    return _write({"stopped": stopped}, [text], as_json=as_json)


@app.command("cleanup", cls=ExampleCommand, epilog="runtime cleanup\nruntime cleanup --json")
def clean_up(*, as_json: Json = False, workspace_root: WorkspaceRoot = ".") -> int:
    """End all sessions and child agents, and what a dead server has left."""
    answer = _client(workspace_root).clean_up()
    return _write(answer, _cleanup_lines(answer), as_json=as_json)


def _client(workspace_root: str) -> "RuntimeClient":
    """A client that starts no server."""
    from skills_runtime.cli.inputs import checked_path
    from skills_runtime.runtime.client import RuntimeClient

    return RuntimeClient(checked_path(workspace_root, option="--workspace-root"), start=False)


def _write(answer: Mapping[str, Any], lines: Iterable[str], *, as_json: bool) -> int:
    if as_json:
        write_json(answer)
    else:
        for line in lines:
            print(line)
    return 0


def _status_lines(answer: Mapping[str, Any]) -> list[str]:
    if not answer["running"]:
        return ["No runtime server serves this workspace; one is started when a program needs it."]
    registry = answer["exec_registry"]
    orphans = registry["last_orphan_cleanup"]
    return [
        f"The runtime server {answer['pid']} serves {readable_line(answer['workspace_root'])}.",
        f"  up for:    {answer['uptime_ms'] / 1000:.0f} s; ends after {answer['idle_seconds']:g} s without work",
        f"  sessions:  {answer['active_exec_sessions']}",
        f"  children:  {answer['active_children']}",
        f"  orphans:   {len(orphans['ended'])} ended when it began, {len(orphans['survivors'])} left",
        f"  registry:  {readable_line(registry['path'])}",
    ]


def _cleanup_lines(answer: Mapping[str, Any]) -> list[str]:
    if answer["server"]:
        return [f"Ended {answer['closed_exec_sessions']} sessions and {answer['cancelled_children']} child agents."]
    ended, survivors = answer["orphans"].get("ended", ()), answer["orphans"].get("survivors", ())
    lines = [f"No runtime server was there; ended {len(ended)} processes that one had left behind."]
    return [*lines, f"Not ended: {', '.join(map(str, survivors))}"] if survivors else lines
