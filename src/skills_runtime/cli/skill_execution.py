"""What `skills exec` does: finds the skill, reads its input, executes it, and tells what became of it."""

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skills_runtime.errors import EXIT_CODES, ValidationFailed
from skills_runtime.skills import FilesystemSource, Library, Origin
from skills_runtime.skills.configured import BUNDLED_NAMESPACE, bundled_skills
from skills_runtime.skills.problems import SkillError
from skills_runtime.skills.skill import parse_mention
from skills_runtime.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skills_runtime.executions import Execution, Executor
    from skills_runtime.skills import Skill

MAX_INPUT_BYTES = 64 << 20
KINDS = {"timeout": "timeout", "cancelled": "cancelled", "resource_limit": "sandbox_denied"}
"""Which of the kinds of errors a failure is; any other is the skill's own."""


def skill_named(name: str, library: "Library", environment: "Mapping[str, str]") -> "tuple[Library, Skill]":
    """The skill by its mention or its name, and the library it is in; those that come with the runtime come last."""
    try:
        return library, _found(library, name)
    except SkillError as error:
        bundled = Library(
            [FilesystemSource(Origin("bundled", BUNDLED_NAMESPACE, "bundled"), bundled_skills())],
            environment=environment,
        )
        try:
            return bundled, _found(bundled, name)
        except SkillError:
            raise error from None


def _found(library: "Library", name: str) -> "Skill":
    if name.startswith("$["):
        return library.find(parse_mention(name))
    return library.find_by_name(name)


def input_of(text: str) -> Any:
    """The input as it was given: JSON, `@` and a file with it, or `-` for standard input."""
    try:
        if text == "-":
            data = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
        elif text.startswith("@"):
            with Path(text[1:]).open("rb") as file:
                data = file.read(MAX_INPUT_BYTES + 1)
        else:
            data = text.encode()
        if len(data) > MAX_INPUT_BYTES:
            raise ValidationFailed(f"the input is longer than {MAX_INPUT_BYTES} bytes")
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValidationFailed(
            f"the input is not JSON: {error}", hint="""write it as '{"key": "value"}', @FILE, or - for standard input"""
        ) from None


def execute(
    executor: "Executor", skill: "Skill", value: Any, *, timeout_ms: int | None, key: str | None
) -> "Execution":
    """Execute a skill to its end; a signal that asks to stop cancels it."""

    async def work() -> "Execution":
        from skills_runtime.cli.interrupts import interrupts

        async with executor:
            with interrupts(lambda: None) as interruption:
                running = asyncio.ensure_future(executor.execute(skill, value, timeout_ms=timeout_ms, key=key))
                stopping = asyncio.ensure_future(interruption.wait())
                await asyncio.wait([running, stopping], return_when=asyncio.FIRST_COMPLETED)
                stopping.cancel()
                if not running.done():
                    for record in await executor.list(status="running"):
                        await executor.cancel(record.execution_id)
                return await running

    return asyncio.run(work())


def tell(execution: "Execution", *, as_json: bool) -> int:
    """Write the output, or what went wrong, and return the exit code."""
    from skills_runtime.cli.errors import say

    if as_json:
        _write(_document(execution))
    elif execution.error is None:
        _write(execution.output)
    if not as_json:
        for one in execution.record.refused:
            sys.stderr.write(f"notice: the artifact `{one_line(one.path)}` is not kept: {one_line(one.reason)}\n")
    if execution.error is None:
        return 0
    kind = KINDS.get(execution.error.code, "exit_code")
    if not as_json:
        sys.stderr.write(execution.stderr)
        say(execution.error.message, kind=kind, hint=_hint(execution))
    return EXIT_CODES[kind]


def _hint(execution: "Execution") -> str:
    kept = f"`{execution.id}` keeps what it wrote"
    if execution.error is None or execution.error.code != "timeout":
        return kept
    more = f"`--timeout-ms`, or `timeout` in the `skill.yaml` of `{one_line(execution.record.skill)}`, gives it more"
    return f"{more}; {kept}"


def _document(execution: "Execution") -> dict[str, Any]:
    error = execution.error
    return {
        "success": error is None,
        "executionId": execution.id,
        "status": execution.status,
        "output": execution.output,
        "error": error.message if error else None,
        "code": error.code if error else None,
        "exitCode": execution.exit_code,
        "durationMs": execution.duration_ms,
        "artifacts": [f"{execution.id}/{one.path}" for one in execution.artifacts],
        "refused": [{"path": one.path, "reason": one.reason} for one in execution.record.refused],
        "stderr": execution.stderr,
    }


def _write(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
