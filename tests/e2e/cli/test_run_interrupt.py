"""Ctrl-C during a run, with a real model service on this machine that takes its time."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kgent import create_run_context
from tests.e2e.cli.models import model_environment, read_until, slow_model, write_settings
from tests.e2e.cli.programs import TIMEOUT_SECONDS, call, start
from tests.support import model_server


def test_a_task_is_done_with_a_model_behind_http(tmp_path: Path) -> None:
    written = ("file_write", {"path": "deliverables/a.md", "content": "你好\n"})
    answers = [model_server.calls(written, usage=(50, 5)), model_server.says("Done. ", "完成。", usage=(60, 7))]
    with model_server.start(answers) as server:
        write_settings(tmp_path, server.base_url)
        arguments = ("run", "Write a.md", "--config", "kgent.yaml", "--sandbox", "r")
        answer = call("kgent", *arguments, cwd=tmp_path, env=model_environment())
    assert (answer.code, answer.out) == (0, "Done. 完成。\n"), answer.err
    assert " · local-model · isolated workspace\n" in answer.err
    assert " · 122 tokens\n" in answer.err
    assert (tmp_path / "r/deliverables/a.md").read_text() == "你好\n"
    assert server.authorizations == ["Bearer secret"] * 2


def test_ctrl_c_stops_the_run_so_that_it_can_go_on_before_the_eyes_of_a_follower(tmp_path: Path) -> None:
    arguments = ("run", "Take your time", "--config", "kgent.yaml", "--sandbox", "r", "--json")
    with slow_model(tmp_path), start("kgent", *arguments, cwd=tmp_path, env=model_environment()) as process:
        seen = read_until(process.stdout, b'"type":"llm_request_started"')
        with start("kgent", "runs", "tail", "./r", "--follow", "--json", cwd=tmp_path) as follower:
            followed = read_until(follower.stdout, b'"type":"llm_request_started"')
            process.send_signal(signal.SIGINT)
            rest, err = process.communicate(timeout=TIMEOUT_SECONDS)
            followed += read_until(follower.stdout, b'"type":"run_waiting_human"')
            follower.send_signal(signal.SIGINT)
    assert (process.returncode, err) == (130, b"")
    assert b"".join(followed) == (tmp_path / "r/events.jsonl").read_bytes()
    assert b"".join(seen) + rest == (tmp_path / "r/events.jsonl").read_bytes()
    last = json.loads(rest.splitlines()[-1])
    assert (last["type"], last["payload"]["error_kind"]) == ("run_waiting_human", "stopped")
    assert json.loads((tmp_path / "r/run.json").read_text())["status"] == "waiting_for_user"


def test_a_stopped_run_goes_on_with_the_command_it_was_left_with(tmp_path: Path) -> None:
    arguments = ("run", "Take your time", "--config", "kgent.yaml", "--sandbox", "r")
    with slow_model(tmp_path), start("kgent", *arguments, cwd=tmp_path, env=model_environment()) as process:
        read_until(process.stderr, b"run r  Take your time")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, out) == (143, b"")
    assert b"     stopping; press Ctrl-C again to exit at once\n stopped; resume with: kgent runs resume r" in err
    with model_server.start([model_server.says("Done.")]) as server:
        setting = ("--set", f"llm.base_url={server.base_url}")
        resumed = call("kgent", "runs", "resume", "r", *setting, cwd=tmp_path, env=model_environment())
    assert (resumed.code, resumed.out) == (0, "Done.\n"), resumed.err


def test_a_quiet_run_that_was_stopped_says_how_it_goes_on(tmp_path: Path) -> None:
    arguments = ("run", "Take your time", "--config", "kgent.yaml", "--sandbox", "r", "-q")
    with slow_model(tmp_path) as asked, start("kgent", *arguments, cwd=tmp_path, env=model_environment()) as process:
        asked.wait(TIMEOUT_SECONDS)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 130
    assert err == b"error: the run `r` is waiting: stopped\n  kind: stopped\n  hint: `kgent runs resume r`\n"


STUCK = """
import asyncio, sys
from skills_runtime.cli.program import interrupts

async def work():
    with interrupts(lambda: print("left", flush=True)) as interruption:
        print("ready", flush=True)
        await interruption.wait()
        print("heard", flush=True)
        sys.stdin.read()

asyncio.run(work())
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_signal_leaves_at_once_even_when_the_run_is_stuck(number: signal.Signals, code: int) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", STUCK], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        read_until(process.stdout, b"ready")
        process.send_signal(signal.SIGINT)
        read_until(process.stdout, b"heard")
        process.send_signal(number)
        assert process.wait(TIMEOUT_SECONDS) == code
        assert process.stdout is not None
        assert process.stderr is not None
        assert (process.stdout.read(), process.stderr.read()) == (b"left\n", b"")


def test_ctrl_c_ends_a_follower_at_once_and_without_a_word(workspace: Path) -> None:
    create_run_context({}, "wait", workspace / "r")
    with start("kgent", "runs", "tail", "./r", "--follow", "--json", cwd=workspace) as process:
        seen = read_until(process.stdout, b'"type":"sandbox_created"')
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, rest, err) == (-signal.SIGINT, b"", b"")
    assert b"".join(seen) == (workspace / "r/events.jsonl").read_bytes()
