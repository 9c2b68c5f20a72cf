"""What a policy lets be read and written, for whoever is asked about a command: references only, so it costs nothing.

Pure.
"""

from pathlib import Path

from skills_runtime.ports.file_access import FileAccess
from skills_runtime.sandbox.machine import Machine
from skills_runtime.sandbox.policy import SandboxPolicy
from skills_runtime.sandbox.survey import Findings


def opened_by(policy: SandboxPolicy, system: tuple[str, ...]) -> FileAccess:
    """What directories are opened, where nothing in them can be told apart."""
    writes = policy.access == "write"
    return FileAccess(
        workspace=policy.workspace,
        writable=(policy.workspace, *policy.writable) if writes else policy.writable,
        readable=policy.readable if writes else (policy.workspace, *policy.readable),
        system=system,
    )


def system_of(machine: Machine) -> tuple[str, ...]:
    """What of this machine every command reads to work at all."""
    interpreter = (str(machine.interpreter),) if machine.interpreter else ()
    return (*machine.roots, *(link for link, _ in machine.links), *machine.files, *interpreter)


def protected_in(policy: SandboxPolicy, findings: Findings) -> tuple[Path, ...]:
    """What stays as it is in directories that can be written; what exists comes first."""
    if policy.access == "read" and not policy.opened:
        return ()
    hidden = findings.hidden_directories
    kept_free = (path for path in findings.placeholder_directories if path not in hidden)
    return (*findings.read_only, *kept_free, *findings.placeholders)


def hidden_in(policy: SandboxPolicy, findings: Findings) -> tuple[Path, ...]:
    """What nothing can look into; where nothing is written, what does not exist yet needs no hiding."""
    missing = findings.placeholder_directories if policy.access == "read" else ()
    found = (path for path in findings.hidden_directories if path not in missing)
    return tuple(dict.fromkeys((*findings.hidden_files, *found, *policy.hidden)))
