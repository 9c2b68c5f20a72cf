"""Skills of a redis whose files come as a bundle: their actions run behind the fence, and references are read."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from skills_runtime.config.models import SandboxSettings, SkillsSettings
from skills_runtime.sandbox import build_sandbox
from skills_runtime.skills import Library, SkillError, build_library
from skills_runtime.skills.activation import read_skill_file
from skills_runtime.skills.configured import InjectedClients
from skills_runtime.tools.builtin.skill_exec import SkillExec
from skills_runtime.tools.builtin.skill_ref_read import SkillRefRead
from tests.contract.skill_sources.shelves import PREFIX, Published, RedisShelf
from tests.support.tools import PATH, Workshop
from tests.unit.skills.sources.zips import honest, zipped

MENTION = "$[web].writer"
ACTIONS = {"actions": {"go": {"kind": "shell", "argv": ["sh", "actions/go.sh"], "timeout_ms": 60_000}}}
SETTINGS = SkillsSettings.model_validate(
    {
        "spaces": [{"id": "main", "namespace": "web", "sources": ["shared"]}],
        "sources": [{"id": "shared", "type": "redis", "options": {"key_prefix": PREFIX}}],
    }
)


@pytest.fixture
async def workshop(tmp_path: Path) -> AsyncIterator[Workshop]:
    variables = {"PATH": PATH, "HOME": str(tmp_path / "home")}
    made = Workshop(tmp_path)
    made.sandbox = build_sandbox(SandboxSettings(), workspace=made.root, variables=variables)
    yield made
    await made.scope.aclose()


def publish(shelf: RedisShelf, data: bytes, **fields: str) -> None:
    fingerprint = hashlib.sha256(data).hexdigest()
    shelf.publish(Published(name="writer", metadata=ACTIONS), **{"bundle_sha256": fingerprint, **fields})
    shelf.client.set(f"{PREFIX}bundle:web:writer", data)


def library_for(shelf: RedisShelf, root: Path) -> Library:
    bundles = SETTINGS.bundles.model_copy(update={"cache_dir": root.parent / "bundles"})
    settings = SETTINGS.model_copy(update={"bundles": bundles})
    return build_library(settings, root, sources_with=InjectedClients(clients={"shared": shelf.client}))


async def test_an_action_of_a_bundle_runs_behind_the_fence(redis_shelf: RedisShelf, workshop: Workshop) -> None:
    publish(redis_shelf, honest())
    tool = SkillExec(library_for(redis_shelf, workshop.root), enabled=True)
    result = await workshop.answer(tool, skill_mention=MENTION, action_id="go")
    assert (result.ok, result.stdout) == (True, "gone\n"), result.stderr


async def test_a_reference_of_a_bundle_is_read(redis_shelf: RedisShelf, workshop: Workshop) -> None:
    publish(redis_shelf, honest())
    tool = SkillRefRead(library_for(redis_shelf, workshop.root), enabled=True)
    result = await workshop.answer(tool, skill_mention=MENTION, ref_path="references/guide.md")
    assert (result.ok, result.stdout) == (True, "# Guide\n")


async def test_a_bundle_that_was_changed_on_this_machine_runs_as_it_was_published(
    redis_shelf: RedisShelf, workshop: Workshop
) -> None:
    publish(redis_shelf, honest())
    library = library_for(redis_shelf, workshop.root)
    script = next(iter(library.list())).directory
    assert script is not None
    (script / "actions/go.sh").chmod(0o644)
    (script / "actions/go.sh").write_text("echo evil")
    result = await workshop.answer(SkillExec(library, enabled=True), skill_mention=MENTION, action_id="go")
    assert result.stdout == "gone\n"


def test_listing_skills_fetches_no_bundle(redis_shelf: RedisShelf, tmp_path: Path) -> None:
    publish(redis_shelf, honest())
    assert len(library_for(redis_shelf, tmp_path / "project").list()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_skill_without_a_bundle_has_no_files(redis_shelf: RedisShelf, tmp_path: Path) -> None:
    redis_shelf.publish(Published(name="writer", metadata=ACTIONS))
    (skill,) = library_for(redis_shelf, tmp_path).list()
    assert skill.directory is None
    with pytest.raises(SkillError) as caught:
        read_skill_file(skill, "references/guide.md", limit=10)
    assert caught.value.code == "SKILL_REF_SOURCE_UNSUPPORTED"


@pytest.mark.parametrize(
    ("data", "fields", "code"),
    [
        (honest(), {"bundle_sha256": "0" * 64}, "SKILL_BUNDLE_FINGERPRINT_MISMATCH"),
        (honest(), {"bundle_sha256": "", "bundle_key": "k"}, "SKILL_BUNDLE_FINGERPRINT_MISSING"),
        (honest(), {"bundle_key": "nowhere"}, "SKILL_BUNDLE_NOT_FOUND"),
        (honest(), {"bundle_format": "tar"}, "SKILL_BUNDLE_INVALID"),
        (honest(), {"bundle_size": "99999999"}, "SKILL_BUNDLE_TOO_LARGE"),
        (bytes(2 << 20), {}, "SKILL_BUNDLE_TOO_LARGE"),
        (zipped(("../x", b"")), {}, "SKILL_BUNDLE_CONTRACT_INVALID"),
        (b"x", {}, "SKILL_BUNDLE_INVALID"),
    ],
)  # fmt: skip
async def test_asking_for_an_unusable_bundle_reports_it(
    data: bytes, fields: dict[str, str], code: str, redis_shelf: RedisShelf, workshop: Workshop
) -> None:
    publish(redis_shelf, data, **fields)
    library = library_for(redis_shelf, workshop.root)
    assert [skill.name for skill in library.list()] == ["writer"]
    result = await workshop.answer(SkillExec(library, enabled=True), skill_mention=MENTION, action_id="go")
    assert not result.ok
    assert (result.data or {})["error"]["code"] == code
