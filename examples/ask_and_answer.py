"""A run that asks a question, waits without a process, and goes on with the answer."""

import tempfile

from skills_runtime.agent import Agent
from skills_runtime.llm import FakeChatCall, ScriptedBackend
from skills_runtime.ports import ChatStreamEvent, ToolCall
from skills_runtime.testing import InMemoryInbox

QUESTION = ToolCall(id="call_1", name="ask_human", arguments='{"question": "Which colour?"}')


def main(workspace: str) -> None:
    model = ScriptedBackend(
        [
            FakeChatCall([ChatStreamEvent(type="tool_calls", tool_calls=[QUESTION])]),
            FakeChatCall([ChatStreamEvent(type="text_delta", text="The house is painted.")]),
        ]
    )
    inbox = InMemoryInbox()
    waiting = Agent(workspace_root=workspace, backend=model, inbox=inbox).run("Paint the house.")
    print("1.", waiting.status, "-", waiting.final_output)

    inbox.send(waiting.run_id, "steer", {"text": "And the door."})
    inbox.send(waiting.run_id, "answer", {"answer": "blue"})
    done = Agent(workspace_root=workspace, backend=model, inbox=inbox).run("", run_id=waiting.run_id)
    print("2.", done.status, "-", done.final_output)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        main(directory)
