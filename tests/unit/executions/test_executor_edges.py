"""What is rarely so: other fences, shared directories, skills with links and packages, networks that are declared."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from skills_runtime.config.models import EgressSettings, SandboxSettings
from skills_runtime.errors import NotFound, SandboxError, ValidationFailed
from skills_runtime.executions import ExecutionLimits, Executor, Interpreter, Supplies
from skills_runtime.executions.from_settings import build_sandboxes
from skills_runtime.executions.layout import ExecutionLayout, stages_in_memory
from skills_runtime.executions.snapshot import SnapshotCache
from skills_runtime.ports import ProcessRequest
from skills_runtime.sandbox import NoSandbox, UnavailableSandbox
from skills_runtime.skills import Skill
from tests.unit.executions.samples import ECHO, an_executor, fence, make_skill

VARIABLES = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


class OnePython:
    """Every script runs with this Python."""

    async def interpreter(self, skill: Skill, file: str) -> Interpreter | None:
        """The one of the system."""
        assert file == "run.py"
        return Interpreter("/usr/bin/python3")


async def test_without_a_fence_each_execution_gets_a_process(tmp_path: Path) -> None:
    async with Executor(tmp_path / "x", lambda _: NoSandbox(VARIABLES)) as executor:
        execution = await executor.execute(make_skill(tmp_path, ECHO), 7)
    assert (execution.output, execution.record.warm) == ({"got": 7}, False)
    assert execution.record.isolation["effective"] == "none"


async def test_a_fence_that_refuses_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    async with Executor(tmp_path / "x", lambda _: UnavailableSandbox()) as executor:
        with pytest.raises(SandboxError):
            await executor.execute(make_skill(tmp_path, ECHO), {}, key="k")
        assert not await executor.list()
    async with Executor(tmp_path / "x", fence) as executor:
        assert (await executor.execute(make_skill(tmp_path, ECHO), 7, key="k")).status == "completed"


async def test_a_shared_directory_is_read_and_never_written(executor: Executor, tmp_path: Path) -> None:
    code = (
        "import json, os, sys\nfrom pathlib import Path\n"
        "try:\n    Path('x').write_text('')\n    wrote = True\nexcept OSError:\n    wrote = False\n"
        "(Path(os.environ['SKILL_ARTIFACTS_DIR']) / 'a').write_text('kept')\n"
        "print(json.dumps([wrote, os.getcwd()]))\n"
    )
    made = make_skill(tmp_path, code, isolation="shared", artifacts=["artifacts/a"])
    execution = await executor.execute(made, {})
    assert execution.output == [False, str(made.directory)]
    assert [one.path for one in execution.artifacts] == ["artifacts/a"]


async def test_links_in_a_skill_lead_nowhere_outside_its_fence(executor: Executor, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    made = make_skill(
        tmp_path,
        "import json, os\nprint(json.dumps([os.path.exists('out'), open('in').read()]))\n",
        artifacts=["out"],
    )
    directory = made.directory or Path()
    (directory / "data").write_text("mine")
    (directory / "out").symlink_to(tmp_path / "secret")
    (directory / "in").symlink_to("data")
    os.mkfifo(directory / "pipe")
    execution = await executor.execute(made, {})
    assert execution.output == [False, "mine"]
    assert [one.reason for one in execution.record.refused] == ["it is a link, and only files are kept"]


async def test_packages_come_with_their_own_python(tmp_path: Path) -> None:
    made = make_skill(tmp_path, "import json, sys\nprint(json.dumps(sys.executable))\n")
    async with an_executor(tmp_path, supplies=Supplies(packages=OnePython())) as executor:
        assert (await executor.execute(made, {})).output == "/usr/bin/python3"


async def test_the_input_is_a_file_too(executor: Executor, tmp_path: Path) -> None:
    made = make_skill(tmp_path, "import os\nprint(open(os.environ['SKILL_INPUT_FILE']).read())\n")
    assert (await executor.execute(made, {"a": 1})).output == {"a": 1}


async def test_pages_of_a_list_follow_each_other(executor: Executor, tmp_path: Path) -> None:
    made = make_skill(tmp_path, ECHO)
    ids = [(await executor.execute(made, number)).id for number in range(1, 6)]
    first = await executor.list(limit=2)
    rest = await executor.list(after=first[-1].execution_id)
    assert [one.execution_id for one in (*first, *rest)] == ids[::-1]
    assert not await executor.list(status="failed")
    assert not await executor.list(skill="other")


async def test_executions_in_memory_leave_nothing_there(tmp_path: Path) -> None:
    stages = stages_in_memory(tmp_path)
    if stages is None:
        pytest.skip("there is no room in memory")
    async with an_executor(tmp_path, supplies=Supplies(stages=stages)) as executor:
        for _ in range(2):
            assert (await executor.execute(make_skill(tmp_path, ECHO), 1)).output == {"got": 1}
        assert list((tmp_path / "executions" / ".runtime" / "stages").iterdir()) or list(stages.iterdir())
    assert not list(stages.iterdir()) if stages.exists() else True
    if stages.exists():
        stages.rmdir()


def test_a_directory_in_memory_that_others_can_enter_is_not_used(tmp_path: Path) -> None:
    stages = stages_in_memory(tmp_path)
    if stages is None:
        pytest.skip("there is no room in memory")
    try:
        stages.chmod(0o755)
        assert stages_in_memory(tmp_path) is None
    finally:
        stages.rmdir()


def test_a_skill_that_is_too_large_is_not_copied(tmp_path: Path) -> None:
    directory = make_skill(tmp_path, ECHO).directory or Path()
    for limits in (ExecutionLimits(skill_files=1), ExecutionLimits(skill_bytes=10)):
        with pytest.raises(ValidationFailed, match="too large to be copied"):
            SnapshotCache(limits).load(directory, now_ns=0)
    with pytest.raises(NotFound):
        SnapshotCache(ExecutionLimits()).load(tmp_path / "missing", now_ns=0)


def test_only_the_fence_for_declared_networks_reaches_anything(tmp_path: Path) -> None:
    settings = SandboxSettings(egress=EgressSettings(allow=("example.com",)))
    closed, opened = build_sandboxes(settings, VARIABLES)
    request = ProcessRequest(argv=("true",), cwd=tmp_path.resolve())
    assert closed(tmp_path).plan(request).egress is None
    assert opened(tmp_path).plan(request).egress is not None


async def test_a_declared_network_uses_that_fence(tmp_path: Path) -> None:
    used: list[Path] = []

    def opened(workspace: Path) -> NoSandbox:
        used.append(workspace)
        return NoSandbox(VARIABLES)

    async with an_executor(tmp_path, supplies=Supplies(network=opened)) as executor:
        await executor.execute(make_skill(tmp_path, ECHO, name="without"), 1)
        assert not used
        execution = await executor.execute(make_skill(tmp_path, ECHO, name="with", network=True), 1)
        assert used
    assert execution.record.isolation["effective"] == "none"


def test_an_unreadable_record_is_no_execution(tmp_path: Path) -> None:
    place = ExecutionLayout(tmp_path)
    (tmp_path / "exec-aa").mkdir()
    (tmp_path / "exec-aa" / "execution.json").write_text(json.dumps({"schema": "other"}))
    with pytest.raises(NotFound):
        place.read("exec-aa")


def test_two_executions_never_get_one_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(["aaaaaaaaaaaa", "aaaaaaaaaaaa", "bbbbbbbbbbbb"])

    def draw(size: int) -> str:
        assert size == 6
        return next(drawn)

    monkeypatch.setattr("secrets.token_hex", draw)
    place = ExecutionLayout(tmp_path)
    assert [place.claim(), place.claim()] == ["exec-aaaaaaaaaaaa", "exec-bbbbbbbbbbbb"]
    with pytest.raises(ValidationFailed, match="already"):
        place.claim("exec-aaaaaaaaaaaa")


def test_leaving_the_program_ends_what_is_under_way(tmp_path: Path) -> None:
    made = make_skill(tmp_path, "import time\nprint('[1]', flush=True)\ntime.sleep(1000)\n")
    executor = an_executor(tmp_path)

    async def main() -> None:
        left = asyncio.create_task(executor.execute(made, {}, timeout_ms=60_000))
        while not await executor.list(status="running"):
            await asyncio.sleep(0.01)
        assert not left.done()

    asyncio.run(main())

    async def look() -> list[str]:
        async with an_executor(tmp_path) as another:
            return [record.status for record in await another.list()]

    assert asyncio.run(look()) == ["cancelled"]
