"""The console scripts as somebody at a shell meets them, and the same program without a process of its own."""

import contextlib
import hashlib
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from skills_runtime.cli.main import run_program

SCRIPTS = Path(sys.executable).parent
TIMEOUT_SECONDS = 60
FILES = (
    "run.json", "session.json", "task.yaml", "prompt.md", "config.yaml", "effective-system-prompt.md",
    "sandbox-manifest.json", "artifact-manifest.json", "events.jsonl", "transcript.md",
)  # fmt: skip
DIRECTORIES = ("workspace", "deliverables", "archive", "logs", "blobs", "executions")


class Answer(NamedTuple):
    """What a command left."""

    code: int
    out: str
    err: str


def environment(**more: str) -> dict[str, str]:
    """The variables of the test, with our commands on the PATH, without any that would colour or resize the output."""
    unwanted = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE")
    variables = {name: value for name, value in os.environ.items() if name not in unwanted}
    return variables | {"PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"} | more


def start(
    program: str,
    *arguments: str,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """A process of one of the console scripts."""
    return subprocess.Popen(
        [SCRIPTS / program, *arguments],
        cwd=cwd,
        env=dict(environment() if env is None else env),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        bufsize=0,  # what `communicate` collects must not stand in a buffer it does not know
    )


def call(program: str, *arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> Answer:
    """Run a console script to its end."""
    with start(program, *arguments, cwd=cwd, env=env) as process:
        out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    return Answer(process.returncode, out.decode(), err.decode())


def invoke(*arguments: str, name: str = "kgent", stdin: bytes = b"") -> Answer:
    """Run the program in this process, where the test stands."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace") for _ in range(2))
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_program(arguments, name=name)
    finally:
        sys.stdin = before
    return Answer(code, _written(out), _written(err))


def _written(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def say(text: str, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """One scripted answer: text, and calls by tool name and arguments."""
    wanted = [{"name": name, "arguments": arguments} for name, arguments in calls]
    return {"text": text, "tool_calls": wanted, "usage": {"input_tokens": 100, "output_tokens": 20}}


def write(path: str, content: str = "text\n") -> tuple[str, dict[str, Any]]:
    """A call that writes a file."""
    return "file_write", {"path": path, "content": content}


def write_config(place: Path, *answers: dict[str, Any], **sections: Any) -> Path:
    """A kgent.yaml with a scripted model that gives these answers."""
    script = place / "script.yaml"
    script.write_text(yaml.safe_dump({"calls": list(answers)}, allow_unicode=True), encoding="utf-8")
    settings = {
        "llm": {"backend": "fake", "fake": {"script": str(script)}},
        "safety": {"mode": "allow"},
        **sections,
    }
    config = place / "kgent.yaml"
    config.write_text(yaml.safe_dump(settings, allow_unicode=True), encoding="utf-8")
    return config


def tree(place: Path) -> dict[str, str]:
    """Every file and directory below a place, with the digests of what the files hold."""
    return {
        str(path.relative_to(place)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "directory"
        for path in sorted(place.rglob("*"))
    }
