"""Paths, names and settings that nobody should send change nothing, open nothing and break nothing."""

import asyncio
import os
from functools import partial
from pathlib import Path

import pytest

from skills_runtime.config import config_home, resolve
from skills_runtime.config.files import read_stored_keys, store_key
from skills_runtime.engine.disk_usage import ScanBudget, measure_storage
from skills_runtime.errors import ValidationFailed
from skills_runtime.service.pages import studio_file
from tests.unit.service.open_app import client_of, open_app

KEY = "sk-test-0123456789abcdef"
NOBODYS = ["/metrics%0A", "/api/v1/keys%0A", "/api/v1/runs%0A", "/api/v1/model%0a", "/api/v1/keys%0D%0A"]


@pytest.mark.parametrize("path", NOBODYS)
async def test_a_line_end_behind_a_path_grants_no_access(tmp_path: Path, path: str) -> None:
    async with open_app(tmp_path) as app, app.with_key("read") as reader, client_of(app.state, {}) as nobody:
        for client in (reader, nobody):
            answer = await client.get(path)
            assert (answer.status_code, answer.json()["kind"]) == (400, "bad_request")


@pytest.mark.parametrize("name", ["a" * 300 + ".js", "a" * 5000 + ".js", "\0.js", "..x.js", "\ud800.js"])
def test_a_name_that_is_no_file_of_the_web_app_is_an_address_of_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "index.html").write_text("<p>page</p>")
    response = studio_file(tmp_path, name)
    assert (response.status_code, response.body) == (200, b"<p>page</p>")


async def test_odd_things_among_the_runs_do_not_keep_the_rest_from_being_counted(tmp_path: Path) -> None:
    runs = tmp_path / ".skills_runtime_sdk" / "runs"
    (runs / "run_1").mkdir(parents=True)
    (runs / "run_1" / "events.jsonl").write_text("x")
    (runs / "loop").symlink_to("loop")
    odd = os.fsencode(runs) + b"/\xff\xfe"
    os.mkdir(odd)  # noqa: PTH102 - a name that is no text
    (Path(os.fsdecode(odd)) / "events.jsonl").touch()
    async with open_app(tmp_path) as app:
        answer = await app.client.get("/api/v1/storage")
    assert answer.status_code == 200, answer.text
    assert [run["run_id"] for run in answer.json()["largest_runs"]] == ["run_1"]


def test_looking_at_very_many_runs_ends_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = tmp_path / ".skills_runtime_sdk" / "runs"
    for number in range(20):
        (runs / f"run_{number}").mkdir(parents=True)
    looked: list[Path] = []
    monkeypatch.setattr("skills_runtime.engine.disk_usage.ScanBudget", lambda: ScanBudget(max_files=5))
    monkeypatch.setattr("skills_runtime.engine.disk_usage._resolve_run", looked.append)
    storage = measure_storage(tmp_path, tmp_path, tmp_path, tmp_path)
    assert len(looked) == 5
    assert storage.parts[0].complete is False


async def test_concurrent_disk_usage_requests_share_one_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []

    def counting(*directories: Path) -> object:
        counted.append(1)
        return measure_storage(*directories)

    monkeypatch.setattr("skills_runtime.service.routes.configuration.measure_storage", counting)
    async with open_app(tmp_path) as app:
        answers = await asyncio.gather(*(app.client.get("/api/v1/storage") for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert len(counted) < 20


@pytest.mark.parametrize(
    "body", [{"base_url": f"http://127.0.0.1/{KEY}"}, {"model": KEY}, {"base_url": "http://[::1"}, {"base_url": "x"}]
)
async def test_a_choice_that_settings_refuse_leaves_everything_readable(tmp_path: Path, body: dict[str, str]) -> None:
    async with open_app(tmp_path) as app:
        answer = await app.client.put("/api/v1/model", json=body)
        assert answer.status_code == 400, answer.text
        assert KEY not in answer.text
        assert (await app.client.get("/api/v1/model")).status_code == 200
    assert not (config_home() / "model.yaml").exists()
    resolve(tmp_path)


def test_keys_that_would_not_fit_are_refused_before_they_spoil_the_others(tmp_path: Path) -> None:
    for number in range(15):
        store_key(tmp_path, f"KEY_{number}", "k" * 4096, address="https://a.example/v1")
    with pytest.raises(ValidationFailed, match="too many keys"):
        store_key(tmp_path, "ONE_MORE", "k" * 4096, address="https://a.example/v1")
    assert len(read_stored_keys(tmp_path)) == 15


def test_a_key_is_not_stored_under_a_name_that_sets_something(tmp_path: Path) -> None:
    with pytest.raises(ValidationFailed):
        store_key(tmp_path, "SKILLS_RUNTIME_SDK_LLM_BASE_URL", "http://127.0.0.1:9/v1", address="https://a.example/v1")


async def test_keys_that_are_stored_at_once_are_all_kept(tmp_path: Path) -> None:
    store = partial(store_key, tmp_path, key="secret", address="https://a.example/v1")
    await asyncio.gather(*(asyncio.to_thread(store, name=f"KEY_{number}") for number in range(24)))
    assert len(read_stored_keys(tmp_path)) == 24
