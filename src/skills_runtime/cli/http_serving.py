"""The HTTP service as the command line starts it."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, TextIO

from skills_runtime.cli.machine import checked_path
from skills_runtime.cli.options import ConfigOptions
from skills_runtime.cli.settings import parse_assignments, resolve_settings
from skills_runtime.config import state_home
from skills_runtime.errors import ConfigError

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.service.access.token import Announced
    from skills_runtime.service.settings import Listener, ServiceSettings


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
        from skills_runtime.service import serving
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
