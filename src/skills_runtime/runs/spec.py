"""The specification of a new run, and the content of its snapshot files.

Pure: no file is read or written here.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from skills_runtime.events import ForkPoint, Payload, fingerprint

WorkspaceMode = Literal["shared", "isolated"]
DeleteMode = Literal["disabled", "allow"]


class Deliverable(msgspec.Struct, frozen=True, kw_only=True):
    """A file the run must hand over, relative to `deliverables/`."""

    path: str
    media_type: str = ""
    description: str = ""

    @property
    def name(self) -> str:
        """Its path from the run directory, in one spelling."""
        parts = Path(self.path).parts
        return "/".join(("deliverables", *(parts[1:] if len(parts) > 1 and parts[0] == "deliverables" else parts)))


class SessionTask(msgspec.Struct, frozen=True):
    """A task of the session and its runs so far."""

    task_id: str
    runs: list[str]


class RunSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Everything `create_run` needs."""

    run_id: str
    session_id: str
    task_id: str
    root: Path
    workspace_root: Path
    prompt: str
    config_text: str
    system_prompt: str
    profile_id: str = "default_agent"
    workspace_mode: WorkspaceMode = "isolated"
    delete: DeleteMode = "disabled"
    isolation: str = "restricted"
    required_deliverables: tuple[Deliverable, ...] = ()
    earlier_tasks: tuple[SessionTask, ...] = ()
    session_title: str = ""
    max_wall_time_sec: int | None = None
    environment_keys: tuple[str, ...] = ()
    attempt: int = 1
    parent_run_id: str | None = None
    fork: ForkPoint | None = None
    initial_events: tuple[Payload, ...] = ()
    """Payloads appended right after the creation of the run."""
    blobs: tuple[bytes, ...] = ()
    """The blobs that these payloads refer to."""
    link: Path | None = None
    """The symbolic link to the run when its directory is outside the workspace's runs directory."""


def snapshot_texts(spec: RunSpec, *, now: str) -> dict[str, bytes]:
    """Render every snapshot file: name to content."""
    return {
        "prompt.md": spec.prompt.encode(),
        "config.yaml": spec.config_text.encode(),
        "effective-system-prompt.md": spec.system_prompt.encode(),
        "task.yaml": _yaml(_task(spec)),
        "session.json": pretty(_session(spec, now)),
    }


@lru_cache(maxsize=64)
def config_fingerprint(config_text: str) -> str:
    """Compute the fingerprint of a config.yaml text."""
    import yaml  # slow to import

    return fingerprint(yaml.load(config_text, Loader=yaml.CSafeLoader))


def pretty(value: Any) -> bytes:
    """Encode as indented JSON with a final newline."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _yaml(fields: dict[str, Any]) -> bytes:
    """Encode a mapping as YAML, one line with a JSON value per key."""
    lines = [f"{name}: {msgspec.json.encode(value).decode()}\n" for name, value in fields.items()]
    text = "".join(lines)
    if text.replace("\n", " ").isprintable():
        return text.encode()
    import yaml  # slow to import; escapes what plain YAML cannot hold

    return yaml.dump(fields, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True).encode()


def _task(spec: RunSpec) -> dict[str, Any]:
    first_line = next((line.strip() for line in spec.prompt.splitlines() if line.strip()), "")
    return {
        "schema": "kgent.task/v1",
        "task_id": spec.task_id,
        "session_id": spec.session_id,
        "title": first_line[:120],
        "objective": "prompt.md",
        "acceptance_criteria": [],
        "required_deliverables": [msgspec.to_builtins(deliverable) for deliverable in spec.required_deliverables],
        "constraints": {"network": "deny", "max_wall_time_sec": spec.max_wall_time_sec},
        "scheduler": {"priority": 0, "not_before": None, "deadline": None, "max_attempts": 1},
        "attempt": spec.attempt,
        "parent_task_id": None,
    }


def _session(spec: RunSpec, now: str) -> dict[str, Any]:
    tasks = {task.task_id: list(task.runs) for task in spec.earlier_tasks}
    tasks.setdefault(spec.task_id, []).append(spec.run_id)
    return {
        "schema": "kgent.session/v1",
        "session_id": spec.session_id,
        "title": spec.session_title,
        "created_at": now,
        "updated_at": now,
        "runs_count": sum(len(runs) for runs in tasks.values()),
        "tasks": [{"task_id": task_id, "runs": runs} for task_id, runs in tasks.items()],
        "memory_refs": [],
    }
