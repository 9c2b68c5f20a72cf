"""No bytes make the scan raise, hang or change its mind."""

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skills_runtime.skills.scan.files import Collected, ScannedFile
from skills_runtime.skills.scan.scan import scan_collected
from tests.unit.skills.scan.corpus import SAMPLES, samples

NAMES = st.sampled_from(["SKILL.md", "a.py", "a.js", "a.sh", "a.json", "a.txt", "a.png", "a.pyc", "a.zip", "b"])
SNIPPETS = [line for file in sorted(SAMPLES.glob("*.txt")) for line in file.read_text(encoding="utf-8").split("\n")]
MIXED = st.lists(st.sampled_from(SNIPPETS) | st.text(max_size=30), max_size=12).map("\n".join)


def _collected(name: str, data: bytes) -> Collected:
    return Collected(members=(ScannedFile(name=name, data=data, size=len(data)),))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=NAMES, data=st.binary(max_size=600))
def test_any_bytes_are_scanned(name: str, data: bytes) -> None:
    assert scan_collected(_collected(name, data)).files_read == 1


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=NAMES, text=MIXED)
def test_any_mixture_of_samples_is_scanned_alike_twice(name: str, text: str) -> None:
    files = _collected(name, text.encode(errors="replace"))

    assert scan_collected(files) == scan_collected(files)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sample=st.sampled_from(samples("harmful")), cut=st.integers(0, 400), noise=st.binary(max_size=8))
def test_a_sample_with_damage_is_scanned(sample: object, cut: int, noise: bytes) -> None:
    files = getattr(sample, "files", {})
    for name, body in files.items():
        data = body.encode()
        scan_collected(_collected(str(name), data[:cut] + noise + data[cut:]))


def test_hostile_repetition_ends(tmp_path: Path) -> None:
    del tmp_path
    for unit in (
        "curl ",
        "a|",
        "send ",
        "https://a.b/ ",
        "((((",
        "[" * 9,
        "''",
        '"',
        "\\",
        "`" * 4,
        "<!--",
        "A" * 50 + " ",
    ):
        for name in ("SKILL.md", "a.py", "a.js", "a.sh"):
            data = (unit * 20_000)[:60_000].encode()
            assert scan_collected(_collected(name, data)).files_read == 1


def test_deeply_nested_code_is_scanned() -> None:
    assert scan_collected(_collected("a.py", b"(" * 5_000 + b")" * 5_000)).files_read == 1
    assert scan_collected(_collected("a.py", b"x = " + b" + ".join([b"'a'"] * 3_000))).files_read == 1
