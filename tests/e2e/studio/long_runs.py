"""Runs with a long log, written without a model, as the service finds them in its workspace."""

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


def open_run(home: Path, run_id: str, task: str = "Read everything.") -> Run:
    """A run that is under way, in the workspace and with the keys of a service; whoever holds it writes its log."""
    spec = RunSpec(
        run_id=run_id,
        session_id="session_long",
        task_id="task_long",
        root=runs_root(home) / run_id,
        workspace_root=home,
        prompt=f"{task}\n",
        config_text="run: {}\n",
        system_prompt="You are a test.\n",
    )
    run = create_run(spec, LogPorts(KeyRing(home / "state" / "skills_runtime" / "keys")))
    run.change(RunStatus.RUNNING)
    run.append(RunStarted(task=task, workspace_root=str(home)))
    run.commit()
    return run


def turn_of(number: int) -> Iterator[tuple[Payload, dict[str, str]]]:
    """The events of one turn, each with the turn or step it belongs to."""
    turn, step, call = {"turn_id": f"turn_{number}"}, {"step_id": f"step_{number}"}, f"call_{number}"
    arguments = {"path": f"part-{number}.txt", "limit": 1000}
    result = {"ok": True, "stdout": OUTPUT, "duration_ms": 3}
    yield LlmRequestStarted(model="scripted", messages_count=number), turn
    yield LlmResponseDelta(delta_type="text", text=f"I read part **{number}** now."), turn
    yield ToolCallRequested(call_id=call, tool="file_read", name="file_read", arguments=arguments), step
    yield LlmResponseFinished(finish_reason="tool_calls", calls=[call]), turn
    yield LlmUsage(model="scripted", input_tokens=1000, output_tokens=20), turn
    yield ToolCallStarted(call_id=call, tool="file_read"), step
    yield ToolCallFinished(call_id=call, tool="file_read", result=result), step


def add_turns(run: Run, first: int, count: int) -> None:
    """Some more turns in the log of a run, durable when this returns."""
    for number in range(first, first + count):
        for payload, where in turn_of(number):
            run.append(payload, **where)
    run.commit()


def end_run(run: Run) -> None:
    """The run ends well."""
    finish_run(run, RunCompleted(final_output="Everything was read."))
    run.close()


def long_run(home: Path, run_id: str, events: int) -> str:
    """A completed run whose log has at least so many events."""
    run = open_run(home, run_id)
    add_turns(run, 0, events // PER_TURN + 1)
    end_run(run)
    return run_id
