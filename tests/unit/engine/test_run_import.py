"""A run that somebody made up is refused, or shown without telling or doing anything on this machine."""

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.runs import runs_root
from skills_runtime.testing import says
from tests.unit.engine.forged_runs import Change, export_run, forge_archive, send
from tests.unit.service.served import serving

Events = list[dict[str, Any]]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


def forks(root: str) -> Change:
    point = {"run_id": "run_x", "root": root, "seq": 1, "offset": 10, "prefix_sha256": "0" * 64}
    return lambda events: events[0]["payload"].update(fork=point)


def snapshot(name: str) -> Change:
    return lambda events: events[0]["payload"]["snapshots"].append({"name": name, "sha256": "0" * 64, "size": 1})


def at(time: str) -> Change:
    def change(events: Events) -> None:
        for event in events[1:]:
            event["timestamp"] = time

    return change


CHANGES: dict[str, Change] = {
    "a fork of what is elsewhere": forks("/nowhere"),
    "a snapshot above": snapshot("../../../../../../etc/hostname"),
    "an absolute snapshot": snapshot("/etc/hostname"),
    "no time": at("yesterday"),
    "a time without a zone": at("2020-01-01T00:00:00"),
    "an odd session": lambda events: events[0]["payload"].update(session_id="../x"),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_log_that_reaches_out_or_cannot_be_shown_is_refused(tmp_path: Path, workspace: Path, name: str) -> None:
    _, archive = await export_run(tmp_path / "far")
    async with serving(workspace, [says("x")]) as service:
        answer = await send(service, forge_archive(archive, CHANGES[name]))
        assert (answer.status_code, answer.json()["kind"]) == (400, "validation"), answer.text
        assert (await service.get("/runs")).json()["runs"] == []


@pytest.mark.parametrize("missing", ["logs", "artifacts", "run_id"])
async def test_a_manifest_that_is_none_is_refused(tmp_path: Path, workspace: Path, missing: str) -> None:
    _, archive = await export_run(tmp_path / "far")
    async with serving(workspace, [says("x")]) as service:
        answer = await send(service, forge_archive(archive, manifest=lambda manifest: manifest.pop(missing)))
        assert (answer.status_code, answer.json()["kind"]) == (400, "validation"), answer.text


async def test_a_deliverable_elsewhere_is_not_looked_for(tmp_path: Path, workspace: Path) -> None:
    def elsewhere(manifest: dict[str, Any]) -> None:
        manifest["artifacts"][0]["name"] = "/etc/hostname"

    _, archive = await export_run(tmp_path / "far")
    async with serving(workspace, [says("x")]) as service:
        answer = await send(service, forge_archive(archive, manifest=elsewhere))
        assert answer.status_code == 400
        assert "not inside" in answer.json()["detail"]


@pytest.mark.parametrize("name", ["archive/imported.json/x", "archive/imported.json"])
async def test_the_mark_of_an_imported_run_is_always_our_own(tmp_path: Path, workspace: Path, name: str) -> None:
    run_id, archive = await export_run(tmp_path / "far")
    async with serving(workspace, [says("x")]) as service:
        answer = await send(service, forge_archive(archive, files={name: b"{}"}))
        assert answer.status_code == (400 if name.endswith("x") else 201), answer.text
        if answer.status_code == 201:
            assert (await service.get(f"/runs/{run_id}")).json()["imported"] is True


async def test_a_fork_of_an_imported_run_reads_nothing_its_log_names(tmp_path: Path, workspace: Path) -> None:
    secret = tmp_path / "private"
    secret.mkdir()

    def taught(events: Events) -> None:
        taught = {"skill_name": "x", "skill_path": str(secret / "SKILL.md"), "mention_text": "$[a:b].x"}
        number = next(place for place, event in enumerate(events) if event["type"] == "run_started") + 1
        event = {**events[number - 1], "type": "skill_injected", "payload": {**taught, "text_blob": "0" * 64}}
        events.insert(number, event)
        for place, one in enumerate(events):
            one["seq"] = place

    run_id, archive = await export_run(tmp_path / "far")
    async with serving(workspace, [says("x")]) as service:
        answer = await send(service, forge_archive(archive, taught))
        assert answer.status_code == 201, answer.text
        assert (await service.get(f"/runs/{run_id}")).json()["skills"] == ["$[a:b].x"]
        fork = (await service.post(f"/runs/{run_id}/fork", {})).json()["run_id"]
        await service.until(fork, "completed", "failed", "waiting_for_user")
        view = service.runs.view(fork)
        assert [one.path for one in view.conversation.skills.values()] == [""]


async def test_settings_in_a_run_directory_that_came_with_a_project_do_not_count(
    tmp_path: Path, workspace: Path
) -> None:
    """Nobody imported it, so it has no mark; but its log was not signed here."""
    run_id, archive = await export_run(tmp_path / "far")
    place = runs_root(workspace)
    place.mkdir(parents=True)
    _unpack(forge_archive(archive), place)
    async with serving(workspace, [says("x")], safety={"mode": "deny"}) as service:
        paths = service.runs.find(run_id)
        assert service.runs.workspace.settings_of(paths).settings.safety.mode == "deny"


async def test_settings_that_were_changed_after_a_run_do_not_count(tmp_path: Path, workspace: Path) -> None:
    async with serving(workspace, [says("x")], safety={"mode": "deny"}) as service:
        run_id = await service.begin()
        await service.until(run_id, "completed")
        paths = service.runs.find(run_id)
        file = paths.root / "config.yaml"
        assert service.runs.workspace.settings_of(paths).settings.safety.mode == "deny"
        file.chmod(0o600)
        file.write_text("safety: {mode: allow}\n")
        assert service.runs.workspace.settings_of(paths).settings.safety.mode == "deny"


def _unpack(archive: bytes, into: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(into, filter="data")
