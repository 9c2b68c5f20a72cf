"""Verification of the log: which line was changed, added or cut away, with the key and without."""

import errno
import json
from pathlib import Path

import pytest

from skills_runtime.errors import StorageFailed
from skills_runtime.runs import KeyRing, RunPaths, Verdict, finish_run, open_run, verify_run
from skills_runtime.runs.verify import Head
from skills_runtime.testing import FaultyDisk, FrozenClock
from tests.support.runs import COMPLETED, decoded, keys_in, lines_of, ports_in, rewrite_line, seal_again, working_run
from tests.support.tools import tree


def _found(verdict: Verdict) -> list[tuple[str, str]]:
    return [(finding.code, finding.where) for finding in verdict.findings if finding.severity == "error"]


def test_an_edited_event_is_named_by_its_line(paths: RunPaths, keys: KeyRing) -> None:
    rewrite_line(paths, 4, lambda event: event["payload"].update(model="another"))
    verdict = verify_run(paths.root, keys)
    assert not verdict.ok
    assert "line 5" in verdict.findings[0].message
    assert verdict.findings[0].seq == 4


@pytest.mark.parametrize("number", range(2, 11))
def test_every_edited_event_is_found(paths: RunPaths, keys: KeyRing, number: int) -> None:
    rewrite_line(paths, number, lambda event: event.update(timestamp="2020-01-01T00:00:00.000000Z"))
    assert not verify_run(paths.root, keys).ok


def test_a_forged_line_at_the_end_does_not_count_and_is_reported(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    run.close()
    forged = decoded(lines_of(run.paths)[-1]) | {"seq": run.log.next_seq, "type": "run_completed"}
    with run.paths.events.open("ab") as log:
        log.write(json.dumps(forged, separators=(",", ":")).encode() + b"\n")
    verdict = verify_run(run.paths.root, keys_in(tmp_path))
    (finding,) = verdict.findings
    assert (finding.code, finding.where, finding.seq) == ("log_tail", "events.jsonl", run.log.next_seq)
    assert f"line {run.log.next_seq + 1} " in finding.message
    assert verdict.events == run.log.next_seq


def test_a_line_behind_the_end_is_reported(paths: RunPaths, keys: KeyRing) -> None:
    with paths.events.open("ab") as log:
        log.write(lines_of(paths)[-1])
    assert ("log_tail", "events.jsonl") in _found(verify_run(paths.root, keys))


@pytest.mark.parametrize("cut", [1, 2, 5])
def test_lines_missing_at_the_end_are_detected_by_the_known_head(tmp_path: Path, keys: KeyRing, cut: int) -> None:
    run = working_run(tmp_path)
    run.close()
    head = Head(run.state.last_seq, run.state.last_mac)
    run.paths.events.write_bytes(b"".join(lines_of(run.paths)[:-cut]))
    results = _found(verify_run(run.paths.root, keys, known_head=head))
    assert ("log_cut", "events.jsonl") in results


def test_a_log_whose_end_was_cut_contradicts_run_json(paths: RunPaths, keys: KeyRing) -> None:
    paths.events.write_bytes(b"".join(lines_of(paths)[:-1]))
    assert ("run_json", "run.json") in _found(verify_run(paths.root, keys))


def test_a_known_head_that_is_in_the_log_is_fine(paths: RunPaths, keys: KeyRing) -> None:
    for line in (lines_of(paths)[3], lines_of(paths)[-1]):
        head = Head(decoded(line)["seq"], decoded(line)["mac"])
        assert verify_run(paths.root, keys, known_head=head).findings == []


def test_another_log_in_the_place_of_the_known_one_is_found(paths: RunPaths, keys: KeyRing) -> None:
    verdict = verify_run(paths.root, keys, known_head=Head(3, "0" * 32))
    assert _found(verdict) == [("log_replaced", "events.jsonl")]


def test_a_fingerprint_that_does_not_fit_the_configuration_is_found_even_if_the_log_was_sealed_again(
    paths: RunPaths, keys: KeyRing
) -> None:
    rewrite_line(paths, 0, lambda event: event["payload"].update(config_fingerprint="sha256:" + "0" * 64))
    seal_again(paths, keys)
    results = _found(verify_run(paths.root, keys))
    assert ("fingerprint", "config.yaml") in results
    assert ("run_json", "run.json") in results
    assert ("log_prefix", "events.jsonl") in results


def test_without_the_key_the_digest_of_the_log_still_finds_an_edited_event(paths: RunPaths, no_keys: KeyRing) -> None:
    rewrite_line(paths, 4, lambda event: event["payload"].update(model="another"))
    assert ("log_prefix", "events.jsonl") in _found(verify_run(paths.root, no_keys))


def test_a_run_that_twice_could_not_end_is_not_called_tampered(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    for nth in (2, 1):
        run.close()
        disk = FaultyDisk()
        run = open_run(run.paths.root, ports_in(tmp_path, disk=disk, clock=FrozenClock(f"2026-02-0{nth}T00:00:00Z")))
        disk.fail("write", errno.ENOSPC, nth=nth)
        with pytest.raises(StorageFailed):
            finish_run(run, COMPLETED)
    run.close()
    assert verify_run(run.paths.root, keys_in(tmp_path)).findings == []


def test_a_run_that_ended_but_could_not_tell_is_brought_in_step_when_it_is_opened(
    paths: RunPaths, keys: KeyRing, tmp_path: Path
) -> None:
    complete = tree(paths.root)
    unfinished = working_run(tmp_path / "other")
    unfinished.close()
    paths.run_json.write_bytes(unfinished.paths.run_json.read_bytes())
    paths.transcript.write_bytes(b"old")
    with pytest.raises(Exception, match="has ended"):
        open_run(paths.root, ports_in(tmp_path))
    assert tree(paths.root) == complete
    assert verify_run(paths.root, keys).findings == []
