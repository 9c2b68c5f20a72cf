"""What is asked of the service by several at once, or where it cannot be done, is refused in one clear sentence."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent.run_defaults import backend_for
from skills_runtime.config import resolve
from skills_runtime.errors import RequestConflict
from skills_runtime.service.skills import change_text
from skills_runtime.service.streams.feed import Feed
from skills_runtime.skills import Skill, library_of
from skills_runtime.testing import says
from tests.support.agents import calls
from tests.unit.service.runs.served import serving

NOTES = "---\nname: notes\ndescription: Writes release notes.\n---\n\nWrite them.\n"
COMMAND = [calls(("shell_command", {"command": "uname -s"})), says("done")]


def written(workspace: Path) -> Skill:
    place = workspace / "mine" / "notes" / "SKILL.md"
    place.parent.mkdir(parents=True)
    place.write_text(NOTES)
    source = {"id": "here", "type": "filesystem", "options": {"root": str(workspace / "mine")}}
    space = {"id": "mine", "namespace": "my:own", "sources": ["here"]}
    settings = {"skills": {"spaces": [space], "sources": [source]}}
    return library_of(resolve(workspace, session_settings=settings)).find_by_name("notes")


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


async def test_of_many_who_decide_at_once_one_wins_and_the_others_are_told(tmp_path: Path) -> None:
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


async def test_of_many_who_change_a_skill_at_once_one_does(tmp_path: Path) -> None:
    skill = written(tmp_path)

    def change(number: int) -> bool:
        try:
            change_text(skill, f"{NOTES}{number}\n", seen=skill.content_hash, workspace=tmp_path)
        except RequestConflict:
            return False
        return True

    done = await asyncio.gather(*(asyncio.to_thread(change, number) for number in range(24)))
    assert sum(done) == 1


def test_a_pipe_in_the_place_of_a_skill_holds_nobody_up(tmp_path: Path) -> None:
    skill = written(tmp_path)
    place = tmp_path / "mine" / "notes" / "SKILL.md"
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(RequestConflict):
        change_text(skill, NOTES, seen=skill.content_hash, workspace=tmp_path)


async def test_who_listens_is_sent_away_when_nobody_looks_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_work: object) -> dict[str, Any]:
        raise RuntimeError("unforeseen")

    async with serving(tmp_path, [says("x")]) as service:
        feed = Feed(service.runs)
        monkeypatch.setattr("skills_runtime.service.streams.feed.seen_now", broken)
        reader = feed.listen()
        assert await asyncio.wait_for(reader.waiting.get(), 30) is None
        monkeypatch.undo()
        again = feed.listen()
        assert b"hello" in (await asyncio.wait_for(again.waiting.get(), 30) or b"")
        for one in (reader, again):
            feed.leave(one)
