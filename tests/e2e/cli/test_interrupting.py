"""Ctrl-C during a run, with a real model service on this machine that takes its time."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import yaml

from kgent import create_run_context
from tests.e2e.cli.programs import TIMEOUT_SECONDS, call, environment, start
from tests.support import model_server
from tests.support.model_server import Answer


class Held(list[Any]):
    """The chunks of an answer that does not go on after its last one until it is let go."""

    let_go: threading.Event

    def __iter__(self) -> Iterator[Any]:
        yield from super().__iter__()
        self.let_go.wait()


@contextmanager
def slow_model(place: Path) -> Generator[None]:
    """A model that has begun to answer and does not go on while the block lasts."""
    chunks = Held(model_server.breaks_off("I begin").chunks)
    chunks.let_go = threading.Event()
    with model_server.start([Answer(chunks, ending="cut")]) as server:
        write_settings(place, server.base_url)
        try:
            yield
        finally:
            chunks.let_go.set()


def write_settings(place: Path, base_url: str) -> None:
    settings = {
        "llm": {"backend": "openai", "base_url": base_url, "api_key_env": "MODEL_KEY", "retry": {"max_retries": 0}},
        "models": {"executor": "local-model"},
        "safety": {"mode": "allow"},
    }
    (place / "kgent.yaml").write_text(yaml.safe_dump(settings))


def model_environment() -> dict[str, str]:
    return environment(MODEL_KEY="secret", NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")


def read_until(stream: IO[bytes] | None, text: bytes) -> list[bytes]:
    assert stream is not None
    lines: list[bytes] = []
    for line in stream:
        lines.append(line)
        if text in line:
            break
    return lines


def test_a_task_is_done_with_a_model_behind_http(tmp_path: Path) -> None:
    written = ("file_write", {"path": "deliverables/a.md", "content": "你好\n"})
    answers = [model_server.calls(written, usage=(50, 5)), model_server.says("Done. ", "完成。", usage=(60, 7))]
    with model_server.start(answers) as server:
        write_settings(tmp_path, server.base_url)
        arguments = ("run", "Write a.md", "--config", "kgent.yaml", "--sandbox", "r")
        answer = call("kgent", *arguments, cwd=tmp_path, env=model_environment())
    assert (answer.code, answer.out) == (0, "Done. 完成。\n"), answer.err
    assert " · local-model · sandbox isolated\n" in answer.err
    assert " · 122 tokens\n" in answer.err
    assert (tmp_path / "r/deliverables/a.md").read_text() == "你好\n"
    assert server.authorizations == ["Bearer secret"] * 2


def test_ctrl_c_stops_the_run_cleanly_records_it_and_exits_27_before_the_eyes_of_a_follower(tmp_path: Path) -> None:
    arguments = ("run", "Take your time", "--config", "kgent.yaml", "--sandbox", "r", "--json")
    with slow_model(tmp_path), start("kgent", *arguments, cwd=tmp_path, env=model_environment()) as process:
        seen = read_until(process.stdout, b'"type":"llm_request_started"')
        with start("kgent", "runs", "tail", "./r", "--follow", "--json", cwd=tmp_path) as follower:
            followed = read_until(follower.stdout, b'"type":"llm_request_started"')
            process.send_signal(signal.SIGINT)
            rest, err = process.communicate(timeout=TIMEOUT_SECONDS)
            followed += follower.communicate(timeout=TIMEOUT_SECONDS)[:1]
    assert (process.returncode, err) == (27, b"")
    assert (follower.returncode, b"".join(followed)) == (0, (tmp_path / "r/events.jsonl").read_bytes())
    assert b"".join(seen) + rest == (tmp_path / "r/events.jsonl").read_bytes()
    assert json.loads(rest.splitlines()[-1])["type"] == "run_cancelled"
    assert json.loads((tmp_path / "r/run.json").read_text())["status"] == "cancelled"


def test_a_signal_to_stop_is_answered_in_words(tmp_path: Path) -> None:
    arguments = ("run", "Take your time", "--config", "kgent.yaml", "--sandbox", "r")
    with slow_model(tmp_path), start("kgent", *arguments, cwd=tmp_path, env=model_environment()) as process:
        read_until(process.stderr, b"run r  Take your time")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, out) == (27, b"")
    assert b"stopping; Ctrl-C again leaves at once\n cancelled  stopped, exit code 27 " in err


STUCK = """
import asyncio, sys
from skills_runtime.cli.execution import interrupts
from skills_runtime.cli.render.quiet import QuietView

async def work():
    with interrupts(QuietView()) as interrupted:
        print("ready", flush=True)
        await interrupted.wait()
        print("heard", flush=True)
        sys.stdin.read()

asyncio.run(work())
"""


def test_a_second_ctrl_c_leaves_at_once_even_when_the_run_is_stuck() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", STUCK], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        read_until(process.stdout, b"ready")
        process.send_signal(signal.SIGINT)
        read_until(process.stdout, b"heard")
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT_SECONDS) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_ctrl_c_ends_a_follower_at_once_and_without_a_word(workspace: Path) -> None:
    create_run_context({}, "wait", workspace / "r")
    with start("kgent", "runs", "tail", "./r", "--follow", "--json", cwd=workspace) as process:
        seen = read_until(process.stdout, b'"type":"sandbox_created"')
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, rest, err) == (-signal.SIGINT, b"", b"")
    assert b"".join(seen) == (workspace / "r/events.jsonl").read_bytes()
