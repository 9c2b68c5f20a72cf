"""The nine states and the only ways between them."""

import itertools

import pytest

from skills_runtime.errors import IllegalTransition, ValidationFailed
from skills_runtime.events.states import TRANSITIONS, RunStatus, check_transition, parse_status

TABLE = {
    "pending": "running failed cancelled",
    "running": "waiting_for_tool waiting_for_user review_required completed failed cancelled",
    "waiting_for_tool": "running failed cancelled",
    "waiting_for_user": "running failed cancelled",
    "review_required": "completed revision_required failed cancelled",
    "revision_required": "running cancelled failed",
    "completed": "",
    "failed": "",
    "cancelled": "",
}


def test_the_table_is_the_one_that_was_decided() -> None:
    assert {source.value: {target.value for target in TRANSITIONS[source]} for source in RunStatus} == {
        source: set(target.split()) for source, target in TABLE.items()
    }


@pytest.mark.parametrize(("source", "target"), list(itertools.product(RunStatus, RunStatus)))
def test_a_move_is_refused_exactly_when_the_table_lacks_it(source: RunStatus, target: RunStatus) -> None:
    if target.value in TABLE[source.value].split():
        check_transition(source, target)
        return
    with pytest.raises(IllegalTransition) as caught:
        check_transition(source, target)
    assert f"`{source}`" in caught.value.message
    assert f"`{target}`" in caught.value.message
    assert caught.value.exit_code == 20


def test_only_the_three_ends_are_terminal() -> None:
    assert {status.value for status in RunStatus if status.terminal} == {"completed", "failed", "cancelled"}


@pytest.mark.parametrize("status", RunStatus)
def test_a_status_is_named_by_its_value_or_itself(status: RunStatus) -> None:
    assert parse_status(status.value) is status
    assert parse_status(status) is status


@pytest.mark.parametrize("value", ["", "Running", "running ", "done", "RUNNING"])
def test_anything_else_is_refused_with_the_nine_names(value: str) -> None:
    with pytest.raises(ValidationFailed) as caught:
        parse_status(value)
    assert all(status in caught.value.hint for status in RunStatus)
