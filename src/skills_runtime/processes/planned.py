"""Runs what a fence has planned: with a proxy beside it, if the plan lets the command reach something."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from skills_runtime.errors import SandboxError
from skills_runtime.ports import SandboxPlan
from skills_runtime.processes.command import Command, Finished, Limits
from skills_runtime.processes.execute import OnOutput, Outflow, execute

if TYPE_CHECKING:
    from skills_runtime.sandbox.egress import Doorman, Gateway

MakeDoorman = Callable[[], "Doorman"]
"""Makes whoever watches the network of a command; called only where there is one, for most commands have none."""


async def execute_plan(
    plan: SandboxPlan,
    limits: Limits,
    doorman: MakeDoorman,
    *,
    on_output: OnOutput | Outflow | None = None,
    stop: asyncio.Event | None = None,
    source: int | None = None,
) -> Finished:
    """Run a planned command until it, its network and everything it started are gone; see `execute`.

    A command whose network fails is ended, and the failure is raised.
    """
    if plan.egress is None:
        return await execute(command_of(plan), limits, on_output=on_output, stop=stop, source=source)
    from skills_runtime.sandbox.egress import Gateway

    ending = stop or asyncio.Event()
    failures: list[Exception] = []

    def failed(error: Exception) -> None:
        if not ending.is_set():  # one that is being ended has no network any more either
            failures.append(error)
            ending.set()

    async with Gateway(plan.egress, doorman(), failed=failed) as gateway:
        command = command_of(plan, gateway.descriptors)
        finished = await execute(
            command, limits, on_output=on_output, stop=ending, source=source, on_start=gateway.started
        )
    if failures and finished.ended_by in ("exit", "cancelled"):
        raise _told(failures[0], finished)
    return finished


@asynccontextmanager
async def beginning(plan: SandboxPlan, doorman: MakeDoorman) -> "AsyncGenerator[tuple[Command, Gateway | None]]":
    """The command of a plan and its network: the company of a session, ended if none comes of it."""
    if plan.egress is None:
        yield command_of(plan), None
        return
    from skills_runtime.sandbox.egress import Gateway

    gateway = Gateway(plan.egress, doorman())
    try:
        yield command_of(plan, gateway.descriptors), gateway
    except BaseException:
        await gateway.close()
        raise


def command_of(plan: SandboxPlan, descriptors: tuple[int, ...] = ()) -> Command:
    """What is really executed."""
    return Command(plan.argv, plan.cwd, plan.environment, enclosure=plan.enclosure, descriptors=descriptors)


def _told(failure: Exception, finished: Finished) -> Exception:
    """The failure; one of the fence with the last thing it said, for that is the reason."""
    if not isinstance(failure, SandboxError):
        return failure
    said = finished.stderr.text().strip().rpartition("\n")[2]
    return SandboxError(f"{failure.message}: {said}", hint=failure.hint) if said else failure
