"""Going on from a run that exists: with its own settings, and whatever the command line changes of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skills_runtime.cli.machine import checked_path
from skills_runtime.cli.options import ConfigOptions
from skills_runtime.cli.settings import parse_assignments
from skills_runtime.config import Resolved, resolve
from skills_runtime.config.merge import deep_merge
from skills_runtime.projections import RunState, fold
from skills_runtime.runs import RunPaths, read_events


def settings_of(
    paths: RunPaths, state: RunState, options: ConfigOptions, *, above: Mapping[str, Any] | None = None
) -> Resolved:
    """The settings the run began with, under those of this command line, under those the command needs."""
    workspace = Path(state.workspace_root) if state.workspace_root else Path(options.workspace_root)
    given = [checked_path(path, option="--config") for path in options.config]
    return resolve(
        workspace,
        config_paths=[paths.root / "config.yaml", *given],
        session_settings=deep_merge(parse_assignments(options.set), above or {}),
    )


def state_of(paths: RunPaths) -> RunState:
    """Where the run stands, as far as anybody can read it."""
    return fold(read_events(paths), RunState())
