"""update_plan: what is recorded, and what a plan may be."""

import pytest

from skills_runtime.errors import ToolError
from skills_runtime.events.payloads import PlanUpdated
from skills_runtime.tools.builtin import UpdatePlan
from tests.support.tools import Workshop, data_of

PLAN = [
    {"step": "look", "status": "completed"},
    {"step": "write", "status": "in_progress"},
    {"step": "check", "status": "pending"},
]


async def test_the_plan_is_recorded_on_behalf_of_the_call(workshop: Workshop) -> None:
    result = await workshop.call(UpdatePlan(), plan=PLAN, explanation="begun")
    assert workshop.emitted == [PlanUpdated(call_id="call_1", plan=PLAN, explanation="begun")]
    assert result.stdout == "1 of 3 steps are done"
    assert data_of(result) == {"plan": PLAN, "explanation": "begun"}


async def test_an_explanation_may_be_left_out(workshop: Workshop) -> None:
    await workshop.call(UpdatePlan(), plan=[])
    assert workshop.emitted == [PlanUpdated(call_id="call_1", plan=[])]


async def test_two_steps_under_way_are_refused_and_nothing_is_recorded(workshop: Workshop) -> None:
    with pytest.raises(ToolError, match="2 steps are `in_progress`") as caught:
        await workshop.call(UpdatePlan(), plan=[{"step": name, "status": "in_progress"} for name in "ab"])
    assert caught.value.kind == "validation"
    assert workshop.emitted == []


@pytest.mark.parametrize(
    "step",
    [{"step": "a"}, {"step": "a", "status": "done"}, {"step": "", "status": "pending"}, {"status": "pending"}, "a"],
)
async def test_a_step_that_is_none_is_refused(step: object, workshop: Workshop) -> None:
    with pytest.raises(ToolError):
        await workshop.call(UpdatePlan(), plan=[step])
