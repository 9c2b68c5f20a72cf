"""Installing skills for a client in two steps: first what they are, then exactly those that somebody agreed to."""

import asyncio
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from skills_runtime.config.environment import process_environ
from skills_runtime.engine.workspace import Workspace
from skills_runtime.errors import AccessRefused, RequestConflict, StorageFailed, ValidationFailed
from skills_runtime.ports.sandbox import Enclosure, Watch
from skills_runtime.processes import Command, Limits, execute
from skills_runtime.sandbox.egress.rules import parse_address, reach_of
from skills_runtime.skills.install.fetch import SkillFetcher
from skills_runtime.skills.install.git import (
    FETCH_SECONDS,
    MAX_OUTPUT_BYTES,
    MAX_PACK_BYTES,
    MAX_PACK_FILES,
    GitCommand,
    GitResult,
)
from skills_runtime.skills.install.lockfile import project_places
from skills_runtime.skills.install.operations import install_prepared
from skills_runtime.skills.install.prepare import Preparation, Prepared, refuse_malicious
from skills_runtime.skills.install.sources import ArchiveSource, InstallSource, LocalSource, parse_source
from skills_runtime.skills.install.transaction import finish_interrupted, open_work_directory
from skills_runtime.skills.install.web import Reach
from skills_runtime.skills.standard.parse import parse_skill
from skills_runtime.storage import stage_directory

FILE = "SKILL.md"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Skills somebody wants, and the digests of those they have looked at."""

    source: str
    skills: tuple[str, ...] = ()
    everything: bool = False
    ref: str | None = None
    agreed: Mapping[str, str] = {}


def install_skills(home: Workspace, wanted: Wanted) -> dict[str, Any]:
    """What would be installed, or what was: only skills whose digests somebody agreed to, all or none."""
    places = project_places(home.workspace_root)
    source = parse_source(wanted.source, here=home.workspace_root, ref=wanted.ref)
    _refuse_elsewhere(source, home)
    finish_interrupted(places)
    with open_work_directory(places) as work:
        preparation = Preparation(places, build_fetcher(process_environ()), work)
        prepared = asyncio.run(_prepared(preparation, source, wanted))
        shown = [_shown(one) for one in prepared]
        if not wanted.agreed:
            return {"installed": False, "skills": shown}
        if {one.name: one.hashed.digest for one in prepared} != dict(wanted.agreed):
            raise RequestConflict(
                "these are not the skills that were agreed to", hint="look at them again", details={"skills": shown}
            )
        _check(prepared)
        install_prepared(places, work, prepared)
    return {"installed": True, "skills": shown}


async def _prepared(preparation: Preparation, source: InstallSource, wanted: Wanted) -> list[Prepared]:
    return await preparation.install(source, wanted.skills, everything=wanted.everything)


def _check(prepared: Sequence[Prepared]) -> None:
    for one in prepared:
        refuse_malicious(one.name, one.screened)
        if one.becomes == "changed" and (one.locked is None or one.edited):
            raise RequestConflict(
                f"the installed skill `{one.name}` was written or changed here, and would be replaced",
                hint="remove it first, or install from the command line",
            )


def _refuse_elsewhere(source: InstallSource, home: Workspace) -> None:
    """A client names nothing on this machine but what is in the workspace."""
    match source:
        case LocalSource(path=place):
            path = Path(place)
        case ArchiveSource(location=location) if "://" not in location:
            path = home.workspace_root / location
        case _:
            return
    if not path.resolve().is_relative_to(home.workspace_root.resolve()):
        raise AccessRefused("what is outside the workspace is not a source here", hint="copy it into the workspace")


def _shown(one: Prepared) -> dict[str, Any]:
    return {
        "name": one.name,
        "digest": one.hashed.digest,
        "size": one.hashed.size,
        "becomes": one.becomes,
        **msgspec.to_builtins(one.screened),
    }


class SkillDraft(NamedTuple):
    """A skill as it was typed."""

    name: str
    description: str
    body: str = ""
    title: str = ""

    def text(self) -> str:
        """The whole `SKILL.md`; quotes of JSON are quotes of YAML too."""
        description = msgspec.json.encode(self.description).decode()
        heading = f"# {self.title.strip() or self.name}\n\n"
        return f"---\nname: {self.name}\ndescription: {description}\n---\n\n{heading}{self.body.rstrip()}\n"


def write_skill(parent: str | Path, draft: SkillDraft) -> Path:
    """Make the directory of a new skill; returns its file."""
    try:
        data = draft.text().encode()
    except UnicodeEncodeError:
        raise ValidationFailed("the skill is not valid text", hint="correct its encoding") from None
    parsed = parse_skill(data, mode="lenient", directory_name=draft.name)
    legal = draft.name.replace("-", "").replace("_", "").isalnum() and draft.name.isascii()
    for wrong in parsed.diagnostics:
        if wrong.severity == "error":
            raise ValidationFailed(wrong.message, hint=wrong.hint, field="name")
    if not legal or draft.name != draft.name.lower() or not draft.name[0].isalnum():
        raise ValidationFailed(
            f"{draft.name[:80]!a} cannot be the name of a skill",
            hint="use small letters, digits and hyphens",
            field="name",
        )
    return _put(Path(parent), draft.name, data)


def _put(parent: Path, name: str, data: bytes) -> Path:
    place = parent / name
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with stage_directory(place, mode=0o755) as draft:  # fails where something was put there meanwhile
            if os.path.lexists(place):
                raise RequestConflict(f"there is a skill `{name}` already", hint="choose another name")
            (draft / FILE).write_bytes(data)
    except (FileExistsError, NotADirectoryError) as error:
        raise RequestConflict(f"a file is where the skill would go: {error.strerror}") from error
    except OSError as error:
        raise StorageFailed(f"the skill could not be written: {error.strerror}") from error
    return place / FILE


def build_fetcher(environment: Mapping[str, str], *, allowed_hosts: Collection[str] = ()) -> SkillFetcher:
    """Build a fetcher that runs git as a process of its own and knows which addresses are public."""
    return SkillFetcher(environment, _run_git, classify_address, allowed_hosts=allowed_hosts)


async def _run_git(command: GitCommand) -> GitResult:
    watch = Watch(disk_path=str(command.cwd), disk_bytes=MAX_PACK_BYTES, disk_files=MAX_PACK_FILES)
    finished = await execute(
        Command(command.argv, command.cwd, command.environment, stdin=command.stdin, enclosure=Enclosure(watch=watch)),
        Limits(wall_seconds=FETCH_SECONDS, output_bytes=MAX_OUTPUT_BYTES),
    )
    return GitResult(
        exit_code=finished.exit_code,
        ended_by=finished.ended_by,
        stdout=finished.stdout.head + finished.stdout.tail,
        stderr=finished.stderr.head + finished.stderr.tail,
        is_cut=finished.stdout.left_out > 0,
    )


def classify_address(address: str) -> Reach:
    """Tell where an IP address leads; one that cannot be parsed is `special`."""
    parsed = parse_address(address)
    return "special" if parsed is None else reach_of(parsed)
