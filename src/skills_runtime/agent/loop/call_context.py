"""What a tool may use while it runs one call."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from skills_runtime.agent.loop.human import ask
from skills_runtime.agent.loop.ports import AgentPorts
from skills_runtime.events import Payload
from skills_runtime.ports import Children, Files, Question, Sandbox, Scope
from skills_runtime.projections import Call
from skills_runtime.runs import Run


class CallContext(msgspec.Struct, frozen=True):
    """One call of one run."""

    run: Run
    call: Call
    ports: AgentPorts
    asked: list[int] = msgspec.field(default_factory=list[int])

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
        return self.ports.files.for_call(self.call.id)

    @property
    def sandbox(self) -> Sandbox:
        """The fence for processes."""
        return self.ports.sandbox

    @property
    def scope(self) -> Scope:
        """Things that live as long as the run is worked on."""
        return self.ports.scope

    @property
    def children(self) -> Children | None:
        """The runs this one may begin."""
        return self.ports.children

    def emit(self, payload: Payload) -> None:
        """Record an event on behalf of the call."""
        self.run.append(payload, step_id=self.call.step_id)

    def keep(self, data: bytes) -> str:
        """Keep bytes as a blob of the run; returns their digest."""
        return self.run.keep(data)

    async def ask(self, *questions: Question) -> Mapping[str, str]:
        """Ask a person and return the answers by question id."""
        self.asked.append(len(questions))
        return await ask(self.run, self.ports, self.call, questions, number=len(self.asked))
