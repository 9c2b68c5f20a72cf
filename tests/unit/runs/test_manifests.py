"""The two manifests: the boundaries of a run, and what it produced and consumed."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.events.payloads import RunCompleted, RunFailed
from skills_runtime.runs import Run, RunPaths, RunStatus, files_of, finish_run
from skills_runtime.runs.manifests import scan_outputs
from tests.support.runs import COMPLETED, REPORT, decoded, files_in, finished_run, lines_of, new_run, working_run


def _manifest(paths: RunPaths) -> dict[str, Any]:
    return json.loads(paths.artifact_manifest.read_bytes())


def _finished(run: Run) -> dict[str, Any]:
    finish_run(run, COMPLETED)
    run.close()
    return _manifest(run.paths)


def _by_name(manifest: dict[str, Any], direction: str = "produced") -> dict[str, dict[str, Any]]:
    return {payload["name"]: payload for payload in manifest["artifacts"] if payload["direction"] == direction}


def test_the_sandbox_manifest_tells_the_boundaries(tmp_path: Path) -> None:
    run = new_run(tmp_path, environment_keys=("B", "A"))
    run.close()
    data = json.loads(run.paths.sandbox_manifest.read_bytes())
    assert data["schema"] == "kgent.sandbox-manifest/v1"
    assert data["sandbox"] == {
        "kind": "local-filesystem",
        "root": ".",
        "root_realpath": str(run.paths.root.resolve()),
        "workspace_mode": "isolated",
        "binds": [],
    }
    assert [payload["path"] for payload in data["directories"]] == ["workspace", "deliverables", "archive", "logs"]
    assert data["path_policy"]["write_roots"] == ["workspace", "deliverables"]
    assert data["path_policy"]["delete"] == "disabled"
    assert data["environment"]["env_keys"] == ["A", "B"]


@pytest.mark.parametrize("open_places_are_known", [True, False])
def test_the_sandbox_manifest_tells_where_links_lead(
    tmp_path: Path, open_places_are_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    readlink = os.readlink

    def partly(path: str | Path) -> str:
        if str(path).startswith("/proc/"):
            raise FileNotFoundError(path)
        return readlink(path)

    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "link").symlink_to("far")
    if not open_places_are_known:
        monkeypatch.setattr(os, "readlink", partly)
    run = new_run(tmp_path, root=tmp_path / "link" / "away" / "run_test")
    run.close()
    result = json.loads(run.paths.sandbox_manifest.read_bytes())["sandbox"]["root_realpath"]
    assert result == str(tmp_path / "far" / "away" / "run_test")


def test_the_sandbox_manifest_lists_the_snapshots_by_digest(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.close()
    for snapshot in json.loads(run.paths.sandbox_manifest.read_bytes())["snapshots"]:
        content = (run.paths.root / snapshot["name"]).read_bytes()
        assert (snapshot["size"], snapshot["digest"]["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())


def test_a_shared_workspace_is_named_as_a_bind(tmp_path: Path) -> None:
    run = new_run(tmp_path, workspace_mode="shared")
    run.close()
    data = json.loads(run.paths.sandbox_manifest.read_bytes())
    assert data["sandbox"]["binds"] == [{"path": str(tmp_path), "access": "read-write"}]
    assert data["path_policy"]["base"] == "workspace-root"


def test_a_new_run_has_produced_nothing_yet(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.close()
    data = _manifest(run.paths)
    assert (data["final"], data["artifacts"], data["run_status"]) == (False, [], "pending")


def test_small_runs_have_small_manifests(tmp_path: Path) -> None:
    paths = finished_run(tmp_path)
    assert paths.artifact_manifest.stat().st_size + paths.sandbox_manifest.stat().st_size < 64 * 1024


def test_what_a_tool_wrote_is_listed_with_its_event_and_call(tmp_path: Path) -> None:
    paths = finished_run(tmp_path)
    data = _manifest(paths)
    report = _by_name(data)["deliverables/report.md"]
    number: int = report["producer"]["event_index"]
    assert (data["final"], data["run_status"]) == (True, "completed")
    assert (report["role"], report["mediaType"], report["size"]) == ("deliverable", "text/markdown", len(REPORT))
    assert report["digest"] == {"sha256": hashlib.sha256(REPORT).hexdigest()}
    assert report["producer"]["kind"] == "tool"
    assert report["producer"]["call_id"] == "call_1"
    written = decoded(lines_of(paths)[number])
    assert (written["type"], written["payload"]["path"]) == ("file_operation", "deliverables/report.md")


def test_what_a_tool_read_is_listed_as_consumed(tmp_path: Path) -> None:
    consumed = _by_name(_manifest(finished_run(tmp_path)), "consumed")
    assert list(consumed) == ["prompt.md"]
    assert consumed["prompt.md"]["role"] == "input"


def test_an_input_that_was_overwritten_is_listed_twice(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    (run.paths.workspace / "data.txt").write_bytes(b"before")
    files = files_in(run)
    files.read("workspace/data.txt", limit=100)
    files.write("workspace/data.txt", b"after", create_dirs=False)
    manifest = _finished(run)
    sums = [
        _by_name(manifest, direction)["workspace/data.txt"]["digest"]["sha256"]
        for direction in ("consumed", "produced")
    ]
    assert sums == [hashlib.sha256(data).hexdigest() for data in (b"before", b"after")]


@pytest.mark.parametrize("how", ["changed", "added", "replaced"])
def test_what_was_changed_behind_the_tools_is_out_of_band(tmp_path: Path, how: str) -> None:
    run = working_run(tmp_path)
    if how != "added":
        files_in(run).write("workspace/a.txt", b"by the tool", create_dirs=True)
    (run.paths.workspace / "a.txt").write_bytes(b"by the shell" if how != "replaced" else b"BY THE TOOL")
    assert _by_name(_finished(run))["workspace/a.txt"]["producer"] == {"kind": "out_of_band"}


@pytest.mark.parametrize("path", ["./workspace/a.txt", "workspace//a.txt", "{root}/workspace/a.txt"])
def test_a_tool_is_the_producer_however_it_spelled_the_path(tmp_path: Path, path: str) -> None:
    run = working_run(tmp_path)
    files_in(run).write(path.format(root=run.paths.root), b"x", create_dirs=True)
    manifest = _finished(run)
    assert _by_name(manifest).keys() == {"workspace/a.txt"}
    assert _by_name(manifest)["workspace/a.txt"]["producer"]["kind"] == "tool"


def test_files_written_into_the_user_s_own_tree_are_listed_by_their_records(tmp_path: Path) -> None:
    home = tmp_path / "project"
    home.mkdir()
    run = working_run(tmp_path, workspace_mode="shared", workspace_root=home)
    files = files_of(run, home, mode="shared", delete="disabled")
    for path in ("src/a.py", "workspace/b.py", f"{home}/c.py", "executions/d.py", "deliverables/r.md"):
        files.write(path, b"x", create_dirs=True)
    result = _by_name(_finished(run))
    assert {name: entry["role"] for name, entry in result.items()} == {
        "src/a.py": "workspace",
        "workspace/b.py": "workspace",
        "c.py": "workspace",
        "executions/d.py": "workspace",
        "deliverables/r.md": "deliverable",
    }
    assert all(entry["producer"]["kind"] == "tool" for entry in result.values())


def test_a_deleted_file_is_listed_as_removed(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    files = files_of(run, run.paths.root, mode="isolated", delete="allow")
    files.write("workspace/a.txt", b"x", create_dirs=True)
    files.delete("workspace/a.txt")
    manifest = _finished(run)
    assert not _by_name(manifest)
    assert manifest["removed"] == [
        {"name": "workspace/a.txt", "last_digest": {"sha256": hashlib.sha256(b"x").hexdigest()}}
    ]


def test_a_name_that_is_not_text_is_listed_and_marked(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    (run.paths.deliverables / os.fsdecode(b"caf\xe9.txt")).write_bytes(b"x")
    (artifact,) = _by_name(_finished(run)).values()
    assert artifact["name"].isascii()
    assert artifact["annotations"].get("escaped")


def test_links_are_not_artifacts(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    (run.paths.deliverables / "passwd").symlink_to("/etc/passwd")
    manifest = _finished(run)
    assert not manifest["artifacts"]
    assert manifest["scan"]["skipped"] == [{"path": "deliverables/passwd", "reason": "symlink"}]


def test_the_log_is_covered_up_to_the_manifest(tmp_path: Path) -> None:
    paths = finished_run(tmp_path)
    (log,) = _manifest(paths)["logs"]
    whole = paths.events.read_bytes()
    assert log["digest"]["sha256"] == hashlib.sha256(whole[: log["size"]]).hexdigest()
    assert whole[: log["size"]].count(b"\n") == log["lines"]
    assert [json.loads(line)["type"] for line in whole[log["size"] :].splitlines()] == [
        "artifact_manifest_written",
        "run_completed",
    ]


@pytest.mark.parametrize(
    ("end", "status"),
    [(RunCompleted(final_output=""), "completed"), (RunFailed(error_kind="k", message="m"), "failed")],
)
def test_the_manifest_tells_how_the_run_ended(tmp_path: Path, end: RunCompleted | RunFailed, status: str) -> None:
    assert _manifest(finished_run(tmp_path, end))["run_status"] == status


@pytest.mark.slow
def test_a_run_with_twenty_thousand_files_still_ends(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    files_in(run).write("deliverables/report.md", REPORT, create_dirs=True)
    for number in range(20):
        directory = run.paths.workspace / str(number)
        directory.mkdir()
        for name in range(1000):
            os.close(os.open(directory / str(name), os.O_WRONLY | os.O_CREAT, 0o600))
    manifest = _finished(run)
    assert run.state.status is RunStatus.COMPLETED
    assert (manifest["scan"]["complete"], manifest["scan"]["files_seen"]) == (False, 10_000)
    assert {payload["reason"] for payload in manifest["scan"]["skipped"]} == {"limit"}
    assert "deliverables/report.md" in _by_name(manifest)


def test_what_only_the_runtime_needs_is_no_artifact(tmp_path: Path) -> None:
    for name in ("executions/.runtime/keys/k", "executions/exec-1/out.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert [file.path for file in scan_outputs(tmp_path).files] == ["executions/exec-1/out.txt"]
