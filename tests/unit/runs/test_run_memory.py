"""What a run keeps in memory: its texts and its first events, and nothing once it is closed."""

import gc
import weakref
from pathlib import Path

from skills_runtime.events.payloads import HumanRequest
from skills_runtime.runs import create_run, open_run, read_events
from skills_runtime.runs.run import MAX_CACHED_EVENTS
from tests.support.runs import new_run, ports_in, spec_in

PROMPT = "one\r\ntwo\rthree\n"


def test_a_closed_run_is_gone_without_the_garbage_collector(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    gone = weakref.ref(run)
    gc.disable()
    try:
        run.close()
        del run
        assert gone() is None
    finally:
        gc.enable()


def test_a_new_run_knows_its_texts_to_the_letter(tmp_path: Path) -> None:
    run = create_run(spec_in(tmp_path, prompt=PROMPT), ports_in(tmp_path))
    try:
        assert run.text("prompt.md") == PROMPT == (run.paths.root / "prompt.md").read_bytes().decode()
    finally:
        run.close()


def test_an_opened_run_reads_its_texts_to_the_letter(tmp_path: Path) -> None:
    spec = spec_in(tmp_path, prompt=PROMPT)
    create_run(spec, ports_in(tmp_path)).close()
    run = open_run(spec.root, ports_in(tmp_path))
    try:
        assert run.text("prompt.md") == PROMPT
        assert run.text("effective-system-prompt.md") == spec.system_prompt
    finally:
        run.close()


def test_more_events_than_are_remembered_are_read_back(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    try:
        before = len(list(run.events()))
        for number in range(MAX_CACHED_EVENTS):
            run.append(HumanRequest(call_id=f"c{number}", question="?"))
        assert len(list(run.events())) == before + MAX_CACHED_EVENTS
        assert list(run.events()) == list(read_events(run.paths))
    finally:
        run.close()
