"""Deciding on a request from anywhere: the decision is kept first, then the run goes on here, if nobody works on it."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from skills_runtime.cli.errors import Program
from skills_runtime.cli.locate import short_approval, short_id
from skills_runtime.cli.options import ConfigOptions, ViewOptions
from skills_runtime.cli.output import write_receipt
from skills_runtime.cli.requests import Asked, find_request
from skills_runtime.cli.resuming import resume_run
from skills_runtime.cli.state import log_ports, login_name, this_ledger
from skills_runtime.cli.waits import command_for
from skills_runtime.engine import RunControl
from skills_runtime.errors import ApprovalStale, LogEnded, LogLocked, NotFound
from skills_runtime.events.payloads import ApprovalDecided
from skills_runtime.ledger import Ledger
from skills_runtime.ports import Decision, InboxMessage
from skills_runtime.runs import RunPaths, read_events, read_view
from skills_runtime.text import readable_line

PATIENCE_SECONDS = 2.0
"""How long somebody who works on the run has to take the decision in, before we say that it waits."""
_PAUSE_SECONDS = 0.1
WORDS: Mapping[str, str] = {
    "approved": "approved",
    "approved_for_session": "approved for the session",
    "denied": "denied",
    "abort": "denied, and the run ends",
}


def look_up(reference: str, workspace_root: str, ledger: Ledger, program: str) -> Asked:
    """The request somebody wants to decide on; one that is decided already is refused."""
    asked = find_request(reference, ledger, workspace_root)
    if asked.decided is not None:
        by = f" by {asked.decided['decided_by']}" if asked.decided.get("decided_by") else ""
        said = WORDS.get(str(asked.decided.get("decision")), "decided")
        resume = command_for(program, short_id(asked.run_id))("runs resume")
        raise ApprovalStale(
            f"`{short_approval(asked.id)}` was decided already: {said}{by}", hint=f"`{resume}` goes on with it"
        )
    return asked


def decide(asked: Asked, decision: Decision, ledger: Ledger) -> InboxMessage:
    """Keep a decision, which counts for exactly what was looked up."""
    decision = msgspec.structs.replace(decision, decided_by=login_name())
    desk = RunControl(ledger.inbox, log_ports())
    pending = asked.pending
    return desk.decide(asked.paths, decision, approval_id=pending.approval_id, approval_key=pending.approval_key)


def go_on(
    asked: Asked,
    message: InboxMessage,
    given: ConfigOptions,
    view: ViewOptions,
    program: Program,
    *,
    resume: bool = True,
) -> int:
    """Let the run go on here, unless it is to wait or somebody works on it already."""
    run = _to_resume(asked)
    told = f"{WORDS[message.body['decision']]}: {asked.pending.summary or asked.pending.tool}"
    following = command_for(program.name, short_id(run.root.name))("runs resume")
    if not resume:
        return write_receipt(message, f"{told}; kept until the run goes on", following, as_json=view.json)
    if not (view.json or view.quiet):
        sys.stderr.write(f"{readable_line(told)}\n")
        sys.stderr.flush()
    for _ in range(2):  # who works on the run may be about to leave it
        try:
            return resume_run(run, given, view, program).exit_code
        except (LogLocked, LogEnded):
            if _is_taken_in(asked, message):
                return _handed_over(asked, message, "taken in by the process that works on the run", view)
    return _handed_over(asked, message, "handed over to the process that works on the run", view)


def _handed_over(asked: Asked, message: InboxMessage, how: str, view: ViewOptions) -> int:
    return write_receipt(message, f"the decision on `{short_approval(asked.id)}` was {how}", as_json=view.json)


def _is_taken_in(asked: Asked, message: InboxMessage) -> bool:
    """Whether somebody acts on the decision before long; one that came too late is refused."""
    ports, deadline = log_ports(), time.monotonic() + PATIENCE_SECONDS
    while True:
        view = read_view(asked.paths, ports)
        if not view.state.open or asked.id not in view.pending.approvals.open:
            _refuse_late(asked, message)
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_SECONDS)


def _refuse_late(asked: Asked, message: InboxMessage) -> None:
    """Somebody at the terminal of the run may have been faster."""
    for event in read_events(asked.paths, from_seq=asked.pending.seq):
        made = event.payload
        if isinstance(made, ApprovalDecided) and made.approval_id == asked.id and made.message_id != message.id:
            said, by = WORDS.get(made.decision, "decided"), f" by {made.decided_by}" if made.decided_by else ""
            raise ApprovalStale(f"`{short_approval(asked.id)}` was decided already: {said}{by}")


def _to_resume(asked: Asked) -> RunPaths:
    """The run that goes on: what a sub-agent does is worked on by the run that began it."""
    ports, paths, parent = log_ports(), asked.paths, asked.parent
    with this_ledger() as ledger:
        while parent is not None:
            try:
                above = RunPaths(Path(ledger.index.get(parent).path))
            except NotFound:
                break
            state = read_view(above, ports).state
            if not state.open:
                break
            paths, parent = above, state.parent_run_id if state.fork is None else None
    return paths
