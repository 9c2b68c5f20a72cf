"""Whether the fence stopped a command, and the least that would let it go on.

Pure, but for what it asks its surroundings. A failure is the command's own until something says otherwise: a path or a
host that the fence really closes, a count of the kernel, or a decision of the proxy.
"""

import re
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

from skills_runtime.sandbox.denials.bounds import limit_denials
from skills_runtime.sandbox.denials.complaints import complaints
from skills_runtime.sandbox.denials.paths import PathJudge
from skills_runtime.sandbox.denials.reaching import network_denials
from skills_runtime.sandbox.denials.values import Aftermath, Denial, Surroundings
from skills_runtime.sandbox.policy import SandboxPolicy
from skills_runtime.sandbox.survey import Findings

MOST = 8
"""Denials told of one command; a build can complain a thousand times."""
TEXT = 64 * 1024
"""Characters at the end of each stream that are read."""

PRIVILEGED = (
    "unshare", "mount", "umount", "strace", "gdb", "chroot", "nsenter", "mknod", "insmod", "modprobe", "iptables",
    "nft", "dmesg", "keyctl", "perf", "bpftool", "swapon", "swapoff", "losetup", "setcap", "setpriv", "capsh",
    "hostname", "date", "sysctl", "ip", "ping", "tcpdump", "su", "sudo", "docker", "podman", "bwrap", "fusermount",
    "fusermount3", "newuidmap", "ltrace", "renice", "ionice", "chrt", "taskset", "reboot", "shutdown", "crontab",
)  # fmt: skip
"""Programs whose work is what the fence takes away, so that no file is meant when they are refused something."""

_PRIVILEGED = re.compile(
    rf"^(?:\S*/)?(?P<program>{'|'.join(PRIVILEGED)})(?:\[\d+\])?:\s.*"
    r"(?:operation not permitted|permission denied|must be (?:superuser|root)|function not implemented"
    r"|only root can|no new privileges|address family not supported|lacking privilege)",
    re.IGNORECASE | re.MULTILINE,
)
_BAD_CALL = re.compile(r"\bBad system call\b|\bSIGSYS\b")
_NO_FAMILY = re.compile(r"\[Errno 97\]|Address family not supported by protocol|\bEAFNOSUPPORT\b")
_NO_PROGRAM = re.compile(
    r"(?:^|: )(?:line \d+: |\d+: )?(?P<shell>[\w.+-]+): (?:command )?not found\s*$"
    r"|^env: ['‘](?P<env>[\w.+-]+)['’]: No such file or directory"
    r"|FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<python>[\w.+-]+)'\s*$"
    r"|spawn (?P<node>[\w.+-]+) ENOENT|^make: (?P<make>[\w.+-]+): No such file or directory",
    re.MULTILINE,
)


def denials_of(
    aftermath: Aftermath,
    policy: SandboxPolicy,
    findings: Findings,
    surroundings: Surroundings,
    *,
    control: Iterable[Path] = (),
    programs: Iterable[Path] = (),
) -> tuple[Denial, ...]:
    """What the fence stopped, the proven first; nothing for a command that failed by itself."""
    if policy.profile == "danger":
        return ()
    short = _shortened(aftermath)
    judge = PathJudge(policy, findings, surroundings, tuple(control), tuple(programs))
    found = [
        *limit_denials(short, policy),
        *network_denials(short, policy),
        *_by_system_calls(short),
        *(_by_paths(short, judge) if short.failed else ()),
        *(_by_programs(short, judge) if short.failed else ()),
    ]
    different: dict[tuple[str, str], Denial] = {}
    for denial in sorted(found, key=lambda denial: denial.certainty != "proven"):
        different.setdefault((denial.what, denial.target), denial)
    return tuple(different.values())[:MOST]


def _shortened(aftermath: Aftermath) -> Aftermath:
    from msgspec.structs import replace

    return replace(aftermath, stdout=aftermath.stdout[-TEXT:], stderr=aftermath.stderr[-TEXT:])


def _by_paths(aftermath: Aftermath, judge: PathJudge) -> Iterator[Denial]:
    for text in (aftermath.stderr, aftermath.stdout):
        for complaint in complaints(text, aftermath.argv):
            denial = judge.judged(complaint, aftermath.cwd)
            if denial is not None:
                yield denial


def _by_programs(aftermath: Aftermath, judge: PathJudge) -> Iterator[Denial]:
    for match in _NO_PROGRAM.finditer(f"{aftermath.stderr}\n{aftermath.stdout}"):
        denial = judge.missing_program(next(name for name in match.groups() if name))
        if denial is not None:
            yield denial


def _by_system_calls(aftermath: Aftermath) -> Iterator[Denial]:
    if not aftermath.failed:
        return
    if aftermath.signal == signal.SIGSYS:
        sentence = "The command was ended by the kernel, for it used a system call that the sandbox does not allow."
        yield Denial(certainty="proven", what="system_call", target="", grant=None, sentence=sentence)
        return
    text = aftermath.stderr or aftermath.stdout
    if found := _PRIVILEGED.search(text):
        program = found["program"]
        sentence = f"`{program}` needs rights of an administrator, which no command has in the sandbox."
        yield _suspected(program, sentence)
    elif aftermath.died_of == signal.SIGSYS or _BAD_CALL.search(text):
        yield _suspected("", "The command seems to have used a system call that the sandbox does not allow.")
    elif _NO_FAMILY.search(text):
        yield _suspected("socket", "The sandbox gives no sockets but those of the internet families.")


def _suspected(target: str, sentence: str) -> Denial:
    return Denial(certainty="suspected", what="system_call", target=target, grant=None, sentence=sentence)
