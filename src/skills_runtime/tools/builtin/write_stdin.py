"""write_stdin: type into a terminal session, or only read its output."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.errors import NotFound
from skills_runtime.ports import Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools import exec_sessions as terminals
from skills_runtime.tools.arguments import Arguments, build_schema, parse


class WriteStdinArguments(Arguments, frozen=True):
    """Arguments of write_stdin."""

    session_id: Annotated[int, Meta(description="The `session_id` from exec_command.")]
    chars: Annotated[str, Meta(description="Text to type, including line endings; empty to only read.")] = ""
    yield_time_ms: terminals.YieldMs = terminals.DEFAULT_YIELD_MS
    max_output_tokens: terminals.OutputTokens | None = None


class WriteStdin:
    """Types into a session."""

    spec = ToolSpec(
        name="write_stdin",
        description="Type into a session of exec_command and read its output. Control characters are keys:"
        " \\u0003 interrupts, \\u0004 ends the input.",
        parameters=build_schema(WriteStdinArguments),
        effect="effectful",
        contained=True,
        hidden_arguments=("chars",),
        example={"session_id": 1, "chars": "made\n", "yield_time_ms": 20_000},
    )

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the input, and the sandbox of the session that gets it."""
        args = parse(arguments, WriteStdinArguments)
        evidence: Mapping[str, Any] = {}
        with suppress(NotFound):  # the call itself fails where there is no such session
            _, evidence = terminals.get_run_sessions(context).program(args.session_id)
        return Intent(typed=args.chars, fence=evidence)

    async def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the input and the program that gets it: the number may mean another session by then."""
        args = parse(arguments, WriteStdinArguments)
        program, evidence = terminals.get_run_sessions(context).program(args.session_id)
        digest = hashlib.sha256(program.encode(errors="replace")).hexdigest()
        return Intent(typed=args.chars, digests={f"session {args.session_id}": digest}, fence=evidence)

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Type, and wait briefly for output."""
        args = parse(arguments, WriteStdinArguments)
        data = args.chars.encode()
        accepted = await terminals.get_run_sessions(context).write(args.session_id, data)
        note = f"[only {accepted} of {len(data)} bytes were accepted]" if accepted < len(data) else ""
        return await terminals.read_session(
            context,
            args.session_id,
            wait_ms=args.yield_time_ms,
            max_tokens=args.max_output_tokens,
            note=note,
        )
