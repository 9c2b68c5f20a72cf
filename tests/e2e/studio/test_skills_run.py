"""A deterministic skill in the browser: a form from its schema, its output, logs and files, and its end by hand."""

import json
from collections.abc import Generator
from functools import partial

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.service.servers import Service, serving, write_python
from tests.e2e.studio.browsers import keep_screenshot, opened
from tests.e2e.studio.conftest import Open

SCHEMA = {
    "type": "object",
    "required": ["name", "style"],
    "properties": {
        "name": {"type": "string", "title": "Name", "description": "Who is greeted.", "minLength": 2},
        "style": {"enum": ["plain", "warm"]},
        "seconds": {"type": "integer", "title": "Seconds", "minimum": 0, "maximum": 60},
        "loud": {"type": "boolean", "title": "Loud"},
        "tags": {"type": "array", "title": "Tags"},
    },
}
PROGRAM = """
print('greeting', given['name'], file=sys.stderr, flush=True)
time.sleep(given.get('seconds', 0))
Path('artifacts').mkdir(exist_ok=True)
report = '# Hello ' + given['name'] + '\\n\\n<script>parent.document.title = "stolen"</script>\\n'
Path('artifacts/greeting.md').write_text(report)
Path('artifacts/page.html').write_text('<h1>Framed</h1>')
print(json.dumps({'said': given}))
"""


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home = tmp_path_factory.mktemp("executing")
    skills = home / ".agents" / "skills"
    place = write_python(
        skills, "greet", PROGRAM, timeout=60_000, artifacts=["artifacts/greeting.md", "artifacts/page.html"]
    )
    (place / "SKILL.md").write_text("---\nname: greet\ndescription: Greets somebody.\n---\n\n# Greet\n")
    (place / "input.schema.json").write_text(json.dumps(SCHEMA))
    write_python(skills, "plain", "print(json.dumps(given))")
    with serving(home, skills) as running:
        yield running


@pytest.fixture
def studio(browser: Browser, service: Service) -> Open:
    return partial(opened, browser, service)


def test_a_form_from_the_schema_runs_the_skill_and_its_file_is_opened(studio: Open) -> None:
    with studio("/studio/skills/greet/run") as page:
        form = page.get_by_role("form", name="Input")
        form.get_by_role("button", name="Run").click()
        name = form.get_by_role("textbox", name="Name (required)")
        expect(name).to_have_accessible_description("Who is greeted. This is required.")
        name.fill("A")
        expect(name).to_have_accessible_description("Who is greeted. At least 2 characters.")
        name.fill("Anna")
        form.get_by_role("combobox", name="style (required)").select_option("warm")
        form.get_by_role("checkbox", name="Loud").check()
        form.get_by_role("textbox", name="Tags (JSON)").fill('["a", ')
        expect(form.get_by_text("This is not JSON.")).to_be_visible()
        form.get_by_role("textbox", name="Tags (JSON)").fill('["a", "b"]')
        form.get_by_role("button", name="Run").click()
        execution = page.get_by_role("region", name="Execution", exact=True)
        expect(execution.get_by_text("Completed")).to_be_visible()
        output = execution.get_by_role("region", name="Output", exact=True)
        expect(output).to_contain_text('"Anna"')
        expect(output).to_contain_text("loud: true")
        expect(execution.get_by_role("region", name="Log (standard error)").first).to_contain_text("greeting Anna")
        execution.get_by_role("button", name="artifacts/greeting.md").click()
        expect(execution.get_by_role("heading", name="Hello Anna")).to_be_visible()
        keep_screenshot(page, "skills-run-1440")
        execution.get_by_role("button", name="artifacts/page.html").click()
        expect(execution.locator("iframe")).to_have_attribute("sandbox", "")
        frame = execution.frame_locator("iframe")
        expect(frame.get_by_role("heading", name="Framed")).to_be_visible()
        assert "stolen" not in page.title()
        with page.expect_download() as saving:
            execution.get_by_role("link", name="Save artifacts/greeting.md").click()
        assert saving.value.path().read_text().startswith("# Hello Anna")
        page.reload()
        expect(page.get_by_role("region", name="Output", exact=True)).to_contain_text('"Anna"')


def test_an_execution_is_seen_while_it_runs_and_cancelled(studio: Open) -> None:
    with studio("/studio/skills/greet/run") as page:
        form = page.get_by_role("form", name="Input")
        form.get_by_role("textbox", name="Name (required)").fill("Slow")
        form.get_by_role("combobox", name="style (required)").select_option("plain")
        form.get_by_role("textbox", name="Seconds", exact=True).fill("60")
        form.get_by_role("button", name="Run").click()
        execution = page.get_by_role("region", name="Execution", exact=True)
        expect(execution.get_by_text("Running")).to_be_visible()
        expect(execution.get_by_text("greeting Slow")).to_be_visible()
        keep_screenshot(page, "skills-running-1440")
        execution.get_by_role("button", name="Cancel").click()
        expect(execution.get_by_text("Cancelled", exact=True)).to_be_visible()
        expect(form.get_by_role("button", name="Run")).not_to_have_attribute("aria-busy", "true")


def test_a_skill_without_a_schema_takes_json(studio: Open) -> None:
    with studio("/studio/skills/plain/run") as page:
        page.get_by_role("textbox", name="Input as JSON").fill('{"a": [1, 2]}')
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.get_by_role("region", name="Output", exact=True)).to_contain_text("a:")


@pytest.mark.parametrize(("locale", "scheme"), [("en-GB", "dark"), ("zh-CN", "light")])
def test_the_form_fits_a_narrow_screen(studio: Open, service: Service, locale: str, scheme: str) -> None:
    with service.client(token=True) as client:
        body = {"skill": "greet", "input": {"name": "Anna"}}
        made = client.post("/api/v1/executions", json=body).json()["execution_id"]
    viewport = {"width": 360, "height": 1500}
    path = f"/studio/skills/greet/run?execution={made}"
    with studio(path, locale=locale, viewport=viewport, color_scheme=scheme) as page:
        expect(page.get_by_text(made)).to_be_visible()
        expect(page.get_by_text("greeting Anna")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        keep_screenshot(page, f"skills-run-{locale}-360")
