"""Writes docs/reference/ from the code, so that no setting, event or error is left undocumented.

Run by `make docs`; a test fails when the pages are not what this writes.
"""

import contextlib
import inspect
import io
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from pydantic import BaseModel
from typer.main import get_command

from skills_runtime import errors
from skills_runtime.cli.main import build, run_program
from skills_runtime.config import Settings
from skills_runtime.events import PAYLOAD_TYPES, TERMINAL_TYPES
from skills_runtime.tools import builtin_tools

NOTE = "<!-- Written by scripts/reference.py; change the code instead. -->\n\n"


def configuration() -> str:
    """Every setting, its default and its meaning."""
    rows = "\n".join(f"| `{key}` | `{default}` | {meaning} |" for key, default, meaning in _settings(Settings, ""))
    return (
        f"# Configuration\n\n{NOTE}"
        "Later sources win: embedded defaults, your own file, `config/runtime.yaml`, `kgent.yaml`,"
        " `SKILLS_RUNTIME_SDK_CONFIG_PATHS`, `--config`, the environment, session settings. Project files may tighten"
        " `safety` and `sandbox`, never loosen them. `skills-runtime config show --origin` tells where each value comes"
        f" from.\n\n| setting | default | meaning |\n|---|---|---|\n{rows}\n"
    )


def _settings(model: type[BaseModel], prefix: str) -> list[tuple[str, str, str]]:
    rows: list[tuple[str, str, str]] = []
    for name, field in model.model_fields.items():
        kind: Any = field.annotation
        if inspect.isclass(kind) and issubclass(kind, BaseModel):
            rows.extend(_settings(kind, f"{prefix}{name}."))
        else:
            default = field.get_default(call_default_factory=True)
            shown = msgspec.json.encode(default, enc_hook=str).decode()
            rows.append((f"{prefix}{name}", shown.replace("|", "\\|"), (field.description or "").replace("|", "\\|")))
    return rows


def events() -> str:
    """Every event type, its fields and its meaning."""
    parts = [
        f"# Events\n\n{NOTE}"
        "One JSON object a line: `seq`, `type`, `timestamp`, `run_id`, `turn_id`?, `step_id`?, `payload`,"
        " `epoch`, `mac`. Unknown types and fields are kept, relayed and ignored.\n"
    ]
    for name, payload in sorted(PAYLOAD_TYPES.items()):
        end = " *Terminal.*" if name in TERMINAL_TYPES else ""
        fields = ", ".join(f"`{field}`" for field in payload.__struct_encode_fields__)
        parts.append(f"\n## {name}\n\n{inspect.getdoc(payload)}{end}\n\nFields: {fields}\n")
    return "".join(parts)


def error_kinds() -> str:
    """Every error kind and its exit code."""
    rows = "\n".join(f"| `{kind}` | {code} |" for kind, code in sorted(errors.EXIT_CODES.items()))
    tree = inspect.getdoc(errors) or ""
    return (
        f"# Errors\n\n{NOTE}An error is one sentence, a stable kind and a hint. Exit code 0 is success, 1 a run that"
        " failed, 2 wrong usage,\n28 a run that `runs verify` cannot authenticate because its key is not here."
        f"\n\n```text\n{tree}\n```\n\n| kind | exit code |\n|---|---|\n{rows}\n"
    )


def command_line() -> str:
    """Every command as its own help page shows it."""
    parts = [
        f"# Command line\n\n{NOTE}`skills-runtime`, `skills-runtime-sdk` and `kgent` are the same program. Called as"
        " `kgent`, or with `--sandbox`, a run works in its own directory instead of yours.\n"
    ]
    for path in _commands(get_command(build())):
        page = io.StringIO()
        with contextlib.redirect_stdout(page):
            run_program([*path, "--help"])
        text = "\n".join(line.rstrip() for line in page.getvalue().splitlines())
        parts.append(f"\n## {' '.join(('skills-runtime', *path))}\n\n```text\n{text}\n```\n")
    return "".join(parts)


def _commands(command: Any, *path: str) -> Iterator[tuple[str, ...]]:
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, *path, name)


PUBLIC = {
    "skills_runtime": """
        Agent AgentBuilder ApprovalRequest ChildProfile Coordinator Event Question RunResult SkillsRuntimeError Tool
        ToolContext ToolResult ToolSpec tool
    """,
    "skills_runtime.agent": "Agent",
    "skills_runtime.errors": """
        AccessRefused ApprovalDenied ApprovalStale Busy ConfigError DeleteDisabled IllegalTransition KeyMissing
        LogCorrupt LogEnded LogError LogLocked LogTooNew ModelError NotFound PathEscape PolicyDenied RequestConflict
        RunExists SandboxError SkillsRuntimeError StorageFailed ToolError UsageError ValidationFailed WriteRefused
    """,
    "skills_runtime.events": "Event Payload Unknown decode_event encode_payload",
    "skills_runtime.llm": """
        Backend ChatRequest ChatStreamEvent FakeChatBackend FakeChatCall OpenAIChatBackend RetryPolicy ToolCall
    """,
    "skills_runtime.llm.chat_sse": "ChatRequest ChatStreamEvent ToolCall",
    "skills_runtime.llm.fake": "FakeChatBackend FakeChatCall",
    "skills_runtime.safety": """
        Allow ApprovalRule Ask CallbackApprovals Deny Gate InboxApprovals RuleBasedApprovalProvider Rules SafetyMode
        approval_key decide sanitize
    """,
    "skills_runtime.skills": """
        FilesystemSource Library MemorySource Mention Origin Row Skill SkillError mentions_in parse_mention
    """,
    "skills_runtime.testing": "CountingIds FakeModel FaultyDisk FrozenClock InMemoryInbox calls says",
    "skills_runtime.tools": "Arguments FunctionTool Registry Tool ToolContext ToolResult ToolSpec builtin_tools tool",
    "skills_runtime.runtime.client": "RuntimeClient",
    "agent_sdk.runtime.client": "RuntimeClient",
    "kgent": "RunContext RunStatus create_run_context load_run_context resolve_sandbox_path update_run_state",
}
"""What users may import, by package: a name comes or goes here on purpose."""


def python_names() -> str:
    """Every name that users may import."""
    parts = [
        f"# Python\n\n{NOTE}These names are kept from release to release. Anything else that can be imported serves the"
        " runtime itself and may change at any time.\n"
    ]
    for package, names in PUBLIC.items():
        module = import_module(package)
        rows = "\n".join(f"| `{name}` | {_meaning(getattr(module, name))} |" for name in names.split())
        parts.append(f"\n## {package}\n\n| name | meaning |\n|---|---|\n{rows}\n")
    return "".join(parts)


def _meaning(value: Any) -> str:
    text = inspect.getdoc(value) if inspect.isclass(value) or inspect.isroutine(value) else ""
    return (text or f"`{value}`").partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def tools() -> str:
    """Every built-in tool, its arguments and an example."""
    parts = [
        f"# Tools\n\n{NOTE}What every agent can call. Tools for skills come along where there are skills, and"
        " `file_delete` is refused unless `sandbox.delete` allows it.\n"
    ]
    for tool in builtin_tools():
        spec = tool.spec
        note = "" if spec.listed else " The model is told of it only with `tools.compat: true`."
        rows = "\n".join(f"| `{name}` | {_argument(field)} |" for name, field in spec.parameters["properties"].items())
        example = msgspec.json.encode(spec.example).decode()
        parts.append(
            f"\n## {spec.name}\n\n{spec.description}{note} Effect: {spec.effect}.\n\n"
            f"| argument | meaning |\n|---|---|\n{rows}\n\n```json\n{example}\n```\n"
        )
    return "".join(parts)


def _argument(field: dict[str, Any]) -> str:
    options = (field, *field.get("anyOf", ()))
    return next((str(option["description"]) for option in options if "description" in option), "").replace("|", "\\|")


PAGES = {
    "configuration.md": configuration,
    "events.md": events,
    "errors.md": error_kinds,
    "cli.md": command_line,
    "python.md": python_names,
    "tools.md": tools,
}


def main() -> None:
    """Write all pages."""
    target = Path(__file__).parent.parent / "docs" / "reference"
    target.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (target / name).write_text(page(), encoding="utf-8")
        print(f"wrote docs/reference/{name}", file=sys.stderr)


if __name__ == "__main__":
    main()
