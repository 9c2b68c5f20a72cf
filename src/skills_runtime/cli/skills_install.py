"""`skills`: install skills from elsewhere, update, remove and lock them."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from skills_runtime.cli.errors import Misuse
from skills_runtime.cli.help import ExampleCommand, create_app
from skills_runtime.cli.options import Json, WorkspaceRoot, repeatable

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

_NOTHING = "nothing was changed: everything is installed as it is there"
_HINT = "`skills install --frozen --force` puts back what is locked; `skills lock` locks what is there"


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
    from skills_runtime.cli.inputs import checked_text
    from skills_runtime.cli.skill_install import Agreed, bring, places_of, tell, trust_of
    from skills_runtime.skills.install.prepare import locked_skills
    from skills_runtime.skills.install.sources import parse_source

    agreed = Agreed(yes=yes, force=force, accept_risk=accept_risk, allowed_hosts=allow_host)
    trust = trust_of(signer_key, signer_certificate, signer_identity, signer_issuer, required=require_signature)
    if frozen == (source is not None):
        raise Misuse("give either a SOURCE or `--frozen`")
    if frozen and (skill or everything or ref):
        raise Misuse("`--frozen` installs what the lock file says; it takes no choice")
    if skill and everything:
        raise Misuse("`--skill` and `--all` exclude each other")
    places = places_of(scope, workspace_root)
    if source is None:
        brought = bring(places, agreed, trust, lambda work: locked_skills(places, work), "Install what is locked?")
        tell(brought, places, otherwise=_NOTHING)
        return 0
    parsed = parse_source(checked_text(source, "SOURCE"), here=Path.cwd(), ref=ref)
    brought = bring(
        places,
        agreed,
        trust,
        lambda work: work.install(parsed, skill, everything=everything),
        "Install this?",
    )
    tell(brought, places, otherwise=_NOTHING)
    return 0


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
    from skills_runtime.cli.skill_install import Agreed, bring, places_of, tell, trust_of

    agreed = Agreed(yes=yes, force=force, accept_risk=accept_risk, allowed_hosts=allow_host)
    trust = trust_of(signer_key, signer_certificate, signer_identity, signer_issuer, required=require_signature)
    places = places_of(scope, workspace_root)
    changed = bring(places, agreed, trust, lambda work: work.update(names), "Take these changes?")
    tell(changed, places, otherwise="nothing was changed: there is nothing newer than what is installed")
    return 0


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
    from skills_runtime.cli.inputs import checked_text
    from skills_runtime.cli.skill_install import places_of
    from skills_runtime.skills.install.operations import remove_skills

    remove_skills(places_of(scope, workspace_root), [checked_text(name, "NAME") for name in names], unlocked_too=force)
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
    from skills_runtime.cli.inputs import checked_text
    from skills_runtime.cli.skill_install import Agreed, ask, check, places_of, show_prepared, tell
    from skills_runtime.skills.install.fetch import LocalFetcher
    from skills_runtime.skills.install.lockfile import LockEntry
    from skills_runtime.skills.install.operations import find_previous_version, roll_back
    from skills_runtime.skills.install.prepare import Preparation
    from skills_runtime.skills.install.transaction import open_work_directory

    agreed = Agreed(yes=yes, force=force, accept_risk=accept_risk, allowed_hosts=allow_host)
    places, wanted = places_of(scope, workspace_root), checked_text(name, "NAME")
    version, kept = find_previous_version(places, wanted)
    with open_work_directory(places) as work:
        entry = version.entry or LockEntry(source="what was here before", source_type="local")
        prepared = Preparation(places, LocalFetcher(), work).version(wanted, kept, entry)
        show_prepared([prepared], sys.stderr)
        check(prepared, agreed)
        ask("Put this version back?", agreed)
        roll_back(places, work, prepared, version)
    tell([prepared], places)
    return 0


@app.command("lock", cls=ExampleCommand, epilog="skills lock\nskills lock --scope user")
def skills_lock(
    *,
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    scope: Scope = "project",
) -> int:
    """Write the lock file from what is installed."""
    from skills_runtime.cli.skill_install import places_of, show_installed, write_installed
    from skills_runtime.skills.install.operations import write_lock_from_installed

    skills = write_lock_from_installed(places_of(scope, workspace_root))
    (write_installed if as_json else show_installed)(skills, sys.stdout)
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
    from skills_runtime.cli.skill_install import places_of, show_installed, write_installed
    from skills_runtime.errors import EXIT_CODES
    from skills_runtime.skills.install.operations import verify_installed

    skills = verify_installed(places_of(scope, workspace_root))
    (write_installed if as_json else show_installed)(skills, sys.stdout)
    wrong = ("changed", "missing", *(("extra", "unpinned") if strict else ()))
    if not any(each.status in wrong for each in skills):
        return 0
    if not as_json:
        sys.stderr.write(f"hint: {_HINT}\n")
    return EXIT_CODES["validation"]
