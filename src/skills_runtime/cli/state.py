"""The user's runs as the commands reach them: the application layer over this machine, and a run by how it is named."""

import os
import pwd
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from skills_runtime.cli.inputs import checked_path, parse_assignments
from skills_runtime.cli.options import ConfigOptions
from skills_runtime.config import state_home
from skills_runtime.engine import Interaction, RecordedRun, RunService, ServiceLimits, Workspace, open_run_service
from skills_runtime.runs import RunPaths

LOG = "events.jsonl"


@contextmanager
def open_service(
    given: ConfigOptions | None = None, *, interaction: Interaction | None = None
) -> Generator[RunService]:
    """Open the application layer for the user of this machine; `interaction` is asked and told while runs work."""
    given = given or ConfigOptions()
    workspace = Workspace(
        workspace_root=checked_path(given.workspace_root, option="--workspace-root").resolve(),
        state=state_home(),
        config_paths=tuple(checked_path(path, option="--config") for path in given.files),
        given=parse_assignments(given.assignments),
        for_user=True,
    )
    # What a command leaves unfinished is resumed by its user, not by the next process.
    with open_run_service(workspace, interaction=interaction, limits=ServiceLimits(durable=False)) as service:
        yield service


def find_run(reference: str, workspace_root: str) -> RecordedRun:
    """The run that a path, an id or the beginning of an id names."""
    path = checked_path(reference, option="RUN")
    directory = path.parent if path.name == LOG else path
    if (directory / LOG).is_file():  # it can be looked at also where the ledger cannot be opened
        return RecordedRun(RunPaths(directory.resolve()))
    with open_service(ConfigOptions(workspace_root)) as service:
        return service.recorded(reference)


def login_name() -> str:
    """Who decides here, as the system knows them; variables of the environment could say anything."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid {number}"


def shown_path(path: Path) -> str:
    """A path as somebody who stands here would type it."""
    near = os.path.relpath(path)
    return str(path) if near.startswith("..") else near
