"""skills verify: are the installed skills those that were locked?"""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import Json
from skills_runtime.cli.program import Command, Program
from skills_runtime.cli.skill_options import ScopeOptions

_HINT = "`skills install --frozen --force` puts back what is locked; `skills lock` locks what is there"


@dataclass(frozen=True, kw_only=True)
class SkillsVerifyOptions(ScopeOptions):
    """What `skills verify` takes."""

    strict: Annotated[bool, typer.Option("--strict", help="A skill that is not locked counts as wrong, too.")] = False
    json: Json = False


def skills_verify(options: SkillsVerifyOptions, program: Program) -> int:
    """Compare installed skills with the lock file; exit code 20 if they differ."""
    from skills_runtime.cli.render.skill_changes import show_installed, write_installed
    from skills_runtime.cli.skill_installing import places_of
    from skills_runtime.errors import EXIT_CODES
    from skills_runtime.skills.install.operations import verify

    del program
    skills = verify(places_of(options))
    (write_installed if options.json else show_installed)(skills, sys.stdout)
    wrong = ("changed", "missing", *(("extra", "unpinned") if options.strict else ()))
    if not any(each.status in wrong for each in skills):
        return 0
    if not options.json:
        sys.stderr.write(f"hint: {_HINT}\n")
    return EXIT_CODES["validation"]


COMMAND = Command(options=SkillsVerifyOptions, work=skills_verify, examples=("skills verify", "skills verify --json"))
