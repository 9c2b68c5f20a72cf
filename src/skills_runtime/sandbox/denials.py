"""Find what the sandbox denied a finished command, and the smallest grant that would allow it.

Decisions of the proxy and counters of the kernel and the supervisor are proof. There is one guess: a command that
failed and whose last output has a kernel error about a path the sandbox closes. Any other failure is the command's
own. Starts nothing; only checks whether paths exist.
"""

import os
import re
import signal
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.ports import Grant, LimitName, RaisedLimit
from skills_runtime.sandbox.egress import EgressRecord
from skills_runtime.sandbox.grants import IS_OWN, IS_SECRET, MAX_LIMITS, RUNS_OUTSIDE, why_not_host, why_not_path
from skills_runtime.sandbox.machine import SYSTEM_FILES, SYSTEM_ROOTS
from skills_runtime.sandbox.policy import SandboxPolicy
from skills_runtime.sandbox.protected_paths import Findings

# Reported by the kernel, supervisor or proxy; or parsed from the command's output, which may claim anything.
Certainty = Literal["proven", "suspected"]
DeniedAction = Literal["write", "read", "network", "system_call", "limit"]

# Reported per command; a build can fail a thousand times.
MAX_DENIALS = 8
MAX_LINES, MAX_LINE_CHARACTERS = 40, 1000
"""Lines read at the end of the output, and characters per line."""
RAISE_FACTOR = 2
"""The factor by which a grant raises an exceeded limit."""

_SENTENCE = re.compile(
    r"(?P<read_only>read-only file ?system|device or resource busy)"
    r"|(?P<refused>permission denied|operation not permitted)"
    r"|(?P<missing>no such file or directory|directory nonexistent)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"(?<!\w)'([^']+)'|‘([^’]+)’|\"([^\"]+)\"|`([^`']+)[`']")
_UNQUOTED = re.compile(r"(?:^|[\s:=])(\.{0,2}/[^\s'\"`‘’,;:()<>|]+)|([^\s:'\"]+): ?$")
_PRIVATE = ("/tmp", "/var/tmp")
"""Private to every command."""
_KERNEL = ("/dev", "/proc", "/sys", "/run")
# Every command sees these in full, so a missing file there really is missing.
_VISIBLE_PATHS = (*SYSTEM_ROOTS, *SYSTEM_FILES)
_EXCEEDED: Mapping[str, LimitName] = {"memory": "memory_bytes", "disk": "disk_bytes", "output": "output_bytes"}
_COUNTED: Mapping[str, LimitName] = {"out_of_memory_kills": "memory_bytes", "process_limit_hits": "processes"}
_SIGNALS: Mapping[int, LimitName] = {signal.SIGXFSZ: "file_bytes", signal.SIGXCPU: "cpu_seconds"}


class Denial(msgspec.Struct, frozen=True, kw_only=True):
    """Something the sandbox denied."""

    certainty: Certainty
    what: DeniedAction
    target: str
    """A path, `host:port` or the name of a limit; empty when unknown."""
    grant: Grant | None
    """The smallest grant that would help; None when no grant can."""
    sentence: str
    """What was denied, and why there is no grant if there is none."""


class ProcessOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a command that has ended."""

    cwd: Path
    argv: tuple[str, ...] = ()
    """The requested command, as it was before wrapping."""
    exit_code: int | None
    signal: int | None = None
    stdout: str = ""
    stderr: str = ""
    exceeded: str | None = None
    """The limit for which the supervisor killed it."""
    counted: Mapping[str, int] = {}
    """Counters of the kernel."""
    decisions: tuple[EgressRecord, ...] = ()
    """Decisions of the proxy on its requests."""


def find_denials(
    outcome: ProcessOutcome,
    policy: SandboxPolicy,
    findings: Findings,
    *,
    control: tuple[Path, ...] = (),
    programs: tuple[Path, ...] = (),
) -> tuple[Denial, ...]:
    """Return what the sandbox denied, proven denials first; empty if the command failed by itself.

    `control` and `programs` are as in `grants.why_not_path`.
    """
    if policy.profile == "danger":
        return ()
    denials = [*_limit_denials(outcome, policy), *_host_denials(outcome, policy)]
    if outcome.signal == signal.SIGSYS or outcome.exit_code == 128 + signal.SIGSYS:
        # seccomp kills with SIGSYS; a shell reports that as exit code 159.
        certainty, phrase = (
            ("proven", "used") if outcome.signal == signal.SIGSYS else ("suspected", "seems to have used")
        )
        sentence = f"The command {phrase} a system call that the sandbox does not allow."
        denials.append(Denial(certainty=certainty, what="system_call", target="", grant=None, sentence=sentence))
    if outcome.exit_code != 0:
        judge = _PathDenials(policy=policy, findings=findings, control=control, programs=programs)
        denials += _suspected_path_denials(outcome, judge)
    distinct: dict[tuple[str, str], Denial] = {}
    for denial in sorted(denials, key=lambda denial: denial.certainty != "proven"):
        distinct.setdefault((denial.what, denial.target), denial)
    return tuple(distinct.values())[:MAX_DENIALS]


def _limit_denials(outcome: ProcessOutcome, policy: SandboxPolicy) -> Iterator[Denial]:
    proven: list[LimitName] = [name for limit, name in _EXCEEDED.items() if outcome.exceeded == limit]
    suspected: list[LimitName] = []
    if outcome.exit_code != 0:
        proven.extend(name for counter, name in _COUNTED.items() if outcome.counted.get(counter, 0) > 0)
        proven.extend(name for number, name in _SIGNALS.items() if outcome.signal == number)
        suspected.extend(name for number, name in _SIGNALS.items() if outcome.exit_code == 128 + number)
    for name in dict.fromkeys((*proven, *suspected)):
        now: int | None = getattr(policy.limits, name)
        if now is None:
            continue
        more = min(now * RAISE_FACTOR, MAX_LIMITS.get(name, now * RAISE_FACTOR))
        verb = "met" if name in proven else "seems to have met"
        yield Denial(
            certainty="proven" if name in proven else "suspected",
            what="limit",
            target=name,
            grant=Grant(limits=(RaisedLimit(name, more),)) if more > now else None,
            sentence=f"The command {verb} its limit `{name}`, which is {now}.",
        )


def _host_denials(outcome: ProcessOutcome, policy: SandboxPolicy) -> Iterator[Denial]:
    if policy.network == "host":
        return
    for record in outcome.decisions:
        if record.stage != "decided" or record.verdict != "deny" or not record.host:
            continue
        target = f"{record.host}:{record.port}"
        # A denied host and a private address stay what they are.
        by_rule = record.kind == "not_allowed"
        closed = why_not_host(target) if by_rule else None
        sentence = f"The command was not let reach `{target}`: {record.reason}."
        if closed is not None:
            sentence += f" No grant opens it, for {closed}."
        grant = Grant(hosts=(target,)) if by_rule and closed is None else None
        yield Denial(certainty="proven", what="network", target=target, grant=grant, sentence=sentence)


def _suspected_path_denials(outcome: ProcessOutcome, judge: "_PathDenials") -> Iterator[Denial]:
    """Yield the paths named beside a kernel error in the last lines of the output, the last first."""
    command_line = " ".join(outcome.argv)[: MAX_LINES * MAX_LINE_CHARACTERS]
    for line in reversed((outcome.stderr.strip() or outcome.stdout).splitlines()[-MAX_LINES:]):
        match = _SENTENCE.search(line[:MAX_LINE_CHARACTERS])
        if match is None:
            continue
        for text in _paths_in_line(match.string, match):
            path = Path(os.path.normpath(outcome.cwd / text))
            redirected = re.search(rf">\s*['\"]?{re.escape(text)}", command_line) is not None
            writing = match["read_only"] is not None or redirected or not os.path.lexists(path)
            denial = judge.find(path, missing=match["missing"] is not None, writing=writing)
            if denial is not None:
                yield denial
                break


def _paths_in_line(line: str, match: "re.Match[str]") -> Iterator[str]:
    """Yield the paths a line is about: those after the kernel's error, else the last one before it."""
    for part, last_first in ((line[match.end() :], False), (line[: match.start()], True)):
        names = [next(filter(None, quote.groups())) for quote in _QUOTED.finditer(part)]
        names = names or [next(filter(None, quote.groups())) for quote in _UNQUOTED.finditer(part)]
        for text in reversed(names) if last_first else names:
            if "\0" not in text and "://" not in text and len(text) < MAX_LINE_CHARACTERS:
                yield text


class _PathDenials(msgspec.Struct, frozen=True, kw_only=True):
    """Decides whether the sandbox closes a path, and the smallest grant that would open it."""

    policy: SandboxPolicy
    findings: Findings
    control: tuple[Path, ...]
    programs: tuple[Path, ...]

    def find(self, path: Path, *, missing: bool, writing: bool) -> Denial | None:
        """Return the denial of a path, or None for an open path or one that is not plausible."""
        policy, findings, around = self.policy, self.findings, {path, *path.parents}
        if not around.isdisjoint((*findings.hidden_files, *findings.hidden_directories, *policy.hidden)):
            return _denial(path, None, "what is there is secret", writing=False) if os.path.lexists(path) else None
        if not around.isdisjoint(findings.read_only):
            return None if missing else _denial(path, None, RUNS_OUTSIDE, writing=True)
        if self._is_own(path) and not (missing and not writing and _is_in(path, _PRIVATE)):
            return None
        is_visible = _is_in(path, (*_VISIBLE_PATHS, *map(str, policy.readable)))
        if is_visible and (missing or not writing):
            return None
        needed = path.parent if writing else path
        if missing and (needed == Path("/") or not os.path.lexists(needed)):
            return None
        existing = path
        while writing and not os.path.lexists(existing):
            existing = existing.parent
        workspace = policy.workspace
        programs = [program for program in self.programs if not program.is_relative_to(workspace)]
        control = (*self.control, *policy.hidden)
        reason = why_not_path(str(existing), writing=writing, control=control, within=workspace, programs=programs)
        if missing and reason in (IS_SECRET, IS_OWN):
            return None  # whether a hidden path exists is not revealed
        return _denial(path, existing, reason, writing=writing)

    def _is_own(self, path: Path) -> bool:
        """Return whether the path is private to the command, so that a failure there is not the sandbox's."""
        paths = (*self.policy.writable, *([self.policy.workspace] if self.policy.access == "write" else []))
        return any(path.is_relative_to(directory) for directory in paths) or _is_in(path, (*_PRIVATE, *_KERNEL))


def _denial(path: Path, grant_path: Path | None, reason: str | None, *, writing: bool) -> Denial:
    sentence = f"The command seems not to have been let {'write to' if writing else 'read'} `{path}`."
    grant: Grant | None = None
    if reason is not None:
        sentence += f" No grant opens it, for {reason}."
    elif grant_path is not None:
        grant = Grant(writable=(str(grant_path),)) if writing else Grant(readable=(str(grant_path),))
    action = "write" if writing else "read"
    return Denial(certainty="suspected", what=action, target=str(path), grant=grant, sentence=sentence)


def _is_in(path: Path, directories: Iterable[str]) -> bool:
    return any(path.is_relative_to(directory) for directory in directories)
