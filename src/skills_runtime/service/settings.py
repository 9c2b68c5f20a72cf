"""The settings of a service; invalid ones are refused before it listens."""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from skills_runtime.config import ServiceLimits, ServiceSection, is_host_name
from skills_runtime.errors import ConfigError

DEFAULT_PORT = 8000
DEFAULT_TIMEOUT_MS = 10_000
MAX_TIMEOUT_MS = 600_000
SKILL_SERVICE_PRESET = "skill-service"
PRESETS: Mapping[str, int] = {"studio": DEFAULT_PORT, SKILL_SERVICE_PRESET: 8080}
"""Default ports for each kind of client."""
IGNORED_VARIABLES = ("DJANGO_DEBUG", "DJANGO_SECRET_KEY", "SQLITE_PATH", "GUNICORN_WORKERS", "GUNICORN_TIMEOUT")
"""Variables of older deployments that have no effect here."""

SkillServiceAccess = Literal["open", "user", "closed"]
"""Who may list and execute skills without a token: every local user, only the service's own user, or no one."""

_LISTEN = re.compile(r"(?:(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):)?(?P<port>[0-9]{1,5})")


class Listener(msgspec.Struct, frozen=True):
    """An address to listen on."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT

    @property
    def is_loopback(self) -> bool:
        """Whether it is reachable only from this machine."""
        return is_loopback(self.host)

    @property
    def text(self) -> str:
        """The address as it appears in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits for clients."""

    body_bytes: int = 2_621_440
    """Maximum size of a request body."""
    body_seconds: float = 30.0
    """Time limit for sending a request body."""
    requests_per_second: float = 500.0
    """Sustained request rate of one caller."""
    burst: int = 2_000
    """Requests that one caller may make at once."""
    failures_per_minute: int = 30
    """Invalid tokens or keys that one address may send per minute."""
    concurrent: int = 16
    """Executions that run at the same time."""
    waiting: int = 64
    """Executions that may wait in the queue; more are refused."""


class ServiceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a service is started with."""

    workspace_root: Path
    state: Path
    """Directory of its token, keys and audit log."""
    artifacts_dir: Path
    skills_dir: Path | None = None
    """The only skills to serve; `None` serves all that `skills list` shows."""
    listen: tuple[Listener, ...] = (Listener(),)
    allowed_hosts: tuple[str, ...] = ()
    """Host names it is reached by, besides those of this machine."""
    skill_service: SkillServiceAccess = "user"
    default_timeout_ms: int = DEFAULT_TIMEOUT_MS
    max_timeout_ms: int = MAX_TIMEOUT_MS
    limits: Limits = Limits()
    keep_days: float | None = None
    """Remove executions that ended longer ago."""
    keep_bytes: int | None = None
    """Remove the oldest executions until the rest takes no more."""
    grace_seconds: float = 10.0
    """How long work may continue after the service is asked to stop."""
    config_paths: tuple[Path, ...] = ()
    """Additional configuration files for runs."""
    run_settings: Mapping[str, Any] = {}
    """Settings for runs from the command line, with the highest priority."""


class ServiceOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Command line options; they override environment variables, which override the configuration."""

    listen: tuple[str, ...] = ()
    host: str | None = None
    port: int | None = None
    """With `host`, one address instead of `listen`; what is missing is as configured."""
    preset: str | None = None
    skills_dir: Path | None = None
    artifacts_dir: Path | None = None
    allowed_hosts: tuple[str, ...] = ()
    skill_service: SkillServiceAccess | None = None
    config_paths: tuple[Path, ...] = ()
    settings: Mapping[str, Any] = {}
    concurrent: int | None = None
    waiting: int | None = None
    body_bytes: int | None = None
    requests_per_second: float | None = None


def settings_from(
    workspace_root: Path,
    state: Path,
    environ: Mapping[str, str],
    options: ServiceOptions | None = None,
    configured: ServiceSection | None = None,
) -> ServiceSettings:
    """Build the settings from options, environment variables and configuration, in this order of priority."""
    options, section = options or ServiceOptions(), configured or ServiceSection()
    root = workspace_root.resolve()
    hosts = (*options.allowed_hosts, *_split_names(environ.get("DJANGO_ALLOWED_HOSTS", "")), *section.allowed_hosts)
    default_ms = _milliseconds(environ.get("DEFAULT_TIMEOUT_MS", ""), section)
    return ServiceSettings(
        workspace_root=root,
        state=state,
        skills_dir=_skills_directory(root, environ, options, section),
        artifacts_dir=_directory(
            options.artifacts_dir, environ.get("ARTIFACTS_DIR"), section.artifacts_dir or root / "artifacts"
        ),
        listen=_listeners(options, environ, section),
        allowed_hosts=tuple(dict.fromkeys(_host(name) for name in hosts)),
        skill_service=options.skill_service or section.skill_service,
        default_timeout_ms=default_ms,
        max_timeout_ms=section.max_timeout_ms,
        keep_days=section.executions.keep_days,
        keep_bytes=section.executions.keep_bytes,
        grace_seconds=section.grace_seconds,
        config_paths=options.config_paths,
        run_settings=options.settings,
        limits=_limits(options, section.limits),
    )


def _limits(options: ServiceOptions, configured: ServiceLimits) -> Limits:
    values: dict[str, Any] = {
        "concurrent": options.concurrent,
        "waiting": options.waiting,
        "body_bytes": options.body_bytes,
        "requests_per_second": options.requests_per_second,
        # A sustained rate implies a proportional burst.
        "burst": None if options.requests_per_second is None else max(1, round(options.requests_per_second * 4)),
    }
    return Limits(**{**configured.model_dump(), **{name: value for name, value in values.items() if value is not None}})


def notices(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return notices about environment variables that have no effect."""
    names = [name for name in IGNORED_VARIABLES if environ.get(name)]
    return (f"environment variables without effect: {', '.join(names)}",) if names else ()


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    """Return whether a host is this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def parse_listen(text: str) -> Listener:
    """Parse an address such as `127.0.0.1:8000`, `[::1]:8000` or `8000`."""
    matched = _LISTEN.fullmatch(text)
    port = int(matched["port"]) if matched else 0
    if matched is None or port > 65_535:
        raise ConfigError(f"{text[:80]!a} is not an address to listen on", hint="write HOST:PORT or only the port")
    return Listener((matched["host"] or "127.0.0.1").strip("[]"), port)


def _listeners(options: ServiceOptions, environ: Mapping[str, str], configured: ServiceSection) -> tuple[Listener, ...]:
    if options.listen:
        return tuple(dict.fromkeys(map(parse_listen, options.listen)))
    listener = _configured_listener(options, environ, configured)
    if options.host is None and options.port is None:
        return (listener,)
    host = listener.host if options.host is None else options.host
    return (parse_listen(Listener(host, listener.port if options.port is None else options.port).text),)


def _configured_listener(options: ServiceOptions, environ: Mapping[str, str], configured: ServiceSection) -> Listener:
    if options.preset is not None:
        if options.preset not in PRESETS:
            raise ConfigError(f"{options.preset[:80]!a} is not a preset", hint=f"choose one of: {', '.join(PRESETS)}")
        return Listener(configured.host, PRESETS[options.preset])
    port = environ.get("PORT", "")
    if not port:
        return Listener(configured.host, configured.port)
    if not (port.isascii() and port.isdigit()):
        raise ConfigError("the variable `PORT` is not a number", hint="set it to a port such as 8080, or unset it")
    return Listener(configured.host, parse_listen(port).port)


def _skills_directory(
    root: Path, environ: Mapping[str, str], options: ServiceOptions, section: ServiceSection
) -> Path | None:
    """Return the directory that was chosen; the preset of the skill service chooses `./skills` where it exists."""
    variable = environ.get("SKILLS_DIR")
    path = options.skills_dir or (Path(variable) if variable else section.skills_dir)
    if path is None and options.preset == SKILL_SERVICE_PRESET and (root / "skills").is_dir():
        path = root / "skills"
    return path.absolute() if path is not None else None


def _directory(path: Path | None, variable: str | None, default: Path) -> Path:
    return (path or (Path(variable) if variable else default)).absolute()


def _split_names(text: str) -> Iterable[str]:
    return (name.strip() for name in text.split(",") if name.strip())


def _host(name: str) -> str:
    if not is_host_name(name):
        raise ConfigError(f"{name[:80]!a} is not a host name", hint="write `name` or `name:port`")
    return name.lower()


def _milliseconds(text: str, configured: ServiceSection) -> int:
    max_timeout_ms = configured.max_timeout_ms
    if not text:
        return min(configured.default_timeout_ms, max_timeout_ms)
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= max_timeout_ms):
        raise ConfigError(f"the variable `DEFAULT_TIMEOUT_MS` must be a number from 1 to {max_timeout_ms}")
    return int(text)
