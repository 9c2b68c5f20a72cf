"""skills list: every skill there is, where it comes from, and whether it is offered."""

import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from skills_runtime.cli.options import ConfigOptions, Json
from skills_runtime.cli.program import Command, Program

if TYPE_CHECKING:
    from skills_runtime.config import Resolved


@dataclass(frozen=True, kw_only=True)
class SkillsListOptions(ConfigOptions):
    """What `skills list` takes."""

    watch: Annotated[
        bool, typer.Option("--watch", help="Go on with what is added, changed, removed or broken, until Ctrl-C.")
    ] = False
    json: Json = False


def skills_list(options: SkillsListOptions, program: Program) -> int:
    """List every skill, and say which are offered and why others are not."""
    from skills_runtime.cli.render.skill_lists import show_list, write_list
    from skills_runtime.cli.settings import resolve_settings
    from skills_runtime.cli.skill_listing import listed_skills

    resolved = resolve_settings(options, program=program.name)
    if options.watch:
        return _watch(resolved, as_json=options.json)
    (write_list if options.json else show_list)(listed_skills(resolved), sys.stdout)
    return 0


def _watch(resolved: "Resolved", *, as_json: bool) -> int:
    """The list, for people, and then each change; programs get one line for each change and nothing else."""
    from skills_runtime.cli.render.skill_lists import show_change, show_list, write_change
    from skills_runtime.cli.skill_listing import listed_skills
    from skills_runtime.cli.skill_watching import watch

    def ready() -> None:
        if not as_json:
            show_list(listed_skills(resolved), sys.stdout)
            sys.stdout.flush()
        sys.stderr.write("watching for changes; Ctrl-C ends\n")
        sys.stderr.flush()

    watch(resolved, ready, partial(write_change if as_json else show_change, out=sys.stdout))
    return 0


COMMAND = Command(
    options=SkillsListOptions,
    work=skills_list,
    examples=("skills list --workspace-root ./project --json", "skills list --watch"),
)
