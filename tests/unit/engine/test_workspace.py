"""The settings with which a run goes on."""

import json
from pathlib import Path

from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine import Workspace
from skills_runtime.events import RunStarted
from skills_runtime.runs import Run, create_run, open_run
from skills_runtime.runs.fork import IMPORTED
from tests.support.runs import decoded, lines_of, ports_in, spec_in

ELSEWHERE = "llm: {base_url: 'http://elsewhere.invalid/v1'}\n"


def _base_url(directory: Path, *, imported: bool = False, signed_here: bool = True, adopted: bool = False) -> str:
    run = create_run(spec_in(directory, config_text=ELSEWHERE), log_ports() if signed_here else ports_in(directory))
    run.close()
    if adopted:
        run = open_run(run.paths.root, log_ports(), adopt=True)
        run.append(RunStarted(task="Say hello.", workspace_root=str(directory)))
        run.close()
    if imported:
        (run.paths.archive / IMPORTED).write_text("{}")
    workspace = Workspace(workspace_root=directory, state=directory / "state", for_user=True)
    return str(workspace.settings_of(run.paths).settings.llm.base_url)


def test_a_run_goes_on_with_the_settings_it_began_with(tmp_path: Path) -> None:
    assert _base_url(tmp_path) == "http://elsewhere.invalid/v1"


def test_the_settings_of_a_run_from_elsewhere_do_not_count(tmp_path: Path) -> None:
    assert "elsewhere" not in _base_url(tmp_path, imported=True)


def test_the_settings_of_a_run_that_was_not_signed_here_do_not_count(tmp_path: Path) -> None:
    """A directory that came with a project has no mark, but nobody elsewhere has the key."""
    assert "elsewhere" not in _base_url(tmp_path, signed_here=False)


def test_the_settings_of_an_adopted_run_do_not_count(tmp_path: Path) -> None:
    assert "elsewhere" not in _base_url(tmp_path, signed_here=False, adopted=True)


def _state_of(directory: Path, *, adopted: bool) -> tuple[Workspace, Run]:
    """A workspace, and a run that was signed elsewhere and names another one."""
    run = create_run(spec_in(directory, config_text="run: {}\n"), ports_in(directory))
    run.append(RunStarted(task="Say hello.", workspace_root=str(directory / "theirs")))
    run.close()
    if adopted:
        run = open_run(run.paths.root, log_ports(), adopt=True)
        run.close()
    mine = directory / "mine"
    mine.mkdir()
    return Workspace(workspace_root=mine, state=directory / "state", for_user=True), run


def test_a_run_that_is_adopted_works_in_the_workspace_of_the_caller(tmp_path: Path) -> None:
    workspace, run = _state_of(tmp_path, adopted=False)
    assert workspace.settings_of(run.paths).workspace_root == tmp_path / "mine"


def test_an_adopted_run_that_never_started_here_works_in_the_workspace_of_the_caller(tmp_path: Path) -> None:
    workspace, run = _state_of(tmp_path, adopted=True)
    assert workspace.settings_of(run.paths).workspace_root == tmp_path / "mine"


def test_an_adopted_run_goes_on_where_it_was_started_here(tmp_path: Path) -> None:
    workspace, run = _state_of(tmp_path, adopted=True)
    (tmp_path / "here").mkdir()
    again = open_run(run.paths.root, log_ports())
    again.append(RunStarted(task="Say hello.", workspace_root=str(tmp_path / "here")))
    again.close()
    assert workspace.settings_of(run.paths).workspace_root == tmp_path / "here"


def test_a_forged_line_does_not_name_the_workspace(tmp_path: Path) -> None:
    run = create_run(spec_in(tmp_path), log_ports())
    run.append(RunStarted(task="Say hello.", workspace_root=str(tmp_path)))
    run.close()
    forged = decoded(lines_of(run.paths)[-1])
    forged["seq"] += 1
    forged["payload"]["workspace_root"] = "/"
    with run.paths.events.open("ab") as log:
        log.write(json.dumps(forged, separators=(",", ":")).encode() + b"\n")
    workspace = Workspace(workspace_root=tmp_path, state=tmp_path / "state", for_user=True)
    assert workspace.settings_of(run.paths).workspace_root == tmp_path
