"""What no grant can open, whoever asks for it: secrets, the runtime's own state, the system, networks within.

Pure, save for `control_directories`, which is told the variables to look into.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from skills_runtime.errors import ValidationFailed
from skills_runtime.sandbox.denials.obeyed import IS_OBEYED, holds, is_obeyed
from skills_runtime.sandbox.egress import allow_rule, canonical_host
from skills_runtime.sandbox.egress.addresses import reach_of
from skills_runtime.sandbox.egress.values import Refused
from skills_runtime.sandbox.protected import CREDENTIALS, HOME_SECRETS, RUNTIME_DIRECTORY, SECRETS

CLOSED_TO_ALL = ("/proc", "/sys", "/dev", "/run", "/boot")
CLOSED_TO_WRITING = (
    *CLOSED_TO_ALL, "/bin", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr", "/var", "/nix", "/gnu",
    "/System", "/Library", "/private/etc", "/private/var",
)  # fmt: skip
TOO_WIDE = (
    "/",
    "/home",
    "/root",
    "/Users",
    "/tmp",
    "/etc",
    "/usr",
    "/var",
    "/opt",
    "/mnt",
    "/media",
    "/srv",
    "/private",
)
"""They hold what belongs to others, or everything; a directory in them may be opened, if nothing else forbids it."""

SECRET_PLACES = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private")
SECRET_NAMES = (
    CREDENTIALS
    | set(HOME_SECRETS)
    | {
        ".config/rclone", ".config/sops", ".config/age", ".config/containers", ".config/glab-cli", ".config/doctl",
        ".config/microsoft-edge", ".config/BraveSoftware", ".config/Signal", ".config/Slack", ".config/discord",
        ".config/filezilla", ".local/share/password-store", ".local/share/kwalletd", ".thunderbird", ".electrum",
        ".bitcoin", ".ethereum", "credentials", "credentials.toml", "credentials.json", "keyrings", "Library/Cookies",
        "Library/Application Support/Google", "Library/Application Support/Firefox",
    }
)  # fmt: skip
_ABOVE_SECRETS = tuple(
    "/".join(name.split("/")[:depth])
    for name in sorted(SECRET_NAMES)
    for depth in range(1, name.count("/") + 1)
    if name.startswith(".")
)
MOST_BYTES = 4095
MOST_BYTES_OF_A_NAME = 255
"""Beyond which no kernel takes a path."""
IS_SECRET = "secrets are kept there"
IS_OWN = "the runtime keeps its own state there"
_KEY_FILE = re.compile(
    r"id_(rsa|dsa|ecdsa|ed25519)(\.\w+)?|.*\.(pem|key|p12|pfx|kdbx|jks|keystore|gpg)|.*_history", re.IGNORECASE
)
_LOCAL_NAMES = re.compile(
    r"(?:.*\.)?(localhost|local|internal|intranet|lan|home|corp|private"
    r"|localhost6|localdomain|localdomain6|localnet|domain|workgroup|mshome|router|gateway|box|host|arpa|svc|consul)"
    r"|metadata(\..*)?|[^.]+"
)
_HOME = re.compile(r"/(?:home|Users)/[^/]+(?:/Library(?:/Application Support)?)?|/root")


def why_not_path(
    path: str,
    *,
    writing: bool,
    control: Iterable[Path] = (),
    within: Path | None = None,
    programs: Iterable[Path] = (),
) -> str | None:
    """Why a path can never be opened, as the end of a sentence; nothing when it may be.

    `control` are the runtime's own directories, `programs` those in which the user's programs are found by name, and
    `within` is the workspace.
    """
    if not path.startswith("/") or "\0" in path or path != os.path.normpath(path) or path.startswith("//"):
        return "it is not a plain absolute path"
    if _is_too_long(path):
        return "it is too long for a path"
    place = Path(path)
    if reason := _closed(path, writing=writing):
        return reason
    if path in TOO_WIDE or _HOME.fullmatch(path):
        return "it holds far more than one command needs"
    if is_secret(place):
        return IS_SECRET
    if RUNTIME_DIRECTORY in place.parts or any(
        place.is_relative_to(own) or own.is_relative_to(place) for own in control
    ):
        return IS_OWN
    if writing and is_obeyed(place, within=within, programs=programs):
        return IS_OBEYED
    return None


def is_secret(path: Path) -> bool:
    """Whether a name on the way to it, or one that such a directory has in it, says that it holds secrets."""
    text = f"{path}/"
    if any(f"/{name}/" in text for name in SECRET_NAMES) or _below(str(path), SECRET_PLACES):
        return True
    if holds(str(path), _ABOVE_SECRETS):
        return True
    return any(part.startswith(SECRETS) for part in path.parts) or _KEY_FILE.fullmatch(path.name) is not None


def why_not_host(rule: str) -> str | None:
    """Why a host can never be reached by a grant; nothing when it may be."""
    if "*" in rule:
        return "a grant names one host and its ports"
    try:
        host = canonical_host(allow_rule(rule).host)
    except ValidationFailed as error:
        return f"it is not a host: {error.message}"
    if isinstance(host, Refused):
        return f"it is not a host: {host.reason}"
    if host.address is not None:
        reach = reach_of(host.address)
        return None if reach == "public" else f"it is a {reach} address"
    return "it is a name of a network within" if _LOCAL_NAMES.fullmatch(host.text) else None


def control_directories(variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Where the runtime keeps keys, records and configuration of this user."""
    from skills_runtime.config.environment import config_home, keys_home, state_home

    return tuple(sorted({Path(os.path.realpath(home(variables))) for home in (config_home, keys_home, state_home)}))


def _is_too_long(path: str) -> bool:
    written = path.encode(errors="surrogatepass")
    return len(written) > MOST_BYTES or any(len(part) > MOST_BYTES_OF_A_NAME for part in written.split(b"/"))


def _closed(path: str, *, writing: bool) -> str | None:
    if _below(path, CLOSED_TO_ALL):
        return "it belongs to the kernel"
    # Temporary files of other programs lie there, and those of no system.
    if writing and _below(path, CLOSED_TO_WRITING) and not path.startswith(("/var/tmp/", "/private/var/folders/")):
        return "it belongs to the system"
    return None


def _below(path: str, roots: Iterable[str]) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in roots)
