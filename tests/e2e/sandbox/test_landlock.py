"""The fence without namespaces: what it promises it keeps, and what it cannot promise it says."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import SandboxError
from skills_runtime.ports import ProcessRequest
from skills_runtime.processes import Command, Finished, Limits, execute
from skills_runtime.sandbox import CAREFUL, OsSandbox, build_policy, find_adapters
from skills_runtime.sandbox.landlock import Landlock
from skills_runtime.sandbox.policy import Promise
from tests.e2e.sandbox.arena import PYTHON, SECRET, Arena, new_arena, state_beside
from tests.support.users import Unprivileged

ACCEPTED: frozenset[Promise] = frozenset[Promise](("protected_paths", "secrets", "processes"))

pytestmark = pytest.mark.skipif(not Landlock().probe().works, reason="there is no Landlock here")


def run(arena: Arena, code: str, *, tell: str = "") -> Finished:
    policy = msgspec.structs.replace(build_policy("workspace-write", arena.workspace, CAREFUL), accepted_gaps=ACCEPTED)
    fence = OsSandbox(policy, find_adapters("landlock"), {}, state=state_beside(arena.workspace))
    prelude = "import os, socket, subprocess, ctypes\nprint('STARTED', flush=True)\n"
    request = ProcessRequest(
        argv=(PYTHON, "-I", "-S", "-c", prelude + code), cwd=arena.workspace, environment={"TOLD": tell}
    )
    plan = fence.plan(request)
    command = Command(plan.argv, plan.cwd, plan.environment, setup=plan.setup)
    return asyncio.run(execute(command, Limits(wall_seconds=20.0)))


OUT = "os.environ['TOLD']"
ATTEMPTS = {
    "write outside": f"open({OUT} + '/file.txt', 'w')",
    "read outside": f"print(open({OUT} + '/home/.ssh/id').read())",
    "list outside": f"os.listdir({OUT})",
    "cut outside": f"os.truncate({OUT} + '/file.txt', 0)",
    "delete outside": f"os.unlink({OUT} + '/file.txt')",
    "rename to outside": f"os.rename('file.txt', {OUT} + '/new')",
    "link from outside": f"os.link({OUT} + '/file.txt', 'l')",
    "read the variables of another": "open('/proc/1/environ').read()",
    "open an internet socket": "socket.socket(socket.AF_INET)",
    "open a socket in the file system": "socket.socket(socket.AF_UNIX)",
    "open a socket of packets": "socket.socket(17, socket.SOCK_RAW)",
    "signal another": "os.kill(os.getppid(), 0)",
    "make a namespace": "os.unshare(0x10000000) if hasattr(os, 'unshare') else (_ for _ in ()).throw(OSError())",
    "use a disk": "os.open('/dev/vda', os.O_RDONLY)",
    "make a device": "os.mknod('d', 0o600 | 0o060000, 0xfe00)",
    "change the user": "os.chmod('file.txt', 0o4755)",
    "use shared memory": "x = ctypes.CDLL(None, use_errno=True).shmget(1234, 4096, 0o1666)\n"
    "if x < 0: raise OSError(ctypes.get_errno(), 'refused')",
}


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    return new_arena(tmp_path)


@pytest.mark.parametrize("name", ATTEMPTS)
def test_what_is_promised_is_kept(name: str, arena: Arena) -> None:
    finished = run(arena, f"{ATTEMPTS[name]}\nprint('REACHED')", tell=str(arena.outside))
    text = finished.stdout.text() + finished.stderr.text()
    assert "STARTED" in text
    assert "REACHED" not in text, text
    assert SECRET not in text


def test_what_is_promised_is_kept_for_an_ordinary_user(unprivileged: Unprivileged) -> None:
    def tried() -> list[str]:
        escaped: list[str] = []
        for name, code in ATTEMPTS.items():
            arena = new_arena(unprivileged.path)
            text = run(arena, f"{code}\nprint('REACHED')", tell=str(arena.outside)).stdout.text()
            escaped += [name] if "REACHED" in text or "STARTED" not in text else []
        return escaped

    assert unprivileged(tried) == []


@pytest.mark.parametrize(
    "code",
    [
        "open('made', 'w').write('x'); os.rename('made', 'src/made'); assert open('src/made').read() == 'x'",
        "subprocess.run(['sh', '-c', 'seq 10 | sort | head -n 1'], check=True)",
        "open('/dev/null', 'w').write('x'); a, b = socket.socketpair(); a.send(b'x')",
        "assert 'TOLD' in os.environ and 'ARENA' not in os.environ",
        "import tempfile; tempfile.TemporaryFile().write(b'x')",
    ],
)
def test_work_goes_on(code: str, arena: Arena) -> None:
    finished = run(arena, f"{code}\nprint('WORKED')")
    assert "WORKED" in finished.stdout.text(), finished.stderr.text()


def test_what_it_cannot_promise_is_refused_by_name(tmp_path: Path) -> None:
    fence = OsSandbox(build_policy("workspace-write", tmp_path), find_adapters("landlock"), {})
    with pytest.raises(SandboxError, match="`protected_paths`, `secrets`, `processes`") as caught:
        fence.plan(ProcessRequest(argv=("/bin/true",), cwd=tmp_path))
    assert caught.value.details["missing"] == ["protected_paths", "secrets", "processes"]
    assert "bubblewrap" in caught.value.hint


def test_gaps_that_were_accepted_are_reported(tmp_path: Path) -> None:
    policy = msgspec.structs.replace(build_policy("workspace-write", tmp_path), accepted_gaps=ACCEPTED)
    evidence = (
        OsSandbox(policy, find_adapters("landlock"), {})
        .plan(ProcessRequest(argv=("/bin/true",), cwd=tmp_path))
        .evidence
    )
    assert evidence["accepted_gaps"] == sorted(ACCEPTED)
    assert not ACCEPTED & set(evidence["promises"])
    assert any(gap.startswith("protected_paths: ") for gap in evidence["gaps"])
