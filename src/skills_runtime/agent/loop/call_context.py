"""The context that a tool gets for one call."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from skills_runtime.agent.loop.human import ask
from skills_runtime.agent.loop.inbox import receive_messages
from skills_runtime.agent.loop.model_call import arguments_of, read_arguments
from skills_runtime.agent.loop.ports import AgentPorts
from skills_runtime.events import Payload
from skills_runtime.ports import Children, Files, Question, Sandbox, Scope, Secrets
from skills_runtime.projections import Approvals, Call
from skills_runtime.runs import Run
from skills_runtime.safety import restrict_files


class CallContext(msgspec.Struct, frozen=True):
    """One call of one run."""

    run: Run
    call: Call
    ports: AgentPorts
    question_counts: list[int] = msgspec.field(default_factory=list[int])
    approved_keys: list[str] = msgspec.field(default_factory=list[str])
    """Keys of approvals that a user gave for this call."""

    @property
    def run_id(self) -> str:
        """The run this call belongs to."""
        return self.run.state.run_id

    @property
    def call_id(self) -> str:
        """The call this invocation belongs to."""
        return self.call.id

    @property
    def idempotency_key(self) -> str:
        """Stable key of this call, also when it is repeated; providers may reuse a call id in a later answer."""
        name = f"{self.run_id}\n{self.call.step_id}\n{self.call.id}"
        return hashlib.sha256(name.encode()).hexdigest()[:32]

    @property
    def root(self) -> Path:
        """The working directory of processes."""
        return self.ports.root

    @property
    def files(self) -> Files:
        """The run's files."""
        return restrict_files(self.ports.files(), self.ports.gate.rules, self.call.tool).for_call(self.call.id)

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox for processes."""
        return self.ports.sandbox

    @property
    def secrets(self) -> Secrets:
        """The secrets to redact."""
        return self.ports.secrets

    @property
    def scope(self) -> Scope:
        """Resources that live as long as work on the run."""
        return self.ports.scope

    @property
    def children(self) -> Children | None:
        """The port that starts child runs."""
        return self.ports.children

    @property
    def edited_blob(self) -> str | None:
        """The blob with arguments that an approver edited, if any."""
        settled = self.approvals.settled.get(self.call.id)
        return settled.arguments_blob if settled is not None else None

    def arguments(self) -> bytes:
        """Return the exact arguments to execute."""
        edited = self.edited_blob
        return self.run.blobs.get(edited) if edited else self.proposed_arguments()

    def proposed_arguments(self) -> bytes:
        """Return the exact arguments as the model wrote them, which the approver is asked about."""
        return arguments_of(self.call, self.run.blobs.get).encode()

    @property
    def approvals(self) -> Approvals:
        """Approval requests and decisions so far."""
        return self.run.view.pending.approvals

    @property
    def cancelled(self) -> bool:
        """Whether the run is being cancelled."""
        return bool(self.run.view.pending.cancelled)

    def fetch(self, digest: str) -> bytes:
        """Return the bytes of a blob."""
        return self.run.blobs.get(digest)

    def now(self) -> str:
        """Return the current time in the format of events."""
        return self.run.ports.clock.now()

    def new_id(self, kind: str) -> str:
        """Return a unique id derived from the number of the next event."""
        name = f"{self.run_id}\n{self.run.state.last_seq + 1}"
        return f"{kind}_{hashlib.sha256(name.encode()).hexdigest()[:16]}"

    async def commit(self) -> None:
        """Wait until everything recorded is durable."""
        await self.run.commit_async()

    async def look(self) -> None:
        """Receive pending messages."""
        await receive_messages(self.run, self.ports)

    def emit(self, payload: Payload) -> None:
        """Record an event on behalf of the call."""
        self.run.append(payload, step_id=self.call.step_id)

    def keep(self, data: bytes) -> str:
        """Store bytes as a blob of the run and return the digest."""
        return self.run.put_blob(data)

    async def confirm(self) -> None:
        """Raise unless the call would still do exactly what was approved."""
        tool = self.ports.tools.find(self.call.tool)
        if tool is not None and self.approved_keys:
            await self.ports.gate.confirm(tool, read_arguments(self.arguments()), self)

    async def may_reach(self, host: str, port: int) -> bool:
        """Ask whether the call may connect to a host; raise `Abort` if the approver stops the run.

        Raise `Undecided` without a decision while the command can wait.
        """
        # A separate id keeps the decision about the call itself untouched.
        call = msgspec.structs.replace(self.call, id=f"{self.call.id}#{host}:{port}")
        return await self.ports.gate.may_reach(host, port, call.tool, msgspec.structs.replace(self, call=call))

    async def ask(self, *questions: Question) -> Mapping[str, str]:
        """Ask the user and return the answers by question id."""
        self.question_counts.append(len(questions))
        return await ask(self.run, self.ports, self.call, questions, number=len(self.question_counts))
