"""The `skills` commands that install, update, remove and lock skills.

The installer is slow to import and help pages do not need it: functions that use it import it.
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

RequireSignature = Annotated[bool, typer.Option("--require-signature", help="Refuse skills without a valid signature.")]
SignerKey = Annotated[str | None, typer.Option("--signer-key", metavar="FILE", help="The public key of the signer.")]
SignerCertificates = Annotated[
    list[str],
    repeatable("--signer-certificate", metavar="FILE", help="A certificate of the signer; repeatable."),
]
SignerIdentity = Annotated[
    str | None, typer.Option("--signer-identity", metavar="ID", help="The sigstore identity of the signer.")
]
SignerIssuer = Annotated[
    str | None, typer.Option("--signer-issuer", metavar="URL", help="The issuer of that identity.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation; for scripts.")]
Force = Annotated[bool, typer.Option("--force", help="Also replace or remove local skills and local changes.")]
AcceptRisk = Annotated[
    bool, typer.Option("--accept-risk", help="Install even skills that the security scan rates malicious.")
]
Scope = Annotated[
    Literal["project", "user"],
    typer.Option("--scope", help="`project`: .agents/skills and skills-lock.json here; `user`: those at home."),
]
AllowHost = Annotated[
    list[str],
    repeatable("--allow-host", metavar="HOST", help="A private host to download from; repeatable."),
]

_MAX_FILES = 30
_SIGNATURE_TEXTS = {"verified": "verified", "unsigned": "none", "unchecked": "not checked; no signer is configured"}
_STATUS_TEXTS = {
    "ok": "ok",
    "changed": "changed since it was locked",
    "missing": "locked, but not installed",
    "extra": "installed, but not locked",
    "unpinned": "locked without a hash",
}
_HINT = "`skills install --frozen --force` restores the locked skills; `skills lock` locks the installed ones"


@dataclass(frozen=True, slots=True)
class Consent:
    """What the user agreed to on the command line."""

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
        repeatable("--skill", "-s", metavar="NAME", help="A skill to install, by name or path; repeatable."),
    ],
    everything: Annotated[bool, typer.Option("--all", help="Install all skills of the source.")] = False,
    ref: Annotated[
        str | None, typer.Option("--ref", metavar="VERSION", help="A branch, tag or commit of a git repository.")
    ] = None,
    frozen: Annotated[bool, typer.Option("--frozen", help="Install exactly what the lock file lists.")] = False,
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
    """Install skills after showing them and asking for confirmation."""
    from skills_runtime.skills.install import parse_source

    agreed = Consent(yes, force, accept_risk)
    trust = _build_signature_policy(
        signer_key, signer_certificate, signer_identity, signer_issuer, required=require_signature
    )
    options = _build_options(scope, trust, allow_host)
    if frozen == (source is not None):
        raise UsageError("give either a SOURCE or `--frozen`")
    if frozen and (skill or everything or ref):
        raise UsageError("`--frozen` excludes `--skill`, `--all` and `--ref`")
    if skill and everything:
        raise UsageError("`--skill` and `--all` exclude each other")
    skills, unchanged_text = _open_skills(workspace_root), "everything is already installed"
    if source is None:
        with skills.prepare_locked(options) as prepared:
            return _install(prepared, prepared.unapproved, agreed, "Install the locked skills?", unchanged_text)
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
            help="The skills to update; all locked ones by default.",
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
    """Update skills after showing the changes and asking for confirmation."""
    trust = _build_signature_policy(
        signer_key, signer_certificate, signer_identity, signer_issuer, required=require_signature
    )
    unchanged_text = "everything is up to date"
    with _open_skills(workspace_root).prepare_update(names, _build_options(scope, trust, allow_host)) as prepared:
        agreed = Consent(yes, force, accept_risk)
        return _install(prepared, prepared.unapproved, agreed, "Apply these changes?", unchanged_text)


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
    """Remove skills; `skills rollback` restores them."""
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
    """Restore the previous version of a skill."""
    del allow_host  # nothing is downloaded
    with _open_skills(workspace_root).prepare_rollback(check_text(name, "NAME"), scope) as prepared:
        return _install(prepared, prepared.skills, Consent(yes, force, accept_risk), "Restore this version?")


@app.command("lock", cls=ExampleCommand, epilog="skills lock\nskills lock --scope user")
def skills_lock(
    *,
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    scope: Scope = "project",
) -> int:
    """Write the lock file from the installed skills."""
    _write_comparison(_open_skills(workspace_root).lock(scope), as_json=as_json)
    return 0


@app.command("verify", cls=ExampleCommand, epilog="skills verify\nskills verify --json")
def skills_verify(
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Also fail for skills that are not locked.")] = False,
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
    """Build the signature policy from the options."""
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
    """Show skills, ask for confirmation, install them, and print what changed."""
    for skill in new_skills:
        _show_prepared(skill)
    if not agreed.accept_risk:
        prepared.refuse_malicious()
    for skill in () if agreed.force else prepared.overwriting:
        raise ValidationFailed(
            f"the installed skill `{skill.name}` has local changes, which would be replaced",
            hint="`--force` replaces it; `skills rollback` restores it",
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
    """Ask for confirmation; raise unless the user agrees."""
    from skills_runtime.cli.terminal import is_interactive, read_line_sync

    if agreed.yes:
        return
    if not is_interactive():
        raise ToolError(
            "human_required",
            "nothing was changed: there is no terminal to confirm",
            hint="review the output, then use `--yes`",
        )
    stdin_fd = sys.stdin.fileno()
    termios.tcflush(stdin_fd, termios.TCIFLUSH)  # input typed before the question is not an answer
    try:
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        answer = read_line_sync(stdin_fd) or ""
    except KeyboardInterrupt:
        answer = ""
    if answer.strip().lower() not in ("y", "yes"):
        raise ToolError("cancelled", "nothing was changed", hint="answer `y` or `yes` to continue")


def _show_prepared(skill: "Prepared") -> None:
    """Print all facts about a skill before its installation."""
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
    """Print the installed paths, and the next step if the project is not trusted."""
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
    """Print how each skill compares with the lock file."""
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
