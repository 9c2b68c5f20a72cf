"""The `runtime` commands: status and cleanup of the server for terminals and child agents."""

from typing import TYPE_CHECKING, Any

from skills_runtime.cli.options import Json, WorkspaceRoot, parse_path
from skills_runtime.cli.output import write_json
from skills_runtime.cli.program import ExampleCommand, create_app
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    from skills_runtime.runtime import RuntimeClient

app = create_app(
    "runtime",
    "Manage the background server of terminal sessions.",
    "runtime status",
    "runtime stop",
)


@app.command("status", cls=ExampleCommand, epilog="runtime status\nruntime status --workspace-root ../other --json")
def show_status(*, as_json: Json = False, workspace_root: WorkspaceRoot = ".") -> int:
    """Show whether a runtime server is running, without starting one."""
    from skills_runtime.processes.server import NoServer  # slow, and help needs none of it

    try:
        answer: dict[str, Any] = {"running": True, **_client(workspace_root).call("runtime.status")}
    except NoServer:
        answer = {"running": False}
    if as_json:
        write_json(answer)
        return 0
    if not answer["running"]:
        print("No runtime server is running for this workspace; it starts on demand.")
        return 0
    registry = answer["exec_registry"]
    orphans = registry["last_orphan_cleanup"]
    print(f"The runtime server {answer['pid']} serves {readable_line(answer['workspace_root'])}.")
    print(f"  up for:    {answer['uptime_ms'] / 1000:.0f} s; stops after {answer['idle_seconds']:g} s without work")
    print(f"  sessions:  {answer['active_exec_sessions']}")
    print(f"  children:  {answer['active_children']}")
    print(f"  orphans:   {len(orphans['ended'])} ended at start, {len(orphans['survivors'])} left")
    print(f"  registry:  {readable_line(registry['path'])}")
    return 0


@app.command("stop", cls=ExampleCommand, epilog="runtime stop\nruntime stop --workspace-root ../other")
def stop_server(*, as_json: Json = False, workspace_root: WorkspaceRoot = ".") -> int:
    """Stop the runtime server and its sessions; child agents can be resumed."""
    stopped = _client(workspace_root).stop()
    if as_json:
        write_json({"stopped": stopped})
    else:
        print("The runtime server was stopped." if stopped else "No runtime server was running.")
    return 0


@app.command("cleanup", cls=ExampleCommand, epilog="runtime cleanup\nruntime cleanup --json")
def clean_up(*, as_json: Json = False, workspace_root: WorkspaceRoot = ".") -> int:
    """Stop all sessions and child agents, including leftovers of a dead server."""
    answer = _client(workspace_root).clean_up()
    if as_json:
        write_json(answer)
    elif answer["server"]:
        print(f"Ended {answer['closed_exec_sessions']} sessions and {answer['cancelled_children']} child agents.")
    else:
        ended_pids, survivors = answer["orphans"].get("ended", ()), answer["orphans"].get("survivors", ())
        print(f"No runtime server was running; ended {len(ended_pids)} leftover processes.")
        if survivors:
            print(f"Not ended: {', '.join(map(str, survivors))}")
    return 0


def _client(workspace_root: str) -> "RuntimeClient":
    """Create a client that does not start a server."""
    from skills_runtime.runtime import RuntimeClient  # slow, and help needs none of it

    return RuntimeClient(parse_path(workspace_root, option="--workspace-root"), start=False)
