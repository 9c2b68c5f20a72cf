"""One service for all tests of a file; starting one takes longer than most tests."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.e2e.service.servers import Service, serving, write_python, write_skill


def write_all(skills: Path) -> None:
    """The skills of the wire tests."""
    write_python(skills, "echo", "print(json.dumps({'got': given}))")
    write_python(skills, "loud", "print('note', file=sys.stderr)\nprint('{}')")
    write_python(skills, "exit-three", "print('gone', file=sys.stderr)\nsys.exit(3)")
    write_python(skills, "killed", "os.kill(os.getpid(), 9)")
    write_python(skills, "no-json", "print('hello')")
    write_python(skills, "two-documents", "print('{} {}')")
    write_python(skills, "silent", "pass")
    write_python(skills, "null", "print('null')")
    write_python(skills, "not-a-number", "print('{\"x\": NaN}')")
    write_python(skills, "not-text", "sys.stdout.buffer.write(b'\\xff\\xfe')")
    write_python(skills, "chinese", "print(json.dumps({'text': '技能'}, ensure_ascii=False))")
    write_python(skills, "sleep", "time.sleep(given.get('seconds', 60))\nprint('{}')")
    write_python(skills, "much-stdout", "sys.stdout.write('x' * given['bytes'])")
    write_python(skills, "much-stderr", "sys.stderr.write('x' * 1_500_000)\nprint('{}')")
    write_python(skills, "declared-slow", "time.sleep(60)\nprint('{}')", timeout=300)
    write_python(skills, "environment", "print(json.dumps(dict(os.environ)))")
    write_python(
        skills,
        "writes",
        "Path('artifacts').mkdir(exist_ok=True)\nPath('artifacts/out.txt').write_text(given['text'])\nprint('{}')",
        artifacts=["artifacts/out.txt"],
    )
    write_skill(skills, "shell", "cat\n", runtime="shell", entry="run.sh")
    write_skill(
        skills,
        "node",
        "let text = ''; process.stdin.on('data', d => text += d).on('end', () => console.log(text));\n",
        runtime="node",
        entry="run.js",
    )


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of the module's own."""
    home = tmp_path_factory.mktemp("service")
    write_all(home / "skills")
    with serving(home, home / "skills") as running_service:
        yield running_service


@pytest.fixture
def client(service: Service) -> Iterator[httpx2.Client]:
    """Somebody with the token of the service."""
    with service.client(token=True) as running_service:
        yield running_service
