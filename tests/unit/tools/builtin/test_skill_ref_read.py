"""skill_ref_read: reference files as text, and what is not read."""

from pathlib import Path
from typing import Any

import pytest

from skills_runtime.errors import ToolError
from skills_runtime.skills import Library
from skills_runtime.tools.builtin.skill_ref_read import SkillRefRead
from tests.support.tools import Workshop, data_of
from tests.unit.skills.samples import library_at, library_of, make_skill, row

MENTION = "$[web:mvp].writer"


@pytest.fixture
def library(tmp_path: Path) -> Library:
    files = {"references/guide.md": "Grüße", "assets/logo.txt": "logo"}
    directory = make_skill(tmp_path / "skills", "writer", files=files)
    (directory / "references" / "raw").write_bytes(b"a\xffb")
    (directory / "references" / "link").symlink_to(directory / "SKILL.md")
    return library_at(tmp_path / "skills")


async def code_of(tool: SkillRefRead, workshop: Workshop, path: str = "references/guide.md", at: str = MENTION) -> str:
    result = await workshop.answer(tool, skill_mention=at, ref_path=path)
    assert not result.ok
    assert result.stdout == ""
    return data_of(result)["error"]["code"]


async def test_a_reference_is_read_as_text(library: Library, workshop: Workshop) -> None:
    tool = SkillRefRead(library, enabled=True)
    result = await workshop.answer(tool, skill_mention=MENTION, ref_path="references/guide.md")
    assert (result.ok, result.stdout, result.truncated) == (True, "Grüße", False)
    assert data_of(result) == {"skill": MENTION, "path": "references/guide.md", "bytes": 7}


async def test_a_long_reference_is_cut_between_characters_and_says_so(library: Library, workshop: Workshop) -> None:
    tool = SkillRefRead(library, enabled=True)
    result = await workshop.answer(tool, skill_mention=MENTION, ref_path="references/guide.md", max_bytes=3)
    assert (result.stdout, result.truncated) == ("Gr", True)


async def test_without_a_limit_in_the_call_the_one_of_the_settings_holds(library: Library, workshop: Workshop) -> None:
    tool = SkillRefRead(library, enabled=True, default_max_bytes=2)
    assert (await workshop.answer(tool, skill_mention=MENTION, ref_path="references/guide.md")).stdout == "Gr"
    longer = await workshop.answer(tool, skill_mention=MENTION, ref_path="references/guide.md", max_bytes=100)
    assert longer.stdout == "Grüße"


async def test_bytes_that_are_no_text_are_marked(library: Library, workshop: Workshop) -> None:
    tool = SkillRefRead(library, enabled=True)
    assert (await workshop.answer(tool, skill_mention=MENTION, ref_path="references/raw")).stdout == "a\ufffdb"


async def test_references_are_off_by_default(library: Library, workshop: Workshop) -> None:
    assert await code_of(SkillRefRead(library, enabled=False), workshop) == "SKILL_REFERENCES_DISABLED"


async def test_assets_are_read_only_where_that_is_allowed(library: Library, workshop: Workshop) -> None:
    assert await code_of(SkillRefRead(library, enabled=True), workshop, "assets/logo.txt") == "SKILL_REF_PATH_INVALID"
    allowing = SkillRefRead(library, enabled=True, allow_assets=True)
    assert (await workshop.call(allowing, skill_mention=MENTION, ref_path="assets/logo.txt")).stdout == "logo"


@pytest.mark.parametrize(
    ("path", "mention", "code", "kind"),
    [
        ("references/none.md", MENTION, "SKILL_REF_NOT_FOUND", "not_found"),
        ("references/../SKILL.md", MENTION, "SKILL_REF_PATH_ESCAPE", "permission"),
        ("references/link", MENTION, "SKILL_REF_PATH_ESCAPE", "permission"),
        ("SKILL.md", MENTION, "SKILL_REF_PATH_INVALID", "validation"),
        ("references/guide.md", "writer", "SKILL_MENTION_FORMAT_INVALID", "validation"),
        ("references/guide.md", "$[web:mvp].nobody", "SKILL_UNKNOWN", "not_found"),
    ],
)
async def test_what_cannot_be_read_is_refused_with_its_code(
    path: str, mention: str, code: str, kind: str, library: Library, workshop: Workshop
) -> None:
    tool = SkillRefRead(library, enabled=True)
    assert await code_of(tool, workshop, path, mention) == code
    assert (await workshop.answer(tool, skill_mention=mention, ref_path=path)).error_kind == kind


async def test_a_skill_without_files_has_no_references(workshop: Workshop) -> None:
    assert await code_of(SkillRefRead(library_of(row()), enabled=True), workshop) == "SKILL_REF_SOURCE_UNSUPPORTED"


@pytest.mark.parametrize("arguments", [{}, {"skill_mention": MENTION}, {"max_bytes": 0}, {"path": "x"}])
async def test_other_arguments_are_refused(arguments: dict[str, Any], workshop: Workshop) -> None:
    with pytest.raises(ToolError) as caught:
        await workshop.call(SkillRefRead(Library(), enabled=True), **arguments)
    assert caught.value.kind == "validation"
