"""Runs with a long log, written without a model, as the service would find them after a restart."""

from collections.abc import Iterator
from pathlib import Path

from skills_runtime.events import Payload
from skills_runtime.events.payloads import (
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    LlmUsage,
    RunCompleted,
    RunStarted,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
)
from skills_runtime.runs import KeyRing, LogPorts, Run, RunSpec, RunStatus, create_run, finish_run, runs_root

PER_TURN = 7
OUTPUT = "".join(f"line {number} of the output\n" for number in range(12))


def open_run(home: Path, run_id: str) -> Run:
    """A run that is under way, in the workspace and with the keys of a service; whoever holds it writes its log."""
    spec = RunSpec(
        run_id=run_id,
        session_id="session_long",
        task_id="task_long",
        root=runs_root(home) / run_id,
        workspace_root=home,
        prompt="Read everything.\n",
        config_text="run: {}\n",
        system_prompt="You are a test.\n",
    )
    run = create_run(spec, LogPorts(KeyRing(home / "state" / "skills_runtime" / "keys")))
    run.change(RunStatus.RUNNING)
    run.append(RunStarted(task="Read everything.", workspace_root=str(home)))
    for turn in range(events // PER_TURN + 1):
        name, step, call = f"turn_{turn}", f"step_{turn}", f"call_{turn}"
        run.append(LlmRequestStarted(model="scripted", messages_count=turn), turn_id=name)
        run.append(LlmResponseDelta(delta_type="text", text=f"I read part **{turn}** now."), turn_id=name)
        arguments = {"path": f"part-{turn}.txt", "limit": 1000}
        run.append(
            ToolCallRequested(call_id=call, tool="file_read", name="file_read", arguments=arguments), step_id=step
        )
        run.append(LlmResponseFinished(finish_reason="tool_calls", calls=[call]), turn_id=name)
        run.append(LlmUsage(model="scripted", input_tokens=1000, output_tokens=20), turn_id=name)
        run.append(ToolCallStarted(call_id=call, tool="file_read"), step_id=step)
        result = {"ok": True, "stdout": OUTPUT, "duration_ms": 3}
        run.append(ToolCallFinished(call_id=call, tool="file_read", result=result), step_id=step)
    finish_run(run, RunCompleted(final_output="Everything was read."))
    run.close()
    return run_id
