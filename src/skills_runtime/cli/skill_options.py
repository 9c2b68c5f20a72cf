"""Options that the commands for installed skills share."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

import typer

from skills_runtime.cli.options import WorkspaceOptions

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Agree to what is shown; for scripts.")]
Force = Annotated[bool, typer.Option("--force", help="Also replace or remove what somebody wrote or changed here.")]
AcceptRisk = Annotated[
    bool, typer.Option("--accept-risk", help="Install even what the security scan takes for malicious.")
]


@dataclass(frozen=True, kw_only=True)
class ScopeOptions(WorkspaceOptions):
    """Whose skills are meant."""

    scope: Annotated[
        Literal["project", "user"],
        typer.Option("--scope", help="`project`: .agents/skills and skills-lock.json here; `user`: those at home."),
    ] = "project"


@dataclass(frozen=True, kw_only=True)
class AgreeOptions(ScopeOptions):
    """What the user agrees to without being asked."""

    yes: Yes = False
    force: Force = False
    accept_risk: AcceptRisk = False
    allow_host: Annotated[
        list[str],
        typer.Option(
            "--allow-host", metavar="HOST", help="A private host that locked skills may come from; repeatable."
        ),
    ] = field(default_factory=list[str])


@dataclass(frozen=True, kw_only=True)
class SigningOptions:
    """Whose signatures count."""

    require_signature: Annotated[
        bool, typer.Option("--require-signature", help="Refuse skills without a signature that holds.")
    ] = False
    signer_key: Annotated[
        str | None, typer.Option("--signer-key", metavar="FILE", help="The public key signatures are made with.")
    ] = None
    signer_certificate: Annotated[
        list[str], typer.Option("--signer-certificate", metavar="FILE", help="A certificate of the signer; repeatable.")
    ] = field(default_factory=list[str])
    signer_identity: Annotated[
        str | None, typer.Option("--signer-identity", metavar="ID", help="Who signs, as sigstore knows them.")
    ] = None
    signer_issuer: Annotated[
        str | None, typer.Option("--signer-issuer", metavar="URL", help="Who vouches for that identity.")
    ] = None
