"""runtime stop: ends the runtime server of the workspace."""

import sys

from skills_runtime.cli.commands.runtime_status import RuntimeOptions
from skills_runtime.cli.program import Command, Program


def runtime_stop(options: RuntimeOptions, program: Program) -> int:
    """End the runtime server with its sessions; child agents can be resumed."""
    from skills_runtime.cli.render.serving import write_answer
    from skills_runtime.cli.serving import client_for

    del program
    stopped = client_for(options.workspace_root).stop()
    text = "The runtime server has ended." if stopped else "No runtime server was there."
    write_answer({"stopped": stopped}, [text], sys.stdout, as_json=options.json)
    return 0


COMMAND = Command(
    options=RuntimeOptions, work=runtime_stop, examples=("runtime stop", "runtime stop --workspace-root ../other")
)
