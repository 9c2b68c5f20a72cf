"""The calls that a run makes for somebody: skills of its task that runs of their own work on.

They are calls like those of a model, so whatever holds for those holds for them: the gate, the sub-agents, recovery.
"""

from itertools import count, islice

from skills_runtime.events.payloads import LlmResponseFinished, ToolCallRequested
from skills_runtime.runs import Run

ACTIVATE = "activate_skill"
"""The tool that takes up a skill."""


def call_skills(run: Run) -> None:
    """Record the calls as one answer; those that were recorded before a process died are not recorded again."""
    talk = run.view.conversation
    free = (name for number in count(1) if (name := f"skill_{number}") not in talk.call_ids)
    ids = list(islice(free, len(talk.to_call)))
    made = {call.id for call in talk.coming_calls}
    for call_id, skill in zip(ids, talk.to_call, strict=True):
        if call_id not in made:
            arguments = {"name": skill.mention, "arguments": skill.arguments}
            called = ToolCallRequested(call_id=call_id, tool=ACTIVATE, name=ACTIVATE, arguments=arguments)
            run.append(called, step_id=f"step_{run.state.steps + 1}")
    run.append(LlmResponseFinished(finish_reason="tool_calls", calls=ids))
