"""runs replay: would this run go the same way today?"""

import sys
from dataclasses import dataclass
from typing import Any

from skills_runtime.cli.options import ConfigOptions, RunOptions
from skills_runtime.cli.program import Command, Program

ALOFT: dict[str, Any] = {
    "sandbox": {"workspace": "isolated"},
    "safety": {"mode": "allow"},
    "deliverables": {"required": []},
}
"""A replay touches no workspace, asks nobody and hands nothing over: its tools only repeat what they said."""


@dataclass(frozen=True, kw_only=True)
class ReplayOptions(RunOptions, ConfigOptions):
    """What `runs replay` takes."""


def replay(options: ReplayOptions, program: Program) -> int:
    """Repeat a run with what it recorded, and report the first difference."""
    import asyncio

    from skills_runtime.cli.continuing import settings_of, state_of
    from skills_runtime.cli.locate import find_run
    from skills_runtime.cli.render.answer import write_text
    from skills_runtime.engine.replay import replay as replay_run

    paths = find_run(options.run, options.workspace_root)
    resolved = settings_of(paths, state_of(paths), options, above=ALOFT)
    found = asyncio.run(replay_run(paths.root, resolved))
    if found is None:
        write_text("no divergence\n")
    else:
        write_text(f"move {found.number} differs\n- {found.recorded or 'the end'}\n+ {found.replayed or 'the end'}\n")
    sys.stdout.flush()
    return 0 if found is None else 1


COMMAND = Command(
    options=ReplayOptions, work=replay, examples=("runs replay demo-001", "runs replay demo-001 --set run.max_steps=5")
)
