"""A service in a process of its own, on a free port of this machine, with skills that misbehave in every known way."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

SCRIPTS = Path(sys.executable).parent
LINK = re.compile(rb"Open (http://127\.0\.0\.1:\d+)/\?token=(\S+)")
READ_INPUT = "import json, os, subprocess, sys, time\nfrom pathlib import Path\ngiven = json.load(sys.stdin)\n"


@dataclass(frozen=True)
class Service:
    """A service that listens, and how to talk to it."""

    url: str
    token: str = field(repr=False)
    process: subprocess.Popen[bytes]
    skills: Path
    artifacts: Path
    state: Path
    environment: Mapping[str, str] = field(repr=False)

    def client(self, *, token: bool = False, **headers: str) -> httpx2.Client:
        """A client that knows the address, and the token if it should."""
        authorization = {"Authorization": f"Bearer {self.token}"} if token else {}
        return httpx2.Client(
            base_url=self.url, headers={**authorization, **headers}, timeout=60, trust_env=False, verify=False
        )

    def execute(self, skill: Any, given: Any = None, **options: Any) -> httpx2.Response:
        """What the skill service answers to a request for an execution."""
        body = {"skillName": skill, "input": given, "options": options}
        with self.client() as client:
            return client.post("/api/skills/execute", json=body)

    def cli(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """A command of the same user."""
        return subprocess.run(
            [SCRIPTS / "skills-runtime", *arguments],
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )


@contextmanager
def serving(
    home: Path,
    skills: Path,
    *options: str,
    listen: str = "127.0.0.1:0",
    program: Sequence[str | Path] = (SCRIPTS / "skills-runtime",),
    **more: str,
) -> Generator[Service]:
    """A service for as long as the block lasts; more variables may be set for it."""
    home.mkdir(parents=True, exist_ok=True)
    user = home.with_name(f"{home.name}-user")  # a home is no workspace
    user.mkdir(exist_ok=True)
    if not (user / ".agents").is_symlink():  # the skills of the workspace are the user's own
        (user / ".agents").symlink_to(home / ".agents")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(user),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_STATE_HOME": str(home / "state"),
        "SKILLS_DIR": str(skills),
        "ARTIFACTS_DIR": str(home / "artifacts"),
        **more,
    }
    with (home / "stderr.txt").open("wb") as remarks:
        process = subprocess.Popen(
            [*program, "serve", "--listen", listen, *options],
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=remarks,
        )
    try:
        url, token = _read_address(process, home)
        state = home / "state" / "skills_runtime"
        yield Service(url, token, process, skills, home / "artifacts", state, environment)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def _read_address(process: subprocess.Popen[bytes], home: Path) -> tuple[str, str]:
    assert process.stdout is not None
    lines: list[bytes] = []
    for line in process.stdout:
        lines.append(line)
        matched = LINK.match(line)
        if matched:
            return matched[1].decode(), matched[2].decode()
    raise AssertionError(f"it did not start: {b''.join(lines)!r} {(home / 'stderr.txt').read_text()}")


def write_skill(
    skills: Path, name: str, script: str, *, runtime: str = "python", entry: str = "run.py", **more: Any
) -> Path:
    """A skill whose program is given."""
    path = skills / name
    path.mkdir(parents=True, exist_ok=True)
    definition = {"name": name, "description": f"{name} for a test", "runtime": {"type": runtime}, **more}
    (path / "skill.yaml").write_text(json.dumps(definition))
    (path / entry).write_text(script)
    return path


def write_python(skills: Path, name: str, script: str, **more: Any) -> Path:
    """A skill in Python that has read its input into `given`."""
    return write_skill(skills, name, READ_INPUT + script, **more)
