"""Reading, listing and looking, through both ways of opening."""

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from skills_runtime.errors import NotFound, PathEscape, PolicyDenied, SkillsRuntimeError, ValidationFailed
from skills_runtime.events import decode_payload, encode_payload
from skills_runtime.events.payloads import FileOperation
from skills_runtime.ports import Files
from skills_runtime.runs.files import locate
from skills_runtime.runs.files.operations import RunFiles
from skills_runtime.runs.files.paths import PathPolicy
from skills_runtime.storage.beneath import Opener


def test_the_run_s_files_are_what_tools_ask_for(files: RunFiles) -> None:
    port: Files = files
    assert port.read("run.json", limit=6) == b"system"


def test_a_file_is_read_by_relative_and_absolute_path(files: RunFiles, run_root: Path) -> None:
    (run_root / "workspace" / "x").write_text("inside")
    for path in ("workspace/x", "./workspace//x", f"{run_root}/workspace/x"):
        assert files.read(path, limit=100) == b"inside"


def test_a_read_is_recorded_with_size_and_digest_of_what_was_read(
    files: RunFiles, run_root: Path, records: list[FileOperation]
) -> None:
    (run_root / "workspace" / "x").write_text("inside")
    files.for_call("c1").read("workspace/x", limit=2)
    digest = hashlib.sha256(b"in").hexdigest()
    assert records == [FileOperation(op="read", path="workspace/x", ok=True, size=2, sha256=digest, call_id="c1")]


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("../outside/x", PathEscape),
        ("a/../../outside/x", PathEscape),
        ("workspace/../../outside/x", PathEscape),
        ("/etc/passwd", PathEscape),
        ("workspace/out", PathEscape),
        ("workspace/away/x", PathEscape),
        ("workspace/absolute", PathEscape),
        ("workspace/loop", PathEscape),
        ("workspace/magic/etc/passwd", PathEscape),
        ("~", PathEscape),
        ("~nobody/x", PathEscape),
        ("\\..\\x", PathEscape),
        ("", ValidationFailed),
        ("workspace/\0x", ValidationFailed),
        ("workspace/\ud800", ValidationFailed),
        ("workspace/" + "n" * 256, ValidationFailed),
        ("workspace/" + "d/" * 2500 + "x", ValidationFailed),
        ("workspace", ValidationFailed),
        (".", ValidationFailed),
        ("workspace/missing", NotFound),
        ("workspace/missing/x", NotFound),
        ("run.json/x", NotFound),
        ("workspace/dangling", NotFound),
        ("blobs/b", PolicyDenied),
        ("workspace/blob", PolicyDenied),
        ("workspace/lock", PolicyDenied),
        ("workspace/secret", PolicyDenied),
        ("workspace/.env", PolicyDenied),
    ],
)
def test_a_path_that_may_not_be_read_is_refused_and_recorded_once(
    path: str, error: type[SkillsRuntimeError], files: RunFiles, run_root: Path, records: list[FileOperation]
) -> None:
    workspace = run_root / "workspace"
    targets = {
        "out": "../../outside/x",
        "away": "../../outside",
        "absolute": "/etc/passwd",
        "loop": "loop",
        "magic": "/proc/self/root",
        "dangling": "nothing",
        "blob": "../blobs/b",
        "lock": "../run.lock",
        "secret": ".env",
    }
    for name, target in targets.items():
        (workspace / name).symlink_to(target)
    (workspace / ".env").write_text("KEY=1")
    (run_root.parent / "outside").mkdir()
    (run_root.parent / "outside" / "x").write_text("outside secret")
    with pytest.raises(error) as refused:
        files.read(path, limit=100)
    assert [(record.op, record.ok, record.error) for record in records] == [("read", False, refused.value.kind)]
    assert refused.value.hint
    assert decode_payload("file_operation", encode_payload(records[0])) == records[0]


def test_a_sibling_directory_with_the_same_prefix_is_refused(files: RunFiles, run_root: Path) -> None:
    with pytest.raises(PathEscape):
        files.read(f"{run_root}-evil/x", limit=100)
    (run_root / "workspace" / "l").symlink_to(f"{run_root}-evil/x")
    with pytest.raises(PathEscape):
        files.read("workspace/l", limit=100)


def test_a_link_to_another_allowed_place_is_followed(files: RunFiles, run_root: Path) -> None:
    (run_root / "workspace" / "l").symlink_to("../deliverables")
    (run_root / "deliverables" / "r.md").write_text("report")
    assert files.read("workspace/l/r.md", limit=100) == b"report"


def test_a_hard_link_is_refused_for_reading_in_an_isolated_run(files: RunFiles, run_root: Path, outside: Path) -> None:
    (run_root / "workspace" / "hard").hardlink_to(outside / "x")
    with pytest.raises(PathEscape, match="hard link"):
        files.read("workspace/hard", limit=100)


def test_a_hard_link_is_read_in_the_user_s_own_tree(shared_files: RunFiles, workspace_root: Path) -> None:
    (workspace_root / "hard").hardlink_to(workspace_root / "main.py")
    assert shared_files.read("hard", limit=100) == b"print()"


@pytest.mark.parametrize("kind", ["fifo", "socket", "device"])
def test_a_special_file_is_refused_without_waiting_for_it(kind: str, files: RunFiles, run_root: Path) -> None:
    path = run_root / "workspace" / "special"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        os.mknod(path, stat.S_IFSOCK | 0o600)  # binding one would bound the length of the path
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(PathEscape if kind == "device" else ValidationFailed):
        files.read("workspace/special", limit=10)


def test_a_file_larger_than_the_policy_allows_is_refused_unless_less_is_asked_for(
    isolated: PathPolicy, run_root: Path, opener: Opener, records: list[FileOperation]
) -> None:
    files = RunFiles(replace(isolated, max_file_bytes=10), records.append, opener=opener)
    (run_root / "workspace" / "x").write_bytes(b"0123456789A")
    assert files.read("workspace/x", limit=10) == b"0123456789"
    with pytest.raises(ValidationFailed, match="larger than 10 bytes"):
        files.read("workspace/x", limit=11)


def test_an_attempt_that_is_interrupted_is_recorded_too(
    isolated: PathPolicy, records: list[FileOperation], opener: Opener
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    files = RunFiles(isolated, records.append, opener=interrupted)  # pyright: ignore[reportArgumentType]
    with pytest.raises(KeyboardInterrupt):
        files.read("run.json", limit=1)
    assert records == [FileOperation(op="read", path="run.json", ok=False, error="unknown")]


def test_a_directory_is_listed_in_order_without_following_anything(files: RunFiles, run_root: Path) -> None:
    workspace = run_root / "workspace"
    (workspace / "b").write_text("12")
    (workspace / "a").mkdir()
    (workspace / "c").symlink_to("/etc/passwd")
    os.mkfifo(workspace / "d")
    listing = files.list("workspace")
    assert [(entry.name, entry.kind) for entry in listing.entries] == [
        ("a", "directory"),
        ("b", "file"),
        ("c", "symlink"),
        ("d", "special"),
    ]
    assert listing.complete


def test_the_base_itself_is_listed(files: RunFiles, shared_files: RunFiles) -> None:
    assert "workspace" in [entry.name for entry in files.list(".").entries]
    assert "main.py" in [entry.name for entry in shared_files.list(".").entries]


def test_the_run_s_deliverables_are_listed_by_their_name(shared_files: RunFiles, shared: PathPolicy) -> None:
    (shared.mounts["deliverables"] / "r.md").write_text("report")
    assert [entry.name for entry in shared_files.list("deliverables").entries] == ["r.md"]
    assert shared_files.read("deliverables/r.md", limit=9) == b"report"


@pytest.mark.parametrize("path", ["blobs", "logs", "workspace/l"])
def test_a_private_directory_is_not_listed(path: str, files: RunFiles, run_root: Path) -> None:
    (run_root / "workspace" / "l").symlink_to("../blobs")
    with pytest.raises(PolicyDenied):
        files.list(path)


def test_a_file_is_not_a_directory_to_list(files: RunFiles, records: list[FileOperation]) -> None:
    with pytest.raises(ValidationFailed, match="not a directory"):
        files.list("run.json")
    assert [record.error for record in records] == ["validation"]


def test_a_listing_is_bounded_and_says_so(files: RunFiles, run_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locate, "MAX_LISTED", 3)
    for number in range(5):
        (run_root / "workspace" / str(number)).touch()
    listing = files.list("workspace")
    assert [entry.name for entry in listing.entries] == ["0", "1", "2"]
    assert not listing.complete


def test_a_name_that_is_not_text_is_listed_with_its_bytes_written_out(files: RunFiles, run_root: Path) -> None:
    (run_root / "workspace" / os.fsdecode(b"50%\xff")).touch()
    assert [entry.name for entry in files.list("workspace").entries] == ["50%25%FF"]


def test_looking_at_a_file_tells_its_kind_size_and_mode(files: RunFiles, run_root: Path) -> None:
    path = run_root / "workspace" / "x"
    path.write_text("inside")
    path.chmod(0o640)
    (run_root / "workspace" / "l").symlink_to("x")
    for name in ("workspace/x", "workspace/l"):
        entry = files.stat(name)
        assert (entry.kind, entry.size, entry.mode) == ("file", 6, 0o640)
    assert files.stat(".").kind == "directory"


@pytest.mark.parametrize(
    ("path", "error"), [("workspace/missing", NotFound), ("blobs/b", PolicyDenied), ("workspace/out", PathEscape)]
)
def test_looking_obeys_the_rules_of_reading(
    path: str, error: type[SkillsRuntimeError], files: RunFiles, run_root: Path, records: list[FileOperation]
) -> None:
    (run_root / "workspace" / "out").symlink_to("/etc/passwd")
    with pytest.raises(error):
        files.stat(path)
    assert [(record.op, record.ok) for record in records] == [("stat", False)]


def test_a_base_replaced_by_a_link_is_refused(files: RunFiles, run_root: Path, outside: Path) -> None:
    run_root.rename(run_root.with_name("moved"))
    run_root.symlink_to(outside)
    with pytest.raises(PathEscape):
        files.read("x", limit=100)


def test_no_descriptor_is_left_open(files: RunFiles, run_root: Path, descriptors: Callable[[], int]) -> None:
    (run_root / "workspace" / "out").symlink_to("../../outside")
    (run_root / "workspace" / "x").touch()
    before = descriptors()
    operations: list[Callable[[str], object]] = [files.list, files.stat, lambda path: files.read(path, limit=1)]
    for path in ("workspace/x", "workspace", "blobs/b", "workspace/out/x", "workspace/missing/y"):
        for operation in operations:
            try:
                operation(path)
            except SkillsRuntimeError:
                continue
    assert descriptors() == before


@pytest.mark.parametrize("secret", [".env", "deep/er/.env.local"])
def test_a_hard_link_to_a_secret_is_not_read(shared_files: RunFiles, workspace_root: Path, secret: str) -> None:
    path = workspace_root / secret
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("TOKEN=1")
    (workspace_root / "notes.txt").hardlink_to(path)
    with pytest.raises(PolicyDenied, match="another name"):
        shared_files.read("notes.txt", limit=100)
    with pytest.raises(PolicyDenied, match="another name"):
        shared_files.glance("notes.txt", limit=100)


def test_a_hard_link_made_after_the_workspace_was_searched_is_not_read(
    shared_files: RunFiles, workspace_root: Path
) -> None:
    (workspace_root / "other.py").hardlink_to(workspace_root / "main.py")
    assert shared_files.read("other.py", limit=100) == b"print()"
    (workspace_root / ".env").write_text("TOKEN=1")
    (workspace_root / "notes.txt").hardlink_to(workspace_root / ".env")
    with pytest.raises(PolicyDenied, match="another name"):
        shared_files.read("notes.txt", limit=100)


def test_a_file_that_became_a_secret_by_a_second_name_is_not_read(shared_files: RunFiles, workspace_root: Path) -> None:
    (workspace_root / "other.py").hardlink_to(workspace_root / "main.py")
    assert shared_files.read("main.py", limit=100) == b"print()"
    (workspace_root / ".env").hardlink_to(workspace_root / "main.py")
    with pytest.raises(PolicyDenied, match="another name"):
        shared_files.read("main.py", limit=100)
