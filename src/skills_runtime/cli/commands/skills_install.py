"""skills install: skills from elsewhere, looked at and agreed to."""

from dataclasses import dataclass, field
from typing import Annotated

import typer

from skills_runtime.cli.program import Command, Misuse, Program
from skills_runtime.cli.skill_options import AgreeOptions, SigningOptions

_NOTHING = "nothing was changed: everything is installed as it is there"


@dataclass(frozen=True, kw_only=True)
class SkillsInstallOptions(AgreeOptions, SigningOptions):
    """What `skills install` takes."""

    source: Annotated[
        str | None,
        typer.Argument(
            metavar="SOURCE",
            help="owner/repo, an address, a directory, or a .zip or .skill file; `#` names a version.",
        ),
    ] = None
    skill: Annotated[
        list[str], typer.Option("--skill", "-s", metavar="NAME", help="One of its skills, by name or path; repeatable.")
    ] = field(default_factory=list[str])
    all: Annotated[bool, typer.Option("--all", help="All its skills.")] = False
    ref: Annotated[
        str | None, typer.Option("--ref", metavar="VERSION", help="A branch, tag or commit of a git repository.")
    ] = None
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Install exactly what the lock file says, or nothing at all.")
    ] = False


def skills_install(options: SkillsInstallOptions, program: Program) -> int:
    """Install skills, after showing what they are and asking."""
    from pathlib import Path

    from skills_runtime.cli.machine import checked_text
    from skills_runtime.cli.skill_installing import bring, places_of, tell, trust_of
    from skills_runtime.skills.install.frozen import locked_skills
    from skills_runtime.skills.install.sources import parse_source

    del program
    if options.frozen == (options.source is not None):
        raise Misuse("give either a SOURCE or `--frozen`")
    if options.frozen and (options.skill or options.all or options.ref):
        raise Misuse("`--frozen` installs what the lock file says; it takes no choice")
    if options.skill and options.all:
        raise Misuse("`--skill` and `--all` exclude each other")
    places, trust = places_of(options), trust_of(options)
    if options.source is None:
        brought = bring(places, options, trust, lambda work: locked_skills(places, work), "Install what is locked?")
        tell(brought, places, otherwise=_NOTHING)
        return 0
    source = parse_source(checked_text(options.source, "SOURCE"), here=Path.cwd(), ref=options.ref)
    brought = bring(
        places,
        options,
        trust,
        lambda work: work.install(source, options.skill, everything=options.all),
        "Install this?",
    )
    tell(brought, places, otherwise=_NOTHING)
    return 0


COMMAND = Command(
    options=SkillsInstallOptions,
    work=skills_install,
    examples=("skills install anthropics/skills --skill pdf", "skills install --frozen --yes"),
)
