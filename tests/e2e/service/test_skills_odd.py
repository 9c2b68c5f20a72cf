"""Skills as people write them, and skills that are broken in a new way."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.service.servers import Service, serving, write_python, write_skill

THREAD = "import threading\ndef late():\n    time.sleep(0.1)\n    print('[1]')\nthreading.Thread(target=late).start()"
POOL = (
    "import multiprocessing\ndef square(number):\n    return number * number\n"
    "if __name__ == '__main__':\n    with multiprocessing.Pool(2) as pool:\n        print(pool.map(square, [1, 2]))"
)
LOOP = (
    "import asyncio\nasync def main():\n    child = await asyncio.create_subprocess_exec('echo', '[3]', stdout=-1)\n"
    "    print((await child.communicate())[0].decode())\nasyncio.run(main())"
)
CLOSES = (
    "Path('artifacts').mkdir(exist_ok=True)\nPath('artifacts/a').write_text('a')\nos.chmod('artifacts/a', 0)\n"
    "os.chmod('artifacts', 0)\nos.chmod('.', 0)\nprint('{}')"
)


def _write(skills: Path) -> None:
    write_python(skills, "thread", THREAD)
    write_python(skills, "farewell", "import atexit\natexit.register(lambda: print('[2]'))")
    write_python(skills, "pool", POOL)
    write_python(skills, "loop", LOOP)
    write_python(skills, "last-words", "sys.exit('boom')")
    write_python(skills, "nested", "print('[' * given['levels'] + ']' * given['levels'])")
    write_python(skills, "closes", CLOSES, artifacts=["artifacts/a"])
    write_python(skills, "removes-itself", "import shutil\nshutil.rmtree(os.getcwd())\nprint('{}')")
    write_python(skills, "no-limit", "print('{}')", timeout=0)
    write_python(skills, "dotted", "Path('x.txt').write_text('x')\nprint('{}')", artifacts=["./x.txt"])
    path = write_python(skills, "modules", "import helper\nfrom parts import one\nprint([helper.X, one.Y])")
    (path / "parts").mkdir()
    (path / "helper.py").write_text("X = 1")
    (path / "parts" / "one.py").write_text("Y = 2")
    path = write_skill(skills, "tools", "./tool\n", runtime="shell", entry="run.sh")
    (path / "tool").write_text("#!/bin/sh\necho '[4]'\n")
    (path / "tool").chmod(0o755)
    path = write_skill(
        skills, "packages", "console.log(JSON.stringify(require('dep')))", runtime="node", entry="run.js"
    )
    (path / "node_modules" / "dep").mkdir(parents=True)
    (path / "node_modules" / "dep" / "index.js").write_text("module.exports = [5]")
    (path / "node_modules" / ".bin").mkdir()
    (path / "node_modules" / ".bin" / "dep").symlink_to("../dep/index.js")
    path = write_python(skills, "pipe-inside", "print('[6]')")
    os.mkfifo(path / "pipe")
    (write_python(skills, "hollow", "") / "run.py").unlink()
    with (write_python(skills, "huge", "print('{}')") / "data").open("wb") as data:
        data.truncate(100 << 20)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("odd-skills")
    _write(home / "skills")
    with serving(home, home / "skills") as running_service:
        yield running_service


@pytest.mark.parametrize(
    ("skill", "output"),
    [
        ("thread", [1]),
        ("farewell", [2]),
        ("pool", [1, 4]),
        ("loop", [3]),
        ("modules", [1, 2]),
        ("tools", [4]),
        ("packages", [5]),
        ("pipe-inside", [6]),
        ("removes-itself", {}),
        ("no-limit", {}),
    ],
)
def test_a_skill_does_what_any_program_does(service: Service, skill: str, output: Any) -> None:
    answer = service.execute(skill)
    assert (answer.status_code, answer.json().get("output")) == (200, output), answer.text


def test_what_a_skill_says_when_it_gives_up_is_on_its_standard_error(service: Service) -> None:
    body = service.execute("last-words").json()
    assert (body["error"], body["stderr"]) == ("Skill exited with code 1", "boom\n")


@pytest.mark.parametrize("levels", [501, 940, 949, 970, 986, 5_000])
def test_output_that_is_nested_too_deeply_is_an_error_of_the_skill(service: Service, levels: int) -> None:
    answer = service.execute("nested", {"levels": levels})
    body = answer.json()
    assert (answer.status_code, body["code"]) == (500, "invalid_output")
    assert body["error"] == "Invalid JSON output: it is nested too deeply"
    with service.client(token=True) as client:
        assert client.get(f"/api/v1/executions/{body['executionId']}").json()["status"] == "failed"


def test_an_artifact_that_was_closed_to_everybody_does_not_stop_the_answer(service: Service) -> None:
    answer = service.execute("closes")
    assert (answer.status_code, answer.json()["output"]) == (200, {})


def test_an_artifact_may_be_declared_from_the_directory_itself(service: Service) -> None:
    body = service.execute("dotted").json()
    assert body["artifacts"] == [f"artifacts/{body['executionId']}/x.txt"]


def test_a_skill_without_its_program_is_reported_and_is_no_fault_of_the_request(service: Service) -> None:
    with service.client() as client:
        document = client.get("/api/skills").json()
    assert "hollow" not in {skill["name"] for skill in document["skills"]}
    assert [error for error in document["errors"] if error.startswith("hollow: ") and "run.py" in error]
    answer = service.execute("hollow")
    assert (answer.status_code, answer.json()["success"]) == (500, False)
    assert "run.py" in answer.json()["error"]


def test_a_skill_that_is_too_large_to_be_copied_is_no_fault_of_the_request(service: Service) -> None:
    answer = service.execute("huge")
    assert (answer.status_code, answer.json()["success"]) == (500, False)
    assert "too large" in answer.json()["error"]


def test_an_unwritable_store_is_reported_and_used_again_later(service: Service) -> None:
    aside = service.artifacts.with_name("aside")
    shutil.move(service.artifacts, aside)
    service.artifacts.write_text("no directory")
    try:
        refused = service.execute("farewell")
    finally:
        service.artifacts.unlink()
        shutil.move(aside, service.artifacts)
    assert (refused.status_code, refused.json()["code"]) == (500, "storage_error")
    assert service.execute("farewell").status_code == 200
