"""A workspace as `RunService` sees it: its runs, and the settings of each."""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.agent import log_ports
from skills_runtime.config import Defaults, Resolved, deep_merge, resolve
from skills_runtime.engine.run_index import is_subagent_run
from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.ledger import PAGE_LIMIT, PREFIX_LENGTH, RunIndex, RunRow
from skills_runtime.runs import (
    RunPaths,
    check_id,
    has_own_config,
    is_from_elsewhere,
    read_view,
    runs_root,
)

LOG = "events.jsonl"
LAST = "last"
"""Names the newest run of the workspace, unless a run has this id."""
_HEX = re.compile(r"[0-9a-f]+")


class Workspace(msgspec.Struct, frozen=True, kw_only=True):
    """One workspace and the state directory of its user."""

    workspace_root: Path
    state: Path
    config_paths: tuple[Path, ...] = ()
    user_settings: Mapping[str, Any] = {}
    """Settings of the user who started this process; a client can only restrict them."""
    defaults: Defaults | None = None
    """Settings of the lowest precedence."""
    env_file: Path | None = None
    """The `.env` file that was read when the service was started."""
    for_user: bool = False
    """Whether requests come from the user of this machine and not from a client of a service.

    Then runs of other workspaces are included, a path or the prefix of an id names a run, and `config_paths` and
    `user_settings` change the settings of existing runs.
    """

    @property
    def records(self) -> Path:
        """Return the directory of durable records: accepted runs and idempotency keys."""
        return self.state / "service" / "runs"

    def settings(self, changes: Mapping[str, Any] | None = None, *, root: Path | None = None) -> Resolved:
        """Resolve the settings of a new run, in this workspace or in `root`."""
        return resolve(
            root or self.workspace_root,
            config_paths=self.config_paths,
            session_settings=deep_merge(self.user_settings, changes or {}),
            defaults=self.defaults,
        )

    def settings_of(self, paths: RunPaths, changes: Mapping[str, Any] | None = None) -> Resolved:
        """Resolve the settings of an existing run: those of its start, with changes.

        A run from another machine continues with the settings and in the workspace of the caller: its own could choose
        where your key is sent, or allow more than you do. `config_paths` may name its `config.yaml`.
        """
        ports, workspace = log_ports(), self.workspace_root
        if is_from_elsewhere(paths, ports.keys):
            return self.settings(changes)
        state = read_view(paths, ports).state  # verified: the lines after it could name any workspace
        if not has_own_config(paths, state):
            return self.settings(changes)
        if state.workspace_root and not state.from_elsewhere:
            workspace = Path(state.workspace_root)
        if state.adopted:
            return self.settings(changes, root=workspace)
        own, changes = (paths.root / "config.yaml",), changes or {}
        if not self.for_user:
            return resolve(workspace, config_paths=own, session_settings=changes)
        return resolve(
            workspace,
            config_paths=(*own, *self.config_paths),
            session_settings=deep_merge(self.user_settings, changes),
        )

    def has(self, row: RunRow) -> bool:
        """Return whether a run belongs to this workspace; one that has not started is identified by its directory."""
        if row.workspace_root and row.workspace_root == str(self.workspace_root):
            return True
        path = runs_root(self.workspace_root) / row.run_id
        if row.workspace_root:  # one that was made elsewhere and brought here
            return row.path == str(path)
        return path.exists()

    def find(self, reference: str, index: RunIndex) -> RunPaths:
        """Find a run by its id; for the user also by its path, or by a unique prefix of its id."""
        return self._find_by_reference(reference, index) if self.for_user else self._find_by_id(reference, index)

    def _find_by_id(self, run_id: str, index: RunIndex) -> RunPaths:
        near = runs_root(self.workspace_root) / check_id(run_id, "run")
        if (near / LOG).is_file():
            return RunPaths(near.resolve())
        try:
            row = index.get(run_id)
        except NotFound:
            row = None
        if row is None or not self.has(row) or not (Path(row.path) / LOG).is_file():
            hint = "`GET /api/v1/runs` lists the runs of this workspace"
            raise NotFound(f"there is no run `{run_id}`", hint=hint, resource="run", name=run_id)
        return RunPaths(Path(row.path))

    def _find_by_reference(self, text: str, index: RunIndex) -> RunPaths:
        path = Path(text)
        if path.name == LOG:
            path = path.parent
        if (path / LOG).is_file():
            return RunPaths(path.resolve())
        if "/" in text or not path.name.strip("."):
            raise NotFound(
                f"`{path}` is not a run directory: it has no `{LOG}`", hint="name a run directory or a run id"
            )
        runs = runs_root(self.workspace_root)
        if (runs / check_id(text, "run") / LOG).is_file():
            return RunPaths((runs / text).resolve())
        if text == LAST:
            return RunPaths(Path(self._find_last(index).path))
        near = _find_by_prefix(text, runs)
        if len(near) > 1:
            raise ValidationFailed(
                f"several runs begin with `{text}`: {', '.join(f'`{name}`' for name in near[:10])}",
                hint="give more characters of the id",
            )
        return RunPaths((runs / near[0]).resolve() if near else Path(_find_row(text, index).path))

    def _find_last(self, index: RunIndex) -> RunRow:
        """Return the newest run of the workspace that is not a sub-agent's."""
        cursor: str | None = None
        while rows := index.list(limit=PAGE_LIMIT, before=cursor):
            for row in rows:
                if self.has(row) and not is_subagent_run(row):
                    return row
            cursor = rows[-1].cursor
        raise NotFound("this workspace has no runs yet", hint="`skills-runtime runs list --all` lists all workspaces")


def _find_by_prefix(text: str, path: Path) -> list[str]:
    if len(text) < PREFIX_LENGTH or not path.is_dir():
        return []
    beginnings = (text, f"run_{text}") if _HEX.fullmatch(text) else (text,)
    names = (entry.name for entry in path.iterdir() if entry.name.startswith(beginnings))
    return sorted(name for name in names if (path / name / LOG).is_file())


def _find_row(text: str, index: RunIndex) -> RunRow:
    try:
        return index.find(text)
    except NotFound:
        if _HEX.fullmatch(text):
            with suppress(NotFound):
                return index.find(f"run_{text}")
        raise
