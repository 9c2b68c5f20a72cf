"""Watching skills: what comes, changes and goes is told by its name, and nothing else."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from skills_runtime.skills import Library, Mention, SkillError
from skills_runtime.skills.watch import Changes, watch_skills
from tests.unit.skills.samples import make_skill, skill_text
from tests.unit.skills.sources.trees import indexed

PATIENCE_SECONDS = 60


class Watch:
    """Somebody who watches a tree and edits it."""

    def __init__(self, base: Path, changes: AsyncGenerator[Changes]) -> None:
        self.skills = base / "skills"
        self._changes = changes

    async def after(self, edit: Callable[[], object]) -> Changes:
        """The first changes that are told after an edit."""
        edit()
        return await asyncio.wait_for(anext(self._changes), PATIENCE_SECONDS)


def library_of(base: Path) -> Library:
    return Library([indexed(base, ahead_ns=0)])


@pytest.fixture(params=[False, True], ids=["told", "polling"])
async def watch(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Watch]:
    for name in ("writer", "reader"):
        make_skill(tmp_path / "skills", name)
    since = library_of(tmp_path)
    since.list()
    async with aclosing(watch_skills(lambda: library_of(tmp_path), since=since, polling=request.param)) as changes:
        yield Watch(tmp_path, changes)


def names(changes: Changes) -> tuple[list[str], ...]:
    """The names of what was added, changed and removed, and of what is broken now."""
    told = (changes.added, changes.changed, changes.removed, changes.problems)
    return tuple([one.name for one in each] for each in told)


async def test_a_new_skill_is_reported(watch: Watch) -> None:
    changes = await watch.after(lambda: make_skill(watch.skills, "group/editor"))
    assert names(changes) == (["editor"], [], [], [])
    assert len(changes.library.list()) == 3


async def test_one_changed_skill_is_reported_and_the_others_are_not(watch: Watch) -> None:
    text = skill_text(description="Writes thongs.")
    changes = await watch.after(lambda: (watch.skills / "writer/SKILL.md").write_text(text))
    assert names(changes) == ([], ["writer"], [], [])
    again = await watch.after(lambda: (watch.skills / "reader/SKILL.md").write_text(skill_text("reader", "Else.")))
    assert names(again) == ([], ["reader"], [], [])


async def test_a_body_that_changed_is_a_skill_that_changed(watch: Watch) -> None:
    text = skill_text(body="Do it otherwise.\n")
    changes = await watch.after(lambda: (watch.skills / "writer/SKILL.md").write_text(text))
    assert names(changes) == ([], ["writer"], [], [])


async def test_a_skill_that_breaks_is_reported_by_its_name_and_hides_no_other(watch: Watch) -> None:
    changes = await watch.after(lambda: (watch.skills / "writer/SKILL.md").write_text("broken"))
    assert names(changes) == ([], [], ["writer"], ["writer"])
    assert [skill.name for skill in changes.library.list()] == ["reader"]


async def test_a_skill_that_is_renamed_goes_under_one_name_and_comes_under_another(
    watch: Watch, tmp_path: Path
) -> None:
    running = library_of(tmp_path)
    skill = running.find(Mention("web", "writer"))

    def rename() -> None:
        (watch.skills / "writer").rename(watch.skills / "scribe")
        (watch.skills / "scribe/SKILL.md").write_text(skill_text("scribe"))

    changes = await watch.after(rename)
    while "scribe" not in [one.name for one in changes.added]:  # it may be seen between the two steps
        changes = await watch.after(lambda: None)
    assert [one.name for one in changes.library.list()] == ["reader", "scribe"]
    assert running.find(Mention("web", "writer")) == skill
    with pytest.raises(SkillError, match="writer") as caught:
        running.body(skill)
    assert caught.value.code == "SKILL_BODY_READ_FAILED"
    assert running.body(running.find(Mention("web", "reader"))) == "Do it.\n"


async def test_it_ends_when_it_is_told_to(tmp_path: Path) -> None:
    make_skill(tmp_path / "skills", "writer")
    stop = asyncio.Event()
    told = asyncio.ensure_future(_all(watch_skills(lambda: library_of(tmp_path), stop=stop)))
    stop.set()
    assert await asyncio.wait_for(told, PATIENCE_SECONDS) == []


async def test_a_root_that_is_not_there_yet_is_watched_for(tmp_path: Path) -> None:
    since = library_of(tmp_path)
    since.list()
    async with aclosing(watch_skills(lambda: library_of(tmp_path), since=since)) as changes:
        watch = Watch(tmp_path, changes)
        assert names(await watch.after(lambda: make_skill(tmp_path / "skills", "writer")))[0] == ["writer"]


async def test_cancellation_leaves_no_watch_behind(tmp_path: Path) -> None:
    make_skill(tmp_path / "skills", "writer")
    task = asyncio.ensure_future(_all(watch_skills(lambda: library_of(tmp_path))))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, PATIENCE_SECONDS)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def _all(changes: AsyncGenerator[Changes]) -> list[Changes]:
    async with aclosing(changes):
        return [one async for one in changes]
