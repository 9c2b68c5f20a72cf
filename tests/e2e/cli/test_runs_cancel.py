"""Ending a run that another process works on: told, waited for, and never left half done."""

import json
import signal
from pathlib import Path

from tests.e2e.cli.models import model_environment, read_until, slow_model
from tests.e2e.cli.programs import TIMEOUT_SECONDS, call, start

ARGUMENTS = ("run", "Take your time", "--config", "kgent.yaml", "--sandbox", "r", "--json")


def test_a_run_of_another_process_is_cancelled_and_waited_for(tmp_path: Path) -> None:
    with slow_model(tmp_path), start("kgent", *ARGUMENTS, cwd=tmp_path, env=model_environment()) as process:
        read_until(process.stdout, b'"type":"llm_request_started"')
        answer = call("kgent", "runs", "cancel", "r", "--reason", "no need", cwd=tmp_path, env=model_environment())
        types = [json.loads(line)["type"] for line in (tmp_path / "r/events.jsonl").read_text().splitlines()]
        process.communicate(timeout=TIMEOUT_SECONDS)
    assert (answer.code, answer.out) == (0, "the run `r` is cancelled\n"), answer.err
    assert types[-1] == "run_cancelled"
    assert process.returncode == 27


def test_a_message_reaches_a_run_of_another_process(tmp_path: Path) -> None:
    with slow_model(tmp_path), start("kgent", *ARGUMENTS, cwd=tmp_path, env=model_environment()) as process:
        read_until(process.stdout, b'"type":"llm_request_started"')
        answer = call("kgent", "runs", "send", "r", "Hurry up", cwd=tmp_path, env=model_environment())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT_SECONDS)
    assert answer == (0, "message 1 was sent to the run `r`; it is read at the next turn\n", "")
