"""Replaying a run for a client: in a thread with an event loop of its own, a few at a time."""

import asyncio
from typing import Any

import msgspec

from skills_runtime.engine.replay import replay
from skills_runtime.service.work.work import Work

ALOFT: dict[str, Any] = {
    "sandbox": {"workspace": "isolated"},
    "safety": {"mode": "allow"},
    "deliverables": {"required": []},
}
"""A replay touches no workspace, asks nobody and hands nothing over: its tools only repeat what they said."""


async def replayed(work: Work, run_id: str) -> dict[str, Any] | None:
    """The first move that would differ today, or nothing."""

    def run() -> dict[str, Any] | None:
        paths = work.find(run_id)
        resolved = work.home.settings_of(paths, work.view(run_id).state, ALOFT)
        found = asyncio.run(replay(paths.root, resolved))
        return None if found is None else msgspec.structs.asdict(found)

    return await asyncio.to_thread(run)
