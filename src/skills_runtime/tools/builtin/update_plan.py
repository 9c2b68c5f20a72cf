"""update_plan: record the model's list of steps for everyone who follows the run."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.events import PlanUpdated
from skills_runtime.ports import ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, build_schema, parse


class Step(Arguments, frozen=True):
    """One step of a plan."""

    step: Annotated[str, Meta(min_length=1, max_length=2000, description="What to do.")]
    status: Annotated[Literal["pending", "in_progress", "completed"], Meta(description="Its status.")]


class UpdatePlanArguments(Arguments, frozen=True):
    """Arguments of update_plan."""

    plan: Annotated[list[Step], Meta(max_length=200, description="All steps in order; at most one is in progress.")]
    explanation: Annotated[str, Meta(max_length=10_000, description="Why the plan changed.")] | None = None


class UpdatePlan:
    """Replaces the plan of the run."""

    spec = ToolSpec(
        name="update_plan",
        description="Record your plan as a list of steps, and call this again whenever a step starts or ends.",
        parameters=build_schema(UpdatePlanArguments),
        effect="idempotent",
        contained=True,
        example={"plan": [{"step": "a", "status": "pending"}]},
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Record the plan."""
        args = parse(arguments, UpdatePlanArguments)
        in_progress = [step.step for step in args.plan if step.status == "in_progress"]
        if len(in_progress) > 1:
            raise ToolError(
                "validation",
                f"{len(in_progress)} steps are `in_progress`, but at most one can be",
                hint="leave the others `pending`",
            )
        plan: list[dict[str, Any]] = msgspec.to_builtins(args.plan)
        explanation = args.explanation or ""
        context.emit(PlanUpdated(call_id=context.call_id, plan=plan, explanation=explanation))
        completed = sum(step.status == "completed" for step in args.plan)
        return ToolResult(
            ok=True,
            stdout=f"{completed} of {len(plan)} steps are done",
            data={"plan": plan, "explanation": explanation},
        )
