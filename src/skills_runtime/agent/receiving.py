"""What the log holds of a message to a run: the skills that it mentions, and then the message itself."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from skills_runtime.events import Payload
from skills_runtime.events.payloads import InboxReceived
from skills_runtime.ports import InboxMessage
from skills_runtime.runs import Run

SkillsOf = Callable[[InboxMessage], Iterable[Payload]]
"""What becomes of the skills that a message mentions."""


def record(run: Run, message: InboxMessage, skills_of: SkillsOf | None = None) -> int:
    """The event that holds a message; one that is there already was the last before its process died.

    Its skills come first: should the process die between them and the message, it is taken in anew with all of them.
    """
    if message.position > run.state.inbox_position:
        for payload in skills_of(message) if skills_of is not None else ():
            run.append(payload)
        run.append(
            InboxReceived(
                message_id=message.id,
                position=message.position,
                kind=message.kind,
                body=_body(run, message),
                sent_at=message.created_at,
            )
        )
    return run.state.inbox_seq


def _body(run: Run, message: InboxMessage) -> dict[str, Any]:
    """The message as the log may hold it: arguments that an approver changed are a blob, as all arguments are."""
    body = dict(message.body)
    if message.kind == "approve" and isinstance(body.get("arguments"), dict):
        body["arguments_blob"] = run.keep(msgspec.json.encode(body.pop("arguments")))
    return body
