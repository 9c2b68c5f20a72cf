"""A workspace with one run that may be left, killed after any event, and gone on with by others."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from skills_runtime.agent import Agent
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine import RunControl
from skills_runtime.llm import FakeChatCall, ScriptedBackend
from skills_runtime.ports import ApprovalRequest, Approver, Decision, DecisionKind, HumanIO, Inbox, Tool
from skills_runtime.projections.approvals import PendingApproval
from skills_runtime.runs import RunPaths, read_view, runs_root
from skills_runtime.safety import InboxApprovals
from skills_runtime.testing import InMemoryInbox
from tests.support.agents import payloads_of

RUN = "r"
UNFENCED = {"sandbox": {"default_policy": "none"}}


class Yes:
    """Somebody who approves of everything, and remembers what it was."""

    def __init__(self) -> None:
        self.asked: list[ApprovalRequest] = []

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
        """Say yes."""
        self.asked.append(request)
        return "approved"


class Stage:
    """Everything that outlives a process: the workspace, the run directory and the inbox."""

    def __init__(
        self,
        root: Path,
        script: Sequence[FakeChatCall],
        *,
        tool: Tool | None = None,
        settings: Mapping[str, Any] | None = None,
        variables: Mapping[str, str] | None = None,
        human: HumanIO | None = None,
    ) -> None:
        self.root = root
        self.script = script
        self.inbox = InMemoryInbox()
        self.paths = RunPaths(runs_root(root) / RUN)
        self._tool = tool
        self._settings = {"safety": {"mode": "ask"}, **UNFENCED, **(settings or {})}
        self._variables = variables
        self._human = human

    def agent(
        self, approver: Approver | None = None, *, inbox: bool = True, mode: str = "ask", backend: Any = None
    ) -> Agent:
        """An agent of a new process, which knows nothing but the disk and the inbox."""
        given: Inbox | None = self.inbox if inbox else None
        agent = Agent(
            workspace_root=self.root,
            backend=backend or ScriptedBackend(self.script),
            session_settings={**self._settings, "safety": {"mode": mode}},
            env_vars=self._variables,
            approval_provider=approver or InboxApprovals(),
            human_io=self._human,
            inbox=given,
        )
        if self._tool is not None:
            agent.register_tool(self._tool)
        return agent

    def work(self, approver: Approver | None = None, *, inbox: bool = True, mode: str = "ask") -> Any:
        """Go on with the run, or begin it."""
        return self.agent(approver, inbox=inbox, mode=mode).run("Go.", run_id=RUN)

    def decide(self, decision: DecisionKind = "approved", **more: Any) -> None:
        """Decide on the one thing that is asked, as somebody elsewhere would."""
        RunControl(self.inbox, log_ports()).decide(self.paths, Decision(decision=decision, **more))

    def asked(self) -> PendingApproval:
        """The one thing that is asked."""
        (asked,) = read_view(self.paths, log_ports()).pending.approvals.open.values()
        return asked

    def send(self, **change: Any) -> None:
        """Send a decision past the desk, which would look at it."""
        asked = self.asked()
        body = {"run_id": RUN, "approval_id": asked.approval_id, "approval_key": asked.approval_key}
        self.inbox.send(RUN, "approve", {**body, "decision": "approved", **change})

    def all(self, event_type: str) -> list[Any]:
        """The payloads of one type."""
        return payloads_of(str(self.paths.events), event_type)

    def files(self) -> list[str]:
        """What stands in the workspace, without the runtime's own."""
        return sorted(one.name for one in self.root.iterdir() if not one.name.startswith("."))

    def kill_after(self, event_type: str) -> None:
        """Leave the run as a process does that is killed right behind the first event of a type."""
        lines = self.paths.events.read_bytes().splitlines(keepends=True)
        last = next(number for number, line in enumerate(lines) if json.loads(line)["type"] == event_type)
        self.paths.events.write_bytes(b"".join(lines[: last + 1]))
        for derived in self.paths.logs.iterdir():
            if derived.is_file():
                derived.unlink()
