"""The service removes executions that were kept for long enough: at its start, and again and again."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.config import resolve
from skills_runtime.config.models import ServiceExecutions, ServiceSection
from skills_runtime.executions import Executor, Record
from skills_runtime.executions.layout import write_first_record
from skills_runtime.executions.retention import Retention
from skills_runtime.service.bootstrap import keep_retention, open_service
from skills_runtime.service.metrics import Metrics
from skills_runtime.service.settings import ServiceSettings, settings_from
from tests.unit.executions.samples import an_executor

OLD, NEW = "2020-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"
LOG = "skills_runtime.service.retention"


def _write_execution(place: Path, name: str, finished_at: str, **more: Any) -> Path:
    """An execution that ended some time ago."""
    directory = place / f"exec-{name}"
    directory.mkdir(parents=True)
    (directory / "artifact.txt").write_text("left")
    record = Record(
        execution_id=directory.name,
        skill="echo",
        skill_digest="",
        input_digest="",
        status="completed",
        created_at=finished_at,
        finished_at=finished_at,
        timeout_ms=1,
    )
    write_first_record(str(directory), msgspec.structs.replace(record, **more), durable=False)
    return directory


def _settings(root: Path, **keep: Any) -> ServiceSettings:
    return settings_from(root, root / "state", {}, configured=ServiceSection(executions=ServiceExecutions(**keep)))


class Turns:
    """A pause that lasts until the test lets it end."""

    def __init__(self) -> None:
        self.begun = asyncio.Queue[None]()
        self.over = asyncio.Queue[None]()

    async def __call__(self) -> None:
        self.begun.put_nowait(None)
        await self.over.get()


def _removed(metrics: Metrics) -> list[str]:
    return [line for line in metrics.render().decode().splitlines() if line.startswith("skills_runtime_executions_rem")]


async def test_old_executions_are_removed_when_the_service_starts(tmp_path: Path) -> None:
    old, new = (
        _write_execution(tmp_path / "artifacts", "old", OLD),
        _write_execution(tmp_path / "artifacts", "new", NEW),
    )
    async with open_service(_settings(tmp_path, keep_days=30), resolve(tmp_path)):
        async with asyncio.timeout(60):
            while old.exists():
                await asyncio.sleep(0)
    assert (new / "artifact.txt").read_text() == "left"


async def test_without_a_setting_everything_is_kept(tmp_path: Path) -> None:
    old = _write_execution(tmp_path / "artifacts", "old", OLD)
    async with open_service(_settings(tmp_path), resolve(tmp_path)):
        assert not [task for task in asyncio.all_tasks() if task.get_name() == "remove old executions"]
    assert old.exists()


async def test_removal_is_repeated_and_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOG)
    metrics, turns, path = Metrics(), Turns(), tmp_path / "executions"
    _write_execution(path, "first", OLD)
    async with an_executor(tmp_path) as executor, keep_retention(executor, Retention(days=1), metrics, pause=turns):
        await turns.begun.get()
        _write_execution(path, "second", OLD)
        _write_execution(path, "third", OLD)
        turns.over.put_nowait(None)
        await turns.begun.get()
        assert await executor.list() == []
    assert 'skills_runtime_executions_removed_total{by="retention"} 3.0' in _removed(metrics)
    messages = [json.loads(record.message) for record in caplog.records if record.name == LOG]
    assert [(item["what"], item["removed"], item["failed"]) for item in messages] == [
        ("executions_removed", n, 0) for n in (1, 2)
    ]


async def test_a_pass_that_removes_nothing_is_not_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOG)
    turns = Turns()
    async with an_executor(tmp_path) as executor, keep_retention(executor, Retention(days=1), Metrics(), pause=turns):
        await turns.begun.get()
    assert not [record for record in caplog.records if record.name == LOG]


async def test_no_removal_is_left_when_the_service_stops(tmp_path: Path) -> None:
    for number in range(120):
        _write_execution(tmp_path / "executions", f"{number:04}", OLD)
    before = asyncio.all_tasks()
    async with an_executor(tmp_path) as executor:
        async with keep_retention(executor, Retention(days=1), Metrics(), pause=Turns()):
            await asyncio.sleep(0)
        assert asyncio.all_tasks() == before
        left = [record.execution_id for record in await executor.list(limit=500)]
        assert all((tmp_path / "executions" / execution_id / "artifact.txt").exists() for execution_id in left)


async def test_an_executor_that_is_closed_first_is_no_disaster(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    turns = Turns()
    executor: Executor = an_executor(tmp_path)
    async with keep_retention(executor, Retention(days=1), Metrics(), pause=turns):
        await turns.begun.get()
        await executor.aclose()
        turns.over.put_nowait(None)
        await turns.begun.get()
    assert "executions are being shut down" in caplog.text


@pytest.mark.parametrize("keep", [{"keep_days": 0}, {"keep_days": -1}, {"keep_bytes": 0}, {"keep_bytes": 1.5}])
def test_what_keeps_nothing_is_refused(tmp_path: Path, keep: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="keep_"):
        _settings(tmp_path, **keep)
