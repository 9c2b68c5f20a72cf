"""A run whose terminal goes away: it stops as with Ctrl-C, and goes on where it was told to outlive the terminal."""

import json
import os
import pty
import signal
import subprocess
from pathlib import Path

from tests.e2e.cli.models import model_environment, slow_model
from tests.e2e.cli.programs import SCRIPTS, TIMEOUT_SECONDS, start

ARGUMENTS = ("run", "Take your time", "--config", "kgent.yaml", "--sandbox", "r")


def status_in(place: Path) -> str:
    return json.loads((place / "r/run.json").read_text())["status"]


def test_a_run_whose_terminal_is_closed_waits_to_be_resumed(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with (
        slow_model(tmp_path) as asked,
        subprocess.Popen(
            [SCRIPTS / "kgent", *ARGUMENTS],
            cwd=tmp_path,
            env=model_environment(),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        ) as process,
    ):
        os.close(theirs)
        assert asked.wait(TIMEOUT_SECONDS)
        os.close(ours)  # nothing can be written any more, and whoever writes is told so
        for _ in range(2):  # by the shell, and by the system
            process.send_signal(signal.SIGHUP)
        assert process.wait(TIMEOUT_SECONDS) != -signal.SIGHUP
    assert status_in(tmp_path) == "waiting_for_user"


def test_a_run_that_shall_outlive_its_terminal_is_not_stopped_with_it(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as `nohup` does
    try:
        with (
            slow_model(tmp_path) as asked,
            start("kgent", *ARGUMENTS, cwd=tmp_path, env=model_environment()) as process,
        ):
            assert asked.wait(TIMEOUT_SECONDS)
            process.send_signal(signal.SIGHUP)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=TIMEOUT_SECONDS)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert process.returncode == 128 + signal.SIGTERM
    assert status_in(tmp_path) == "waiting_for_user"


def test_ctrl_c_stops_a_run_whose_output_cannot_be_written(tmp_path: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        with (
            slow_model(tmp_path) as asked,
            start("kgent", *ARGUMENTS, cwd=tmp_path, env=model_environment(), stderr=full) as process,
        ):
            assert asked.wait(TIMEOUT_SECONDS)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=TIMEOUT_SECONDS)
    finally:
        os.close(full)
    assert status_in(tmp_path) == "waiting_for_user"
