"""Skills in a default Studio: an own one is created and executed by its form, a cloned one is trusted by a button."""

from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.service.servers import Service, serving, write_python
from tests.e2e.studio.browsers import keep_screenshot
from tests.e2e.studio.conftest import Open


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    """A service as it starts without any option, in a project that is not trusted."""
    home = tmp_path_factory.mktemp("project")
    user = tmp_path_factory.mktemp("user")  # one whose own skills are not those of the workspace
    skills = home / ".agents" / "skills"
    for name in ("cloned", "copied"):
        write_python(skills, name, "print(json.dumps({'echo': given}))")
    with serving(home, skills, SKILLS_DIR="", HOME=str(user)) as running:
        yield running


@pytest.mark.parametrize(
    ("locale", "words"),
    [
        (
            "en-GB",
            ("New skill", "Name", "Description", "Program", "Create", "Run", "Input", "Text (required)", "Output"),
        ),
        ("zh-CN", ("新建技能", "名称", "描述", "程序", "创建", "运行", "输入", "Text（必填）", "输出")),
    ],
)
def test_a_skill_is_created_trusted_and_run_by_its_form(
    studio: Open, service: Service, locale: str, words: tuple[str, ...]
) -> None:
    create, name, description, program, submit, run, form_name, field, output = words
    skill = f"word-count-{locale[:2].lower()}"
    with studio("/studio/skills", locale=locale) as page:
        page.get_by_role("button", name=create).click()
        dialog = page.get_by_role("dialog", name=create)
        dialog.get_by_role("textbox", name=name).fill(skill)
        dialog.get_by_role("textbox", name=description).fill("Counts words.")
        dialog.get_by_role("combobox", name=program).select_option("python")
        keep_screenshot(page, f"own-skill-new-{locale}")
        dialog.get_by_role("button", name=submit).click()
        page.wait_for_url(f"**/skills/{skill}")
        expect(page.get_by_role("heading", name=skill)).to_be_visible()
        page.get_by_role("tab", name=run, exact=True).click()
        form = page.get_by_role("form", name=form_name)
        form.get_by_role("textbox", name=field).fill("one two")
        form.get_by_role("button", name=run).click()
        expect(page.get_by_role("region", name=output, exact=True)).to_contain_text("words: 2")
        keep_screenshot(page, f"own-skill-result-{locale}")
    assert (Path(service.skills) / skill / "tests/test_run.py").is_file()


def test_an_untrusted_skill_says_so_and_is_trusted_by_a_button(studio: Open) -> None:
    with studio("/studio/skills") as page:
        line = page.get_by_role("listitem").filter(has_text="cloned for a test")
        expect(line.get_by_text("Not trusted")).to_be_visible()
        keep_screenshot(page, "own-skill-list-1440")
        line.get_by_role("link", name="cloned").click()
        note = page.get_by_role("region", name="Not trusted")
        expect(page.get_by_role("link", name="Use in a run")).to_be_hidden()
        expect(note.get_by_text("Review its text")).to_be_visible()
        page.get_by_role("tab", name="Run", exact=True).click()
        expect(page.get_by_text("Trust this skill to execute its program.")).to_be_visible()
        keep_screenshot(page, "own-skill-untrusted-1440")
        note.get_by_role("button", name="Trust this skill").click()
        expect(note).to_be_hidden()
        expect(page.get_by_role("link", name="Use in a run")).to_be_visible()
        page.get_by_role("textbox", name="Input as JSON").fill('{"a": 1}')
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.get_by_role("region", name="Output", exact=True)).to_contain_text("echo")


def test_a_skill_is_trusted_from_the_list(studio: Open, service: Service) -> None:
    with studio("/studio/skills", locale="zh-CN") as page:
        line = page.get_by_role("listitem").filter(has_text="copied for a test")
        expect(line.get_by_text("未信任")).to_be_visible()
        line.get_by_role("button", name="信任此技能").click()
        expect(line.get_by_text("未信任")).to_be_hidden()
        keep_screenshot(page, "own-skill-trusted-zh-CN")
    with service.client(token=True) as client:
        skills = {skill["name"]: skill["state"] for skill in client.get("/api/v1/skills").json()["skills"]}
    assert skills["copied"] == "offered"


def test_built_in_skills_are_marked_and_run_by_their_forms(studio: Open) -> None:
    with studio("/studio/skills?query=statistics") as page:
        line = page.get_by_role("listitem").filter(has_text="$[web:mvp].text-statistics")
        expect(line.get_by_text("Built in")).to_be_visible()
        line.get_by_role("link", name="text-statistics").click()
        page.get_by_role("tab", name="Run", exact=True).click()
        page.get_by_role("form", name="Input").get_by_role("textbox", name="Text (required)").fill("one two three")
        page.get_by_role("form", name="Input").get_by_role("button", name="Run").click()
        expect(page.get_by_role("region", name="Output", exact=True)).to_contain_text("words: 3")
