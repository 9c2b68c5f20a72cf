"""A run whose commands have a network: what its log holds, who is asked, and what their answers mean."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import RunResult
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.events import Event
from skills_runtime.events.payloads import ApprovalRequested
from skills_runtime.ledger import open_ledger
from skills_runtime.ports import ApprovalRequest, Approver, DecisionKind
from skills_runtime.safety import InboxApprovals
from skills_runtime.testing import says
from tests.e2e.networks.conftest import VISIT, Web
from tests.support.agents import Answering, agent_in, calls, events_of, payloads_of


class Thinking:
    """Somebody who was asked, and thinks."""

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
        await asyncio.Event().wait()
        return "approved"


def visiting(place: Path, *urls: str, times: int = 1) -> list[Any]:
    (place / "visit.py").write_text(VISIT)
    one = ("shell_command", {"command": f"python3 -I visit.py {' '.join(urls)}"})
    return [*(calls(one, ids=[f"call_{number}"]) for number in range(times)), says("done")]


def settings(egress: dict[str, Any], **safety: Any) -> dict[str, Any]:
    return {"sandbox": {"egress": egress}, "safety": {"mode": "allow", **safety}}


def run(place: Path, urls: list[str], egress: dict[str, Any], approver: Approver | None, times: int = 1) -> RunResult:
    agent = agent_in(place, visiting(place, *urls, times=times), settings=settings(egress), approver=approver)
    return agent.run("Go.")


def results(result: RunResult) -> list[dict[str, Any]]:
    return [one.result for one in payloads_of(result.wal_locator, "tool_call_finished")]


def test_the_log_holds_every_decision_between_start_and_end_of_its_call(web: Web, tmp_path: Path) -> None:
    egress = {"allow_private": [f"good.test:{web.port}"]}
    result = run(tmp_path, [web.url("good.test"), web.url("evil.test")], egress, None)
    types = [event.type for event in events_of(result.wal_locator)]
    start, end = types.index("tool_call_started"), types.index("tool_call_finished")
    assert types[start + 1 : end] == ["network_decision"] * 3
    told = payloads_of(result.wal_locator, "network_decision")  # the proxy may hear late that the first one is over
    decided, denied = (one for one in told if one.stage == "decided")
    assert (decided.call_id, decided.host, decided.verdict) == ("call_0", "good.test", "allow")
    assert (denied.call_id, denied.host, denied.verdict, denied.kind) == ("call_0", "evil.test", "deny", "not_allowed")
    (finished,) = results(result)
    assert finished["stdout"] == "hello\n403 not_allowed\n"
    assert finished["data"]["sandbox"]["network"]["denied"] == 1


def test_a_session_of_a_run_has_its_network_too(web: Web, tmp_path: Path) -> None:
    (tmp_path / "visit.py").write_text(VISIT)
    command = {"cmd": f"python3 -I visit.py {web.url('good.test')}", "yield_time_ms": 30_000}
    chosen = settings({"allow_private": [f"good.test:{web.port}"]})
    result = agent_in(tmp_path, [calls(("exec_command", command)), says("done")], settings=chosen).run("Go.")
    (finished,) = results(result)
    assert finished["stdout"] == "hello\r\n"
    assert [one.stage for one in payloads_of(result.wal_locator, "network_decision")] == ["decided", "ended"]


def test_a_project_cannot_open_the_network(web: Web, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/runtime.yaml").write_text(f"sandbox: {{egress: {{allow: ['127.0.0.2:{web.port}']}}}}")
    result = run(tmp_path, [web.url("127.0.0.2")], {}, None)
    assert results(result)[0]["stdout"] == "no way\n"
    assert web.visits == []


def test_the_approver_is_asked_about_an_unknown_host(web: Web, tmp_path: Path) -> None:
    approver = Answering("approved")
    result = run(tmp_path, [web.url("new.test")], {"unknown": "ask"}, approver)
    (request,) = approver.asked
    assert (request.tool, request.details) == ("network", {"host": "new.test", "port": web.port})
    assert request.summary == f"shell_command wants to reach new.test:{web.port}"
    assert request.rule == "sandbox.egress.unknown: ask"
    (decision,) = payloads_of(result.wal_locator, "network_decision")
    assert (decision.by, decision.kind) == ("person", "address_blocked")  # allowed, but it leads into this machine
    (decided,) = payloads_of(result.wal_locator, "approval_decided")
    assert (decided.decision, decided.approval_key) == ("approved", request.approval_key)


def test_a_yes_for_the_session_is_asked_once(web: Web, tmp_path: Path) -> None:
    approver = Answering("approved_for_session")
    result = run(tmp_path, [web.url("new.test")], {"unknown": "ask"}, approver, times=3)
    assert (result.status, len(approver.asked)) == ("completed", 1)
    assert [one.by for one in payloads_of(result.wal_locator, "network_decision")] == ["person"] * 3


def test_a_yes_for_once_is_for_one_call(web: Web, tmp_path: Path) -> None:
    approver = Answering("approved", "denied")
    result = run(tmp_path, [web.url("new.test")], {"unknown": "ask"}, approver, times=2)
    assert len(approver.asked) == 2
    kinds = [one.kind for one in payloads_of(result.wal_locator, "network_decision")]
    assert kinds == ["address_blocked", "denied"]


def test_a_host_denied_twice_is_not_asked_about_again(web: Web, tmp_path: Path) -> None:
    approver = Answering("denied", "denied")
    result = run(tmp_path, [web.url("new.test")], {"unknown": "ask"}, approver, times=4)
    assert (result.status, len(approver.asked)) == ("completed", 2)
    assert [one.kind for one in payloads_of(result.wal_locator, "network_decision")] == ["denied"] * 4


def test_an_unknown_host_is_denied_without_an_approver(web: Web, tmp_path: Path) -> None:
    result = run(tmp_path, [web.url("new.test")], {"unknown": "ask"}, None)
    assert results(result)[0]["stdout"] == "403 not_allowed\n"
    (decision,) = payloads_of(result.wal_locator, "network_decision")
    assert (decision.by, decision.reason) == ("default", "no rule allows it, and no approver is available")
    assert payloads_of(result.wal_locator, "approval_requested") == []


def test_stopping_the_run_at_a_host_request_stops_it(web: Web, tmp_path: Path) -> None:
    result = run(tmp_path, [web.url("new.test")], {"unknown": "ask"}, Answering("abort"))
    assert result.status == "cancelled"
    assert web.visits == []


def test_no_answer_in_time_ends_the_connection_and_is_nobodys_decision(web: Web, tmp_path: Path) -> None:
    chosen = settings({"unknown": "ask"}, approval_timeout_ms=300)
    script = visiting(tmp_path, web.url("new.test"))
    result = agent_in(tmp_path, script, settings=chosen, approver=Thinking()).run("Go.")
    assert (result.status, results(result)[0]["stdout"]) == ("completed", "403 not_allowed\n")
    assert payloads_of(result.wal_locator, "approval_decided") == []
    (refused,) = payloads_of(result.wal_locator, "approval_refused")
    assert (refused.reason, refused.message) == ("expired", "no decision within 0.3 s")
    (decision,) = payloads_of(result.wal_locator, "network_decision")
    assert (decision.by, decision.reason) == ("default", "no decision within 0.3 s")
    assert "the user denied it" not in str(results(result)[0])


def test_a_host_that_nobody_decided_about_twice_is_not_asked_about_again(web: Web, tmp_path: Path) -> None:
    chosen = settings({"unknown": "ask"}, approval_timeout_ms=50)
    script = visiting(tmp_path, web.url("new.test"), times=3)
    result = agent_in(tmp_path, script, settings=chosen, approver=Thinking()).run("Go.")
    assert len(payloads_of(result.wal_locator, "approval_requested")) == 2
    reasons = [decision.reason for decision in payloads_of(result.wal_locator, "network_decision")]
    assert reasons == ["no decision within 0.05 s"] * 2 + ["no decision was made about this host before"]


def test_a_request_ends_with_the_command_that_asked(web: Web, tmp_path: Path) -> None:
    (tmp_path / "visit.py").write_text(VISIT)
    command = {"command": f"python3 -I visit.py {web.url('new.test')}", "timeout_ms": 2500}
    chosen = settings({"unknown": "ask"})
    script = [calls(("shell_command", command)), says("done")]
    result = agent_in(tmp_path, script, settings=chosen, approver=Thinking()).run("Go.")
    assert results(result)[0]["error_kind"] == "timeout"
    (asked,) = payloads_of(result.wal_locator, "approval_requested")
    (refused,) = payloads_of(result.wal_locator, "approval_refused")
    assert (refused.approval_id, refused.reason) == (asked.approval_id, "expired")


@pytest.mark.parametrize(("said", "kind"), [("approved", "address_blocked"), ("denied", "denied")])
def test_the_answer_may_come_from_elsewhere_while_the_command_waits(
    said: str, kind: str, web: Web, tmp_path: Path
) -> None:
    with open_ledger(tmp_path / "ledger", clock=SystemClock(), ids=RandomIds()) as ledger:

        def answer(event: Event) -> None:
            if isinstance(event.payload, ApprovalRequested):
                asked = event.payload
                body = {"run_id": event.run_id, "approval_id": asked.approval_id, "approval_key": asked.approval_key}
                ledger.inbox.send(event.run_id, "approve", {**body, "decision": said})

        agent = agent_in(
            tmp_path,
            visiting(tmp_path, web.url("new.test")),
            settings=settings({"unknown": "ask"}),
            approver=InboxApprovals(),
            inbox=ledger.inbox,
            hooks=[answer],
        )
        result = agent.run("Go.")
    assert result.status == "completed"
    (decision,) = payloads_of(result.wal_locator, "network_decision")
    assert (decision.by, decision.kind) == ("person", kind)


def test_a_session_may_ask_when_the_call_that_started_it_is_over(web: Web, tmp_path: Path) -> None:
    (tmp_path / "visit.py").write_text(VISIT)
    line = f"python3 -I visit.py {web.url('new.test')}"
    script = [
        calls(("exec_command", {"cmd": line, "yield_time_ms": 0})),
        calls(("write_stdin", {"session_id": 1, "yield_time_ms": 30_000})),
        says("done"),
    ]
    asked: list[ApprovalRequested] = []
    finished: list[str] = []
    with open_ledger(tmp_path / "ledger", clock=SystemClock(), ids=RandomIds()) as ledger:

        def answer(event: Event) -> None:
            asked.extend([event.payload] if isinstance(event.payload, ApprovalRequested) else [])
            finished.extend([event.type] if event.type == "tool_call_finished" else [])
            if asked and finished and len(finished) < 2:
                body = {"approval_id": asked[0].approval_id, "approval_key": asked[0].approval_key}
                said = {"run_id": event.run_id, "decision": "approved", **body}
                ledger.inbox.send(event.run_id, "approve", said, idempotency_key="once")

        agent = agent_in(
            tmp_path,
            script,
            settings=settings({"unknown": "ask"}),
            approver=InboxApprovals(),
            inbox=ledger.inbox,
            hooks=[answer],
        )
        result = agent.run("Go.")
    assert result.status == "completed"
    assert "".join(one.get("stdout", "") for one in results(result)) == "403 address_blocked\r\n"
    assert payloads_of(result.wal_locator, "approval_refused") == []
