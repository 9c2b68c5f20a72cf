"""The HTTP service as the command line starts it, and its keys; every change of a key is in the audit log."""

import asyncio
import logging
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from skills_runtime.cli.inputs import checked_path, parse_assignments, resolve_settings
from skills_runtime.cli.options import ConfigOptions
from skills_runtime.cli.state import login_name
from skills_runtime.clock import SystemClock
from skills_runtime.config import state_home
from skills_runtime.errors import ConfigError
from skills_runtime.service.access.keys import ApiKey, KeyFile
from skills_runtime.service.audit import AuditEntry, AuditLog

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.service.access.token import Announced
    from skills_runtime.service.settings import Listener, ServiceSettings
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


def make_key(name: str, scopes: Iterable[str]) -> tuple[ApiKey, str]:
    """A new key and its text."""
    key, text = _keys().create(name, tuple(scopes))
    _note("key_created", key)
    return key, text


def all_keys() -> tuple[ApiKey, ...]:
    """Every key there is."""
    return _keys().list()


def revoke_key(name_or_id: str) -> ApiKey:
    """Make a key worthless."""
    key = _keys().revoke(name_or_id)
    _note("key_revoked", key)
    return key


def _keys() -> KeyFile:
    return KeyFile(state_home(), SystemClock().now)


def _note(what: str, key: ApiKey) -> None:
    about = {"key": key.id, "name": key.name, "scopes": list(key.scopes)}
    with closing(AuditLog(state_home())) as log:
        log.add(AuditEntry(time=SystemClock().now(), what=what, who=login_name(), details=about))


def has_screen(environ: Mapping[str, str]) -> bool:
    """Whether a browser with windows can be opened; one that takes over the terminal is of no use to a server."""
    return sys.platform in ("darwin", "win32") or any(environ.get(name) for name in _SCREENS)


def open_page(link: str, environ: Mapping[str, str]) -> None:
    """Open a link without waiting for the browser; where there is no screen the printed link is enough."""
    if has_screen(environ):
        threading.Thread(target=_open, args=(link,), daemon=True, name="browser").start()


def _open(link: str) -> None:
    import webbrowser

    webbrowser.open(link, new=2)


def show_new(key: ApiKey, text: str, out: TextIO) -> None:
    """Show a new key to a person, who will not see it again."""
    out.write(f"{text}\n\nThis is the key `{key.name}` ({', '.join(key.scopes)}). It is shown only now.\n")


def write_new(key: ApiKey, text: str, out: TextIO) -> None:
    """Write a new key for a program."""
    _write({**_document(key), "key": text}, out)


def show_keys(keys: Sequence[ApiKey], out: TextIO) -> None:
    """Show keys as a table."""
    if not keys:
        out.write("There are no keys.\n")
        return
    rows = [("NAME", "ID", "SCOPES", "LAST USED", "STATE")]
    for key in keys:
        state = f"revoked {_day(key.revoked_at)}" if key.revoked_at else "valid"
        rows.append((key.name, key.id, ",".join(key.scopes), _day(key.last_used_at) or "never", state))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        out.write("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() + "\n")


def write_keys(keys: Iterable[ApiKey], out: TextIO) -> None:
    """Write keys for a program, without what was kept of their texts."""
    _write([_document(key) for key in keys], out)


def _document(key: ApiKey) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(key).items() if name != "digest"}


def _day(moment: str | None) -> str:
    return moment[:16].replace("T", " ") if moment else ""


def _write(value: Any, out: TextIO) -> None:
    out.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What the command line says about the service."""

    listen: tuple[str, ...] = ()
    preset: str | None = None
    skills_dir: str | None = None
    artifacts_dir: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    closed: bool | None = None
    new_token: bool = False
    concurrent: int | None = None
    waiting: int | None = None
    max_body: int | None = None
    rate: float | None = None
    access_log: bool = False


def serve_until_stopped(
    options: ServeOptions,
    given: ConfigOptions,
    program: str,
    *,
    out: TextIO,
    err: TextIO,
    page: str = "/",
    opened: Callable[[str, Mapping[str, str]], None] | None = None,
) -> int:
    """Serve, and say where; `opened` is given the link to `page` as soon as requests are taken."""
    serving = _serving()
    from skills_runtime.service.access.token import service_token
    from skills_runtime.service.settings import notices

    resolved = resolve_settings(given, program=program)
    settings = _settings(options, given, resolved)
    if options.new_token:
        service_token(settings.state, renew=True)
    _set_up_logs(err, access=options.access_log)
    for notice in (*resolved.notices, *notices(resolved.environment.process), *_notice_of_keys(settings)):
        err.write(f"note: {notice}\n")

    def told(server: "Announced", listeners: "Sequence[Listener]") -> None:
        lines = [f"Serving {settings.skills_dir} on {', '.join(f'http://{one.text}' for one in listeners)}"]
        link = server.link_to(page)
        if listeners[0].is_loopback:
            lines.append(f"Open {link}")
        out.write("\n".join((*lines, "Stop it with Ctrl-C.", "")))
        out.flush()
        if opened is not None and listeners[0].is_loopback:
            opened(link, resolved.environment.process)

    asyncio.run(serving.serve(settings, resolved, told))
    return 0


def show_services(out: TextIO) -> int:
    """Say which services of this user run now."""
    from skills_runtime.service.access.token import find_services

    found = find_services(state_home())
    for server in found:
        out.write(f"{server.link}  {server.workspace_root}\n")
    return 0 if found else 1


def _serving() -> ModuleType:
    try:
        from skills_runtime.service import server as serving
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("fastapi", "starlette", "uvicorn", "prometheus_client"):
            raise
        raise ConfigError(
            f"the HTTP service needs the package `{error.name}`", hint="pip install 'skills-runtime[service]'"
        ) from error
    return serving


def _settings(options: ServeOptions, given: ConfigOptions, resolved: "Resolved") -> "ServiceSettings":
    from skills_runtime.service.settings import Given, settings_from

    asked = Given(
        listen=options.listen,
        preset=options.preset,
        skills_dir=checked_path(options.skills_dir, option="--skills-dir") if options.skills_dir is not None else None,
        artifacts_dir=(
            checked_path(options.artifacts_dir, option="--artifacts-dir") if options.artifacts_dir is not None else None
        ),
        allowed_hosts=options.allowed_hosts,
        skill_service=None if options.closed is None else "closed" if options.closed else "open",
        config_paths=tuple(checked_path(path, option="--config").absolute() for path in given.files),
        settings=parse_assignments(given.assignments),
        concurrent=options.concurrent,
        waiting=options.waiting,
        body_bytes=options.max_body,
        requests_per_second=options.rate,
    )
    environ = resolved.environment.process
    return settings_from(
        resolved.workspace_root, state_home(environ), environ, asked, configured=resolved.settings.service
    )


def _notice_of_keys(settings: "ServiceSettings") -> tuple[str, ...]:
    """Whoever comes from elsewhere needs a key; that there is none is worth knowing before they come."""
    from skills_runtime.clock import SystemClock
    from skills_runtime.service.access.keys import KeyFile

    if all(listener.is_loopback for listener in settings.listen):
        return ()
    if any(key.revoked_at is None for key in KeyFile(settings.state, SystemClock().now).list()):
        return ()
    return ("nobody from another machine can do anything yet: `keys create NAME --scope execute` makes a key",)


def _set_up_logs(err: TextIO, *, access: bool) -> None:
    """Our own lines as they are; those of the server with their level."""
    lines = logging.StreamHandler(err)
    lines.setFormatter(logging.Formatter("%(message)s"))
    access_log = logging.getLogger("skills_runtime.service.access")
    access_log.addHandler(lines)
    access_log.setLevel(logging.INFO if access else logging.CRITICAL)
    access_log.propagate = False
    retention_log = logging.getLogger("skills_runtime.service.retention")
    retention_log.addHandler(lines)
    retention_log.setLevel(logging.INFO)
    retention_log.propagate = False
    rest = logging.StreamHandler(err)
    rest.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.getLogger("uvicorn").addHandler(rest)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
