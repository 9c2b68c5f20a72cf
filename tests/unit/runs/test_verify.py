"""Verification: an untouched run is fine wherever it is, and every change is found and named."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.errors import LogCorrupt, NotFound
from skills_runtime.events.payloads import ToolCallRequested
from skills_runtime.runs import Blobs, KeyRing, RunPaths, Verdict, finish_run, open_run, verify_run
from skills_runtime.runs.verify import MAX_UNLISTED
from tests.support.runs import COMPLETED, copy_of, decoded, digest, keys_in, lines_of, new_run, ports_in, working_run
from tests.support.tools import tree


def _found(verdict: Verdict) -> list[tuple[str, str]]:
    return [(finding.code, finding.where) for finding in verdict.findings if finding.severity == "error"]


def _edit(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.chmod(0o600)
    path.write_bytes(change(path.read_bytes()))


def test_an_untouched_run_is_authentic(paths: RunPaths, keys: KeyRing) -> None:
    verdict = verify_run(paths.root, keys)
    assert (verdict.ok, verdict.authentic, verdict.findings) == (True, True, [])
    assert (verdict.run_id, verdict.events) == ("run_test", len(lines_of(paths)))


def test_verification_changes_nothing(paths: RunPaths, keys: KeyRing) -> None:
    before = tree(paths.root)
    verify_run(paths.root, keys)
    assert tree(paths.root) == before


@pytest.mark.parametrize("state", ["pending", "running"])
def test_a_run_that_has_not_ended_is_fine_too(tmp_path: Path, state: str) -> None:
    run = new_run(tmp_path) if state == "pending" else working_run(tmp_path)
    assert verify_run(run.paths.root, keys_in(tmp_path)).findings == []
    run.close()
    assert verify_run(run.paths.root, keys_in(tmp_path)).findings == []


def test_a_copy_at_another_place_is_authentic(paths: RunPaths, keys: KeyRing, tmp_path: Path) -> None:
    copy = copy_of(paths, tmp_path / "elsewhere" / "copy")
    shutil.rmtree(paths.root)
    verdict = verify_run(copy.root, keys)
    assert (verdict.ok, verdict.authentic, verdict.findings) == (True, True, [])


def test_a_copy_on_a_machine_without_the_key_is_checked_but_not_authenticated(
    paths: RunPaths, no_keys: KeyRing, tmp_path: Path
) -> None:
    verdict = verify_run(copy_of(paths, tmp_path / "copy").root, no_keys)
    assert (verdict.ok, verdict.authentic, verdict.outcome) == (True, False, "not_authenticated")
    (note,) = verdict.findings
    assert (note.severity, note.code) == ("note", "authenticity")
    assert note.message.startswith("not authenticated: the key ")


def test_a_directory_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        verify_run(tmp_path, keys_in(tmp_path))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "failed"),
        ("run_id", "other"),
        ("config_fingerprint", "sha256:0"),
        ("failure_reason", "x"),
        ("completed_at", None),
        ("updated_at", "x"),
    ],
)
def test_an_edited_field_of_run_json_is_named(paths: RunPaths, keys: KeyRing, field: str, value: Any) -> None:
    _edit(paths.run_json, lambda data: json.dumps({**json.loads(data), field: value}).encode())
    verdict = verify_run(paths.root, keys)
    assert _found(verdict) == [("run_json", "run.json")]
    assert f"`{field}`" in verdict.findings[0].message


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff\xfe", b"[" * 5000])
def test_a_run_json_that_is_none_is_found(paths: RunPaths, keys: KeyRing, content: bytes) -> None:
    paths.run_json.write_bytes(content)
    assert _found(verify_run(paths.root, keys)) == [("run_json", "run.json")]


@pytest.mark.parametrize(
    "name",
    [
        "prompt.md",
        "config.yaml",
        "effective-system-prompt.md",
        "task.yaml",
        "session.json",
        "sandbox-manifest.json",
        "artifact-manifest.json",
        "deliverables/report.md",
    ],
)
def test_a_file_that_was_changed_by_one_byte_is_named(paths: RunPaths, keys: KeyRing, name: str) -> None:
    _edit(paths.root / name, lambda data: data + b" ")
    assert ("tampered", name) in _found(verify_run(paths.root, keys))


@pytest.mark.parametrize(
    "name",
    [
        "run.json",
        "prompt.md",
        "config.yaml",
        "effective-system-prompt.md",
        "task.yaml",
        "session.json",
        "sandbox-manifest.json",
        "artifact-manifest.json",
        "transcript.md",
        "deliverables/report.md",
    ],
)
@pytest.mark.parametrize("instead", ["nothing", "directory", "dangling link"])
def test_a_file_that_is_missing_is_named(paths: RunPaths, keys: KeyRing, name: str, instead: str) -> None:
    (paths.root / name).unlink()
    if instead == "directory":
        (paths.root / name).mkdir()
    elif instead == "dangling link":
        (paths.root / name).symlink_to("nowhere")
    assert ("missing", name) in _found(verify_run(paths.root, keys))


@pytest.mark.parametrize("name", ["workspace", "deliverables", "archive", "logs", "blobs", "executions"])
def test_a_directory_that_is_missing_is_named(paths: RunPaths, keys: KeyRing, name: str) -> None:
    shutil.rmtree(paths.root / name)
    assert ("missing", name) in _found(verify_run(paths.root, keys))


def test_an_edited_transcript_is_found(paths: RunPaths, keys: KeyRing) -> None:
    _edit(paths.transcript, lambda data: data.replace(b"Here you are.", b"Here I am.  "))
    assert _found(verify_run(paths.root, keys)) == [("transcript", "transcript.md")]


def test_an_edited_blob_is_found(paths: RunPaths, keys: KeyRing) -> None:
    (blob,) = (path for path in paths.blobs.rglob("*") if path.is_file())
    _edit(blob, lambda data: data.upper())
    ((code, where),) = _found(verify_run(paths.root, keys))
    assert code == "blob"
    assert blob.name[:12] in where


def _with_a_blob_named_in_the_log(directory: Path, *, ended: bool) -> tuple[RunPaths, Path]:
    run = working_run(directory)
    name = run.put_blob(b"arguments")
    run.append(ToolCallRequested(call_id="c", tool="t", name="t", arguments_blob=name))
    run.commit()
    run.save()
    if ended:
        finish_run(run, COMPLETED)
    run.close()
    return run.paths, run.blobs.path(name)


def test_a_blob_that_an_open_run_still_needs_must_be_there(tmp_path: Path) -> None:
    paths, blob = _with_a_blob_named_in_the_log(tmp_path, ended=False)
    assert verify_run(paths.root, keys_in(tmp_path)).findings == []
    blob.unlink()
    assert [code for code, _ in _found(verify_run(paths.root, keys_in(tmp_path)))] == ["missing"]


def test_blobs_that_stayed_behind_when_an_ended_run_was_handed_on_are_only_noted(tmp_path: Path) -> None:
    paths, blob = _with_a_blob_named_in_the_log(tmp_path, ended=True)
    blob.unlink()
    verdict = verify_run(paths.root, keys_in(tmp_path))
    assert verdict.ok
    assert [(finding.severity, finding.code) for finding in verdict.findings] == [("note", "missing")]


def test_ids_of_another_run_in_a_manifest_are_named(paths: RunPaths, keys: KeyRing) -> None:
    _edit(paths.artifact_manifest, lambda data: data.replace(b"session_test", b"session_evil"))
    assert ("ids", "artifact-manifest.json") in _found(verify_run(paths.root, keys))


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("prompt.md", "tampered"),
        ("deliverables/report.md", "tampered"),
        ("artifact-manifest.json", "tampered"),
        ("transcript.md", "transcript"),
        ("run.json", "run_json"),
    ],
)
def test_without_the_key_the_digests_still_find_an_edited_file(
    paths: RunPaths, no_keys: KeyRing, name: str, code: str
) -> None:
    _edit(paths.root / name, lambda data: data.replace(b"e", b"E"))
    assert (code, name) in _found(verify_run(paths.root, no_keys))


def test_a_deliverable_with_a_name_that_is_not_text_is_no_problem(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    (run.paths.deliverables / os.fsdecode(b"caf\xe9.txt")).write_bytes(b"x")
    finish_run(run, COMPLETED)
    run.close()
    assert verify_run(run.paths.root, keys_in(tmp_path)).findings == []


@pytest.mark.parametrize("name", ["prompt.md", "config.yaml", "sandbox-manifest.json"])
def test_a_run_whose_snapshot_was_edited_is_not_opened(tmp_path: Path, name: str) -> None:
    run = working_run(tmp_path)
    run.close()
    _edit(run.paths.root / name, lambda data: data + b" ")
    before = tree(run.paths.root)
    with pytest.raises(LogCorrupt, match=name):
        open_run(run.paths.root, ports_in(tmp_path))
    assert tree(run.paths.root) == before


def test_the_digest_of_a_deliverable_is_the_one_everybody_computes(paths: RunPaths) -> None:
    listed = {
        payload["name"]: payload["digest"]["sha256"]
        for payload in decoded(paths.artifact_manifest.read_bytes())["artifacts"]
    }
    assert listed["deliverables/report.md"] == digest((paths.deliverables / "report.md").read_bytes())


@pytest.mark.parametrize(
    "name",
    ["evil.sh", "deliverables/extra.txt", "workspace/extra.txt", "logs/extra", "archive/extra.tar.gz", "blobs/extra"],
)
def test_a_file_that_nothing_lists_is_found(paths: RunPaths, keys: KeyRing, name: str) -> None:
    (paths.root / name).write_bytes(b"planted")
    assert _found(verify_run(paths.root, keys)) == [("unlisted", name)]


@pytest.mark.parametrize("name", ["deliverables/extra", "workspace/extra", "extra"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_link_or_a_pipe_that_nothing_lists_is_found(paths: RunPaths, keys: KeyRing, name: str, kind: str) -> None:
    if kind == "link":
        (paths.root / name).symlink_to("/etc/passwd")
    else:
        os.mkfifo(paths.root / name)
    assert _found(verify_run(paths.root, keys)) == [("unlisted", name)]


def test_a_blob_that_no_event_names_is_noted(paths: RunPaths, keys: KeyRing) -> None:
    Blobs(paths.blobs).put(b"smuggled")
    (note,) = verify_run(paths.root, keys).findings
    assert (note.code, note.severity) == ("unlisted", "note")


def test_what_a_killed_process_left_is_noted(paths: RunPaths, keys: KeyRing) -> None:
    (paths.root / ".run.json.4711.0123456789ab").write_bytes(b"{")
    (note,) = verify_run(paths.root, keys).findings
    assert (note.where, note.severity) == (".run.json.4711.0123456789ab", "note")


def test_only_the_first_of_very_many_unlisted_files_are_named(paths: RunPaths, keys: KeyRing) -> None:
    for number in range(MAX_UNLISTED + 5):
        (paths.workspace / f"{number}.txt").touch()
    findings = verify_run(paths.root, keys).findings
    assert len(findings) == MAX_UNLISTED + 1
    assert findings[-1].message == "5 more files do not belong to the run"


def test_links_that_a_run_left_are_its_own(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    (run.paths.workspace / "python").symlink_to("/usr/bin/python3")
    finish_run(run, COMPLETED)
    run.close()
    assert verify_run(run.paths.root, keys_in(tmp_path)).ok


def _replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _replace_by_link(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to(path.with_name("moved"))


def _replace_by_hole(path: Path) -> None:
    path.chmod(0o600)
    os.truncate(path, 1 << 40)


@pytest.mark.parametrize("replace", [_replace_by_pipe, _replace_by_link, _replace_by_hole])
@pytest.mark.parametrize(
    "name",
    ["run.json", "prompt.md", "config.yaml", "artifact-manifest.json", "transcript.md", "deliverables/report.md"],
)
def test_what_is_no_ordinary_file_is_found_at_once(
    paths: RunPaths, keys: KeyRing, name: str, replace: Callable[[Path], None]
) -> None:
    replace(paths.root / name)
    assert name in [where for _, where in _found(verify_run(paths.root, keys))]


def test_a_hole_after_the_log_is_found_at_once(paths: RunPaths, keys: KeyRing) -> None:
    _replace_by_hole(paths.events)
    assert ("log_tail", "events.jsonl") in _found(verify_run(paths.root, keys))
