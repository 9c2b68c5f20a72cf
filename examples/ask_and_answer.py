"""A run that asks a question, waits without a process, and continues with the answer."""

import tempfile

from skills_runtime import Agent
from skills_runtime.testing import FakeModel, InMemoryInbox, calls, says


def main(workspace: str) -> None:
    model = FakeModel([calls("ask_human", question="Which color?"), says("The house is painted.")])
    inbox = InMemoryInbox()
    waiting = Agent(workspace_root=workspace, backend=model, inbox=inbox).run("Paint the house.")
    print("1.", waiting.status, "-", waiting.final_output)

    inbox.send(waiting.run_id, "steer", {"text": "And the door."})
    inbox.send(waiting.run_id, "answer", {"answer": "blue"})
    result = Agent(workspace_root=workspace, backend=model, inbox=inbox).run("", run_id=waiting.run_id)
    print("2.", result.status, "-", result.final_output)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        main(directory)
