"""`runtime`: the server of a workspace that keeps sessions and child agents."""

import sys

from skills_runtime.cli.help import ExampleCommand, create_app
from skills_runtime.cli.options import Json, WorkspaceRoot

app = create_app(
    "runtime",
    "Look after the server that keeps sessions and child agents.",
    "runtime status",
    "runtime stop",
)


@app.command("status", cls=ExampleCommand, epilog="runtime status\nruntime status --workspace-root ../other --json")
def runtime_status(
    *,
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """Say whether a runtime server is there and what it does, without starting one."""
    from skills_runtime.cli.render.serving import status_lines, write_answer
    from skills_runtime.cli.serving import client_for
    from skills_runtime.processes.server.place import NoServer

    try:
        answer = {"running": True, **client_for(workspace_root).call("runtime.status")}
    except NoServer:
        answer = {"running": False}
    write_answer(answer, status_lines(answer), sys.stdout, as_json=as_json)
    return 0


@app.command("stop", cls=ExampleCommand, epilog="runtime stop\nruntime stop --workspace-root ../other")
def runtime_stop(
    *,
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """End the runtime server with its sessions; child agents can be resumed."""
    from skills_runtime.cli.render.serving import write_answer
    from skills_runtime.cli.serving import client_for

    stopped = client_for(workspace_root).stop()
    text = "The runtime server has ended." if stopped else "No runtime server was there."
    write_answer({"stopped": stopped}, [text], sys.stdout, as_json=as_json)
    return 0


@app.command("cleanup", cls=ExampleCommand, epilog="runtime cleanup\nruntime cleanup --json")
def runtime_cleanup(
    *,
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """End all sessions and child agents, and what a dead server has left."""
    from skills_runtime.cli.render.serving import cleanup_lines, write_answer
    from skills_runtime.cli.serving import client_for

    answer = client_for(workspace_root).clean_up()
    write_answer(answer, cleanup_lines(answer), sys.stdout, as_json=as_json)
    return 0
