"""What the look at a workspace means for the commands in it: what is refused, what is held, and what still works."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import SandboxError
from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.processes import Command, Limits, execute
from skills_runtime.sandbox import CAREFUL, OsSandbox, build_policy, find_adapters
from skills_runtime.sandbox import protected_paths as module
from skills_runtime.sandbox.policy import Promise
from tests.e2e.sandbox.arena import state_beside

BOTH: frozenset[Promise] = frozenset[Promise](("protected_paths", "secrets"))


def plan(workspace: Path, line: str, accepted: frozenset[Promise] = frozenset()) -> SandboxPlan:
    policy = msgspec.structs.replace(build_policy("workspace-write", workspace, CAREFUL), accepted_gaps=accepted)
    fence = OsSandbox(policy, find_adapters("bubblewrap"), {}, state=state_beside(workspace))
    return fence.plan(ProcessRequest(argv=("/bin/sh", "-ec", line), cwd=workspace, environment={}))


def run(workspace: Path, line: str) -> tuple[int | None, str]:
    planned = plan(workspace, line)
    command = Command(planned.argv, planned.cwd, planned.environment, setup=planned.setup)
    finished = asyncio.run(execute(command, Limits(wall_seconds=20.0, grace_seconds=0.2)))
    return finished.exit_code, finished.stdout.text() + finished.stderr.text()


def test_what_was_not_scanned_of_a_large_workspace_is_hidden_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_DIRECTORIES", 5)
    for name in "abc":
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep/.env").write_text("secret")
    evidence = plan(tmp_path, "true").evidence
    assert "protected_paths" in evidence["promises"]
    assert any("hold too much to scan and are hidden" in gap for gap in evidence["gaps"])
    code, said = run(tmp_path, "echo new > file; cat file; cat */deep/.env 2> /dev/null || true")
    assert (code, said) == (0, "new\n")


def test_a_workspace_of_which_nothing_can_be_hidden_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_DIRECTORIES", 2)
    for number in range(60):
        (tmp_path / str(number)).mkdir()
    with pytest.raises(SandboxError, match="was not scanned") as caught:
        plan(tmp_path, "true")
    assert caught.value.details["missing"] == ["protected_paths", "secrets"]
    assert "name a smaller directory" in (caught.value.hint or "")


def test_accepted_gaps_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_DIRECTORIES", 2)
    for number in range(60):
        (tmp_path / str(number)).mkdir()
    evidence = plan(tmp_path, "true", BOTH).evidence
    assert not BOTH & set(evidence["promises"])
    assert any("was not scanned" in gap for gap in evidence["gaps"])


@pytest.mark.parametrize("place", ["node_modules", "other/.ssh", "a/b/c/d/e/f/g/h/i"])
def test_a_secret_stays_hidden_wherever_its_directory_is_moved(place: str, tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app/.env").write_text("secret")
    code, said = run(tmp_path, f"mkdir -p {place}; mv app {place}/app; cat {place}/app/.env; touch {place}/app/a")
    assert (code, said) == (0, "")
    assert run(tmp_path, f"cat {place}/app/.env") == (0, "")


@pytest.mark.parametrize("place", ["other/.claude", "other/.git/objects"])
def test_a_secret_that_is_carried_into_what_is_set_aside_goes_with_it(place: str, tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app/.env").write_text("secret")
    code, said = run(tmp_path, f"mkdir -p {place}; mv app {place}/app; cat {place}/app/.env")
    assert (code, said) == (0, "")
    code, said = run(tmp_path, f"cat {place}/app/.env")
    assert "secret" not in said


def test_what_a_home_hides_cannot_be_carried_away(tmp_path: Path) -> None:
    (tmp_path / ".config/gh").mkdir(parents=True)
    (tmp_path / ".config/gh/hosts.yml").write_text("secret")
    (tmp_path / ".bashrc").touch()
    assert run(tmp_path, "mv .config elsewhere")[0] != 0
    assert (tmp_path / ".config/gh/hosts.yml").exists()


def test_a_workspace_without_a_repository_is_copied_whole_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("secret")
    code, said = run(tmp_path, "cp -r . /tmp/copy; tar cf /tmp/all.tar .; cat /tmp/copy/.env; ls -A /tmp/copy")
    assert code == 0, said
    assert "secret" not in said
    assert [path.name for path in tmp_path.iterdir()] == [".env"]
