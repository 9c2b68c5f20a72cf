"""skills trust: say that the skills of a project may be used."""

from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class SkillsTrustOptions:
    """What `skills trust` takes."""

    directory: Annotated[
        str, typer.Argument(metavar="[DIR]", help="A directory of the project; its whole repository is meant.")
    ] = "."
    remove: Annotated[bool, typer.Option("--remove", help="Do not trust it any more.")] = False


def skills_trust(options: SkillsTrustOptions, program: Program) -> int:
    """Trust the project in a directory, so that its skills are offered."""
    from skills_runtime.cli.machine import checked_path
    from skills_runtime.cli.render.text import one_line
    from skills_runtime.config import state_home
    from skills_runtime.skills.discovery import TrustStore, project_root

    del program
    project = project_root(checked_path(options.directory, option="DIR"))
    store = TrustStore(state_home())
    if options.remove:
        changed = store.forget(project)
        said = "is not trusted any more" if changed else "was not trusted"
    else:
        changed = store.trust(project)
        said = "is trusted now" if changed else "is trusted already"
    print(f"{one_line(str(project))} {said}")
    return 0


COMMAND = Command(
    options=SkillsTrustOptions,
    work=skills_trust,
    examples=("skills trust", "skills trust ./project --remove"),
)
