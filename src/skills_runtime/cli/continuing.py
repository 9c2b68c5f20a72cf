"""Going on from a run that exists: with its own settings, and whatever the command line changes of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skills_runtime.agent.run_ports import log_ports
from skills_runtime.cli.inputs import parse_assignments
from skills_runtime.cli.options import ConfigOptions
from skills_runtime.cli.state import checked_path
from skills_runtime.cli.waits import command_for, waits_of
from skills_runtime.config import Resolved, resolve
from skills_runtime.config.merge import deep_merge
from skills_runtime.errors import IllegalTransition
from skills_runtime.events.states import RunStatus
from skills_runtime.projections import Pending, RunState, fold
from skills_runtime.runs import RunPaths, read_events
from skills_runtime.runs.imported import chosen_here, was_imported


def settings_of(
    paths: RunPaths,
    state: RunState,
    given: ConfigOptions,
    *,
    above: Mapping[str, Any] | None = None,
    adopting: bool = False,
) -> Resolved:
    """The settings the run began with, under those of this command line, under those the command needs.

    Those of a run from elsewhere do not count, unless its user is adopting it: they could choose where your key is
    sent.
    """
    is_ours = (adopting and not was_imported(paths)) or chosen_here(paths, state, log_ports().keys)
    workspace = Path(state.workspace_root) if is_ours and state.workspace_root else Path(given.workspace_root)
    files = [checked_path(path, option="--config") for path in given.files]
    own = [paths.root / "config.yaml"] if is_ours else []
    return resolve(
        workspace,
        config_paths=[*own, *files],
        session_settings=deep_merge(parse_assignments(given.assignments), above or {}),
    )


def state_of(paths: RunPaths) -> RunState:
    """Where the run stands, as far as anybody can read it."""
    return fold(read_events(paths), RunState())


def refuse_unreviewed(state: RunState, reference: str, program: str) -> None:
    """A run whose result waits for review does not go on before somebody has looked at it."""
    if state.status is RunStatus.REVIEW_REQUIRED:
        (wait,) = waits_of(state, Pending(), command_for(program, reference))
        raise IllegalTransition(f"the result of `{state.run_id}` waits for review", hint=wait.in_words())
