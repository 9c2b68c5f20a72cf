"""Writers that run in a child and acknowledge, line by line, what they were told is safe."""

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import IO, Literal

import msgspec

from skills_runtime.events import Event
from skills_runtime.events.payloads import (
    HumanRequest,
    LlmResponseDelta,
    RunCompleted,
    ToolCallFinished,
    ToolCallStarted,
)
from skills_runtime.events.states import RunStatus
from skills_runtime.ports import Disk
from skills_runtime.runs.create import create_run
from skills_runtime.runs.run import Run, open_run
from skills_runtime.testing import FaultyDisk
from tests.support.runs import RUN_ID, ports_in, spec_in

Durability = Literal["written", "committed"]
Behaviour = Literal["mixed", "write", "commit", "commit on a lying disk", "keep without commit"]


class Acknowledged(msgspec.Struct, frozen=True):
    """What the product promised: an event, how firmly, and the bytes it refers to."""

    seq: int
    mac: str
    durability: Durability
    blob: str | None = None


class Writer:
    """Does to a run what an agent would, in a seeded order, and says after each step what was promised."""

    def __init__(self, run: Run, say: IO[bytes], seed: int) -> None:
        self.run = run
        self._say = say
        self._random = random.Random(seed)

    def step(self, behaviour: Behaviour = "mixed") -> None:
        """Do one thing and acknowledge it."""
        steps: dict[Behaviour, list[Callable[[], None]]] = {
            "mixed": [self.write, self.stream, self.commit, self.keep, self.change],
            "write": [self.write],
            "commit": [self.commit],
            "commit on a lying disk": [self.commit],
            "keep without commit": [self.mention],
        }
        self._random.choice(steps[behaviour])()

    def write(self) -> None:
        """Append without committing."""
        answer = "x" * self._random.randrange(2000)
        self._acknowledge(self.run.append(HumanRequest(call_id="c", question=answer)), "written")

    def stream(self) -> None:
        """Append several at once, as a streamed answer does."""
        for _ in range(self._random.randrange(1, 6)):
            self._acknowledge(self.run.append(LlmResponseDelta(delta_type="text", text="…")), "written")

    def commit(self) -> None:
        """Append and commit."""
        event = self.run.append(ToolCallStarted(call_id="c", tool="write"))
        self.run.commit()
        self._acknowledge(event, "committed")

    def keep(self) -> None:
        """Keep bytes, refer to them, commit; sometimes the same bytes as before."""
        blob = self.run.keep(b"%d" % self._random.randrange(20) * self._random.choice([1, 3000]))
        event = self.run.append(ToolCallFinished(call_id="c", tool="write", result={"ok": True}, result_blob=blob))
        self.run.commit()
        self._acknowledge(event, "committed", blob)

    def mention(self) -> None:
        """Keep bytes and refer to them, but do not commit."""
        blob = self.run.keep(b"%d" % self._random.randrange(1000))
        event = self.run.append(ToolCallFinished(call_id="c", tool="write", result={"ok": True}, result_blob=blob))
        self._acknowledge(event, "written", blob)

    def change(self) -> None:
        """Move to another state, which commits."""
        waiting = self.run.state.status is RunStatus.WAITING_FOR_TOOL
        heard: list[Event] = []
        self.run.log.listen(heard.append)
        self.run.change(RunStatus.WAITING_FOR_TOOL if self._running() and not waiting else RunStatus.RUNNING)
        self._acknowledge(heard[0], "committed")

    def _running(self) -> bool:
        return self.run.state.status is RunStatus.RUNNING

    def _acknowledge(self, event: Event, durability: Durability, blob: str | None = None) -> None:
        self._say.write(msgspec.json.encode(Acknowledged(event.seq, event.mac, durability, blob)) + b"\n")


def create_or_open(place: Path, run_id: str, *, disk: Disk | None = None) -> Run:
    """The run with this id below `place`."""
    spec = spec_in(place, run_id=run_id)
    ports = ports_in(place, disk=disk)
    return open_run(spec.root, ports) if spec.root.exists() else create_run(spec, ports)


def write_until_killed(say: IO[bytes], hear: IO[bytes], place: Path, run_id: str, seed: int) -> None:
    """Write as fast as possible; whoever started this must end it."""
    writer = Writer(create_or_open(place, run_id), say, seed)
    while True:
        writer.step()


def create_until_killed(say: IO[bytes], hear: IO[bytes], place: Path) -> None:
    """Create one run after another; whoever started this must end it."""
    for number in itertools.count():
        create_or_open(place, f"run_{number}").close()
        say.write(f"run_{number}\n".encode())


def end_until_killed(say: IO[bytes], hear: IO[bytes], place: Path) -> None:
    """Create and end one run after another; whoever started this must end it."""
    for number in itertools.count():
        run = create_or_open(place, f"run_{number}")
        run.change(RunStatus.RUNNING)
        run.append(RunCompleted(final_output="done"))
        run.commit()
        say.write(f"run_{number}\n".encode())
        run.save()
        run.close()


def create_linked(say: IO[bytes], hear: IO[bytes], place: Path) -> None:
    """Create a run that lives outside its workspace, and commit."""
    link = place / "workspace" / ".skills_runtime_sdk" / "runs" / RUN_ID
    run = create_run(spec_in(place, root=place / "far" / "away" / "run", link=link), ports_in(place))
    run.commit()
    run.close()


def write_in_step(say: IO[bytes], hear: IO[bytes], place: Path, run_id: str, seed: int, behaviour: Behaviour) -> None:
    """For the first line heard open the run, for each other do one thing; say an empty line when it is done."""
    disk = FaultyDisk()
    if behaviour == "commit on a lying disk":
        disk.pretend_syncs()
    writer: Writer | None = None
    while hear.readline():
        if writer is None:
            writer = Writer(create_or_open(place, run_id, disk=disk), say, seed)
        else:
            writer.step(behaviour)
        say.write(b"\n")
