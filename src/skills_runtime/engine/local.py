"""Runs in this process, a bounded number at a time, with the ledger kept in step."""

import asyncio
from contextlib import suppress

from skills_runtime.agent import Agent, RunResult
from skills_runtime.agent.loop.control import Control
from skills_runtime.agent.loop.outcomes import interrupted
from skills_runtime.agent.result import result_of
from skills_runtime.agent.subagents.cancel import finish_tree
from skills_runtime.engine.run_index import row_of
from skills_runtime.errors import NotFound, SkillsRuntimeError, ValidationFailed
from skills_runtime.ledger import RunIndex, SqliteInbox
from skills_runtime.projections import RunState
from skills_runtime.runs import Run, runs_root

DEFAULT_SLOTS = 8
WATCH_SECONDS = 0.05
"""How soon a cancellation from another process is seen."""


class LocalDispatcher:
    """The Dispatcher of a single machine."""

    def __init__(
        self, agent: Agent, index: RunIndex, *, inbox: SqliteInbox | None = None, slots: int = DEFAULT_SLOTS
    ) -> None:
        self._agent = agent
        self._index = index
        self._inbox = inbox
        self._slots = asyncio.Semaphore(slots)
        self._work: dict[str, asyncio.Task[RunResult]] = {}
        self._controls: dict[str, Control] = {}
        self._watcher: asyncio.Task[None] | None = None
        self._draining = False

    async def submit(self, run: Run) -> None:
        """Take over an open run; it is executed when a slot is free."""
        run_id = run.state.run_id
        if self._draining:
            run.close()
            raise ValidationFailed("no more runs are taken: this process is about to stop")
        try:
            await self._follow(run)
        except BaseException:
            run.close()
            raise
        self._controls[run_id] = Control()
        self._work[run_id] = asyncio.create_task(self._execute(run, self._controls[run_id]), name=f"run {run_id}")
        if self._inbox is not None and self._watcher is None:
            self._watcher = asyncio.create_task(self._watch(self._inbox), name="inbox")
        await asyncio.sleep(0)  # from here on whoever stops the run stops it inside `_execute`, which records that

    async def result(self, run_id: str) -> RunResult:
        """Wait for a submitted run to end or park."""
        return await asyncio.shield(self._task(run_id))  # who gives up waiting does not stop the run

    async def cancel(self, run_id: str) -> None:
        """Stop a run; returns when it has stopped."""
        task = self._task(run_id)
        task.cancel()
        await asyncio.wait([task])

    async def stop(self, run_id: str) -> None:
        """Stop the work on a run without ending it; returns when nothing of it runs any more."""
        self._task(run_id)
        self._controls[run_id].stopping = True
        await self.cancel(run_id)

    async def nudge(self, run_id: str) -> None:
        """Tell whoever executes a run to look into its inbox now."""
        self._task(run_id)
        if self._inbox is not None:
            self._obey(self._inbox, run_id)

    async def drain(self) -> None:
        """Take no more runs and wait for those under way."""
        self._draining = True
        await asyncio.gather(*self._work.values(), return_exceptions=True)
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.wait([self._watcher])

    async def _watch(self, inbox: SqliteInbox) -> None:
        """Look for cancellations whenever the inbox was written; other messages wait for the next turn."""
        seen: int | None = None
        while True:
            with suppress(SkillsRuntimeError):  # one that is busy is looked into the next time
                version = inbox.version()
                if version != seen:
                    for run_id in tuple(self._work):
                        self._obey(inbox, run_id)
                seen = version
            await asyncio.sleep(WATCH_SECONDS)

    def _obey(self, inbox: SqliteInbox, run_id: str) -> None:
        task = self._work[run_id]
        if not task.done() and any(message.kind == "cancel" for message in inbox.pending(run_id)):
            task.cancel()

    def _task(self, run_id: str) -> asyncio.Task[RunResult]:
        try:
            return self._work[run_id]
        except KeyError:
            raise NotFound(f"the run `{run_id}` is not executed by this process") from None

    async def _execute(self, run: Run, control: Control) -> RunResult:
        try:
            async with self._slots:
                return await self._agent.execute(run, control=control)
        except asyncio.CancelledError:
            if run.state.open and not control.stopping:  # it was still waiting for a slot
                finish_tree(run, self._inbox, lambda: interrupted(run.view, "", str(run.paths.events)))
            return result_of(run)
        finally:
            run.close()

    async def _follow(self, run: Run) -> None:
        prompt = (run.paths.root / "prompt.md").read_text(encoding="utf-8", errors="replace")

        def record(state: RunState) -> None:
            # The index is only derived, and catches up when it is next refreshed: it never stops a run.
            with suppress(SkillsRuntimeError):
                asked = len(run.view.pending.approvals.open)
                row = row_of(run.paths, state, prompt, pending_approvals=asked)
                self._index.record(row, text=f"{prompt}\n{state.final_output}")

        await run.commit_async()
        self._index.remember_root(runs_root(self._agent.workspace_root))
        record(run.state)
        run.watch(record)
