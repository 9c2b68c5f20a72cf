"""run.json: the state of a run for everybody who does not want to read its log."""

from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.errors import AccessRefused, LogCorrupt, NotFound
from skills_runtime.events.envelope import reader
from skills_runtime.projections import RunState
from skills_runtime.runs.snapshot_files import pretty
from skills_runtime.runs.swap import spare_of, swap


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What run.json holds."""

    schema: str = "kgent.run/v1"
    session_id: str
    task_id: str
    run_id: str
    profile_id: str
    config_fingerprint: str
    status: str
    created_at: str
    updated_at: str
    started_at: str | None
    completed_at: str | None
    failure_reason: str | None
    kind: str = "agent"
    attempt: int = 1
    parent_run_id: str | None = None
    last_seq: int = -1


_decode = reader(RunRecord)
_SHARED = tuple(name for name in RunRecord.__struct_fields__ if name not in ("schema", "status"))


def record_of(state: RunState) -> RunRecord:
    """The record that a state amounts to."""
    fields: dict[str, Any] = {name: getattr(state, name) for name in _SHARED}
    return RunRecord(status=state.status.value, **fields)


def write_record(root: Path, record: RunRecord) -> None:
    """Replace run.json; readers see the old one or the new one."""
    swap(f"{root}/run.json", pretty(record), spare_of(root))


def read_record(path: Path) -> RunRecord:
    """The record in a run directory."""
    try:
        return _decode(path.read_bytes())
    except FileNotFoundError:
        raise NotFound(f"`{path.parent}` is not a run directory: it has no `run.json`") from None
    except OSError as error:
        raise AccessRefused(f"`{path}` cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise LogCorrupt(
            f"`{path}` is not a run record: {error}", hint="it is rewritten from the log when the run is opened"
        ) from error
