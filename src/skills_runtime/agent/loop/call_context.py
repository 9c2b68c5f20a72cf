"""What a tool may use while it runs one call."""

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
    """The key of what was approved, if a person was asked."""

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
        """The same each time this call is made; a service may use a call's id again in a later answer."""
        name = f"{self.run_id}\n{self.call.step_id}\n{self.call.id}"
        return hashlib.sha256(name.encode()).hexdigest()[:32]

    @property
    def root(self) -> Path:
        """The directory processes start in."""
        return self.ports.root

    @property
    def files(self) -> Files:
        """The run's files."""
        return restrict_files(self.ports.files(), self.ports.gate.rules, self.call.tool).for_call(self.call.id)

    @property
    def sandbox(self) -> Sandbox:
        """The fence for processes."""
        return self.ports.sandbox

    @property
    def secrets(self) -> Secrets:
        """What must not be shown."""
        return self.ports.secrets

    @property
    def scope(self) -> Scope:
        """Things that live as long as the run is worked on."""
        return self.ports.scope

    @property
    def children(self) -> Children | None:
        """The runs this one may begin."""
        return self.ports.children

    @property
    def edited_blob(self) -> str | None:
        """The arguments as an approver changed them, if one did."""
        settled = self.approvals.settled.get(self.call.id)
        return settled.arguments_blob if settled is not None else None

    def arguments(self) -> bytes:
        """The exact arguments that count."""
        edited = self.edited_blob
        return self.run.blobs.get(edited) if edited else self.proposed_arguments()

    def proposed_arguments(self) -> bytes:
        """The exact arguments as the model wrote them: what an approver is asked about."""
        return arguments_of(self.call, self.run.blobs.get).encode()

    @property
    def approvals(self) -> Approvals:
        """What was asked and decided so far."""
        return self.run.view.pending.approvals

    @property
    def cancelled(self) -> bool:
        """Whether somebody wants the run to stop."""
        return bool(self.run.view.pending.cancelled)

    def fetch(self, digest: str) -> bytes:
        """The bytes of a blob."""
        return self.run.blobs.get(digest)

    def now(self) -> str:
        """The time, as events have it."""
        return self.run.ports.clock.now()

    def new_id(self, kind: str) -> str:
        """A name that nothing else has: it is the name of the next event."""
        name = f"{self.run_id}\n{self.run.state.last_seq + 1}"
        return f"{kind}_{hashlib.sha256(name.encode()).hexdigest()[:16]}"

    async def commit(self) -> None:
        """Return when everything recorded is durable."""
        await self.run.commit_async()

    async def look(self) -> None:
        """Take in the messages that wait."""
        await receive_messages(self.run, self.ports)

    def emit(self, payload: Payload) -> None:
        """Record an event on behalf of the call."""
        self.run.append(payload, step_id=self.call.step_id)

    def keep(self, data: bytes) -> str:
        """Keep bytes as a blob of the run; returns their digest."""
        return self.run.put_blob(data)

    async def confirm(self) -> None:
        """Raise unless the call would still do what was approved."""
        tool = self.ports.tools.find(self.call.tool)
        if tool is not None and self.approved_keys:
            await self.ports.gate.confirm(tool, read_arguments(self.arguments()), self)

    async def may_reach(self, host: str, port: int) -> bool:
        """Whether somebody who is asked now lets the call reach a host; who stops the run there raises `Abort`."""
        # Under a name of its own: what was decided about the call itself stays as it is.
        call = msgspec.structs.replace(self.call, id=f"{self.call.id}#{host}:{port}")
        return await self.ports.gate.may_reach(host, port, call.tool, msgspec.structs.replace(self, call=call))

    async def ask(self, *questions: Question) -> Mapping[str, str]:
        """Ask a person and return the answers by question id."""
        self.question_counts.append(len(questions))
        return await ask(self.run, self.ports, self.call, questions, number=len(self.question_counts))
