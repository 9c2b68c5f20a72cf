"""Sites that list their skills, and archives behind addresses: real requests to this machine."""

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.engine.skill_operations import build_fetcher, classify_address
from skills_runtime.errors import NotFound, PolicyDenied, ToolError, ValidationFailed
from skills_runtime.skills.install import Fetched, FetchRequest
from skills_runtime.skills.install.fetch import index_addresses, parse_index
from skills_runtime.skills.install.sources import ArchiveSource, IndexSource
from skills_runtime.skills.install.web import Web, host_of
from tests.unit.skills.install.sites import Answers, site
from tests.unit.skills.samples import skill_text

NEW = "/.well-known/agent-skills/index.json"
OLD = "/.well-known/skills/index.json"


def packed(**files: str) -> bytes:
    """A zip of files; `__` in a name stands for a slash, and `_` for a dot."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), text)
    return data.getvalue()


def listed(name: str, content: bytes, *, kind: str = "archive", url: str = "", digest: str = "") -> dict[str, Any]:
    """An entry of the newer list."""
    own = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return {"name": name, "type": kind, "description": "x", "url": url or f"/files/{name}", "digest": digest or own}


def index(*entries: dict[str, Any]) -> bytes:
    return json.dumps({"skills": entries}).encode()


WRITER = packed(SKILL_md=skill_text("writer"), scripts__run_sh="echo")
READER = skill_text("reader").encode()
ANSWERS: Answers = {
    NEW: index(listed("writer", WRITER), listed("reader", READER, kind="skill-md")),
    "/files/writer": WRITER,
    "/files/reader": READER,
}


async def fetch(url: str, into: Path, *names: str, everything: bool = False) -> Fetched:
    return await build_fetcher({}).fetch(
        FetchRequest(source=IndexSource(url), skills=names, everything=everything), into
    )


def files_in(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())


async def test_the_skills_of_a_site_are_downloaded_and_unpacked(tmp_path: Path) -> None:
    with site(ANSWERS) as (url, _):
        fetched = await fetch(url, tmp_path / "out", everything=True)
    assert files_in(fetched.root) == ["reader/SKILL.md", "writer/SKILL.md", "writer/scripts/run.sh"]


async def test_only_what_was_named_is_downloaded(tmp_path: Path) -> None:
    with site(ANSWERS) as (url, asked):
        await fetch(url, tmp_path / "out", "reader")
    assert asked == [NEW, "/files/reader"]


async def test_several_skills_need_a_choice(tmp_path: Path) -> None:
    with site(ANSWERS) as (url, asked), pytest.raises(ValidationFailed, match="`writer`, `reader`"):
        await fetch(url, tmp_path / "out")
    assert asked == [NEW]


async def test_what_is_not_what_the_list_says_is_refused(tmp_path: Path) -> None:
    with site({**ANSWERS, "/files/reader": b"other"}) as (url, _), pytest.raises(PolicyDenied, match="does not match"):
        await fetch(url, tmp_path / "out", "reader")


async def test_the_older_list_names_files_one_by_one(tmp_path: Path) -> None:
    entry = {"name": "writer", "description": "x", "files": ["SKILL.md", "scripts/run.sh"]}
    base = "/.well-known/skills/writer/"
    answers: Answers = {OLD: index(entry), f"{base}SKILL.md": READER, f"{base}scripts/run.sh": b"echo"}
    with site(answers) as (url, _):
        fetched = await fetch(url, tmp_path / "out")
    assert files_in(fetched.root) == ["writer/SKILL.md", "writer/scripts/run.sh"]


async def test_a_site_without_a_list_is_reported_with_what_else_it_may_be(tmp_path: Path) -> None:
    with site({}) as (url, _), pytest.raises(NotFound, match="lists no skills") as error:
        await fetch(f"{url}/docs", tmp_path / "out")
    assert "git+" in error.value.hint


async def test_a_redirect_on_the_same_host_is_followed(tmp_path: Path) -> None:
    with site({**ANSWERS, NEW: "/moved", "/moved": ANSWERS[NEW]}) as (url, _):
        assert files_in((await fetch(url, tmp_path / "out", "reader")).root) == ["reader/SKILL.md"]


async def test_a_redirect_to_a_private_host_that_the_user_did_not_type_is_refused(tmp_path: Path) -> None:
    with (
        site(ANSWERS) as (other, asked),
        site({NEW: other.replace("127.0.0.1", "localhost") + NEW}) as (url, _),
        pytest.raises(PolicyDenied, match="not on the open internet"),
    ):
        await fetch(url, tmp_path / "out", "reader")
    assert asked == []


async def test_a_list_cannot_send_us_to_a_private_host_that_the_user_did_not_type(tmp_path: Path) -> None:
    with site({"/secret": READER}) as (other, asked):
        away = other.replace("127.0.0.1", "localhost") + "/secret"
        answers: Answers = {NEW: index(listed("reader", READER, kind="skill-md", url=away))}
        with site(answers) as (url, _), pytest.raises(PolicyDenied, match="not on the open internet"):
            await fetch(url, tmp_path / "out", "reader")
    assert asked == []


@pytest.mark.parametrize("host", ["169.254.169.254", "[fd00:ec2::254]", "100.100.100.200"])
async def test_cloud_metadata_addresses_are_never_requested_even_if_typed(host: str) -> None:
    async with Web({host.strip("[]")}, classify_address) as web:
        with pytest.raises(PolicyDenied, match="not on the open internet"):
            await web.get(f"http://{host}/latest", limit=10)


async def test_redirects_in_a_circle_end(tmp_path: Path) -> None:
    with site({NEW: NEW}) as (url, asked), pytest.raises(PolicyDenied, match="more than 5 times"):
        await fetch(url, tmp_path / "out")
    assert len(asked) == 6


async def test_more_than_was_allowed_is_refused() -> None:
    with site({"/a": bytes(2000)}) as (url, _):
        async with Web({"127.0.0.1"}, classify_address) as web:
            assert len(await web.get(f"{url}/a", limit=2000)) == 2000
            with pytest.raises(PolicyDenied, match="more than 1999 bytes"):
                await web.get(f"{url}/a", limit=1999)


async def test_a_site_that_does_not_answer_is_reported() -> None:
    with site({}) as (url, _):
        pass
    async with Web({"127.0.0.1"}, classify_address) as web:
        with pytest.raises(ToolError, match="cannot be downloaded"):
            await web.get(url, limit=10)


async def test_an_archive_behind_an_address_is_unpacked(tmp_path: Path) -> None:
    with site({"/writer.skill": WRITER}) as (url, _):
        wanted = FetchRequest(source=ArchiveSource(f"{url}/writer.skill"))
        fetched = await build_fetcher({}).fetch(wanted, tmp_path / "out")
    assert files_in(tmp_path) == ["out/SKILL.md", "out/scripts/run.sh"]
    assert fetched.root == tmp_path / "out"


@pytest.mark.parametrize("url", ["ftp://x/y", "file:///etc/passwd", "https://", "https://u:p@example.org/", "x"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValidationFailed):
        host_of(url)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"[]", b"{}", b'{"skills": 1}', b'{"skills": [1]}', b'{"skills": [{"name": "../x", "files": ["a"]}]}',
        b'{"skills": [{"name": "x", "files": ["../a"]}]}', b'{"skills": [{"name": "x", "files": []}]}',
        b'{"skills": [{"name": "x", "type": "archive", "url": "/a"}]}',
        b'{"skills": [{"name": "x", "type": "archive", "url": "/a", "digest": "md5:00"}]}',
        b'{"skills": [{"name": "x", "files": ["a"]}, {"name": "x", "files": ["a"]}]}', b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_list_that_is_wrong_anywhere_is_not_used(data: bytes) -> None:
    with pytest.raises(ValidationFailed):
        parse_index(data, "https://example.org/index.json")


def test_a_list_is_looked_for_below_the_address_first() -> None:
    assert index_addresses("https://e.org/docs")[0] == f"https://e.org/docs{NEW}"
    assert index_addresses("https://e.org/docs")[2] == f"https://e.org{NEW}"
    assert index_addresses("https://e.org/x/index.json") == ("https://e.org/x/index.json",)
