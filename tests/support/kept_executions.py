"""Somebody who carries out executions in a child, and acknowledges, line by line, what is promised to be kept."""

import random
from pathlib import Path
from typing import IO

import msgspec

from skills_runtime.executions import ExecutionLimits
from skills_runtime.executions.contract import request_digest
from skills_runtime.executions.jobs import Ended, Stop
from skills_runtime.executions.keeping import Begun, Keeper, Wanted, Within
from skills_runtime.executions.keys import key_digest
from skills_runtime.executions.places import Place
from skills_runtime.executions.programs import definition_of
from tests.unit.executions.samples import find

INPUT = b'{"a": 1}'


class Promised(msgspec.Struct, frozen=True):
    """What a caller was told: that an execution is begun, or how it ended."""

    key: str
    execution_id: str
    status: str
    artifacts: tuple[str, ...] = ()
    stdout: str = ""


def keeper_of(disk: Path, stages: Path) -> Keeper:
    """A keeper of the executions on a disk, who works somewhere else."""
    place = Place(disk / "deep" / "executions")
    place.make()
    return Keeper(place, ExecutionLimits(), stages)


def wanted(skills: Path, key: str, *, keyed: bool = True) -> Wanted:
    """An execution as somebody asks for it, under a key or not."""
    skill = find(skills)
    return Wanted(
        skill=skill,
        run=definition_of(skill),
        data=INPUT,
        request=request_digest(skill.mention.text, INPUT),
        timeout_ms=1000,
        key=key_digest(key) if keyed else None,
        within=Within(),
    )


def carry_out(say: IO[bytes], hear: IO[bytes], disk: Path, elsewhere: Path, seed: int, keyed: bool) -> None:
    """Do one execution for each line that is heard; nothing but the process itself is left out."""
    keeper, chance = keeper_of(disk, elsewhere / "stages"), random.Random(seed)
    for number, _ in enumerate(hear):
        key = f"{seed}-{number}"
        asked = wanted(elsewhere, key, keyed=keyed)
        begun = keeper.begin(asked, Stop())
        assert isinstance(begun, Begun)
        _tell(say, Promised(key, begun.record.execution_id, "running"))
        if chance.random() < 0.8:
            _tell(say, _ended(keeper, begun, asked, key, chance))
        say.write(b"\n")


def _ended(keeper: Keeper, begun: Begun, asked: Wanted, key: str, chance: random.Random) -> Promised:
    out = begun.stage / "skill" / "out" / "deep"
    out.mkdir(parents=True)
    (out / "file").write_bytes(chance.randbytes(2000))
    begun.sinks.feed("stdout", b"[%d]" % chance.randrange(1000))
    done = keeper.end(begun, asked, Ended(ended_by="exit", exit_code=0))
    return Promised(key, done.id, done.status, tuple(one.sha256 for one in done.artifacts), done.stdout)


def _tell(say: IO[bytes], promised: Promised) -> None:
    say.write(msgspec.json.encode(promised) + b"\n")
