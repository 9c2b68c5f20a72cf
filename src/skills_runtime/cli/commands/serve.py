"""serve: the HTTP service, on this machine unless somebody says otherwise."""

import sys
from dataclasses import dataclass, field
from typing import Annotated

import typer

from skills_runtime.cli.options import ConfigOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class ServeOptions(ConfigOptions):
    """What `serve` takes."""

    listen: Annotated[
        list[str],
        typer.Option("--listen", metavar="HOST:PORT", help="Where to listen (127.0.0.1:8000); repeatable."),
    ] = field(default_factory=list[str])
    preset: Annotated[
        str | None, typer.Option("--preset", metavar="NAME", help="skill-service listens on port 8080.")
    ] = None
    skills_dir: Annotated[
        str | None, typer.Option("--skills-dir", metavar="DIR", help="The skills to execute (./skills).")
    ] = None
    artifacts_dir: Annotated[
        str | None, typer.Option("--artifacts-dir", metavar="DIR", help="Where executions are kept (./artifacts).")
    ] = None
    allow_host: Annotated[
        list[str],
        typer.Option("--allow-host", metavar="NAME", help="A name under which it is reached, too; repeatable."),
    ] = field(default_factory=list[str])
    closed: Annotated[
        bool | None,
        typer.Option("--closed/--open", help="Whether programs of this machine need a token to execute skills (open)."),
    ] = None
    new_token: Annotated[bool, typer.Option("--new-token", help="Make another token; the old one is worthless.")] = (
        False
    )
    concurrent: Annotated[
        int | None,
        typer.Option("--concurrent", metavar="N", min=1, help="Skills that are executed at the same time (16)."),
    ] = None
    waiting: Annotated[
        int | None,
        typer.Option("--waiting", metavar="N", min=0, help="Executions that may wait; one more is refused (64)."),
    ] = None
    max_body: Annotated[
        int | None,
        typer.Option("--max-body", metavar="BYTES", min=1024, help="The longest request that is taken (2621440)."),
    ] = None
    rate: Annotated[
        float | None,
        typer.Option("--rate", metavar="N", min=0.01, help="Requests a second of one caller, in the long run (500)."),
    ] = None
    access_log: Annotated[bool, typer.Option("--access-log", help="Write a line of JSON for every request.")] = False
    show: Annotated[bool, typer.Option("--show", help="Only say which services run now, with their links.")] = False


def serve(options: ServeOptions, program: Program) -> int:
    """Serve skills, runs and approvals over HTTP until it is stopped."""
    from skills_runtime.cli.http_serving import serve_until_stopped, show_services

    if options.show:
        return show_services(sys.stdout)
    return serve_until_stopped(options, program, out=sys.stdout, err=sys.stderr)


COMMAND = Command(
    options=ServeOptions,
    work=serve,
    examples=("serve", "serve --preset skill-service --skills-dir ./skills"),
)
