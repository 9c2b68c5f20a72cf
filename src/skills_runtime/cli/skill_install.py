"""Installing skills from the command line: fetch, show, ask, put in place; and how they compare with the lock file."""

import asyncio
import shlex
import sys
import termios
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TextIO

import msgspec

from skills_runtime.cli.inputs import checked_path
from skills_runtime.cli.state import shown_path
from skills_runtime.cli.text import plural
from skills_runtime.config.environment import process_environ
from skills_runtime.errors import ToolError, ValidationFailed
from skills_runtime.skills.discovery import is_trusted
from skills_runtime.skills.discovery import places_of as discovery_places
from skills_runtime.skills.install.consents import read_consents
from skills_runtime.skills.install.lockfile import InstallPaths, project_places, user_places
from skills_runtime.skills.install.operations import Installed, install_prepared
from skills_runtime.skills.install.prepare import Preparation, Prepared, SignaturePolicy, refuse_malicious
from skills_runtime.skills.install.signatures import Signer
from skills_runtime.skills.install.transaction import finish_interrupted, open_work_directory
from skills_runtime.text import readable, readable_line

_SHOWN_FILES = 30
_SIGNED = {"verified": "verified", "unsigned": "none", "unchecked": "not checked; nobody said whose counts"}
_WORDS = {
    "ok": "ok",
    "changed": "changed since it was locked",
    "missing": "locked, but not installed",
    "extra": "installed, but not locked",
    "unpinned": "locked without a hash",
}
Prepare = Callable[[Preparation], Awaitable[Sequence[Prepared]]]


def show_prepared(prepared: Sequence[Prepared], out: TextIO) -> None:
    """Show everything somebody has to know before they agree."""
    for each in prepared:
        _show(each, out)
    out.flush()


def show_installed(skills: Sequence[Installed], out: TextIO) -> None:
    """Write one line for each skill."""
    width = max((len(each.name) for each in skills), default=0)
    for each in skills:
        out.write(f"{each.status:8} {readable_line(each.name):{width}}  {_WORDS[each.status]}\n")
    wrong = sum(each.status in ("changed", "missing") for each in skills)
    out.write(f"{plural(len(skills), 'skill')}: {'all as locked' if not wrong else f'{wrong} not as locked'}\n")


def write_installed(skills: Sequence[Installed], out: TextIO) -> None:
    """Write the same as JSON."""
    rows = [
        {
            "name": each.name,
            "status": each.status,
            "directory": str(each.directory),
            "consented": each.consented,
            "computedHash": each.computed_hash,
            "source": each.entry.source if each.entry else None,
            "commit": each.entry.commit if each.entry else None,
        }
        for each in skills
    ]
    out.write(msgspec.json.format(msgspec.json.encode({"skills": rows})).decode() + "\n")


def _show(each: Prepared, out: TextIO) -> None:
    entry, screened, size = each.entry, each.screened, each.hashed.size
    out.write(f"{readable_line(each.name)} ({each.becomes})\n  {readable_line(screened.description)}\n")
    version = f" at {entry.commit[:12]}" if entry.commit else f" at {entry.ref}" if entry.ref else ""
    facts = {
        "source": f"{entry.source}{version}",
        "hash": each.hashed.computed_hash,
        "files": f"{plural(len(each.hashed.entries), 'file')}, {size} bytes",
        "scripts": ", ".join(screened.scripts) or "none",
        "allowed tools": ", ".join(screened.allowed_tools) or "none",
        "signature": _SIGNED[screened.signature],
        "security": screened.verdict,
        **({"action": screened.runs} if screened.runs else {}),
    }
    for label, fact in facts.items():
        out.write(f"  {label}: {readable_line(fact)}\n")
    out.writelines(f"    {readable_line(finding)}\n" for finding in screened.findings)
    out.writelines(f"  note: {readable_line(note)}\n" for note in screened.notes)
    if each.becomes == "new":
        paths = [entry.path for entry in each.hashed.entries]
        out.writelines(f"    {readable_line(path)}\n" for path in sorted(paths)[:_SHOWN_FILES])
        if len(paths) > _SHOWN_FILES:
            out.write(f"    and {len(paths) - _SHOWN_FILES} more\n")
    for change in each.changes:
        out.write(f"  {change.kind}: {readable_line(change.path)}\n")
        out.writelines(f"    {readable(line)}\n" for line in change.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """What the user agrees to without being asked."""

    yes: bool = False
    force: bool = False
    accept_risk: bool = False
    allowed_hosts: Sequence[str] = ()


def places_of(scope: Literal["project", "user"], workspace_root: str) -> InstallPaths:
    """The places that a command is about."""
    if scope == "user":
        return user_places()
    root = checked_path(workspace_root, option="--workspace-root")
    if not root.is_dir():
        raise ValidationFailed(f"there is no directory `{root}`", hint="name the directory of the project")
    return project_places(root)


def trust_of(
    key: str | None, certificates: Sequence[str], identity: str | None, issuer: str | None, *, required: bool
) -> SignaturePolicy:
    """Whose signatures count."""
    if key is None and not certificates and identity is None and issuer is None:
        return SignaturePolicy(None, required)
    signer = Signer(
        public_key=Path(key) if key is not None else None,
        certificates=tuple(map(Path, certificates)),
        identity=identity,
        issuer=issuer,
    )
    signer.check()
    return SignaturePolicy(signer, required)


def bring(
    places: InstallPaths, agreed: Agreed, trust: SignaturePolicy, prepare: Prepare, question: str
) -> list[Prepared]:
    """Prepare skills, show them, ask, and install; returns those that are new or changed."""
    from skills_runtime.engine.skill_operations import build_fetcher

    fetcher = build_fetcher(process_environ(), allowed_hosts=agreed.allowed_hosts)
    finish_interrupted(places)
    with open_work_directory(places) as work:
        preparation = Preparation(places, fetcher, work, trust)
        prepared = list(asyncio.run(_awaited(prepare(preparation))))
        unknown = [each for each in prepared if not is_agreed(places, each)]
        show_prepared(unknown, sys.stderr)
        for each in prepared:
            check(each, agreed)
        if unknown:
            ask(question, agreed)
        install_prepared(places, work, prepared, accepted_risk=agreed.accept_risk)
    return [each for each in prepared if each.becomes != "same"]


def check(prepared: Prepared, agreed: Agreed) -> None:
    """Refuse what nobody should agree to by habit."""
    if not agreed.accept_risk:
        refuse_malicious(prepared.name, prepared.screened)
    own = prepared.becomes == "changed" and (prepared.locked is None or prepared.edited)
    if own and not agreed.force:
        raise ValidationFailed(
            f"the installed skill `{prepared.name}` was written or changed here, and would be replaced",
            hint="`--force` replaces it; `skills rollback` brings it back",
        )


def is_agreed(places: InstallPaths, prepared: Prepared) -> bool:
    """Whether nothing changes that the user has not agreed to before."""
    return prepared.becomes == "same" and prepared.hashed.digest in read_consents(places.state)


def ask(question: str, agreed: Agreed) -> None:
    """Go on only if the user agrees; nobody there means no."""
    from skills_runtime.cli.terminal import somebody_is_there, wait_for_line

    if agreed.yes:
        return
    if not somebody_is_there():
        raise ToolError(
            "human_required",
            "nothing was changed: nobody is here to agree",
            hint="look at what is shown, then use `--yes`",
        )
    keyboard = sys.stdin.fileno()
    termios.tcflush(keyboard, termios.TCIFLUSH)  # what was typed before the question is no answer to it
    try:
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        answer = wait_for_line(keyboard) or ""
    except KeyboardInterrupt:
        answer = ""
    if answer.strip().lower() not in ("y", "yes"):
        raise ToolError("cancelled", "nothing was changed", hint="only `y` or `yes` agrees")


def tell(prepared: Sequence[Prepared], places: InstallPaths, *, otherwise: str = "") -> None:
    """Say what was put in place, or else that nothing was, and what is missing until it is offered."""
    for each in prepared:
        print(readable_line(shown_path(places.skills / each.name)))
    if not prepared:
        sys.stderr.write(f"{otherwise}\n")
    elif not _is_offered(places):
        sys.stderr.write(
            "the project is not trusted, so its skills are not offered yet;"
            f" next: `skills trust {shlex.quote(shown_path(places.root))}`\n"
        )


def _is_offered(places: InstallPaths) -> bool:
    """Whether skills at these places are offered without anything more."""
    process = process_environ()
    if places.skills == user_places().skills:
        return True
    return is_trusted(discovery_places(places.root, process))


async def _awaited(work: Awaitable[Sequence[Prepared]]) -> Sequence[Prepared]:
    return await work
