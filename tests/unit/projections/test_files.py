"""Which files a run wrote and read, by the records its tools left."""

from skills_runtime.events.payloads import FileOperation
from skills_runtime.projections import FileRecords, fold
from tests.support.events import numbered


def _did(op: str, path: str, digit: str = "a", *, ok: bool = True) -> FileOperation:
    return FileOperation(op=op, path=path, ok=ok, size=3, sha256=digit * 64 if ok else None, call_id="c1")


def _records(*operations: FileOperation) -> FileRecords:
    return fold(numbered(operations), FileRecords())


def test_the_last_write_of_a_path_is_the_one_that_counts() -> None:
    record = _records(_did("write", "workspace/a", "1"), _did("write", "workspace/a", "2")).produced["workspace/a"]
    assert (record.sha256, record.seq, record.call_id, record.size) == ("2" * 64, 1, "c1", 3)


def test_a_file_read_before_it_was_written_was_an_input() -> None:
    records = _records(
        _did("read", "workspace/a", "1"), _did("write", "workspace/a", "2"), _did("read", "workspace/a", "2")
    )
    assert records.consumed["workspace/a"].sha256 == "1" * 64
    assert records.produced["workspace/a"].sha256 == "2" * 64


def test_reading_back_what_was_written_consumes_nothing() -> None:
    assert not _records(_did("write", "workspace/a"), _did("read", "workspace/a")).consumed


def test_a_refused_operation_leaves_no_record() -> None:
    records = _records(_did("write", "run.json", ok=False), _did("read", "../x", ok=False))
    assert records == FileRecords()


def test_a_deleted_file_is_remembered_by_its_last_digest() -> None:
    deleted = FileOperation(op="delete", path="workspace/a", ok=True, size=3, before_sha256="a" * 64)
    records = _records(_did("write", "workspace/a"), deleted)
    assert not records.produced
    assert records.removed == {"workspace/a": "a" * 64}
    assert not _records(_did("write", "workspace/a"), deleted, _did("write", "workspace/a")).removed


def test_a_renamed_file_is_produced_under_its_new_name() -> None:
    moved = FileOperation(op="rename", path="workspace/a -> workspace/b", ok=True, size=3, sha256="a" * 64)
    records = _records(_did("write", "workspace/a"), moved)
    assert records.removed == {"workspace/a": "a" * 64}
    assert records.produced["workspace/b"].sha256 == "a" * 64


def test_one_place_spelled_in_several_ways_is_one_file() -> None:
    spelled = [
        _did("write", path) for path in ("workspace/a/b", "./workspace/a/b", "workspace//a/./b", "workspace/a/b/")
    ]
    assert list(_records(*spelled).produced) == ["workspace/a/b"]
