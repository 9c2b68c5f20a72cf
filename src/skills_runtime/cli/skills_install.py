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
    check_text,
    display_path,
    parse_path,
    repeatable,
)
from skills_runtime.cli.output import plural, write_json
from skills_runtime.cli.program import ExampleCommand, UsageError, create_app
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

_MAX_FILES = 30
_SIGNATURE_TEXTS = {"verified": "verified", "unsigned": "none", "unchecked": "not checked; nobody said whose counts"}
_STATUS_TEXTS = {
    "ok": "ok",
    "changed": "changed since it was locked",
    "missing": "locked, but not installed",
    "extra": "installed, but not locked",
    "unpinned": "locked without a hash",
}
_HINT = "`skills install --frozen --force` puts back what is locked; `skills lock` locks what is there"


@dataclass(frozen=True, slots=True)
class Consent:
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

    agreed = Consent(yes, force, accept_risk)
    trust = _build_signature_policy(
        signer_key, signer_certificate, signer_identity, signer_issuer, required=require_signature
    )
    options = _build_options(scope, trust, allow_host)
    if frozen == (source is not None):
        raise UsageError("give either a SOURCE or `--frozen`")
    if frozen and (skill or everything or ref):
        raise UsageError("`--frozen` installs what the lock file says; it takes no choice")
    if skill and everything:
        raise UsageError("`--skill` and `--all` exclude each other")
    skills, unchanged_text = _open_skills(workspace_root), "everything is installed as it is there"
    if source is None:
        with skills.prepare_locked(options) as prepared:
            return _install(prepared, prepared.unapproved, agreed, "Install what is locked?", unchanged_text)
    parsed = parse_source(check_text(source, "SOURCE"), here=Path.cwd(), ref=ref)
    with skills.prepare_install(parsed, skill, options, everything=everything) as prepared:
        return _install(prepared, prepared.unapproved, agreed, "Install this?", unchanged_text)


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
    trust = _build_signature_policy(
        signer_key, signer_certificate, signer_identity, signer_issuer, required=require_signature
    )
    unchanged_text = "there is nothing newer than what is installed"
    with _open_skills(workspace_root).prepare_update(names, _build_options(scope, trust, allow_host)) as prepared:
        agreed = Consent(yes, force, accept_risk)
        return _install(prepared, prepared.unapproved, agreed, "Take these changes?", unchanged_text)


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
    skill_names = [check_text(name, "NAME") for name in names]
    _open_skills(workspace_root).remove(skill_names, scope=scope, unlocked_too=force)
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
    with _open_skills(workspace_root).prepare_rollback(check_text(name, "NAME"), scope) as prepared:
        return _install(prepared, prepared.skills, Consent(yes, force, accept_risk), "Put this version back?")


@app.command("lock", cls=ExampleCommand, epilog="skills lock\nskills lock --scope user")
def skills_lock(
    *,
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    scope: Scope = "project",
) -> int:
    """Write the lock file from what is installed."""
    _write_comparison(_open_skills(workspace_root).lock(scope), as_json=as_json)
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
    skills = _open_skills(workspace_root).verify(scope)
    _write_comparison(skills, as_json=as_json)
    drifted = ("changed", "missing", *(("extra", "unpinned") if strict else ()))
    if not any(skill.status in drifted for skill in skills):
        return 0
    if not as_json:
        sys.stderr.write(f"hint: {_HINT}\n")
    return EXIT_CODES["validation"]


def _open_skills(workspace_root: str) -> "SkillOperations":
    from skills_runtime.config import state_home
    from skills_runtime.engine import SkillOperations, Workspace

    root = parse_path(workspace_root, option="--workspace-root")
    return SkillOperations(Workspace(workspace_root=root, state=state_home(), for_user=True))


def _build_options(
    scope: Literal["project", "user"], trust: "SignaturePolicy", hosts: Sequence[str]
) -> "InstallOptions":
    from skills_runtime.engine import InstallOptions

    return InstallOptions(scope=scope, trust=trust, allowed_hosts=tuple(hosts))


def _build_signature_policy(
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
    prepared: "PreparedSkills",
    new_skills: "Sequence[Prepared]",
    agreed: Consent,
    question: str,
    unchanged_text: str = "",
) -> int:
    """Show skills, ask, put them in place, and say which are new or changed, or why `nothing` is."""
    for skill in new_skills:
        _show_prepared(skill)
    if not agreed.accept_risk:
        prepared.refuse_malicious()
    for skill in () if agreed.force else prepared.overwriting:
        raise ValidationFailed(
            f"the installed skill `{skill.name}` was written or changed here, and would be replaced",
            hint="`--force` replaces it; `skills rollback` brings it back",
        )
    if new_skills:
        _confirm(question, agreed)
    changed_skills = prepared.install(accepted_risk=agreed.accept_risk)
    if changed_skills or not unchanged_text:
        _write_installed(changed_skills if unchanged_text else prepared.skills, prepared.paths)
    else:
        sys.stderr.write(f"nothing was changed: {unchanged_text}\n")
    return 0


def _confirm(question: str, agreed: Consent) -> None:
    """Go on only if the user agrees; nobody there means no."""
    from skills_runtime.cli.terminal import is_interactive, read_line_sync

    if agreed.yes:
        return
    if not is_interactive():
        raise ToolError(
            "human_required",
            "nothing was changed: nobody is here to agree",
            hint="look at what is shown, then use `--yes`",
        )
    stdin_fd = sys.stdin.fileno()
    termios.tcflush(stdin_fd, termios.TCIFLUSH)  # what was typed before the question is no answer to it
    try:
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        answer = read_line_sync(stdin_fd) or ""
    except KeyboardInterrupt:
        answer = ""
    if answer.strip().lower() not in ("y", "yes"):
        raise ToolError("cancelled", "nothing was changed", hint="only `y` or `yes` agrees")


def _show_prepared(skill: "Prepared") -> None:
    """Show everything somebody has to know before they agree."""
    out = sys.stderr
    entry, screened, size = skill.entry, skill.screened, skill.hashed.size
    out.write(f"{readable_line(skill.name)} ({skill.becomes})\n  {readable_line(screened.description)}\n")
    version = f" at {entry.commit[:12]}" if entry.commit else f" at {entry.ref}" if entry.ref else ""
    facts = {
        "source": f"{entry.source}{version}",
        "hash": skill.hashed.computed_hash,
        "files": f"{plural(len(skill.hashed.entries), 'file')}, {size} bytes",
        "scripts": ", ".join(screened.scripts) or "none",
        "allowed tools": ", ".join(screened.allowed_tools) or "none",
        "signature": _SIGNATURE_TEXTS[screened.signature],
        "security": screened.verdict,
        **({"action": screened.runs} if screened.runs else {}),
    }
    for label, fact in facts.items():
        out.write(f"  {label}: {readable_line(fact)}\n")
    out.writelines(f"    {readable_line(finding)}\n" for finding in screened.findings)
    out.writelines(f"  note: {readable_line(note)}\n" for note in screened.notes)
    if skill.becomes == "new":
        paths = [entry.path for entry in skill.hashed.entries]
        out.writelines(f"    {readable_line(path)}\n" for path in sorted(paths)[:_MAX_FILES])
        if len(paths) > _MAX_FILES:
            out.write(f"    and {len(paths) - _MAX_FILES} more\n")
    for change in skill.changes:
        out.write(f"  {change.kind}: {readable_line(change.path)}\n")
        out.writelines(f"    {readable(line)}\n" for line in change.lines)
    out.flush()


def _write_installed(prepared: "Sequence[Prepared]", paths: "InstallPaths") -> None:
    """Say what was put in place, and what is missing until it is offered."""
    from skills_runtime.config import process_environ
    from skills_runtime.skills import is_trusted, resolve_discovery_paths
    from skills_runtime.skills.install import user_places

    for skill in prepared:
        print(readable_line(display_path(paths.skills / skill.name)))
    if paths.skills != user_places().skills and not is_trusted(resolve_discovery_paths(paths.root, process_environ())):
        sys.stderr.write(
            "the project is not trusted, so its skills are not offered yet;"
            f" next: `skills trust {shlex.quote(display_path(paths.root))}`\n"
        )


def _write_comparison(skills: "Sequence[Installed]", *, as_json: bool) -> None:
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
    width = max((len(skill.name) for skill in skills), default=0)
    for skill in skills:
        print(f"{skill.status:8} {readable_line(skill.name):{width}}  {_STATUS_TEXTS[skill.status]}")
    wrong = sum(skill.status in ("changed", "missing") for skill in skills)
    print(f"{plural(len(skills), 'skill')}: {'all as locked' if not wrong else f'{wrong} not as locked'}")
