"""Big results: nothing of them is lost, the model gets both ends, and what is small is left alone."""

import hashlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.ports import ToolResult
from skills_runtime.tools.invoke import LIMIT, NOTE_BYTES, spill_large_values
from tests.support.tools import data_of

texts = st.text(st.sampled_from("aé漢😀\n[…]"), max_size=400)
limits = st.integers(0, 600)


class Keeping(dict[str, bytes]):
    """Blobs by their digest."""

    def __call__(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        self[digest] = data
        return digest


def note(left_out: int, total: int, digest: str) -> str:
    return f"\n[… {left_out} of {total} bytes left out; the full text is in blob {digest} …]\n"


def ends(shown: str, *, of: str, blobs: Keeping) -> tuple[str, str]:
    """The beginning and the end that a shortened text shows, after checking what its note says."""
    whole = of.encode()
    digest = hashlib.sha256(whole).hexdigest()
    assert blobs[digest] == whole
    place = shown.index(f" of {len(whole)} bytes left out; the full text is in blob {digest} …]\n")
    begin = shown.rindex("\n[… ", 0, place)
    left_out = int(shown[begin + len("\n[… ") : place])
    head, tail = shown[:begin], shown[begin + len(note(left_out, len(whole), digest)) :]
    assert shown == head + note(left_out, len(whole), digest) + tail
    assert left_out == len(whole) - len(head.encode()) - len(tail.encode())
    return head, tail


@given(text=texts, other=texts, limit=limits)
def test_the_whole_text_is_kept_and_the_result_shows_its_true_ends(text: str, other: str, limit: int) -> None:
    blobs = Keeping()
    result = spill_large_values(ToolResult(ok=True, stdout=text, stderr=other), blobs, limit=limit)
    for name, whole, shown in (("stdout", text, result.stdout), ("stderr", other, result.stderr)):
        if len(whole.encode()) <= limit:
            assert shown == whole
            assert name not in (result.data or {}).get("spilled", {})
            continue
        head, tail = ends(shown, of=whole, blobs=blobs)
        assert whole.startswith(head)
        assert whole.endswith(tail)
        assert len(head) + len(tail) < len(whole) or not whole, "the ends do not overlap"
        assert len(shown.encode()) <= max(limit, NOTE_BYTES)
        place = data_of(result)["spilled"][name]
        assert blobs[place["blob"]].decode() == whole
        assert place["bytes"] == len(whole.encode())
        assert result.truncated


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
datas = st.dictionaries(st.sampled_from(["a", "b", "c", "spilled", "é"]) | st.text(max_size=6), json_values, max_size=6)


@given(data=datas, text=texts, limit=limits)
def test_the_whole_data_can_be_rebuilt_and_what_is_shown_of_it_is_true(
    data: dict[str, Any], text: str, limit: int
) -> None:
    blobs = Keeping()
    result = spill_large_values(ToolResult(ok=True, stdout=text, data=data), blobs, limit=limit)
    places: dict[str, Any] = data_of(result)["spilled"] if result.truncated else {}
    if "data" in places:
        assert msgspec.json.decode(blobs[places["data"]["blob"]]) == data
    shown = {name: value for name, value in data_of(result).items() if name != "spilled" or not result.truncated}
    assert shown.items() <= data.items() if "data" in places else shown == data
    assert len(msgspec.json.encode(shown)) <= max(limit, 2)


@given(text=texts, data=datas)
def test_a_result_within_the_limit_is_the_same_and_nothing_is_kept(text: str, data: dict[str, Any]) -> None:
    blobs = Keeping()
    result = ToolResult(ok=True, stdout=text, stderr=text, data=data, exit_code=3)
    assert spill_large_values(result, blobs, limit=20_000) is result
    assert blobs == {}


def test_the_rest_of_the_result_stays() -> None:
    result = ToolResult(ok=False, stdout="x" * 1000, exit_code=7, error_kind="exit_code", duration_ms=5, retryable=True)
    short = spill_large_values(result, Keeping(), limit=500)
    assert msgspec.structs.replace(short, stdout=result.stdout, data=None, truncated=False) == result


def test_small_fields_of_large_data_stay() -> None:
    data = {"count": 3, "sandbox": {"active": False}, "rows": ["x" * 100] * 1000, "path": "a.txt", "long": "y" * 2000}
    blobs = Keeping()
    result = spill_large_values(ToolResult(ok=True, data=data), blobs)
    encoded = msgspec.json.encode(data)
    assert data_of(result) == {
        "count": 3,
        "sandbox": {"active": False},
        "path": "a.txt",
        "spilled": {"data": {"blob": hashlib.sha256(encoded).hexdigest(), "bytes": len(encoded)}},
    }
    assert list(blobs.values()) == [encoded]


def test_a_field_of_the_tool_that_has_our_name_is_not_lost() -> None:
    blobs = Keeping()
    result = spill_large_values(
        ToolResult(ok=True, stdout="x" * 1000, data={"spilled": "mine", "n": 1}), blobs, limit=500
    )
    assert data_of(result)["n"] == 1
    assert msgspec.json.decode(blobs[data_of(result)["spilled"]["data"]["blob"]]) == {"spilled": "mine", "n": 1}


def test_ten_megabytes_come_down_to_the_limit() -> None:
    text = "0123456789abcde\n" * 655_360
    blobs = Keeping()
    result = spill_large_values(ToolResult(ok=True, stdout=text), blobs)
    assert len(result.stdout.encode()) <= LIMIT
    assert result.stdout.startswith("0123456789abcde\n")
    assert result.stdout.endswith("0123456789abcde\n")
    assert [blob.decode() for blob in blobs.values()] == [text]


@pytest.mark.parametrize("character", ["é", "漢", "😀"])
def test_a_character_is_never_cut_in_two(character: str) -> None:
    for limit in range(NOTE_BYTES, NOTE_BYTES + 12):
        blobs = Keeping()
        text = character * 200
        head, tail = ends(
            spill_large_values(ToolResult(ok=True, stdout=text), blobs, limit=limit).stdout, of=text, blobs=blobs
        )
        assert set(head + tail) <= {character}
