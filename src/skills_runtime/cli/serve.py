"""`serve` and `studio`, the HTTP service, and `keys`, which lets programs on other machines use it."""

import sys
from typing import Annotated

import typer

from skills_runtime.cli.help import ExampleCommand, create_app
from skills_runtime.cli.options import Assignments, ConfigFiles, ConfigOptions, Json, WorkspaceRoot, repeatable

app = create_app()
keys = create_app(
    "keys",
    "Look after the keys of programs that reach the service from elsewhere.",
    "keys create ci --scope execute",
    "keys list",
)

Listen = Annotated[
    list[str],
    repeatable("--listen", metavar="HOST:PORT", help="Where to listen (127.0.0.1:8000); repeatable."),
]
Preset = Annotated[str | None, typer.Option("--preset", metavar="NAME", help="skill-service listens on port 8080.")]
SkillsDir = Annotated[str | None, typer.Option("--skills-dir", metavar="DIR", help="The skills to execute (./skills).")]
ArtifactsDir = Annotated[
    str | None, typer.Option("--artifacts-dir", metavar="DIR", help="Where executions are kept (./artifacts).")
]
AllowHost = Annotated[
    list[str],
    repeatable("--allow-host", metavar="NAME", help="A name under which it is reached, too; repeatable."),
]
Closed = Annotated[
    bool | None,
    typer.Option("--closed/--open", help="Whether programs of this machine need a token to execute skills (open)."),
]
NewToken = Annotated[bool, typer.Option("--new-token", help="Make another token; the old one is worthless.")]
Concurrent = Annotated[
    int | None,
    typer.Option("--concurrent", metavar="N", min=1, help="Skills that are executed at the same time (16)."),
]
Waiting = Annotated[
    int | None,
    typer.Option("--waiting", metavar="N", min=0, help="Executions that may wait; one more is refused (64)."),
]
MaxBody = Annotated[
    int | None,
    typer.Option("--max-body", metavar="BYTES", min=1024, help="The longest request that is taken (2621440)."),
]
Rate = Annotated[
    float | None,
    typer.Option("--rate", metavar="N", min=0.01, help="Requests a second of one caller, in the long run (500)."),
]
AccessLog = Annotated[bool, typer.Option("--access-log", help="Write a line of JSON for every request.")]
Show = Annotated[bool, typer.Option("--show", help="Only say which services run now, with their links.")]


@app.command("serve", cls=ExampleCommand, epilog="serve\nserve --preset skill-service --skills-dir ./skills")
def serve(
    context: typer.Context,
    *,
    listen: Listen,
    preset: Preset = None,
    skills_dir: SkillsDir = None,
    artifacts_dir: ArtifactsDir = None,
    allow_host: AllowHost,
    closed: Closed = None,
    new_token: NewToken = False,
    concurrent: Concurrent = None,
    waiting: Waiting = None,
    max_body: MaxBody = None,
    rate: Rate = None,
    access_log: AccessLog = False,
    show: Show = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Serve skills, runs and approvals over HTTP until it is stopped."""
    from skills_runtime.cli.http_service import ServeOptions, serve_until_stopped, show_services

    given = ConfigOptions(workspace_root, config, assignments)
    options = ServeOptions(
        listen=tuple(listen),
        preset=preset,
        skills_dir=skills_dir,
        artifacts_dir=artifacts_dir,
        allowed_hosts=tuple(allow_host),
        closed=closed,
        new_token=new_token,
        concurrent=concurrent,
        waiting=waiting,
        max_body=max_body,
        rate=rate,
        access_log=access_log,
    )
    if show:
        return show_services(sys.stdout)
    return serve_until_stopped(options, given, context.obj.name, out=sys.stdout, err=sys.stderr)


@app.command("studio", cls=ExampleCommand, epilog="studio\nstudio --no-browser --listen 8010")
def studio(
    context: typer.Context,
    *,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only say the address; open no browser.")] = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
    listen: Listen,
    preset: Preset = None,
    skills_dir: SkillsDir = None,
    artifacts_dir: ArtifactsDir = None,
    allow_host: AllowHost,
    closed: Closed = None,
    new_token: NewToken = False,
    concurrent: Concurrent = None,
    waiting: Waiting = None,
    max_body: MaxBody = None,
    rate: Rate = None,
    access_log: AccessLog = False,
    show: Show = False,
) -> int:
    """Serve this workspace and open Studio, its web app, in a browser."""
    from skills_runtime.cli.http_service import ServeOptions, open_page, serve_until_stopped, show_services

    given = ConfigOptions(workspace_root, config, assignments)
    options = ServeOptions(
        listen=tuple(listen),
        preset=preset,
        skills_dir=skills_dir,
        artifacts_dir=artifacts_dir,
        allowed_hosts=tuple(allow_host),
        closed=closed,
        new_token=new_token,
        concurrent=concurrent,
        waiting=waiting,
        max_body=max_body,
        rate=rate,
        access_log=access_log,
    )
    if show:
        return show_services(sys.stdout)
    opened = None if no_browser else open_page
    return serve_until_stopped(
        options, given, context.obj.name, out=sys.stdout, err=sys.stderr, page="/studio/", opened=opened
    )


@keys.command(
    "create",
    cls=ExampleCommand,
    epilog="keys create ci --scope execute\nkeys create board --scope read --scope approve",
)
def keys_create(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for, such as `ci`.")],
    scope: Annotated[
        list[str],
        repeatable("--scope", metavar="SCOPE", help="read, run, approve, execute or admin; repeatable (read)."),
    ],
    as_json: Json = False,
) -> int:
    """Make a key and show it once; only a digest of it is kept."""
    from skills_runtime.cli.http_service import make_key, show_new, write_new

    key, text = make_key(name, tuple(scope) or ("read",))
    (write_new if as_json else show_new)(key, text, sys.stdout)
    return 0


@keys.command("list", cls=ExampleCommand, epilog="keys list\nkeys list --json")
def keys_list(
    *,
    as_json: Json = False,
) -> int:
    """List the keys: their names, their scopes, when they were last used or revoked."""
    from skills_runtime.cli.http_service import all_keys, show_keys, write_keys

    (write_keys if as_json else show_keys)(all_keys(), sys.stdout)
    return 0


@keys.command("revoke", cls=ExampleCommand, epilog="keys revoke ci\nkeys revoke 0a1b2c3d4e5f")
def keys_revoke(
    *,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The name or the id of a key.")],
) -> int:
    """Revoke a key; a service that runs refuses it at once."""
    from skills_runtime.cli.http_service import revoke_key

    revoked = revoke_key(key)
    sys.stdout.write(f"Revoked {revoked.name} ({revoked.id}).\n")
    return 0
