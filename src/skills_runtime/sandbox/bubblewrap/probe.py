"""Finds out what bubblewrap is worth here by running a small fence and looking around from the inside."""

import subprocess  # noqa: TID251 - a probe runs a program
import tempfile
from contextlib import ExitStack
from pathlib import Path

import msgspec

from skills_runtime.sandbox.adapter import Capabilities, Inner
from skills_runtime.sandbox.bubblewrap.wrapping import NUMBERS, wrap
from skills_runtime.sandbox.environment import SYSTEM_PATH
from skills_runtime.sandbox.machine import this_machine
from skills_runtime.sandbox.policy import CAREFUL, SandboxPolicy
from skills_runtime.sandbox.seccomp import seccomp_program
from skills_runtime.sandbox.survey import Findings

TIMEOUT_SECONDS = 10.0
NAMESPACES = ("pid", "net", "ipc", "uts", "mnt", "user")
SCRIPT = f"""
while read -r line; do echo "status $line"; done < /proc/self/status
for kind in {" ".join(NAMESPACES)}; do echo "namespace $kind $(readlink /proc/self/ns/$kind)"; done
while read -r line; do case $line in *:*) echo "interface ${{line%%:*}}";; esac; done < /proc/net/dev
(: >> /usr/.probe) 2> /dev/null && echo "writable /usr"
(: >> /proc/sys/kernel/core_pattern) 2> /dev/null && echo "writable /proc/sys"
(: >> /etc/passwd) 2> /dev/null && echo "writable /etc"
for file in /proc/self/fd/*; do echo "descriptor ${{file##*/}}"; done
echo "end of probe"
"""
"""Opens files to append and writes nothing, so that even without a fence nothing would change."""

NOT_PERMITTED = (
    "allow user namespaces: `sysctl -w user.max_user_namespaces=15000`, on some systems also"
    " `kernel.unprivileged_userns_clone=1` or `kernel.apparmor_restrict_unprivileged_userns=0`;"
    " a container must be started so that it may make them"
)


class _Seen(msgspec.Struct):
    status: dict[str, str]
    namespaces: dict[str, str]
    interfaces: list[str]
    writable: list[str]
    descriptors: list[str]


def probe_program(program: str) -> Capabilities:
    """What this bubblewrap can do."""
    try:
        version = _run([program, "--version"], []).stdout.strip()
        answer = _fenced(program)
    except (OSError, subprocess.TimeoutExpired) as error:
        return _broken("", f"`{program}` could not be run: {error}", NOT_PERMITTED)
    if "end of probe" not in answer.stdout:
        return _broken(version, f"`{program}` put up no fence: {_reason(answer)}", NOT_PERMITTED)
    seen = _parse(answer.stdout)
    wrong = _wrong(seen)
    facts = {"interfaces": seen.interfaces, "no_new_privileges": True, "seccomp": seen.status.get("Seccomp") == "2"}
    if wrong:
        return _broken(version, f"the fence of `{program}` has holes: {', '.join(wrong)}", NOT_PERMITTED)
    return Capabilities(adapter="bubblewrap", works=True, version=version, facts=facts)


def _broken(version: str, problem: str, fix: str) -> Capabilities:
    return Capabilities(adapter="bubblewrap", works=False, version=version, problem=problem, fix=fix)


def _reason(answer: "subprocess.CompletedProcess[str]") -> str:
    lines = answer.stderr.strip().splitlines()
    return lines[-1] if lines else f"it ended with exit code {answer.returncode}"


def _fenced(program: str) -> "subprocess.CompletedProcess[str]":
    machine = this_machine()
    with ExitStack() as stack:
        workspace = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="skills-runtime-probe-"))).resolve()
        policy = SandboxPolicy(profile="read-only", workspace=workspace, access="read", limits=CAREFUL)
        inner = Inner(argv=("/bin/sh", "-c", SCRIPT), cwd=workspace, environment={"PATH": SYSTEM_PATH})
        filter_program = seccomp_program(machine.architecture) if machine.architecture else b""
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in NUMBERS]
        numbers = [file.fileno() for file in files]
        wrapped = wrap(policy, Findings(), machine, inner, filter_program, numbers)
        for file, data in zip(files, wrapped.inputs, strict=True):
            file.write(data)
            file.seek(0)
        return _run([program, "--args", str(numbers[0]), "--", *wrapped.command], numbers)


def _run(argv: list[str], inputs: list[int]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=TIMEOUT_SECONDS,
        pass_fds=inputs,
        env={"LC_ALL": "C"},
        cwd="/",
    )


def _parse(text: str) -> _Seen:
    seen = _Seen(status={}, namespaces={}, interfaces=[], writable=[], descriptors=[])
    for line in text.splitlines():
        match line.split():
            case ["status", name, *rest]:
                seen.status[name.rstrip(":")] = " ".join(rest)
            case ["namespace", kind, name]:
                seen.namespaces[kind] = name
            case ["interface", name]:
                seen.interfaces.append(name)
            case ["writable", path]:
                seen.writable.append(path)
            case ["descriptor", number]:
                seen.descriptors.append(number)
            case _:
                continue
    return seen


def _wrong(seen: _Seen) -> list[str]:
    """What is not as it has to be."""
    ours = {kind: str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in NAMESPACES}
    same = [kind for kind in NAMESPACES if seen.namespaces.get(kind) == ours[kind]]
    filtered = this_machine().architecture is None or seen.status.get("Seccomp") == "2"
    return [
        *(f"the {kind} namespace is that of the machine" for kind in same),
        *(f"`{path}` is writable" for path in seen.writable),
        *(["there is more than a loopback interface"] if set(seen.interfaces) - {"lo"} else []),
        *([] if seen.status.get("NoNewPrivs") == "1" else ["privileges can be gained"]),
        *([] if int(seen.status.get("CapEff", "1"), 16) == 0 else ["there are capabilities"]),
        *([] if filtered else ["system calls are not filtered"]),
    ]
