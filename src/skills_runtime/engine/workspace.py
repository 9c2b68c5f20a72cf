"""Where a service works: its workspace, its private state, and what its operator has set."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.agent.run_ports import log_ports
from skills_runtime.config import Resolved, resolve
from skills_runtime.config.merge import deep_merge
from skills_runtime.errors import NotFound
from skills_runtime.ledger import RunIndex, RunRow
from skills_runtime.projections import RunState
from skills_runtime.runs import RunPaths, check_id, runs_root
from skills_runtime.runs.imported import chosen_here


class Workspace(msgspec.Struct, frozen=True, kw_only=True):
    """One workspace and the state directory of its user."""

    workspace_root: Path
    state: Path
    config_paths: tuple[Path, ...] = ()
    given: Mapping[str, Any] = {}
    """Settings the operator gave when the service was started; a client can only ask for less."""
    env_file: Path | None = None
    """The `.env` file that was read when the service was started."""

    @property
    def notes(self) -> Path:
        """Where the service keeps what it must not forget."""
        return self.state / "service" / "runs"

    def settings(self, wishes: Mapping[str, Any] | None = None) -> Resolved:
        """What holds for a new run."""
        return resolve(
            self.workspace_root, config_paths=self.config_paths, session_settings=deep_merge(self.given, wishes or {})
        )

    def settings_of(self, paths: RunPaths, state: RunState, changes: Mapping[str, Any] | None = None) -> Resolved:
        """What holds for a run that exists: what it began with, and what is to be different now."""
        if not chosen_here(paths, state, log_ports().keys):
            return self.settings(changes)
        workspace = Path(state.workspace_root) if state.workspace_root else self.workspace_root
        return resolve(workspace, config_paths=[paths.root / "config.yaml"], session_settings=changes or {})

    def find(self, run_id: str, index: RunIndex) -> RunPaths:
        """The run of this workspace that has exactly this id."""
        near = runs_root(self.workspace_root) / check_id(run_id, "run")
        if (near / "events.jsonl").is_file():
            return RunPaths(near.resolve())
        try:
            row = index.get(run_id)
        except NotFound:
            row = None
        if row is None or not self.has(row) or not (Path(row.path) / "events.jsonl").is_file():
            raise NotFound(
                f"there is no run `{run_id}`",
                hint="`GET /api/v1/runs` lists the runs of this workspace",
                resource="run",
                name=run_id,
            )
        return RunPaths(Path(row.path))

    def has(self, row: RunRow) -> bool:
        """Whether a run belongs to this workspace; one that has not started yet is known by its place."""
        if row.workspace_root and row.workspace_root == str(self.workspace_root):
            return True
        here = runs_root(self.workspace_root) / row.run_id
        if row.workspace_root:  # one that was made elsewhere and brought here
            return row.path == str(here)
        return here.exists()
