"""What a run left behind can be fetched, whole or in part, and nothing else can."""

import io
import os
import tarfile
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from skills_runtime.config import state_home
from skills_runtime.testing import says
from tests.support.agents import calls, writes
from tests.support.runs import lines_of
from tests.unit.service.served import Served, serving

TEXT = "0123456789"


@pytest.fixture
async def service(tmp_path: Path) -> AsyncGenerator[Served]:
    script = [calls(writes("deliverables/a b.txt", TEXT), writes("deliverables/deep/c.json", "{}")), says("done")]
    async with serving(tmp_path, script) as running_service:
        yield running_service


@pytest.fixture
async def run_id(service: Served) -> str:
    run_id = await service.begin()
    await service.until(run_id, "completed")
    return run_id


async def test_deliverables_are_listed_with_sizes_and_digests(service: Served, run_id: str) -> None:
    document = (await service.get(f"/runs/{run_id}/deliverables")).json()
    assert document["final"] is True
    assert [(artifact["name"], artifact["size"]) for artifact in document["artifacts"]] == [
        ("deliverables/a b.txt", 10),
        ("deliverables/deep/c.json", 2),
    ]
    names = {artifact["name"] for artifact in (await service.get(f"/runs/{run_id}/artifacts")).json()["artifacts"]}
    assert {"deliverables/a b.txt", "deliverables/deep/c.json"} <= names


@pytest.mark.parametrize(
    ("range_header", "status", "text", "span"),
    [
        (None, 200, TEXT, None),
        ("bytes=2-4", 206, "234", "bytes 2-4/10"),
        ("bytes=8-", 206, "89", "bytes 8-9/10"),
        ("bytes=-3", 206, "789", "bytes 7-9/10"),
        ("bytes=5-500", 206, "56789", "bytes 5-9/10"),
        ("bytes=10-", 416, "", "bytes */10"),
        ("bytes=0-1,3-4", 200, TEXT, None),
        ("lines=1-2", 200, TEXT, None),
    ],
)
async def test_the_requested_range_is_sent(
    service: Served, run_id: str, range_header: str | None, status: int, text: str, span: str | None
) -> None:
    headers = {"Range": range_header} if range_header else {}
    answer = await service.get(f"/runs/{run_id}/artifacts/deliverables/a%20b.txt", headers=headers)
    assert (answer.status_code, answer.text, answer.headers.get("content-range")) == (status, text, span)


@pytest.mark.parametrize(
    "path",
    [
        "run.json",
        "events.jsonl",
        "config.yaml",
        "blobs/sha256",
        "logs/state.snapshot",
        "deliverables",
        "deliverables/",
        "deliverables/deep",
        "deliverables/%2e%2e/events.jsonl",
        "deliverables/..%2f..%2fevents.jsonl",
        "deliverables/%2e/a%20b.txt",
        "%2fetc%2fpasswd",
        "deliverables//a%20b.txt",
        "deliverables/a%00b.txt",
        "deliverables/none.txt",
        "deliverables\\a b.txt",
    ],
)
async def test_other_paths_are_not_found(service: Served, run_id: str, path: str) -> None:
    answer = await service.get(f"/runs/{run_id}/artifacts/{path}")
    assert answer.status_code in (400, 404)


@pytest.mark.parametrize("kind", ["link to a secret", "link inside", "linked directory", "pipe"])
async def test_links_and_pipes_are_not_followed(service: Served, run_id: str, kind: str, tmp_path: Path) -> None:
    path = service.runs.find(run_id).deliverables
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    name = "odd"
    if kind == "link to a secret":
        (path / "odd").symlink_to(secret)
    elif kind == "link inside":
        (path / "odd").symlink_to("a b.txt")
    elif kind == "linked directory":
        (path / "odd").symlink_to(tmp_path)
        name = "odd/secret.txt"
    else:
        os.mkfifo(path / "odd")
    answer = await service.get(f"/runs/{run_id}/deliverables/{name}")
    assert answer.status_code == 404
    assert "secret" not in answer.text.replace("secret.txt", "")


async def test_a_file_is_never_a_page_of_ours(service: Served, run_id: str) -> None:
    answer = await service.get(f"/runs/{run_id}/deliverables/a%20b.txt")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["content-security-policy"]


async def test_the_transcript_is_what_the_log_gives(service: Served, run_id: str) -> None:
    answer = await service.get(f"/runs/{run_id}/transcript")
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert answer.content == service.runs.find(run_id).transcript.read_bytes()


async def test_a_run_is_verified_and_damage_is_named(service: Served, run_id: str) -> None:
    good = (await service.get(f"/runs/{run_id}/verify")).json()
    assert (good["ok"], good["authentic"], good["outcome"]) == (True, True, "verified")
    (service.runs.find(run_id).deliverables / "a b.txt").write_text("forged")
    bad = (await service.get(f"/runs/{run_id}/verify")).json()
    assert (bad["ok"], bad["outcome"]) == (False, "not_verified")
    assert any("a b.txt" in finding["where"] for finding in bad["findings"])


async def test_an_archive_has_everything_but_private_contents(service: Served, run_id: str) -> None:
    answer = await service.get(f"/runs/{run_id}/export")
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        names = archive.getnames()
    assert f"{run_id}/events.jsonl" in names
    assert f"{run_id}/archive/SHA256SUMS" in names
    assert not any("/blobs/" in name for name in names)


async def test_a_run_that_has_not_ended_is_not_exported(tmp_path: Path) -> None:
    async with serving(tmp_path, [calls(("ask_human", {"question": "?"})), says("done")]) as service:
        run_id = await service.begin()
        await service.until(run_id, "waiting_for_user")
        answer = await service.get(f"/runs/{run_id}/export")
        assert (answer.status_code, answer.json()["kind"]) == (409, "illegal_transition")
        assert (await service.get(f"/runs/{run_id}/artifacts")).json()["final"] is False


async def test_a_run_whose_key_is_not_here_is_not_authenticated(service: Served, run_id: str) -> None:
    (key,) = state_home().rglob("log.key")
    key.unlink()
    verdict = (await service.get(f"/runs/{run_id}/verify")).json()
    assert (verdict["ok"], verdict["authentic"], verdict["outcome"]) == (True, False, "not_authenticated")


async def test_a_log_that_took_the_place_of_another_is_named(service: Served, run_id: str) -> None:
    paths = service.runs.find(run_id)
    paths.events.write_bytes(b"".join(lines_of(paths)[:-2]))
    findings = (await service.get(f"/runs/{run_id}/verify")).json()["findings"]
    assert "log_cut" in [finding["code"] for finding in findings]


@pytest.mark.parametrize("name", ["artifact-manifest.json", "transcript.md", "run.json"])
async def test_an_export_waits_for_no_pipe(service: Served, run_id: str, name: str) -> None:
    path = service.runs.find(run_id).root / name
    path.unlink()
    os.mkfifo(path)
    answer = await service.get(f"/runs/{run_id}/export")
    assert answer.json()["kind"] == "log_corrupt"
    assert name in answer.json()["detail"]


async def test_a_file_that_nothing_lists_is_not_exported(service: Served, run_id: str) -> None:
    (service.runs.find(run_id).deliverables / "planted.sh").write_text("planted")
    answer = await service.get(f"/runs/{run_id}/export")
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        assert f"{run_id}/deliverables/planted.sh" not in archive.getnames()
