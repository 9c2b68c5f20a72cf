"""`skills`: install skills from elsewhere, update, remove and lock them.

What installs skills is slow to import, and help pages need none of it: functions that use it import it.
"""

import shlex
import sys
import termios
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from skills_runtime.cli.options import (
    Json,
    WorkspaceRoot,
    checked_path,
    checked_text,
    repeatable,
    shown_path,
)
from skills_runtime.cli.output import plural, write_json
from skills_runtime.cli.program import ExampleCommand, Misuse, create_app
from skills_runtime.errors import EXIT_CODES, ToolError, ValidationFailed
from skills_runtime.text import readable, readable_line

if TYPE_CHECKING:
    from skills_runtime.engine import InstallOptions, PreparedSkills, SkillOperations
    from skills_runtime.skills.install import Installed, InstallPaths, Prepared, SignaturePolicy

app = create_app()

RequireSignature = Annotated[
    bool, typer.Option("--require-signature", help="Refuse skills without a signature that holds.")
]
SignerKey = Annotated[
    str | None, typer.Option("--signer-key", metavar="FILE", help="The public key signatures are made with.")
]
SignerCertificates = Annotated[
    list[str],
    repeatable("--signer-certificate", metavar="FILE", help="A certificate of the signer; repeatable."),
]
SignerIdentity = Annotated[
    str | None, typer.Option("--signer-identity", metavar="ID", help="Who signs, as sigstore knows them.")
]
SignerIssuer = Annotated[
    str | None, typer.Option("--signer-issuer", metavar="URL", help="Who vouches for that identity.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Agree to what is shown; for scripts.")]
Force = Annotated[bool, typer.Option("--force", help="Also replace or remove what somebody wrote or changed here.")]
AcceptRisk = Annotated[
    bool, typer.Option("--accept-risk", help="Install even what the security scan takes for malicious.")
]
Scope = Annotated[
    Literal["project", "user"],
    typer.Option("--scope", help="`project`: .agents/skills and skills-lock.json here; `user`: those at home."),
]
AllowHost = Annotated[
    list[str],
    repeatable("--allow-host", metavar="HOST", help="A private host that locked skills may come from; repeatable."),
]

_SHOWN_FILES = 30
_SIGNED = {"verified": "verified", "unsigned": "none", "unchecked": "not checked; nobody said whose counts"}
_WORDS = {
    "ok": "ok",
    "changed": "changed since it was locked",
    "missing": "locked, but not installed",
    "extra": "installed, but not locked",
    "unpinned": "locked without a hash",
}
_HINT = "`skills install --frozen --force` puts back what is locked; `skills lock` locks what is there"


@dataclass(frozen=True, slots=True)
class Agreed:
    """What the user agrees to without being asked."""

    yes: bool
    force: bool
    accept_risk: bool


@app.command(
    "install", cls=ExampleCommand, epilog="skills install anthropics/skills --skill pdf\nskills install --frozen --yes"
)
def skills_install(
    *,
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="SOURCE",
            help="owner/repo, an address, a directory, or a .zip or .skill file; `#` names a version.",
        ),
    ] = None,
    skill: Annotated[
        list[str],
        repeatable("--skill", "-s", metavar="NAME", help="One of its skills, by name or path; repeatable."),
    ],
    everything: Annotated[bool, typer.Option("--all", help="All its skills.")] = False,
    ref: Annotated[
        str | None, typer.Option("--ref", metavar="VERSION", help="A branch, tag or commit of a git repository.")
    ] = None,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Install exactly what the lock file says, or nothing at all.")
    ] = False,
    require_signature: RequireSignature = False,
    signer_key: SignerKey = None,
    signer_certificate: SignerCertificates,
    signer_identity: SignerIdentity = None,
    signer_issuer: SignerIssuer = None,
    workspace_root: WorkspaceRoot = ".",
    scope: Scope = "project",
    yes: Yes = False,
    force: Force = False,
    accept_risk: AcceptRisk = False,
    allow_host: AllowHost,
) -> int:
    """Install skills, after showing what they are and asking."""
    from skills_runtime.skills.install import parse_source

    agreed = Agreed(yes, force, accept_risk)
    trust = _trust_of(signer_key, signer_certificate, signer_identity, signer_issuer, required=require_signature)
    options = _options(scope, trust, allow_host)
    if frozen == (source is not None):
        raise Misuse("give either a SOURCE or `--frozen`")
    if frozen and (skill or everything or ref):
        raise Misuse("`--frozen` installs what the lock file says; it takes no choice")
    if skill and everything:
        raise Misuse("`--skill` and `--all` exclude each other")
    skills, nothing = _skills(workspace_root), "everything is installed as it is there"
    if source is None:
        with skills.prepare_locked(options) as prepared:
            return _install(prepared, prepared.unapproved, agreed, "Install what is locked?", nothing)
    parsed = parse_source(checked_text(source, "SOURCE"), here=Path.cwd(), ref=ref)
    with skills.prepare_install(parsed, skill, options, everything=everything) as prepared:
        return _install(prepared, prepared.unapproved, agreed, "Install this?", nothing)


@app.command("update", cls=ExampleCommand, epilog="skills update\nskills update release-notes --yes")
def skills_update(
    *,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME",
            help="Locked skills; all of them if none is named.",
            default_factory=list,
            show_default=False,
        ),
    ],
    require_signature: RequireSignature = False,
    signer_key: SignerKey = None,
    signer_certificate: SignerCertificates,
    signer_identity: SignerIdentity = None,
    signer_issuer: SignerIssuer = None,
    workspace_root: WorkspaceRoot = ".",
    scope: Scope = "project",
    yes: Yes = False,
    force: Force = False,
    accept_risk: AcceptRisk = False,
    allow_host: AllowHost,
) -> int:
    """Update skills, after showing what changes and asking."""
    trust = _trust_of(signer_key, signer_certificate, signer_identity, signer_issuer, required=require_signature)
    nothing = "there is nothing newer than what is installed"
    with _skills(workspace_root).prepare_update(names, _options(scope, trust, allow_host)) as prepared:
        agreed = Agreed(yes, force, accept_risk)
        return _install(prepared, prepared.unapproved, agreed, "Take these changes?", nothing)


@app.command(
    "remove", cls=ExampleCommand, epilog="skills remove release-notes\nskills remove release-notes --scope user"
)
def skills_remove(
    *,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Installed skills.")],
    force: Force = False,
    workspace_root: WorkspaceRoot = ".",
    scope: Scope = "project",
) -> int:
    """Remove skills; `skills rollback` brings them back."""
    given = [checked_text(name, "NAME") for name in names]
    _skills(workspace_root).remove(given, scope=scope, unlocked_too=force)
    return 0


@app.command(
    "rollback", cls=ExampleCommand, epilog="skills rollback release-notes\nskills rollback release-notes --yes"
)
def skills_rollback(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A skill that was updated or removed.")],
    workspace_root: WorkspaceRoot = ".",
    scope: Scope = "project",
    yes: Yes = False,
    force: Force = False,
    accept_risk: AcceptRisk = False,
    allow_host: AllowHost,
) -> int:
    """Put the version of a skill back that was there before."""
    del allow_host  # nothing is fetched
    with _skills(workspace_root).prepare_rollback(checked_text(name, "NAME"), scope) as prepared:
        return _install(prepared, prepared.skills, Agreed(yes, force, accept_risk), "Put this version back?")


@app.command("lock", cls=ExampleCommand, epilog="skills lock\nskills lock --scope user")
def skills_lock(
    *,
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    scope: Scope = "project",
) -> int:
    """Write the lock file from what is installed."""
    _write_compared(_skills(workspace_root).lock(scope), as_json=as_json)
    return 0


@app.command("verify", cls=ExampleCommand, epilog="skills verify\nskills verify --json")
def skills_verify(
    *,
    strict: Annotated[bool, typer.Option("--strict", help="A skill that is not locked counts as wrong, too.")] = False,
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    scope: Scope = "project",
) -> int:
    """Compare installed skills with the lock file; exit code 20 if they differ."""
    skills = _skills(workspace_root).verify(scope)
    _write_compared(skills, as_json=as_json)
    wrong = ("changed", "missing", *(("extra", "unpinned") if strict else ()))
    if not any(skill.status in wrong for skill in skills):
        return 0
    if not as_json:
        sys.stderr.write(f"hint: {_HINT}\n")
    return EXIT_CODES["validation"]


def _skills(workspace_root: str) -> "SkillOperations":
    from skills_runtime.config import state_home
    from skills_runtime.engine import SkillOperations, Workspace

    root = checked_path(workspace_root, option="--workspace-root")
    return SkillOperations(Workspace(workspace_root=root, state=state_home(), for_user=True))


def _options(scope: Literal["project", "user"], trust: "SignaturePolicy", hosts: Sequence[str]) -> "InstallOptions":
    from skills_runtime.engine import InstallOptions

    return InstallOptions(scope=scope, trust=trust, allowed_hosts=tuple(hosts))


def _trust_of(
    key: str | None, certificates: Sequence[str], identity: str | None, issuer: str | None, *, required: bool
) -> "SignaturePolicy":
    """Whose signatures count."""
    from skills_runtime.skills.install import SignaturePolicy, Signer

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


def _install(
    prepared: "PreparedSkills", shown: "Sequence[Prepared]", agreed: Agreed, question: str, nothing: str = ""
) -> int:
    """Show skills, ask, put them in place, and say which are new or changed, or why `nothing` is."""
    for each in shown:
        _show_prepared(each)
    if not agreed.accept_risk:
        prepared.refuse_malicious()
    for each in () if agreed.force else prepared.overwriting:
        raise ValidationFailed(
            f"the installed skill `{each.name}` was written or changed here, and would be replaced",
            hint="`--force` replaces it; `skills rollback` brings it back",
        )
    if shown:
        _ask(question, agreed)
    changed = prepared.install(accepted_risk=agreed.accept_risk)
    if changed or not nothing:
        _write_installed(changed if nothing else prepared.skills, prepared.paths)
    else:
        sys.stderr.write(f"nothing was changed: {nothing}\n")
    return 0


def _ask(question: str, agreed: Agreed) -> None:
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


def _show_prepared(each: "Prepared") -> None:
    """Show everything somebody has to know before they agree."""
    out = sys.stderr
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
    out.flush()


def _write_installed(prepared: "Sequence[Prepared]", places: "InstallPaths") -> None:
    """Say what was put in place, and what is missing until it is offered."""
    from skills_runtime.config import process_environ
    from skills_runtime.skills import is_trusted, resolve_discovery_paths
    from skills_runtime.skills.install import user_places

    for each in prepared:
        print(readable_line(shown_path(places.skills / each.name)))
    if places.skills != user_places().skills and not is_trusted(
        resolve_discovery_paths(places.root, process_environ())
    ):
        sys.stderr.write(
            "the project is not trusted, so its skills are not offered yet;"
            f" next: `skills trust {shlex.quote(shown_path(places.root))}`\n"
        )


def _write_compared(skills: "Sequence[Installed]", *, as_json: bool) -> None:
    """Write how each skill compares with the lock file."""
    if as_json:
        rows = [
            {
                "name": skill.name,
                "status": skill.status,
                "directory": str(skill.directory),
                "consented": skill.consented,
                "computedHash": skill.computed_hash,
                "source": skill.entry.source if skill.entry else None,
                "commit": skill.entry.commit if skill.entry else None,
            }
            for skill in skills
        ]
        write_json({"skills": rows})
        return
    width = max((len(each.name) for each in skills), default=0)
    for each in skills:
        print(f"{each.status:8} {readable_line(each.name):{width}}  {_WORDS[each.status]}")
    wrong = sum(each.status in ("changed", "missing") for each in skills)
    print(f"{plural(len(skills), 'skill')}: {'all as locked' if not wrong else f'{wrong} not as locked'}")
