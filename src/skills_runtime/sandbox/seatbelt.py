"""The macOS adapter: a profile for the system's `sandbox-exec`.

Tests compare the generated text; they run on Linux and do not execute it.
"""

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from skills_runtime.ports import FileAccess, SandboxSetup
from skills_runtime.protected_names import CREDENTIAL_NAMES, ENV_FILE_PREFIX, GIT_CONTROL_PATHS, REPOSITORY
from skills_runtime.sandbox.adapter import (
    Capabilities,
    Inner,
    SandboxedCommand,
    build_file_access,
    list_hidden,
    list_protected,
)
from skills_runtime.sandbox.limits import limit_gaps
from skills_runtime.sandbox.machine import Machine
from skills_runtime.sandbox.policy import NO_OWN_NETWORK, Gap, SandboxPolicy
from skills_runtime.sandbox.protected_paths import READ_ONLY, RUNTIME_DIRECTORY, Findings

PROGRAM = "/usr/bin/sandbox-exec"

READABLE = (
    "/usr", "/bin", "/sbin", "/System", "/Library/Apple", "/Library/Developer", "/private/var/db/timezone",
    "/private/etc/ssl", "/private/var/select", "/opt/homebrew",
)  # fmt: skip
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
SERVICES = (
    "com.apple.system.opendirectoryd.libinfo", "com.apple.system.notification_center", "com.apple.logd",
    "com.apple.trustd.agent", "com.apple.SecurityServer",
)  # fmt: skip
"""System services that programs need."""


class Seatbelt:
    """The sandbox profile language of macOS."""

    name = "seatbelt"

    def probe(self) -> Capabilities:
        """Return whether the program exists; whether it works is not tested yet."""
        return _probe_cached(sys.platform)

    def gaps(self, policy: SandboxPolicy, machine: Machine, findings: Findings) -> tuple[Gap, ...]:
        """Return the promises that Seatbelt cannot keep for this policy."""
        del findings
        fix = "use Linux with bubblewrap, which can"
        gaps = [*limit_gaps(policy, machine, own_users=False)]
        gaps.append(Gap(promise="system_calls", text="system calls are not filtered", fix=fix))
        gaps.append(Gap(promise="processes", text="other processes can be seen", fix=fix))
        for promise in ("file_size", "open_files", "cpu"):
            gaps.append(Gap(promise=promise, text="this sandbox sets no limit", fix=fix))
        gaps.append(Gap(promise="core_dumps", text="a program may ask for one", fix=fix, partial=True))
        gaps.append(Gap(promise="temporary_space", text="the temporary directory is not bounded", fix=fix))
        gaps.append(Gap(promise="fs_write", text="this sandbox has not been tested on macOS yet", partial=True))
        if policy.network == "host":
            gaps.append(Gap(promise="network", text="a process may use the network, as the policy says"))
        if policy.network == "allow-list":
            gaps.append(Gap(promise="network", text=NO_OWN_NETWORK, fix=fix))
        return tuple(gaps)

    def wrap(self, policy: SandboxPolicy, machine: Machine, findings: Findings, inner: Inner) -> SandboxedCommand:
        """Build the `sandbox-exec` command line for a command."""
        del machine, findings
        parameters = build_parameters(policy)
        definitions = [argument for name, value in parameters.items() for argument in ("-D", f"{name}={value}")]
        return SandboxedCommand(
            argv=(PROGRAM, "-p", profile_text(policy), *definitions, "--", *inner.argv),
            cwd=inner.cwd,
            environment=inner.environment,
            options=tuple(profile_text(policy).splitlines()),
            setup=SandboxSetup(),
        )

    def file_access(self, policy: SandboxPolicy, machine: Machine, findings: Findings) -> FileAccess:
        """Return what the profile opens, without the existing paths that it denies by name."""
        del machine
        secret = {*CREDENTIAL_NAMES, RUNTIME_DIRECTORY}
        return msgspec.structs.replace(
            build_file_access(policy, READABLE),
            protected=tuple(path for path in list_protected(policy, findings) if path.name in READ_ONLY),
            hidden=tuple(
                path
                for path in list_hidden(policy, findings)
                if path.name.startswith(ENV_FILE_PREFIX) or path.name in secret
            ),
        )


def build_parameters(policy: SandboxPolicy) -> dict[str, str]:
    """Return the paths of the profile as parameters, so that no name can become a rule."""
    paths = {"WORKSPACE": policy.workspace}
    paths |= {f"READABLE_{number}": path for number, path in enumerate(policy.readable)}
    paths |= {f"WRITABLE_{number}": path for number, path in enumerate(policy.writable)}
    paths |= {f"PROTECTED_{number}": path for number, path in enumerate(policy.protected)}
    return {name: str(path) for name, path in paths.items()}


def profile_text(policy: SandboxPolicy) -> str:
    """Build the profile text; later rules win, so protected paths come last."""
    return "".join(f"{line}\n" for line in _lines(policy))


def _lines(policy: SandboxPolicy) -> Iterator[str]:
    yield from ("(version 1)", "(deny default)", "(allow process-exec process-fork)")
    yield "(allow signal (target same-sandbox))"
    yield from ("(allow sysctl-read)", "(allow file-read-metadata)", '(allow file-read* (literal "/"))')
    yield f"(allow file-read* {_all('subpath', READABLE)})"
    yield f"(allow file-read* file-write-data {_all('literal', DEVICES)})"
    yield f"(allow mach-lookup {_all('global-name', SERVICES)})"
    yield '(allow file-read* (subpath (param "WORKSPACE")))'
    for number in range(len(policy.readable)):
        yield f'(allow file-read* (subpath (param "READABLE_{number}")))'
    if policy.access == "write":
        yield '(allow file-write* (subpath (param "WORKSPACE")))'
        for name in sorted(READ_ONLY - {REPOSITORY}):
            yield f"(deny file-write* {_anywhere(name)})"
        for name in GIT_CONTROL_PATHS:
            yield f"(deny file-write* {_anywhere(f'{REPOSITORY}/{name}')})"
        for number in range(len(policy.protected)):
            yield f'(deny file-write* (subpath (param "PROTECTED_{number}")))'
    yield f"(deny file-read* file-write* {_anywhere(ENV_FILE_PREFIX, open_end=True)})"
    for name in sorted((*CREDENTIAL_NAMES, RUNTIME_DIRECTORY)):
        yield f"(deny file-read* file-write* {_anywhere(name)})"
    for number in range(len(policy.writable)):
        yield f'(allow file-read* file-write* (subpath (param "WRITABLE_{number}")))'
    yield "(allow network*)" if policy.network == "host" else "(deny network*)"


def _all(kind: str, names: tuple[str, ...]) -> str:
    return " ".join(f'({kind} "{name}")' for name in names)


def _anywhere(name: str, *, open_end: bool = False) -> str:
    """Build a pattern for this name at any depth and everything below it, its directory included."""
    escaped = name.replace(".", "[.]")
    end = "" if open_end else "(/|$)"
    return f'(require-all (subpath (param "WORKSPACE")) (regex #"/{escaped}{end}"))'


@cache
def _probe_cached(system: str) -> Capabilities:
    if system != "darwin":
        return Capabilities(adapter="seatbelt", works=False, problem="seatbelt is part of macOS only", fix="use macOS")
    if not os.access(PROGRAM, os.X_OK):
        problem = f"there is no program `{PROGRAM}`"
        return Capabilities(adapter="seatbelt", works=False, problem=problem, fix="use a macOS that has it")
    return Capabilities(adapter="seatbelt", works=True, version="untested", facts={"program": str(Path(PROGRAM))})
