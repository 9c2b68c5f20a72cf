"""An archive with anything but plain files, each once and inside, is refused, and nothing of it stays."""

import io
import tarfile
from pathlib import Path

import pytest

from skills_runtime.testing import says
from tests.unit.engine.forged_runs import send
from tests.unit.service.served import serving


def build_tar(*members: tuple[str, bytes, str], cut: int = 0) -> bytes:
    """A tar of members: a name, a kind, and what a link leads to."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, kind, target in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, target, 1 if kind == tarfile.REGTYPE else 0
            tar.addfile(info, io.BytesIO(b"x"))
    return out.getvalue()[: -cut or None]


LOG = ("r/events.jsonl", tarfile.REGTYPE, "")
ARCHIVES = {
    "hard link": build_tar(LOG, ("r/a", tarfile.LNKTYPE, "r/events.jsonl")),
    "hard link out": build_tar(LOG, ("r/a", tarfile.LNKTYPE, "/etc/passwd")),
    "link": build_tar(LOG, ("r/logs", tarfile.SYMTYPE, "/tmp")),
    "device": build_tar(LOG, ("r/null", tarfile.CHRTYPE, "")),
    "sparse": build_tar(LOG, ("r/sparse", tarfile.GNUTYPE_SPARSE, "")),
    "twice": build_tar(LOG, LOG),
    "case": build_tar(LOG, ("r/Events.jsonl", tarfile.REGTYPE, "")),
    "above": build_tar(LOG, ("r/../../above", tarfile.REGTYPE, "")),
    "absolute": build_tar(LOG, ("/tmp/absolute", tarfile.REGTYPE, "")),
    "backslash": build_tar(LOG, ("r\\..\\..\\x", tarfile.REGTYPE, "")),
    "zero": build_tar(LOG, ("r/a\x01b", tarfile.REGTYPE, "")),
    "log is a directory": build_tar(("r/events.jsonl", tarfile.DIRTYPE, "")),
    "cut": build_tar(LOG, cut=20),
    "plain tar head": b"\0" * 257 + b"ustar" + b"\0" * 1000,
}


@pytest.mark.parametrize("name", ARCHIVES)
async def test_an_odd_archive_is_refused(tmp_path: Path, name: str) -> None:
    async with serving(tmp_path, [says("x")]) as service:
        answer = await send(service, ARCHIVES[name])
        assert (answer.status_code, answer.json()["kind"]) == (400, "validation"), answer.text
        assert (await service.get("/runs")).json()["runs"] == []
    runs = tmp_path / ".skills_runtime_sdk" / "runs"
    assert not runs.exists() or list(runs.iterdir()) == []
