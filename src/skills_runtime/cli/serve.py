"""The `serve`, `studio` and `keys` commands: the HTTP service and its API keys.

The service is slow to import and help pages do not need it: functions that use it import it.
"""

import logging
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.cells import cell_len

from skills_runtime.cli.language import translate
from skills_runtime.cli.options import (
    Assignments,
    ConfigFiles,
    ConfigOptions,
    Json,
    WorkspaceRoot,
    login_name,
    parse_assignments,
    parse_optional_path,
    parse_path,
    repeatable,
    resolve_settings,
)
from skills_runtime.cli.output import pad, write_json
from skills_runtime.cli.program import ExampleCommand, UsageError, create_app
from skills_runtime.clock import SystemClock
from skills_runtime.errors import ConfigError
from skills_runtime.installation import find_installation, studio_directory

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.service import Listener, ServiceSettings
    from skills_runtime.service.access import ApiKey, KeyFile, RunningService

_DISPLAY_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY")

STUDIO = "/studio/"

app = create_app()
keys = create_app(
    "keys",
    "Manage API keys for remote clients.",
    "keys create ci --scope execute",
    "keys list",
)

Listen = Annotated[
    list[str],
    repeatable("--listen", metavar="HOST:PORT", help="The address to listen on (127.0.0.1:8000); repeatable."),
]
Host = Annotated[
    str | None, typer.Option("--host", metavar="ADDRESS", help="The address to listen on (127.0.0.1), with `--port`.")
]
Port = Annotated[int | None, typer.Option("--port", metavar="N", min=0, max=65535, help="The port (8000).")]
Preset = Annotated[
    str | None, typer.Option("--preset", metavar="NAME", help="A preset; skill-service listens on port 8080.")
]
SkillsDir = Annotated[
    str | None, typer.Option("--skills-dir", metavar="DIR", help="Serve only the skills in this directory.")
]
ArtifactsDir = Annotated[
    str | None, typer.Option("--artifacts-dir", metavar="DIR", help="The directory for executions (./artifacts).")
]
AllowHost = Annotated[
    list[str],
    repeatable("--allow-host", metavar="NAME", help="Another host name of the service; repeatable."),
]
ClosedOption = Annotated[
    bool | None,
    typer.Option(
        "--closed/--open",
        help="Require a token to execute skills, or allow all local programs (default: only yours).",
    ),
]
NewToken = Annotated[bool, typer.Option("--new-token", help="Create a new token and invalidate the old one.")]
Concurrent = Annotated[
    int | None,
    typer.Option("--concurrent", metavar="N", min=1, help="The number of concurrent executions (16)."),
]
Waiting = Annotated[
    int | None,
    typer.Option("--waiting", metavar="N", min=0, help="The number of queued executions (64)."),
]
MaxBody = Annotated[
    int | None,
    typer.Option("--max-body", metavar="BYTES", min=1024, help="The maximum request size (2621440)."),
]
Rate = Annotated[
    float | None,
    typer.Option("--rate", metavar="N", min=0.01, help="Sustained requests per second per client (500)."),
]
AccessLog = Annotated[bool, typer.Option("--access-log", help="Log every request as a line of JSON.")]
Show = Annotated[bool, typer.Option("--show", help="Show the running services and their links, then exit.")]


@app.command(
    "serve", cls=ExampleCommand, epilog="serve --port 8010\nserve --preset skill-service --skills-dir ./skills"
)
def serve(
    *,
    host: Host = None,
    port: Port = None,
    listen: Listen,
    preset: Preset = None,
    skills_dir: SkillsDir = None,
    artifacts_dir: ArtifactsDir = None,
    allow_host: AllowHost,
    closed: ClosedOption = None,
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
    """Serve skills, runs and approvals over HTTP."""
    if show:
        return _show_services()
    options = ServeOptions(
        choose_address(host, port, listen),
        preset,
        skills_dir,
        artifacts_dir,
        allow_host,
        closed,
        concurrent,
        waiting,
        max_body,
        rate,
        access_log,
    )
    config_options = ConfigOptions(workspace_root, config, assignments)
    return _serve_until_stopped(options, config_options, new_token=new_token)


@app.command("studio", cls=ExampleCommand, epilog="studio\nstudio --no-browser --port 8010")
def studio(
    *,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address without opening a browser.")
    ] = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
    host: Host = None,
    port: Port = None,
    listen: Listen,
    preset: Preset = None,
    skills_dir: SkillsDir = None,
    artifacts_dir: ArtifactsDir = None,
    allow_host: AllowHost,
    closed: ClosedOption = None,
    new_token: NewToken = False,
    concurrent: Concurrent = None,
    waiting: Waiting = None,
    max_body: MaxBody = None,
    rate: Rate = None,
    access_log: AccessLog = False,
    show: Show = False,
) -> int:
    """Serve this workspace and open Studio, the web app."""
    if show:
        return _show_services()
    options = ServeOptions(
        choose_address(host, port, listen),
        preset,
        skills_dir,
        artifacts_dir,
        allow_host,
        closed,
        concurrent,
        waiting,
        max_body,
        rate,
        access_log,
    )
    config_options = ConfigOptions(workspace_root, config, assignments)
    on_ready = None if no_browser else _open_page
    return _serve_until_stopped(options, config_options, new_token=new_token, page=STUDIO, on_ready=on_ready)


def choose_address(host: str | None, port: int | None, listen: Sequence[str]) -> "Address":
    """Return where to listen: `--host` and `--port` are one address, and exclude `--listen`."""
    if listen and (host is not None or port is not None):
        raise UsageError("give the address once, as `--host ADDRESS --port N` or as `--listen HOST:PORT`")
    return Address(tuple(listen), host.strip("[]") if host is not None else None, port)


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen, as given on the command line."""

    listen: tuple[str, ...]
    host: str | None
    port: int | None


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of `serve` and `studio`."""

    address: Address
    preset: str | None
    skills_dir: str | None
    artifacts_dir: str | None
    allowed_hosts: Sequence[str]
    closed: bool | None
    concurrent: int | None
    waiting: int | None
    max_body: int | None
    rate: float | None
    access_log: bool


def _serve_until_stopped(
    options: ServeOptions,
    config_options: ConfigOptions,
    *,
    new_token: bool,
    page: str = "/",
    on_ready: Callable[[str, Mapping[str, str]], None] | None = None,
) -> int:
    """Serve until stopped; call `on_ready` with the link to `page` once requests are accepted."""
    import asyncio

    if page == STUDIO:
        _check_studio()
    server_module = _import_server()
    from skills_runtime.service import notices
    from skills_runtime.service.access import service_token

    resolved = resolve_settings(config_options)
    settings = _build_settings(options, config_options, resolved)
    if new_token:
        service_token(settings.state, renew=True)
    _set_up_logs(access=options.access_log)
    messages = [*resolved.notices, *notices(resolved.environment.process)]
    own = settings.workspace_root / "skills"
    if settings.skills_dir is None and any(own.glob("*/skill.yaml")):
        text = "the skills in {path} are not served; serve only them with `--skills-dir {path}`"
        messages.append(translate("serve.own_skills", text, path=str(own)))
    is_local = all(listener.is_loopback for listener in settings.listen)
    if not is_local and all(key.revoked_at is not None for key in _key_file(settings.state).list()):
        text = "remote clients have no access yet; create a key with `keys create NAME --scope execute`"
        messages.append(translate("serve.no_keys", text))
    for notice in messages:
        sys.stderr.write(translate("serve.note", "note: {text}", text=notice) + "\n")

    def announce(server: "RunningService", listeners: "Sequence[Listener]") -> None:
        served = settings.skills_dir or settings.workspace_root
        addresses = ", ".join(f"http://{listener.text}" for listener in listeners)
        lines = [translate("serve.serving", "Serving {path} on {addresses}", path=str(served), addresses=addresses)]
        link = server.link_to(page)
        if listeners[0].is_loopback:
            lines.append(translate("serve.open", "Open {link}", link=link))
        sys.stdout.write("\n".join((*lines, translate("serve.stop", "Press Ctrl-C to stop."), "")))
        sys.stdout.flush()
        if on_ready is not None and listeners[0].is_loopback:
            on_ready(link, resolved.environment.process)

    asyncio.run(server_module.serve(settings, resolved, announce))
    return 0


def _check_studio() -> None:
    """Raise how to get the web app if this installation has none."""
    if not (studio_directory() / "index.html").is_file():
        raise ConfigError("this installation has no Studio, the web app", hint=find_installation().studio_hint())


def _import_server() -> ModuleType:
    try:
        from skills_runtime.service import server as serving
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("fastapi", "starlette", "uvicorn", "prometheus_client"):
            raise
        raise ConfigError(
            f"the HTTP service needs the package `{error.name}`",
            hint=f"`{find_installation().extra_command('service')}` installs it",
        ) from error
    return serving


def _build_settings(options: ServeOptions, config_options: ConfigOptions, resolved: "Resolved") -> "ServiceSettings":
    from skills_runtime.config import state_home
    from skills_runtime.service import ServiceOptions, settings_from

    service_options = ServiceOptions(
        listen=options.address.listen,
        host=options.address.host,
        port=options.address.port,
        preset=options.preset,
        skills_dir=parse_optional_path(options.skills_dir, option="--skills-dir"),
        artifacts_dir=parse_optional_path(options.artifacts_dir, option="--artifacts-dir"),
        allowed_hosts=tuple(options.allowed_hosts),
        skill_service=None if options.closed is None else "closed" if options.closed else "open",
        config_paths=tuple(parse_path(path, option="--config").absolute() for path in config_options.files),
        settings=parse_assignments(config_options.assignments),
        concurrent=options.concurrent,
        waiting=options.waiting,
        body_bytes=options.max_body,
        requests_per_second=options.rate,
    )
    environ = resolved.environment.process
    return settings_from(
        resolved.workspace_root, state_home(environ), environ, service_options, configured=resolved.settings.service
    )


def _set_up_logs(*, access: bool) -> None:
    """Log our own lines unchanged, and those of the server with their level."""
    lines, handler = logging.StreamHandler(sys.stderr), logging.StreamHandler(sys.stderr)
    lines.setFormatter(logging.Formatter("%(message)s"))
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    for name, level in (("access", logging.INFO if access else logging.CRITICAL), ("retention", logging.INFO)):
        log = logging.getLogger(f"skills_runtime.service.{name}")
        log.addHandler(lines)
        log.setLevel(level)
        log.propagate = False
    logging.getLogger("uvicorn").addHandler(handler)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)


def _show_services() -> int:
    """Print the running services of this user."""
    from skills_runtime.config import state_home
    from skills_runtime.service.access import find_services

    services = find_services(state_home())
    for server in services:
        sys.stdout.write(f"{server.link}  {server.workspace_root}\n")
    return 0 if services else 1


def _open_page(link: str, environ: Mapping[str, str]) -> None:
    """Open a link in a background thread; do nothing without a display."""
    import webbrowser

    if has_screen(environ):
        threading.Thread(target=webbrowser.open, args=(link, 2), daemon=True, name="browser").start()


def has_screen(environ: Mapping[str, str]) -> bool:
    """Return whether a graphical browser can be opened; a text browser would take over the terminal."""
    return sys.platform in ("darwin", "win32") or any(environ.get(name) for name in _DISPLAY_VARIABLES)


# Keys: every change is recorded in the audit log


@keys.command(
    "create",
    cls=ExampleCommand,
    epilog="keys create ci --scope execute\nkeys create board --scope read --scope approve",
)
def keys_create(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for the key, such as `ci`.")],
    scope: Annotated[
        list[str],
        repeatable("--scope", metavar="SCOPE", help="read, run, approve, execute or admin; repeatable (read)."),
    ],
    as_json: Json = False,
) -> int:
    """Create a key and show it once; only its digest is stored."""
    key, text = _key_file().create(name, tuple(scope) or ("read",))
    _write_audit_entry("key_created", key)
    if as_json:
        write_json({**_build_document(key), "key": text})
    else:
        once = "This is the key `{name}` ({scopes}). It is not shown again."
        print(f"{text}\n\n{translate('keys.created', once, name=key.name, scopes=', '.join(key.scopes))}")
    return 0


@keys.command("list", cls=ExampleCommand, epilog="keys list\nkeys list --json")
def keys_list(
    *,
    as_json: Json = False,
) -> int:
    """List keys with their scopes, last use and status."""
    all_keys = _key_file().list()
    if as_json:
        write_json([_build_document(key) for key in all_keys])
        return 0
    if not all_keys:
        print(translate("keys.none", "There are no keys."))
        return 0
    rows = [
        (
            translate("keys.name", "NAME"),
            translate("keys.id", "ID"),
            translate("keys.scopes", "SCOPES"),
            translate("keys.last_used", "LAST USED"),
            translate("keys.state", "STATE"),
        )
    ]
    rows += map(_list_facts, all_keys)
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(pad(text, width) for text, width in zip(row, widths, strict=True)).rstrip())
    return 0


def _list_facts(key: "ApiKey") -> tuple[str, str, str, str, str]:
    valid, never = translate("keys.valid", "valid"), translate("keys.never", "never")
    state = translate("keys.revoked_at", "revoked {time}", time=_format_minute(key.revoked_at or ""))
    last_used = _format_minute(key.last_used_at) if key.last_used_at else never
    return key.name, key.id, ",".join(key.scopes), last_used, state if key.revoked_at else valid


@keys.command("revoke", cls=ExampleCommand, epilog="keys revoke ci\nkeys revoke 0a1b2c3d4e5f")
def keys_revoke(
    *,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The name or id of a key.")],
) -> int:
    """Revoke a key; running services reject it at once."""
    revoked = _key_file().revoke(key)
    _write_audit_entry("key_revoked", revoked)
    print(translate("keys.revoked", "Revoked {name} ({id}).", name=revoked.name, id=revoked.id))
    return 0


def _key_file(state: Path | None = None) -> "KeyFile":
    from skills_runtime.config import state_home
    from skills_runtime.service.access import KeyFile

    return KeyFile(state or state_home(), SystemClock().now)


def _write_audit_entry(action: str, key: "ApiKey") -> None:
    from skills_runtime.config import state_home
    from skills_runtime.service import AuditEntry, AuditLog

    details = {"key": key.id, "name": key.name, "scopes": list(key.scopes)}
    with closing(AuditLog(state_home())) as log:
        log.add(AuditEntry(time=SystemClock().now(), what=action, who=login_name(), details=details))


def _build_document(key: "ApiKey") -> dict[str, Any]:
    """Build the JSON document of a key, without its digest."""
    return {name: value for name, value in msgspec.to_builtins(key).items() if name != "digest"}


def _format_minute(moment: str) -> str:
    return moment[:16].replace("T", " ")
