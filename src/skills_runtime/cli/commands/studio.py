"""studio: the HTTP service, and the web app of it in a browser."""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.commands.serve import ServeOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class StudioOptions(ServeOptions):
    """What `studio` takes: everything that `serve` takes, and whether a browser is opened."""

    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only say the address; open no browser.")] = False


def studio(options: StudioOptions, program: Program) -> int:
    """Serve this workspace and open Studio, its web app, in a browser."""
    from skills_runtime.cli.browsing import open_page
    from skills_runtime.cli.http_serving import serve_until_stopped, show_services

    if options.show:
        return show_services(sys.stdout)
    opened = None if options.no_browser else open_page
    return serve_until_stopped(options, program, out=sys.stdout, err=sys.stderr, page="/studio/", opened=opened)


COMMAND = Command(options=StudioOptions, work=studio, examples=("studio", "studio --no-browser --listen 8010"))
