"""What a skill leaves behind is kept if it is a file inside its directory, and nothing else is."""

import hashlib
import os
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime.executions import ExecutionLimits, Executor
from skills_runtime.executions.artifacts import collect_artifacts
from tests.unit.executions.conftest import MakeSkill

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0") | st.sampled_from("./\\~"), max_size=12)
LEAVES = "import os\nfrom pathlib import Path\nPath('artifacts').mkdir(exist_ok=True)\n{}\nprint('[1]')\n"


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """Where a skill worked, and where its artifacts go."""
    work, into = tmp_path.resolve() / "work", tmp_path.resolve() / "into"
    work.mkdir()
    into.mkdir()
    (tmp_path / "outside.txt").write_text("outside")
    return work, into


def refusals(work: Path, into: Path, *declared: str, **limits: int) -> dict[str, str]:
    """Why each of the declared was refused, when none was kept."""
    kept, refused = collect_artifacts(work, declared, into, ExecutionLimits(**limits))
    assert not kept
    assert not list(into.iterdir())
    return {one.path: one.reason for one in refused}


async def test_declared_files_are_kept_with_their_digests(executor: Executor, skill: MakeSkill) -> None:
    code = LEAVES.format("Path('artifacts/a.txt').write_text('1')\nPath('undeclared').write_text('2')")
    execution = await executor.execute(skill(code, artifacts=["artifacts/a.txt", "missing.txt"]), {})
    [kept] = execution.artifacts
    assert (kept.path, kept.size, kept.sha256) == ("artifacts/a.txt", 1, hashlib.sha256(b"1").hexdigest())
    assert (executor.directory(execution.id) / "artifacts" / "a.txt").read_text() == "1"
    [missing] = execution.record.refused
    assert (missing.path, missing.reason) == ("missing.txt", "it does not exist")


@pytest.mark.parametrize("end", ["raise SystemExit(3)", "import time; time.sleep(1000)"])
async def test_executions_that_fail_keep_theirs_too(executor: Executor, skill: MakeSkill, end: str) -> None:
    made = skill(f"open('a.txt', 'w').write('x')\n{end}\n", artifacts=["a.txt"])
    execution = await executor.execute(made, {}, timeout_ms=1500)
    assert execution.status in ("failed", "timed_out")
    assert [one.path for one in execution.artifacts] == ["a.txt"]


async def test_what_an_earlier_execution_left_is_not_this_ones(executor: Executor, skill: MakeSkill) -> None:
    code = "import json, os, sys\nif json.load(sys.stdin): open('a.txt', 'w')\nprint(os.listdir('.') and '[1]')\n"
    made = skill(code, artifacts=["a.txt", "artifacts/b.txt"])
    stale = (made.directory or Path()) / "artifacts"
    stale.mkdir()
    (stale / "b.txt").write_text("of somebody who ran it by hand")
    assert [one.path for one in (await executor.execute(made, {"write": 1})).artifacts] == ["a.txt"]
    assert not (await executor.execute(made, {})).artifacts


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("os.symlink('/etc/passwd', 'x')", "it is a link, and only files are kept"),
        ("os.mkfifo('x')", "it is a named pipe, and only files are kept"),
        ("os.mkdir('x'); os.symlink('/', 'x/y')", "it is a link, and only files are kept"),
    ],
)
async def test_a_skill_cannot_pass_off_other_things_as_files(
    executor: Executor, skill: MakeSkill, code: str, reason: str
) -> None:
    execution = await executor.execute(skill(LEAVES.format(code), artifacts=["x"]), {})
    assert execution.status == "completed", execution.stderr
    assert [one.reason for one in execution.record.refused] == [reason]
    assert not execution.artifacts


async def test_a_skill_cannot_swap_its_directory(executor: Executor, skill: MakeSkill) -> None:
    code = "import os\nos.rename('../skill', '../gone')\nos.symlink('/etc', '../skill')\nprint('[1]')\n"
    execution = await executor.execute(skill(code, artifacts=["passwd"]), {})
    assert execution.status == "completed", execution.stderr
    assert not execution.artifacts


def test_a_directory_means_the_files_in_it(places: tuple[Path, Path]) -> None:
    work, into = places
    (work / "out" / "deep").mkdir(parents=True)
    (work / "out" / "b").write_text("2")
    (work / "out" / "deep" / "a").write_text("1")
    kept, refused = collect_artifacts(work, ["out", "out/b"], into, ExecutionLimits())
    assert [one.path for one in kept] == ["out/b", "out/deep/a"]
    assert not refused


def test_paths_out_of_the_directory_are_refused(places: tuple[Path, Path]) -> None:
    work, into = places
    (work / "link").symlink_to("..")
    found = refusals(work, into, "../outside.txt", "/etc/passwd", "a/../../outside.txt", "", "./x", "link/outside.txt")
    assert set(found) == {"../outside.txt", "/etc/passwd", "a/../../outside.txt", "", "./x", "link/outside.txt"}
    assert "links are not followed" in found["link/outside.txt"]


def test_the_runtimes_own_names_are_refused(places: tuple[Path, Path]) -> None:
    work, into = places
    (work / "output.json").write_text("1")
    assert refusals(work, into, "output.json") == {"output.json": "the name is the runtime's own"}


def test_no_more_is_kept_than_may(places: tuple[Path, Path]) -> None:
    work, into = places
    for name in "abcd":
        (work / name).write_bytes(b"12345")
    kept, refused = collect_artifacts(work, ["a", "b", "c", "d"], into, ExecutionLimits(artifact_files=2))
    assert [one.path for one in kept] == ["a", "b"]
    assert len(refused) == 2
    (work / "big").write_bytes(b"123456")
    assert "more than 5 bytes" in collect_artifacts(work, ["big"], into, ExecutionLimits(artifact_bytes=5))[1][0].reason


@settings(max_examples=60)
@given(st.lists(NAMES, max_size=4), st.lists(NAMES, max_size=4))
def test_whatever_is_declared_nothing_appears_elsewhere(declared: list[str], there: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        top = Path(place).resolve()
        work, into = top / "a" / "work", top / "b" / "into"
        work.mkdir(parents=True)
        into.mkdir(parents=True)
        (top / "secret").write_text("secret")
        for name in (*declared, *there):
            path = Path(os.path.normpath(work / name))
            if path.is_relative_to(work) and path != work and not path.exists() and path.parent.is_dir():
                path.write_text("mine")
        kept, _ = collect_artifacts(work, declared, into, ExecutionLimits())
        assert sorted(path.name for path in top.iterdir()) == ["a", "b", "secret"]
        assert sorted(path.name for path in (top / "b").iterdir()) == ["into"]
        assert {(into / one.path).read_text() for one in kept} <= {"mine"}
        assert all(one.path in declared for one in kept)


def test_directories_of_artifacts_are_private_whatever_the_process_has_set(places: tuple[Path, Path]) -> None:
    work, into = places
    (work / "out" / "inner").mkdir(parents=True)
    (work / "out" / "inner" / "a.txt").write_text("1")
    before = os.umask(0)
    try:
        kept, _ = collect_artifacts(work, ("out",), into, ExecutionLimits())
    finally:
        os.umask(before)
    assert [one.path for one in kept] == ["out/inner/a.txt"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in (into / "out", into / "out" / "inner")} == {0o700}
