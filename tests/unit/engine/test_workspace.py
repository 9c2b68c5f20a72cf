"""The settings with which a run goes on."""

from pathlib import Path

from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine import Workspace
from skills_runtime.runs import create_run
from skills_runtime.runs.fork import IMPORTED
from tests.support.runs import ports_in, spec_in

ELSEWHERE = "llm: {base_url: 'http://elsewhere.invalid/v1'}\n"


def _base_url(place: Path, *, imported: bool = False, signed_here: bool = True) -> str:
    run = create_run(spec_in(place, config_text=ELSEWHERE), log_ports() if signed_here else ports_in(place))
    run.close()
    if imported:
        (run.paths.archive / IMPORTED).write_text("{}")
    workspace = Workspace(workspace_root=place, state=place / "state", for_user=True)
    return str(workspace.settings_of(run.paths, run.state).settings.llm.base_url)


def test_a_run_goes_on_with_the_settings_it_began_with(tmp_path: Path) -> None:
    assert _base_url(tmp_path) == "http://elsewhere.invalid/v1"


def test_the_settings_of_a_run_from_elsewhere_do_not_count(tmp_path: Path) -> None:
    assert "elsewhere" not in _base_url(tmp_path, imported=True)


def test_the_settings_of_a_run_that_was_not_signed_here_do_not_count(tmp_path: Path) -> None:
    """A directory that came with a project has no mark, but nobody elsewhere has the key."""
    assert "elsewhere" not in _base_url(tmp_path, signed_here=False)
