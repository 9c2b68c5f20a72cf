"""runtime status: whether a runtime server serves the workspace, and what it does."""

import sys
from dataclasses import dataclass

from skills_runtime.cli.options import Json, WorkspaceOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class RuntimeOptions(WorkspaceOptions):
    """What the commands about the runtime server take."""

    json: Json = False


def runtime_status(options: RuntimeOptions, program: Program) -> int:
    """Say whether a runtime server is there and what it does, without starting one."""
    from skills_runtime.cli.render.serving import status_lines, write_answer
    from skills_runtime.cli.serving import client_for
    from skills_runtime.processes.server.place import NoServer

    del program
    try:
        answer = {"running": True, **client_for(options.workspace_root).call("runtime.status")}
    except NoServer:
        answer = {"running": False}
    write_answer(answer, status_lines(answer), sys.stdout, as_json=options.json)
    return 0


COMMAND = Command(
    options=RuntimeOptions,
    work=runtime_status,
    examples=("runtime status", "runtime status --workspace-root ../other --json"),
)
