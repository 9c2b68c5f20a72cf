"""Bundles that somebody made to do harm, or made badly: refused whole, with a code, and nothing stays behind."""

import stat
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.skills import SkillError
from tests.unit.skills.sources.zips import HONEST, Entry, Shop, bundle_of, entry, honest, link, zipped

OK: Entry = ("actions/ok.sh", b"true\n")


def code_of(shop: Shop, data: bytes) -> str:
    with pytest.raises(SkillError) as caught:
        shop.directory(data)
    assert caught.value.hint
    assert "$[web].writer" in caught.value.message
    assert sorted(path.name for path in shop.cache.iterdir()) == [], "nothing stays behind"
    return caught.value.code


@pytest.mark.parametrize(
    "name",
    [
        "../evil", "actions/../../evil", "/etc/evil", "actions/..", "actions\\evil.sh", "..\\evil", "C:/evil", "C:evil",
        "actions//x", "actions/./x", "SKILL.md", "evil.sh", "scripts/x.sh", "assets/x", "actions", "references",
        "Actions/x.sh", "__MACOSX/x", "actions/.DS_Store", "actions/con", "actions/a\x01b", "actions/\u202ex",
        "actions/" + "d/" * 40 + "x", "actions/" + "x" * 300,
    ],
)  # fmt: skip
def test_a_name_that_leads_elsewhere_or_means_two_things_is_refused(name: str, tmp_path: Path) -> None:
    assert code_of(Shop(tmp_path), zipped(OK, (name, b"x"))) == "SKILL_BUNDLE_CONTRACT_INVALID"


@pytest.mark.parametrize(
    "entries",
    [
        [link("actions/l")],
        [link("references/l", "../../..")],
        [(entry("actions/fifo", stat.S_IFIFO | 0o644), b"")],
        [(entry("actions/dev", stat.S_IFCHR | 0o644), b"")],
        [("actions/A.sh", b"1"), ("actions/a.sh", b"2")],
        [("actions/dir/x", b"1"), ("actions/Dir/y", b"2")],
        [("actions/é", b"1"), ("actions/e\u0301", b"2")],
        [("actions/x", b"1"), ("actions/x/y", b"2")],
    ],
)
def test_links_devices_and_clashes_are_refused(entries: list[Entry], tmp_path: Path) -> None:
    assert code_of(Shop(tmp_path), zipped(OK, *entries)) == "SKILL_BUNDLE_CONTRACT_INVALID"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_one_name_twice_is_refused(tmp_path: Path) -> None:
    assert code_of(Shop(tmp_path), zipped(OK, OK)) == "SKILL_BUNDLE_CONTRACT_INVALID"


def test_a_bundle_without_files_is_refused(tmp_path: Path) -> None:
    assert code_of(Shop(tmp_path), zipped(("actions/", b""))) == "SKILL_BUNDLE_CONTRACT_INVALID"


@pytest.mark.parametrize(
    ("budget", "entries"),
    [
        ({"max_bytes": 100}, [("actions/x", bytes(range(256)))]),
        ({"files": 2}, [("actions/a", b""), ("actions/b", b""), ("actions/c", b"")]),
        ({"single_file": 10}, [("actions/x", b"x" * 11)]),
        ({"extracted": 20}, [("actions/x", b"x" * 11), ("actions/y", b"y" * 11)]),
        ({}, [("actions/bomb", b"\0" * (4 << 20))]),
    ],
)
def test_a_bundle_over_its_budget_is_refused(budget: dict[str, int], entries: list[Entry], tmp_path: Path) -> None:
    assert code_of(Shop(tmp_path, **budget), zipped(*entries)) == "SKILL_BUNDLE_TOO_LARGE"


def test_a_bundle_that_says_it_is_too_large_is_not_even_fetched(tmp_path: Path) -> None:
    shop = Shop(tmp_path, max_bytes=1000)
    with pytest.raises(SkillError) as caught:
        shop.directory(b"", bundle_of(b"", size="1001"))
    assert (caught.value.code, shop.fetched) == ("SKILL_BUNDLE_TOO_LARGE", 0)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"no zip at all", honest()[:-30], honest()[:40], b"PK\x05\x06" + b"\0" * 18 + b"x",
        zipped(OK, compression=zipfile.ZIP_LZMA),
    ],
    ids=["empty", "text", "cut at the end", "cut early", "an odd end", "an odd compression"],
)  # fmt: skip
def test_what_is_no_plain_zip_is_refused(data: bytes, tmp_path: Path) -> None:
    assert code_of(Shop(tmp_path), data) in ("SKILL_BUNDLE_INVALID", "SKILL_BUNDLE_CONTRACT_INVALID")


def test_an_encrypted_entry_is_refused(tmp_path: Path) -> None:
    data = bytearray(zipped(OK))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + place] |= 1
    assert code_of(Shop(tmp_path), bytes(data)) in ("SKILL_BUNDLE_INVALID", "SKILL_BUNDLE_CONTRACT_INVALID")


@given(st.data())
def test_a_damaged_bundle_never_does_more_than_be_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = bytearray(honest())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    shop = Shop(tmp_path_factory.mktemp("cache"))
    try:
        place = shop.directory(bytes(whole))
    except SkillError:
        assert list(shop.cache.iterdir()) == []
    else:
        found = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
        assert found
        assert all(name.startswith(("actions/", "references/")) for name in found)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"sha256": ""}, "SKILL_BUNDLE_FINGERPRINT_MISSING"),
        ({"sha256": "../../x"}, "SKILL_BUNDLE_FINGERPRINT_MISSING"),
        ({"sha256": "0" * 64}, "SKILL_BUNDLE_FINGERPRINT_MISMATCH"),
        ({"format": "tar"}, "SKILL_BUNDLE_INVALID"),
    ],
)
def test_a_bundle_whose_fingerprint_or_format_is_wrong_is_refused(
    fields: dict[str, str], code: str, tmp_path: Path
) -> None:
    from msgspec.structs import replace

    data = zipped(*HONEST.items())
    with pytest.raises(SkillError) as caught:
        Shop(tmp_path).directory(data, replace(bundle_of(data), **fields))
    assert caught.value.code == code


def test_a_bundle_that_is_not_there_is_reported(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    with pytest.raises(SkillError) as caught:
        shop.bundles.directory(bundle_of(b"x"), shop.fetch(None))
    assert caught.value.code == "SKILL_BUNDLE_NOT_FOUND"
