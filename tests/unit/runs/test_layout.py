"""Every file and directory a run promises, with its mode, in every state a run can be left in."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from skills_runtime.events.payloads import RunCancelled, RunCompleted, RunFailed
from skills_runtime.runs import RunPaths, read_events, read_record, runs_root
from skills_runtime.runs.spec import pretty
from tests.support.runs import decoded, finished_run, lines_of, new_run
from tests.support.tools import modes

FILES = {
    "run.json": 0o600,
    "session.json": 0o400,
    "task.yaml": 0o400,
    "prompt.md": 0o400,
    "config.yaml": 0o400,
    "effective-system-prompt.md": 0o400,
    "sandbox-manifest.json": 0o400,
    "artifact-manifest.json": 0o600,
    "events.jsonl": 0o600,
    "transcript.md": 0o600,
    "run.lock": 0o600,
}
DIRECTORIES = ("workspace", "deliverables", "archive", "logs", "blobs", "executions")


def _created(directory: Path) -> RunPaths:
    run = new_run(directory)
    run.close()
    return run.paths


MADE: dict[str, Callable[[Path], RunPaths]] = {
    "created": _created,
    "completed": lambda directory: finished_run(directory, RunCompleted(final_output="done")),
    "failed": lambda directory: finished_run(directory, RunFailed(error_kind="llm_error", message="no answer")),
    "cancelled": lambda directory: finished_run(directory, RunCancelled(message="enough")),
}


@pytest.fixture(params=sorted(MADE))
def paths(request: pytest.FixtureRequest, tmp_path: Path) -> RunPaths:
    """A run that was created, or that ended in one of three ways."""
    return MADE[request.param](tmp_path)


def test_every_promised_file_is_there_with_its_mode(paths: RunPaths) -> None:
    result = modes(paths.root)
    assert {name: result.get(name) for name in FILES} == FILES
    assert all((paths.root / name).is_file() for name in FILES)


def test_every_promised_directory_is_there_for_its_owner_only(paths: RunPaths) -> None:
    result = modes(paths.root)
    assert {name: result.get(name) for name in (".", *DIRECTORIES)} == dict.fromkeys((".", *DIRECTORIES), 0o700)


def test_nothing_else_is_at_the_top(paths: RunPaths) -> None:
    assert {path.name for path in paths.root.iterdir()} == {*FILES, *DIRECTORIES}


def test_nothing_anywhere_below_can_be_read_by_others(paths: RunPaths) -> None:
    assert not {name: oct(mode) for name, mode in modes(paths.root).items() if mode & 0o077}


def test_the_umask_does_not_matter(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        result = modes(finished_run(tmp_path).root)
    finally:
        os.umask(before)
    assert not {name: oct(mode) for name, mode in result.items() if mode & 0o077}
    assert stat.S_IMODE((tmp_path / "runs").stat().st_mode) == 0o700


def test_the_ids_are_the_same_everywhere(paths: RunPaths) -> None:
    ids = {"session_id": "session_test", "task_id": "task_test", "run_id": "run_test"}
    for name in ("run.json", "sandbox-manifest.json", "artifact-manifest.json"):
        data = decoded((paths.root / name).read_bytes())
        assert {key: data[key] for key in ids} == ids
    task = yaml.safe_load((paths.root / "task.yaml").read_text())
    assert (task["session_id"], task["task_id"]) == ("session_test", "task_test")
    session = decoded((paths.root / "session.json").read_bytes())
    assert session["session_id"] == "session_test"
    assert session["tasks"] == [{"task_id": "task_test", "runs": ["run_test"]}]
    assert {decoded(line)["run_id"] for line in lines_of(paths)} == {"run_test"}


def test_run_json_has_the_eleven_fields_and_the_four_of_ours(paths: RunPaths) -> None:
    names = """
        session_id task_id run_id profile_id config_fingerprint status created_at updated_at started_at completed_at
        failure_reason schema kind attempt parent_run_id
    """
    assert decoded(paths.run_json.read_bytes()).keys() >= set(names.split())


def test_run_json_and_the_log_tell_the_same(paths: RunPaths) -> None:
    last = list(read_events(paths))[-1]
    record = read_record(paths.run_json)
    assert (record.updated_at, record.last_seq) == (last.timestamp, last.seq)
    assert paths.run_json.read_bytes() == pretty(record)


def test_runs_of_a_workspace_live_below_its_state_directory() -> None:
    assert runs_root(Path("/ws")) == Path("/ws/.skills_runtime_sdk/runs")
