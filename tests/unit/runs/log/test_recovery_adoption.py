"""A run whose key is elsewhere is continued only on purpose, and what was adopted can no longer be changed unseen."""

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.errors import KeyMissing, LogCorrupt, LogError
from skills_runtime.events.payloads import HumanResponse, RunAdopted
from skills_runtime.projections import RunView, fold
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log import KeyRing, LogPorts, authenticate, read_events, read_verified
from skills_runtime.runs.run import open_run
from skills_runtime.testing import FrozenClock
from tests.support.runs import decoded, filled_run, keys_in, lines_of, ports_in


@pytest.fixture
def paths(tmp_path: Path) -> RunPaths:
    """A run that was signed somewhere else."""
    return filled_run(tmp_path / "there")


@pytest.fixture
def here(tmp_path: Path) -> LogPorts:
    """A machine with another key."""
    return ports_in(tmp_path / "here", clock=FrozenClock("2026-02-02T00:00:00Z"))


def adopted(paths: RunPaths, ports: LogPorts) -> RunPaths:
    """The run taken over, with an event of the new machine in its log."""
    run = open_run(paths.root, ports, adopt=True)
    run.append(HumanResponse(call_id="after"))
    run.commit()
    run.close()
    return paths


def forge(paths: RunPaths, *, key_id: str, prefix_sha256: str = "0" * 64) -> None:
    """Append an adoption as somebody without any key can write it, and one event behind it."""
    last = decoded(lines_of(paths)[-1])
    payloads: list[tuple[str, dict[str, Any]]] = [
        ("run_adopted", {"previous_key_id": "x", "key_id": key_id, "prefix_sha256": prefix_sha256}),
        ("human_response", {"call_id": "forged", "answer": "yes"}),
    ]
    with paths.events.open("ab") as file:
        for number, (event_type, payload) in enumerate(payloads):
            new = {"seq": last["seq"] + 1 + number, "type": event_type, "payload": payload, "mac": "0" * 32}
            file.write(msgspec.json.encode(last | new) + b"\n")


def test_a_run_that_was_signed_elsewhere_is_not_opened(paths: RunPaths, here: LogPorts) -> None:
    before = paths.events.read_bytes()
    with pytest.raises(KeyMissing, match="which is not here"):
        open_run(paths.root, here)
    assert paths.events.read_bytes() == before


def test_it_can_be_read_and_is_reported_as_unchecked(paths: RunPaths, here: LogPorts) -> None:
    report = authenticate(paths, here.keys)
    assert (report.unchecked, report.tail_bytes) == (15, 0)
    assert len(list(read_verified(paths, here.keys))) == 15


def test_adopting_is_recorded_and_begins_a_new_epoch_under_the_key_of_this_machine(
    paths: RunPaths, here: LogPorts, tmp_path: Path
) -> None:
    digest = digest_of(paths)
    adopted(paths, here)
    event = list(read_events(paths))[15]
    assert event.payload == RunAdopted(
        previous_key_id=keys_in(tmp_path / "there").current().id, key_id=here.keys.current().id, prefix_sha256=digest
    )
    assert [decoded(line)["epoch"] for line in lines_of(paths)] == [1] * 15 + [2] * 2


def digest_of(paths: RunPaths) -> str:
    return hashlib.sha256(paths.events.read_bytes()).hexdigest()


def test_an_adopted_run_opens_without_adopting_again(paths: RunPaths, here: LogPorts) -> None:
    adopted(paths, here)
    run = open_run(paths.root, here)
    assert run.view == fold(read_events(paths), RunView())
    assert run.log.next_seq == 17
    run.close()
    assert authenticate(paths, here.keys).tail_fault is None


def test_adopting_a_run_of_this_machine_changes_nothing(paths: RunPaths, tmp_path: Path) -> None:
    run = open_run(paths.root, ports_in(tmp_path / "there"), adopt=True)
    assert run.log.next_seq == 15
    run.close()


def test_any_edit_of_the_adopted_lines_is_detected(paths: RunPaths, here: LogPorts) -> None:
    adopted(paths, here)
    whole = paths.events.read_bytes()
    prefix = sum(map(len, lines_of(paths)[:15]))
    for offset in range(0, prefix, 7):
        changed = bytearray(whole)
        changed[offset] ^= 4
        paths.events.write_bytes(changed)
        assert fault_of(paths, here), offset
        with pytest.raises(LogError):
            open_run(paths.root, here)
        assert paths.events.read_bytes() == changed


def fault_of(paths: RunPaths, ports: LogPorts) -> str | None:
    """What verification has to say against a log."""
    try:
        return authenticate(paths, ports.keys).tail_fault
    except LogError as error:
        return error.kind


def test_an_edit_of_the_adopted_lines_is_not_adopted_again(paths: RunPaths, here: LogPorts) -> None:
    adopted(paths, here)
    changed = paths.events.read_bytes().replace(b"Say hello.", b"Say howdy.")
    paths.events.write_bytes(changed)
    with pytest.raises(LogCorrupt, match="line 16 of the log adopts other lines than the ones before it"):
        open_run(paths.root, here, adopt=True)
    assert paths.events.read_bytes() == changed


def test_a_forged_adoption_by_an_unknown_key_is_not_honoured(paths: RunPaths, tmp_path: Path) -> None:
    ports = ports_in(tmp_path / "there")
    forge(paths, key_id="f" * 16)
    assert [event.seq for event in read_verified(paths, ports.keys)] == list(range(15))
    report = authenticate(paths, ports.keys)
    assert (report.position.seq, report.tail_fault) == (15, "key")
    with pytest.raises(KeyMissing, match="`ffffffffffffffff`"):
        open_run(paths.root, ports)


def test_a_forged_adoption_by_our_own_key_is_set_aside(paths: RunPaths, tmp_path: Path) -> None:
    ports = ports_in(tmp_path / "there")
    forge(paths, key_id=ports.keys.current().id)
    run = open_run(paths.root, ports)
    assert [event.type for event in read_events(paths, from_seq=15)] == ["log_repaired"]
    run.close()


def refused_and_left_as_it_is(paths: RunPaths, ports: LogPorts) -> None:
    before = paths.events.read_bytes()
    with pytest.raises(LogError, match="line 16 of the log was changed, or was written without the key"):
        open_run(paths.root, ports)
    assert paths.events.read_bytes() == before


def test_a_forged_adoption_does_not_spare_the_real_one(paths: RunPaths, here: LogPorts) -> None:
    forge(paths, key_id=here.keys.current().id, prefix_sha256=digest_of(paths))
    refused_and_left_as_it_is(paths, here)


@pytest.mark.parametrize("digest", ["ü", "", "0" * 64])
def test_an_adoption_with_a_nonsense_digest_is_no_adoption(digest: str, paths: RunPaths, here: LogPorts) -> None:
    forge(paths, key_id=here.keys.current().id, prefix_sha256=digest)
    refused_and_left_as_it_is(paths, here)


def test_a_run_that_comes_home_after_an_adoption_is_not_continued_blindly(
    paths: RunPaths, here: LogPorts, tmp_path: Path
) -> None:
    adopted(paths, here)
    with pytest.raises(KeyMissing, match=here.keys.current().id):
        open_run(paths.root, ports_in(tmp_path / "there"))


def test_a_run_may_be_adopted_there_and_back_again(paths: RunPaths, here: LogPorts, tmp_path: Path) -> None:
    there = ports_in(tmp_path / "there")
    adopted(paths, here)
    adopted(paths, there)
    run = open_run(paths.root, there)
    assert run.view == fold(read_events(paths), RunView())
    assert run.log.next_seq == 19
    run.close()
    lines = lines_of(paths)
    lines[16] = lines[16].replace(b"after", b"later")
    paths.events.write_bytes(b"".join(lines))
    with pytest.raises(LogCorrupt, match="line 18 of the log adopts other lines"):
        open_run(paths.root, there)


def test_damage_among_lines_of_another_key_is_refused_also_when_adopting(
    paths: RunPaths, here: LogPorts, tmp_path: Path
) -> None:
    run = open_run(paths.root, here, adopt=True)
    for number in range(4):
        run.append(HumanResponse(call_id=str(number)))
    run.close()
    lines = lines_of(paths)
    lines[17] = b"x" + lines[17]
    paths.events.write_bytes(b"".join(lines))
    with pytest.raises(LogCorrupt, match="line 18 of the log is not a complete event line"):
        open_run(paths.root, ports_in(tmp_path / "there"), adopt=True)


def test_a_torn_end_is_set_aside_when_a_run_is_adopted(paths: RunPaths, here: LogPorts) -> None:
    with paths.events.open("ab") as file:
        file.write(b'{"seq":15')
    adopted(paths, here)
    assert [event.type for event in read_events(paths, from_seq=15)] == [
        "run_adopted",
        "log_repaired",
        "human_response",
    ]
    open_run(paths.root, here).close()


def test_a_machine_with_both_keys_verifies_all_of_it(paths: RunPaths, here: LogPorts, tmp_path: Path) -> None:
    adopted(paths, here)
    both = tmp_path / "both"
    both.mkdir()
    for name, keys in (("old", keys_in(tmp_path / "there")), ("new", here.keys)):
        (both / f"{name}.key").write_bytes(keys.current().secret)
        (both / f"{name}.key").chmod(0o600)
    report = authenticate(paths, KeyRing(both))
    assert (report.position.seq, report.unchecked, report.tail_fault) == (17, 0, None)
