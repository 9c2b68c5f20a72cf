"""What is asked of the service by several at once, or where it cannot be done, is refused in one clear sentence."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent.run_defaults import backend_for
from skills_runtime.service.streams.feed import Feed
from skills_runtime.testing import says
from tests.support.agents import calls
from tests.unit.service.served import serving

COMMAND = [calls(("shell_command", {"command": "uname -s"})), says("done")]


@pytest.mark.parametrize(
    ("settings", "status", "kind"),
    [
        ({"safety": {"mode": "deny"}}, 403, "permission"),
        ({"sandbox": {"os": {"mode": "none"}}}, 503, "sandbox_denied"),
        ({"sandbox": {"os": {"mode": "bubblewrap", "bubblewrap": {"bwrap_path": "/no/bwrap"}}}}, 503, "sandbox_denied"),
    ],
)
async def test_the_demo_is_refused_where_it_cannot_be_fenced_in(
    tmp_path: Path, settings: dict[str, Any], status: int, kind: str
) -> None:
    async with serving(tmp_path, backend_for, **settings) as service:
        answer = await service.post("/demo", {})
        assert (answer.status_code, answer.json()["kind"]) == (status, kind), answer.text
        assert (await service.get("/runs")).json()["runs"] == []


@pytest.mark.parametrize("run_id", ["options", "import"])
async def test_a_run_is_not_called_what_a_path_is_called(tmp_path: Path, run_id: str) -> None:
    async with serving(tmp_path, [says("x")]) as service:
        answer = await service.post("/runs", {"prompt": "x", "run_id": run_id})
        assert (answer.status_code, answer.json()["kind"]) == (400, "validation")


async def test_one_of_many_concurrent_decisions_wins_and_the_others_are_refused(tmp_path: Path) -> None:
    async with serving(tmp_path, COMMAND, safety={"mode": "ask"}) as service:
        await service.until(await service.begin(), "waiting_for_user")
        (card,) = (await service.get("/approvals")).json()["approvals"]
        body = {"approval_key": card["approval_key"]}
        answers = await asyncio.gather(
            *(
                service.post(f"/approvals/{card['approval_id']}", {**body, "decision": decision})
                for decision in ("approved", "denied") * 6
            )
        )
        assert sorted(answer.status_code for answer in answers) == [202] + [409] * 11


async def test_listeners_are_closed_when_the_watcher_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_work: object) -> dict[str, Any]:
        raise RuntimeError("unforeseen")

    async with serving(tmp_path, [says("x")]) as service:
        feed = Feed(service.runs)
        monkeypatch.setattr("skills_runtime.service.streams.feed.snapshot_runs", broken)
        reader = feed.listen()
        assert await asyncio.wait_for(reader.queue.get(), 30) is None
        monkeypatch.undo()
        again = feed.listen()
        assert b"hello" in (await asyncio.wait_for(again.queue.get(), 30) or b"")
        for one in (reader, again):
            feed.leave(one)
