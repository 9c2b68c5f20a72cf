"""Run an agent in its own process with a shifted clock.

Used as `python -m tests.e2e.approval_process DIRECTORY DAYS ACTION`.
"""

import asyncio
import sys
import time
from pathlib import Path

from skills_runtime.agent import Agent
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.engine import RunControl
from skills_runtime.ledger import Ledger, open_ledger
from skills_runtime.llm import ScriptedBackend
from skills_runtime.ports import ApprovalRequest, Decision, DecisionKind
from skills_runtime.runs import RunPaths, runs_root
from skills_runtime.safety import InboxApprovals
from skills_runtime.testing import says
from tests.support.agents import calls

RUN = "r"
SCRIPT = [calls(("shell_command", {"command": "sh ./do.sh", "env": {"A": "1"}})), says("done")]
SETTINGS = {
    "safety": {"mode": "ask", "approval_timeout_ms": 600_000},
    "sandbox": {"default_policy": "none"},
}


class Thinking:
    """Somebody who was asked, and thinks."""

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
        """Say that the question was heard, and nothing more."""
        print("asked", flush=True)
        await asyncio.Event().wait()
        return "denied"


def main(place: Path, days: float, what: str) -> None:
    """Work on the run, or decide on what it asked."""
    real = time.time_ns
    time.time_ns = lambda: int(real() + days * 86_400 * 10**9)
    with open_ledger(place / "ledger", clock=SystemClock(), ids=RandomIds()) as ledger:
        if what == "decide":
            RunControl(ledger.inbox, log_ports()).decide(
                RunPaths(runs_root(place) / RUN), Decision(decision="approved")
            )
        else:
            print(_work(place, ledger, what), flush=True)


def _work(place: Path, ledger: Ledger, what: str) -> str:
    agent = Agent(
        workspace_root=place,
        backend=ScriptedBackend(SCRIPT),
        session_settings=SETTINGS,
        approval_provider=Thinking() if what == "think" else InboxApprovals(),
        inbox=ledger.inbox,
    )
    return agent.run("Go.", run_id=RUN).status


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
