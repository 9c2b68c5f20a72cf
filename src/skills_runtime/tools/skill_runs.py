"""A skill that runs by itself, as its action `run`: JSON goes in, JSON comes out, on a copy of its directory.

The copy lies in the fence's own temporary directory, so neither the skill nor an earlier execution can be changed.
"""

import hashlib
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.errors import ToolError
from skills_runtime.ports import ToolContext, ToolResult
from skills_runtime.skills.files import inner_parts, mode_below, opened
from skills_runtime.skills.scripts import Entry
from skills_runtime.skills.skill import RunDefinition, Skill

MAX_INPUT_BYTES = 120_000
"""What fits into one variable of the environment on Linux, by which the input gets behind the fence."""
MAX_OUTPUT_BYTES = 1_000_000
MAX_SHOWN_BYTES = 16_384
"""The longest output that is part of `data` as well."""
ARTIFACTS = "artifacts"
INPUT = "SKILL_INPUT"
NOT_STARTED = 125
"""The exit code where the copy could not be made."""

_STAGING = """\
source=$1 isolation=$2 program=$3 file=$4
shift 4
stage=$source
if [ "$isolation" = copy ]; then
  stage=$(mktemp -d "${TMPDIR:-/tmp}/skill.XXXXXX") || exit 125
  trap 'rm -rf "$stage"' EXIT
  { cp -RP "$source/." "$stage/" && chmod -R u+w "$stage" && rm -rf "$stage/artifacts"; } || exit 125
fi
cd "$stage" || exit 125
if [ "$program" = tsx ] && ! command -v tsx >/dev/null; then
  program=ts-node
  command -v ts-node >/dev/null || { echo 'No tsx or ts-node found for TypeScript skill' >&2; exit 127; }
fi
input=$SKILL_INPUT
unset SKILL_INPUT
printf %s "$input" | "$program" "$file"
code=$?
for name in "$@"; do
  if [ -f "$name" ] && [ ! -L "$name" ]; then
    mkdir -p "$(dirname "$SKILL_ARTIFACTS_DIR/$name")" && cp -P "$name" "$SKILL_ARTIFACTS_DIR/$name"
  fi
done
exit "$code"
"""


def staged_command(skill: Skill, run: RunDefinition, entry: Entry, program: str) -> tuple[str, ...]:
    """The command that makes the copy, runs the skill in it, and keeps what it declares to leave behind."""
    words = ("/bin/sh", "-c", _STAGING, "skill", str(skill.directory), run.isolation, program, entry.file)
    return (*words, *run.artifacts)


def execution_id(context: ToolContext) -> str:
    """The name of the execution: the same each time the same call is made."""
    return f"exec-{hashlib.sha256(context.idempotency_key.encode()).hexdigest()[:12]}"


def run_variables(skill: Skill, value: Any, context: ToolContext) -> dict[str, str]:
    """What only the runtime tells a skill that runs by itself, its input among it."""
    name = execution_id(context)
    return {
        "SKILL_NAME": skill.name,
        "SKILL_EXECUTION_ID": name,
        "SKILL_ARTIFACTS_DIR": str(context.root / ARTIFACTS / name),
        INPUT: input_text(value),
    }


def approved_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables as an approval names them: without what is different in each call."""
    return {
        name: value for name, value in variables.items() if name not in ("SKILL_EXECUTION_ID", "SKILL_ARTIFACTS_DIR")
    }


def input_text(value: Any) -> str:
    """The input as the skill reads it, in ASCII; nothing at all is an empty object."""
    import json

    text = json.dumps(value or {})
    if len(text) > MAX_INPUT_BYTES:
        raise ToolError(
            "validation",
            f"the input is longer than {MAX_INPUT_BYTES} bytes",
            hint="write it into a file, and give the skill its path",
        )
    return text


def run_result(result: ToolResult, run: RunDefinition, context: ToolContext) -> ToolResult:
    """The result with the output as JSON, or with what is wrong about it."""
    name = execution_id(context)
    data = {**(result.data or {}), "execution_id": name, "artifacts": _kept(context.root, name, run)}
    if not result.ok:
        return msgspec.structs.replace(result, data=data)
    try:
        output = _output(result)
    except ValueError as error:
        stderr = f"{result.stderr.rstrip()}\n[{error}]".lstrip()
        data["error"] = {"code": "SKILL_RUN_OUTPUT_INVALID", "message": str(error), "details": {}}
        return msgspec.structs.replace(result, ok=False, error_kind="validation", stderr=stderr, data=data)
    if len(result.stdout) <= MAX_SHOWN_BYTES:
        data["output"] = output
    return msgspec.structs.replace(result, data=data)


def _output(result: ToolResult) -> Any:
    text = result.stdout
    if result.truncated or len(text.encode(errors="replace")) > MAX_OUTPUT_BYTES:
        raise ValueError("stdout exceeded limit")
    if not text.strip():
        raise ValueError("Skill returned empty output")
    try:
        output = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ValueError(f"Invalid JSON output: {error}") from error
    if output is None:
        raise ValueError("Skill returned empty output")
    return output


def _kept(root: Path, name: str, run: RunDefinition) -> list[str]:
    """What of the declared files is there, by the path from the working directory."""
    found: list[str] = []
    for one in run.artifacts:
        parts = inner_parts(one)
        if parts is None:
            continue
        try:
            with opened(root.resolve()) as top:
                mode = mode_below(top, (ARTIFACTS, name, *parts))
        except OSError:
            continue
        if stat.S_ISREG(mode):
            found.append("/".join((ARTIFACTS, name, one)))
    return found
