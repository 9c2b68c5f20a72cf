"""A service that is there to be killed: runs that start processes, and skills that leave some behind."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import IO, Any

from skills_runtime.config import Resolved, resolve, state_home
from skills_runtime.llm import FakeChatCall, ScriptedBackend
from skills_runtime.ports import Backend, ChatRequest, ChatStreamEvent
from skills_runtime.service.access.token import RunningService
from skills_runtime.service.server import serve
from skills_runtime.service.settings import Listener, ServiceSettings
from skills_runtime.testing import says
from tests.e2e.service.servers import write_python, write_skill
from tests.support.agents import calls, writes

GIVEN = {"safety": {"mode": "allow"}}
SCRIPT = [
    calls(writes("deliverables/one.txt", "1")),
    calls(("file_read", {"path": "deliverables/one.txt"}), writes("deliverables/two.txt", "2")),
    calls(writes("deliverables/three.txt", "3")),
    says("all ", "done"),
    says("noted"),
]
"""The last is for whoever says something when the run has just had its answer."""
LEAVE_BEHIND = "setsid sleep 4722.5 & (trap '' TERM; sleep 4723.5) & disown -a"
"""One that has left the session, and one that does not listen."""
EFFECT = f"echo once >> effects/{{key}}; {LEAVE_BEHIND}; sleep 0.03; echo done"
WITH_PROCESS = "with-process:"
"""Begins the task of a run that starts processes; its key follows."""
NOTES = "notes"
"""A pipe in the directory of a skill, into which everybody who executes it writes a line."""
SKILLS = ("warm-python", "warm-shell", "cold-shell", "noting")


def script(key: str) -> Sequence[FakeChatCall]:
    """What the model wants in a run that starts processes."""
    return [
        calls(("shell_exec", {"argv": ["/bin/bash", "-c", EFFECT.format(key=key)]})),
        calls(writes("deliverables/one.txt", "1")),
        says("done"),
        says("noted"),
    ]


class Slow:
    """A model that takes a moment, so that there is something to be killed in the middle of."""

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream the next answer, piece by piece."""
        match = re.search(rf"{WITH_PROCESS}([\w-]+)", str(request.messages))
        backend = ScriptedBackend(script(match[1]) if match else SCRIPT)
        async for event in backend.stream_chat(request):
            await asyncio.sleep(0.01)
            yield event


def _model(_: Resolved) -> Backend:
    return Slow()


def make_place(workspace: Path) -> None:
    """The directory of the effects, and the skills."""
    (workspace / "effects").mkdir()
    skills = workspace / "skills"
    write_python(skills, "warm-python", "subprocess.Popen(['sleep', '4724.5'])\nprint(json.dumps(given))")
    write_skill(skills, "warm-shell", f"{LEAVE_BEHIND}; cat", runtime="shell", entry="run.sh")
    cold = {"type": "shell", "warm": False}
    _redefine(write_skill(skills, "cold-shell", f"{LEAVE_BEHIND}; cat", entry="run.sh"), runtime=cold)
    noting = write_skill(skills, "noting", f"cat > {NOTES}; {LEAVE_BEHIND}; echo 1", entry="run.sh")
    _redefine(noting, runtime=cold, isolation="shared")
    os.mkfifo(noting / NOTES)


def _redefine(skill: Path, **fields: Any) -> None:
    (skill / "skill.yaml").write_text(json.dumps({"name": skill.name, "description": "For a test.", **fields}))


def _ignore_ready(_: RunningService, __: Sequence[Listener]) -> None:
    """Nobody listens."""


async def main(workspace: Path, port: int) -> None:
    """Serve until killed."""
    settings = ServiceSettings(
        workspace_root=workspace,
        state=state_home(),
        skills_dir=workspace / "skills",
        artifacts_dir=workspace / "artifacts",
        listen=(Listener("127.0.0.1", port),),
        run_settings=GIVEN,
    )
    await serve(settings, resolve(workspace, session_settings=GIVEN), _ignore_ready, model=_model)


def serve_until_killed(say: IO[bytes], hear: IO[bytes], workspace: Path, port: int) -> None:
    """Serve in a child that was forked for it."""
    del say, hear
    asyncio.run(main(workspace, port))
