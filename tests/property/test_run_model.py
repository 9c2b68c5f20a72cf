"""A run driven at random, killed at random: its states follow the table, and run.json follows its log."""

from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from kgent import RunContext, RunStatus, create_run_context, load_run_context, update_run_state
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.config import resolve
from skills_runtime.errors import IllegalTransition, LogEnded, SkillsRuntimeError
from skills_runtime.events.payloads import LlmRequestStarted, RunCancelled, RunCompleted, RunFailed, RunStateChanged
from skills_runtime.projections import RunState, fold
from skills_runtime.runs import RunPaths, open_run, read_events, read_record
from skills_runtime.runs.record import build_record
from tests.support.examples import examples
from tests.support.tools import tree

TABLE = {
    "pending": {"running", "failed", "cancelled"},
    "running": {"waiting_for_tool", "waiting_for_user", "review_required", "completed", "failed", "cancelled"},
    "waiting_for_tool": {"running", "failed", "cancelled"},
    "waiting_for_user": {"running", "failed", "cancelled"},
    "review_required": {"completed", "revision_required", "failed", "cancelled"},
    "revision_required": {"running", "failed", "cancelled"},
    "completed": set[str](),
    "failed": set[str](),
    "cancelled": set[str](),
}
ENDS = {
    "completed": RunCompleted(final_output="done"),
    "failed": RunFailed(error_kind="unknown", message="killed"),
    "cancelled": RunCancelled(message="killed"),
}
STATUSES = st.sampled_from(sorted(TABLE))


class RunModel(RuleBasedStateMachine):
    """One run, and what its state must be."""

    directory: Path
    numbers = count()

    def __init__(self) -> None:
        super().__init__()
        workspace = self.directory / str(next(self.numbers))
        workspace.mkdir()
        resolved = resolve(workspace)
        self.context: RunContext = create_run_context(resolved, "A task.", workspace / "runs" / "demo")
        self.paths = RunPaths(self.context.root)
        self.status = "pending"
        self.opened = True
        """Whether somebody opened the run since it was last killed."""

    @rule(status=STATUSES)
    def move(self, status: str) -> None:
        """Ask for another state, legal or not."""
        if status in TABLE[self.status]:
            update_run_state(self.context, status)
            self.status = status
            self.opened = True
            return
        self._reopen()
        before = tree(self.context.root)
        with pytest.raises(IllegalTransition):
            update_run_state(self.context, status)
        assert tree(self.context.root) == before

    @precondition(lambda self: bool(TABLE[self.status]))
    @rule(status=STATUSES)
    def be_killed_after_the_event(self, status: str) -> None:
        """Write the event of a move and die before run.json is written."""
        if status not in TABLE[self.status]:
            return
        run = open_run(self.context.root, log_ports())
        run.append(ENDS.get(status) or RunStateChanged(before=self.status, after=status))
        run.close()
        self.status = status
        self.opened = False

    @precondition(lambda self: bool(TABLE[self.status]))
    @rule(size=st.integers(min_value=0, max_value=400))
    def be_killed_in_the_middle_of_a_line(self, size: int) -> None:
        """Write a part of a line and die."""
        run = open_run(self.context.root, log_ports())
        before = self.paths.events.stat().st_size
        run.append(LlmRequestStarted(model="m"))
        run.close()
        with self.paths.events.open("r+b") as log:
            log.truncate(min(before + size, self.paths.events.stat().st_size - 1))
        self.opened = False

    @rule()
    def look(self) -> None:
        """Load the run as another process would."""
        assert load_run_context(self.context.root).run_id == "demo"

    @invariant()
    def the_state_is_the_one_of_the_model(self) -> None:
        assert fold(read_events(self.paths), RunState()).status == self.status

    @invariant()
    def run_json_agrees_with_the_log_once_it_was_opened(self) -> None:
        if not self.opened:
            self._reopen()
        state = fold(read_events(self.paths), RunState())
        assert read_record(self.paths.run_json) == build_record(state)
        assert (state.started_at is None) == (
            self.status in ("pending", "failed", "cancelled") and not self._ever_ran()
        )
        assert (state.completed_at is not None) == RunStatus(self.status).terminal

    def _ever_ran(self) -> bool:
        moves = [event.payload for event in read_events(self.paths) if isinstance(event.payload, RunStateChanged)]
        return any(move.after == "running" for move in moves)

    def _reopen(self) -> None:
        try:
            open_run(self.context.root, log_ports()).close()
        except LogEnded:
            assert RunStatus(self.status).terminal
        except SkillsRuntimeError as error:
            raise AssertionError(f"a killed run cannot be opened: {error}") from error
        self.opened = True


def test_a_run_follows_its_table_and_run_json_follows_the_run(tmp_path: Path) -> None:
    class Here(RunModel):
        directory = tmp_path

    run_state_machine_as_test(Here, settings=settings(max_examples=examples(15), stateful_step_count=10, deadline=None))
