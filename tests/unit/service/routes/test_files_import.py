"""A run from elsewhere is taken in whole and verified, or not at all, and nothing that was here is touched."""

import io
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.runs.fork import IMPORTED
from skills_runtime.testing import says
from tests.support.agents import calls, writes
from tests.unit.service.served import Served, serving

SCRIPT = [calls(writes("deliverables/a.txt", "hello")), says("done")]
LINK, FIFO = 0o120777, 0o010644


async def exported(workspace: Path) -> tuple[str, bytes]:
    """The id and the archive of a run that was made in another workspace."""
    workspace.mkdir()
    async with serving(workspace, SCRIPT) as service:
        run_id = await service.begin("far away")
        await service.until(run_id, "completed")
        archive = (await service.get(f"/runs/{run_id}/export")).content
        service.runs.ledger.index.forget(run_id)  # as on another machine
    shutil.rmtree(workspace)
    return run_id, archive


async def send(service: Served, archive: bytes, kind: str = "application/gzip") -> Any:
    return await service.client.post("/api/v1/runs/import", content=archive, headers={"Content-Type": kind})


def zipped(archive: bytes, *, changed: dict[str, bytes] | None = None) -> bytes:
    """The same as a zip, with some files changed."""
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for member in tar.getmembers():
            content = tar.extractfile(member)
            if content is not None:
                data = content.read()
                file.writestr(member.name, (changed or {}).get(member.name.partition("/")[2], data))
    return out.getvalue()


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


@pytest.mark.parametrize("kind", ["application/gzip", "application/zip"])
async def test_an_exported_run_is_shown_here_and_marked(tmp_path: Path, here: Path, kind: str) -> None:
    run_id, archive = await exported(tmp_path / "far")
    async with serving(here, SCRIPT) as service:
        answer = await send(service, archive if "gzip" in kind else zipped(archive), kind)
        assert answer.status_code == 201, answer.text
        assert (answer.json()["run_id"], answer.json()["status"]) == (run_id, "completed")
        (row,) = (await service.get("/runs")).json()["runs"]
        assert (row["run_id"], row["imported"]) == (run_id, True)
        run = (await service.get(f"/runs/{run_id}")).json()
        assert (run["status"], run["imported"]) == ("completed", True)
        assert (await service.get(f"/runs/{run_id}/deliverables/a.txt")).text == "hello"
        assert (await service.get(f"/runs/{run_id}/verify")).json()["ok"] is True
        assert (service.runs.find(run_id).archive / IMPORTED).is_file()


async def test_a_run_that_is_here_is_never_replaced(tmp_path: Path, here: Path) -> None:
    _, archive = await exported(tmp_path / "far")
    async with serving(here, SCRIPT) as service:
        assert (await send(service, archive)).status_code == 201
        again = await send(service, archive)
        assert (again.status_code, again.json()["kind"]) == (409, "run_exists")


async def test_a_run_that_was_changed_is_refused_and_leaves_nothing(tmp_path: Path, here: Path) -> None:
    run_id, archive = await exported(tmp_path / "far")
    async with serving(here, SCRIPT) as service:
        changed = {"deliverables/a.txt": b"forged"}
        answer = await send(service, zipped(archive, changed=changed), "application/zip")
        assert (answer.status_code, answer.json()["kind"]) == (400, "validation")
        assert answer.json()["details"]["findings"][0]["where"] == "deliverables/a.txt"
        assert (await service.get(f"/runs/{run_id}")).status_code == 404
        runs = here / ".skills_runtime_sdk" / "runs"
        assert not runs.exists() or list(runs.iterdir()) == []


async def test_settings_of_an_imported_run_do_not_count_here(tmp_path: Path, here: Path) -> None:
    run_id, archive = await exported(tmp_path / "far")
    async with serving(here, SCRIPT, safety={"mode": "deny"}) as service:
        await send(service, archive)
        resolved = service.runs.workspace.settings_of(service.runs.find(run_id))
        assert resolved.settings.safety.mode == "deny"


def _zip(*members: tuple[str, bytes, int]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data, mode in members:
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, data)
    return out.getvalue()


@pytest.mark.parametrize(
    "archive",
    [
        b"",
        b"no archive",
        _zip(("r/../../escaped", b"x", 0o100644)),
        _zip(("/etc/escaped", b"x", 0o100644)),
        _zip(("r/events.jsonl", b"/etc/passwd", LINK)),
        _zip(("r/pipe", b"", FIFO)),
        _zip(("r/events.jsonl", b"\0" * (8 << 20), 0o100644)),
        _zip(("r/run.json", b"{}", 0o100644)),
        _zip(("r/events.jsonl", b"not a log\n", 0o100644)),
    ],
    ids=["empty", "text", "traversal", "absolute", "link", "pipe", "bomb", "no-log", "bad-log"],
)
async def test_an_archive_that_is_no_run_is_refused(here: Path, archive: bytes) -> None:
    async with serving(here, SCRIPT) as service:
        answer = await send(service, archive, "application/zip")
        assert (answer.status_code, answer.json()["kind"]) == (400, "validation"), answer.text
        assert (await service.get("/runs")).json()["runs"] == []
    assert not (here.parent / "escaped").exists()
