"""Skills that come, change, break and go while somebody watches."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Literal

import msgspec

from skills_runtime.agent.skills.libraries import library_of
from skills_runtime.cli.interrupts import interrupts
from skills_runtime.skills import Problem, Skill
from skills_runtime.skills.index import Changes, watch_skills

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

Kind = Literal["added", "changed", "removed", "broken", "warning"]


class SkillChange(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is different now."""

    change: Kind
    name: str
    mention: str = ""
    """How it is called, or was."""
    description: str = ""
    path: str = ""
    reason: str = ""
    """What is wrong with it."""


def watch(resolved: "Resolved", ready: Callable[[], None], tell: Callable[[SkillChange], None]) -> None:
    """Tell of every change from the moment that `ready` is called in, until Ctrl-C or SIGTERM."""
    asyncio.run(_watch(resolved, ready, tell))


async def _watch(resolved: "Resolved", ready: Callable[[], None], tell: Callable[[SkillChange], None]) -> None:
    since, stop = library_of(resolved), asyncio.Event()
    since.list()
    with interrupts(lambda: None) as interruption:
        ending = asyncio.create_task(_set_after(interruption.wait, stop))
        ready()
        async with aclosing(watch_skills(lambda: library_of(resolved), since=since, stop=stop)) as told:
            async for changes in told:
                for change in changes_in(changes):
                    tell(change)
        ending.cancel()


async def _set_after(wait: Callable[[], Awaitable[None]], stop: asyncio.Event) -> None:
    await wait()
    stop.set()


def changes_in(changes: Changes) -> Iterator[SkillChange]:
    """The changes one by one; a skill that broke is told once, as broken, and not as removed as well."""
    broken = {one.locator: one for one in reversed(changes.problems) if one.severity == "error"}
    yield from (_of_skill("added", skill) for skill in changes.added)
    yield from (_of_skill("changed", skill) for skill in changes.changed)
    yield from (_of_skill("removed", skill) for skill in changes.removed if _places(skill).isdisjoint(broken))
    yield from (_of_problem("broken", one) for one in reversed(broken.values()))
    yield from (_of_problem("warning", one) for one in changes.problems if one.severity != "error")


def _places(skill: Skill) -> set[str]:
    """Where a skill is, as problems with it name the place."""
    return {skill.locator, str(skill.directory)}


def _of_problem(kind: Kind, one: Problem) -> SkillChange:
    return SkillChange(change=kind, name=one.name, path=one.locator, reason=one.message)


def _of_skill(kind: Kind, skill: Skill) -> SkillChange:
    said = skill.description if kind != "removed" else ""
    return SkillChange(change=kind, name=skill.name, mention=skill.mention.text, description=said, path=skill.locator)
