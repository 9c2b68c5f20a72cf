"""Handing a run on: checksums anybody can check, provenance in a known format, one archive file."""

import hashlib
import json
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.errors import AccessRefused, IllegalTransition, LogCorrupt, NotFound, ValidationFailed
from skills_runtime.runs import Blobs, KeyRing, RunPaths, finish_run, verify_run
from skills_runtime.runs.export import export_run
from tests.support.runs import COMPLETED, REPORT, finished_run, keys_in, new_run, working_run
from tests.support.tools import tree
from tests.support.users import Unprivileged


def _check_sums(root: Path) -> subprocess.CompletedProcess[str]:
    command = ["sha256sum", "--check", "--strict", "archive/SHA256SUMS"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, errors="replace", check=False)


def _statement(paths: RunPaths) -> dict[str, Any]:
    export_run(paths.root)
    return json.loads((paths.archive / "provenance.intoto.json").read_bytes())


def _members(archive: Path) -> list[str]:
    with tarfile.open(archive) as tar:
        return [member.name for member in tar.getmembers() if member.isfile()]


def test_everybody_can_check_the_sums(paths: RunPaths) -> None:
    written = export_run(paths.root)
    assert written == [paths.archive / "SHA256SUMS", paths.archive / "provenance.intoto.json"]
    answer = _check_sums(paths.root)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "deliverables/report.md: OK" in answer.stdout


def test_a_changed_file_does_not_pass_the_sums(paths: RunPaths) -> None:
    export_run(paths.root)
    (paths.deliverables / "report.md").write_bytes(b"other")
    assert "deliverables/report.md: FAILED" in _check_sums(paths.root).stdout


def test_every_file_but_the_private_ones_is_in_the_sums(paths: RunPaths) -> None:
    export_run(paths.root)
    listed = {line.split("  ", 1)[1] for line in (paths.archive / "SHA256SUMS").read_text().splitlines()}
    files = {name for name in tree(paths.root) if (paths.root / name).is_file()}
    private = {name for name in files if name.startswith("blobs/")} | {"run.lock", "logs/spare", "archive/SHA256SUMS"}
    assert listed == files - private
    assert any(name.startswith("blobs/") for name in files)


@pytest.mark.parametrize(
    "name",
    [
        b"with space.txt",
        b" leading",
        b"back\\slash.txt",
        b"new\nline.txt",
        b"return\r",
        b"caf\xe9.txt",
        "日本.txt".encode(),
        b"dir\nwith/line.txt",
        b"*star",
        b"-dash",
        b"run.lock",
        b"archive",
        b"blobs",
    ],
)
def test_no_name_is_too_odd_to_be_handed_on(tmp_path: Path, name: bytes) -> None:
    run = working_run(tmp_path)
    path = run.paths.deliverables / os.fsdecode(name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"odd")
    finish_run(run, COMPLETED)
    run.close()
    export_run(run.paths.root, output=tmp_path / "out.tar.gz")
    answer = _check_sums(run.paths.root)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert hashlib.sha256(b"odd").hexdigest().encode() in (run.paths.archive / "SHA256SUMS").read_bytes()
    with tarfile.open(tmp_path / "out.tar.gz") as tar:
        member = tar.extractfile(f"run_test/deliverables/{os.fsdecode(name)}")
        assert member is not None
        assert member.read() == b"odd"


def test_the_provenance_is_a_statement_others_understand(paths: RunPaths) -> None:
    statement = _statement(paths)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"
    assert statement["subject"] == [
        {"name": "deliverables/report.md", "digest": {"sha256": hashlib.sha256(REPORT).hexdigest()}}
    ]
    definition = statement["predicate"]["buildDefinition"]
    assert definition["externalParameters"] == {
        "run_id": "run_test",
        "task_id": "task_test",
        "session_id": "session_test",
    }
    names = [payload["name"] for payload in definition["resolvedDependencies"]]
    assert {"config.yaml", "prompt.md", "effective-system-prompt.md", "sandbox-manifest.json"} <= set(names)
    details = statement["predicate"]["runDetails"]
    assert details["metadata"]["invocationId"] == "run_test"
    assert details["metadata"]["startedOn"] < details["metadata"]["finishedOn"]
    for byproduct in details["byproducts"]:
        assert (
            byproduct["digest"]["sha256"] == hashlib.sha256((paths.root / byproduct["name"]).read_bytes()).hexdigest()
        )


def test_a_run_that_delivered_nothing_is_about_its_log(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    finish_run(run, COMPLETED)
    run.close()
    (subject,) = _statement(run.paths)["subject"]
    assert subject["name"] == "events.jsonl"


def test_two_exports_are_the_same_bytes(paths: RunPaths, tmp_path: Path) -> None:
    first, second = tmp_path / "one.tar.gz", tmp_path / "two.tar.gz"
    export_run(paths.root, output=first)
    export_run(paths.root, output=second)
    assert first.read_bytes() == second.read_bytes()
    assert oct(first.stat().st_mode)[-3:] == "600"


def test_blobs_stay_behind_unless_they_are_asked_for(paths: RunPaths, tmp_path: Path) -> None:
    export_run(paths.root, output=tmp_path / "without.tar.gz")
    export_run(paths.root, output=tmp_path / "with.tar.gz", with_blobs=True)
    assert not [name for name in _members(tmp_path / "without.tar.gz") if "/blobs/" in name]
    assert [name for name in _members(tmp_path / "with.tar.gz") if "/blobs/" in name]
    assert _check_sums(paths.root).returncode == 0


def test_what_comes_out_of_the_archive_verifies(paths: RunPaths, tmp_path: Path) -> None:
    export_run(paths.root, output=tmp_path / "out.tar.gz")
    with tarfile.open(tmp_path / "out.tar.gz") as tar:
        tar.extractall(tmp_path / "there", filter="data")
    there = tmp_path / "there" / "run_test"
    findings = verify_run(there, keys_in(tmp_path)).findings
    assert [(finding.severity, finding.message) for finding in findings] == [
        ("note", "a blob the log names is missing")
    ]
    assert verify_run(there, KeyRing(tmp_path / "none")).ok
    assert _check_sums(there).returncode == 0


def test_an_archive_holds_no_path_that_leads_out(paths: RunPaths, tmp_path: Path) -> None:
    (paths.workspace / "link").symlink_to("/etc")
    (paths.workspace / "file").symlink_to("/etc/passwd")
    export_run(paths.root, output=tmp_path / "out.tar.gz")
    with tarfile.open(tmp_path / "out.tar.gz") as tar:
        assert {member.name.partition("/")[0] for member in tar} == {"run_test"}
        assert not [member.name for member in tar if not (member.isfile() or member.isdir())]


@pytest.mark.parametrize("state", ["pending", "running"])
def test_a_run_that_has_not_ended_is_not_handed_on(tmp_path: Path, state: str) -> None:
    run = new_run(tmp_path) if state == "pending" else working_run(tmp_path)
    run.close()
    before = tree(tmp_path)
    with pytest.raises(IllegalTransition):
        export_run(run.paths.root, output=tmp_path / "out.tar.gz")
    assert tree(tmp_path) == before


def test_a_file_that_exists_is_not_overwritten_and_nothing_is_written(paths: RunPaths, tmp_path: Path) -> None:
    output = tmp_path / "out.tar.gz"
    output.write_bytes(b"mine")
    before = tree(tmp_path)
    with pytest.raises(ValidationFailed):
        export_run(paths.root, output=output)
    assert tree(tmp_path) == before


def test_a_directory_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        export_run(tmp_path)


@pytest.mark.parametrize("name", ["artifact-manifest.json", "transcript.md", "run.json"])
def test_a_run_that_lacks_a_file_is_not_handed_on(paths: RunPaths, name: str) -> None:
    (paths.root / name).unlink()
    with pytest.raises(LogCorrupt, match=name):
        export_run(paths.root)


def test_a_run_with_an_unreadable_manifest_is_not_exported(paths: RunPaths) -> None:
    paths.artifact_manifest.write_bytes(b"{")
    with pytest.raises(LogCorrupt):
        export_run(paths.root)


def test_a_place_that_cannot_be_written_is_refused(unprivileged: Unprivileged) -> None:
    path = unprivileged.path

    def export(target: str) -> None:
        paths = finished_run(path / target)
        if target == "inside":
            paths.archive.chmod(0o500)
            export_run(paths.root)
        else:
            (path / "locked").mkdir(mode=0o500)
            export_run(paths.root, output=path / "locked" / "out.tar.gz")

    for target in ("inside", "outside"):
        with pytest.raises(AccessRefused):
            unprivileged(lambda target=target: export(target))


@pytest.mark.parametrize(
    "name", ["evil.sh", "deliverables/extra.txt", "workspace/extra.txt", "logs/extra", "executions/x"]
)
def test_a_file_that_nothing_lists_stays_behind(paths: RunPaths, tmp_path: Path, name: str) -> None:
    (paths.root / name).write_bytes(b"planted")
    export_run(paths.root, output=tmp_path / "out.tar.gz")
    assert f"run_test/{name}" not in _members(tmp_path / "out.tar.gz")
    assert b"extra" not in (paths.archive / "SHA256SUMS").read_bytes()


def test_keys_of_executions_stay_behind(paths: RunPaths, tmp_path: Path) -> None:
    (paths.root / "executions/.runtime").mkdir()
    (paths.root / "executions/.runtime/key").write_bytes(b"secret")
    export_run(paths.root, output=tmp_path / "out.tar.gz")
    assert "run_test/executions/.runtime/key" not in _members(tmp_path / "out.tar.gz")


def test_a_blob_that_no_event_names_stays_behind(paths: RunPaths, tmp_path: Path) -> None:
    digest = Blobs(paths.blobs).put(b"smuggled")
    export_run(paths.root, output=tmp_path / "out.tar.gz", with_blobs=True)
    assert not [name for name in _members(tmp_path / "out.tar.gz") if digest in name]


@pytest.mark.parametrize("name", ["run.json", "artifact-manifest.json", "transcript.md", "events.jsonl"])
@pytest.mark.parametrize("kind", ["link", "pipe", "hole"])
def test_a_run_with_something_else_in_the_place_of_a_file_is_not_handed_on(
    paths: RunPaths, tmp_path: Path, name: str, kind: str
) -> None:
    path = paths.root / name
    if kind == "hole":
        os.truncate(path, 1 << 40)
    else:
        path.rename(tmp_path / "moved")
        os.mkfifo(path) if kind == "pipe" else path.symlink_to(tmp_path / "moved")
    with pytest.raises((LogCorrupt, AccessRefused), match=name):
        export_run(paths.root, output=tmp_path / "out.tar.gz")
    assert not (tmp_path / "out.tar.gz").exists()


def test_a_deliverable_that_became_a_link_does_not_hand_on_another_file(paths: RunPaths, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"another file")
    (paths.deliverables / "report.md").unlink()
    (paths.deliverables / "report.md").symlink_to(secret)
    export_run(paths.root, output=tmp_path / "out.tar.gz")
    assert "run_test/deliverables/report.md" not in _members(tmp_path / "out.tar.gz")


def test_a_deliverable_that_became_a_hole_is_refused(paths: RunPaths, tmp_path: Path) -> None:
    os.truncate(paths.deliverables / "report.md", 1 << 40)
    with pytest.raises(LogCorrupt, match=r"report\.md"):
        export_run(paths.root, output=tmp_path / "out.tar.gz")
