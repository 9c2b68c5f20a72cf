"""Operations in the browser: the model, keys, the sandbox, the rules, settings and storage."""

import re
from collections.abc import Generator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.service.servers import Service, serving
from tests.e2e.studio.browsers import Spares, go, keep_screenshot
from tests.e2e.studio.conftest import Open
from tests.support import model_server

TABS = ("Model", "API keys", "Sandbox", "Policy", "Configuration", "Storage")
KEY = "sk-never-shown-again-0123456789"


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    """A service whose operator has refused one command."""
    home = tmp_path_factory.mktemp("operations")
    (home / "skills").mkdir()
    with serving(home, home / "skills", "--set", 'safety.denylist=["git push"]', NO_PROXY="127.0.0.1") as running:
        yield running


@pytest.fixture(scope="module")
def fresh(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    """A service in which nothing was done yet, and whose environment says something about the model."""
    home = tmp_path_factory.mktemp("fresh")
    variables = {"SKILLS_RUNTIME_SDK_LLM_BASE_URL": "http://127.0.0.1:7/v1", "OPENAI_API_KEY": "sk-of-the-process"}
    with serving(home, home / "skills", **variables) as running:
        yield running


def status_with(service: Service, secret: str, path: str) -> int:
    with service.client(Authorization=f"Bearer {secret}") as client:
        return client.get(path).status_code


def make_key(page: Page, name: str, *scopes: str) -> str:
    """The secret of a new key, made by hand."""
    page.get_by_role("button", name="New key").click()
    dialog = page.get_by_role("dialog", name="New API key")
    dialog.get_by_role("textbox", name="Name").fill(name)
    for scope in scopes:
        dialog.get_by_role("checkbox", name=scope).check()
    dialog.get_by_role("button", name="Create key").click()
    made = page.get_by_role("dialog", name=f"Key {name} created")
    secret = made.get_by_role("region", name="Secret key").inner_text().strip()
    keep_screenshot(page, "operations-new-key")
    made.get_by_role("button", name="I have copied it").click()
    expect(made).to_be_hidden()
    expect(page.get_by_role("button", name="New key")).to_be_focused()
    return secret


def test_a_key_is_made_used_revoked_and_then_refused(studio: Open, service: Service) -> None:
    with studio("/studio/operations/keys") as page:
        secret = make_key(page, "nightly")
        line = page.get_by_role("listitem").filter(has_text="nightly")
        expect(line).to_contain_text("never used")
        assert secret not in page.content()
        assert status_with(service, secret, "/api/v1/runs") == 200
        assert status_with(service, secret, "/api/v1/keys") == 403
        page.reload()
        expect(line).to_contain_text("last used")
        line.get_by_role("button", name="Revoke nightly").click()
        dialog = page.get_by_role("dialog", name="Revoke nightly?")
        expect(dialog.get_by_role("button", name="Keep the key")).to_be_focused()
        dialog.get_by_role("button", name="Revoke the key").click()
        expect(line).to_be_hidden()
        expect(page.get_by_role("main")).to_be_focused()  # the button that began it is gone
        assert status_with(service, secret, "/api/v1/runs") == 401
        page.get_by_role("checkbox", name="Show revoked keys").check()
        expect(line).to_contain_text("revoked")


def test_a_key_needs_a_name_a_scope_and_is_made_only_once(studio: Open) -> None:
    with studio("/studio/operations/keys") as page:
        make_key(page, "twice", "run")
        page.get_by_role("button", name="New key").click()
        dialog = page.get_by_role("dialog", name="New API key")
        dialog.get_by_role("button", name="Create key").click()
        expect(dialog.get_by_role("textbox", name="Name")).to_have_attribute("aria-invalid", "true")
        dialog.get_by_role("textbox", name="Name").fill("twice")
        dialog.get_by_role("checkbox", name="read").uncheck()
        expect(dialog.get_by_text("Choose at least one.")).to_be_visible()
        dialog.get_by_role("checkbox", name="read").check()
        dialog.get_by_role("button", name="Create key").click()
        expect(dialog.get_by_role("alert")).to_contain_text("twice")
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="New key")).to_be_focused()


def test_a_model_is_configured_in_one_place_and_the_start_page_knows_it(studio: Open) -> None:
    with studio("/studio/operations/model") as page:
        state = page.get_by_role("group", name="Model status")
        expect(state).to_contain_text("No model configured")
        expect(page.get_by_role("button", name="Save")).to_be_disabled()
        page.get_by_role("textbox", name="Base URL").fill("ftp://nowhere")
        expect(page.get_by_text("Enter a URL that starts with")).to_be_visible()
        page.get_by_role("textbox", name="Base URL").fill("https://models.example/v1")
        expect(page.get_by_text("Enter the key for this address.")).to_be_visible()
        expect(page.get_by_role("button", name="Save")).to_be_disabled()
        page.get_by_role("textbox", name="Model", exact=True).fill("remote-one")
        page.get_by_label("API key", exact=True).and_(page.locator("input")).fill(KEY)
        page.get_by_role("button", name="Save").click()
        expect(state).to_contain_text("New runs use remote-one")
        expect(page.get_by_text("A key is stored on the server")).to_be_visible()
        expect(page.get_by_text("From: set here").first).to_be_visible()
        assert KEY not in page.content()
        keep_screenshot(page, "operations-model")
        state.get_by_role("link", name="Start a run").click()
        expect(page).to_have_url(f"{page.url.split('/studio/')[0]}/studio/new")
        expect(page.get_by_text("remote-one").or_(page.locator("[placeholder='remote-one']")).first).to_be_visible()
        page.go_back()
        page.get_by_role("button", name="Remove the key").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove the key").click()
        expect(state).to_contain_text("No model configured")


def test_a_local_provider_is_chosen_tested_and_lists_its_models(studio: Open) -> None:
    with (
        model_server.start([model_server.calls(("report_ready", {}))], models=["local", "large"]) as server,
        studio("/studio/operations/model") as page,
    ):
        page.get_by_role("combobox", name="Provider").select_option("Ollama (local)")
        expect(page.get_by_role("textbox", name="Base URL")).to_have_value("http://127.0.0.1:11434/v1")
        expect(page.get_by_role("link", name="How to start it")).to_be_visible()
        expect(page.get_by_role("textbox", name="Environment variable for the key")).to_be_hidden()
        page.get_by_role("textbox", name="Base URL").fill(server.base_url)
        page.get_by_role("textbox", name="Model", exact=True).fill("nope")
        expect(page.get_by_role("button", name="Test connection")).to_be_disabled()
        page.get_by_role("button", name="Save").click()
        page.get_by_role("button", name="Test connection").click()
        test = page.get_by_role("group", name="Connection test")
        expect(test).to_contain_text("The connection does not work")
        keep_screenshot(page, "operations-model-test-failed")
        page.get_by_role("combobox", name="Models of this service (2)").select_option("local")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("group", name="Model status")).to_contain_text("New runs use local")
        page.get_by_role("button", name="Test connection").click()
        expect(test).to_contain_text("The model answered in")
        expect(test).to_contain_text("It calls tools.")
        keep_screenshot(page, "operations-model-tested")
        page.get_by_role("button", name="Advanced").click()
        expect(page.get_by_role("textbox", name="Environment variable for the key")).to_have_value("OLLAMA_API_KEY")


def test_what_overrides_a_chosen_model_is_named(spares: Spares, fresh: Service) -> None:
    with spares.page(fresh, "/studio/operations/model") as page:
        expect(page.get_by_text("The key comes from the environment variable OPENAI_API_KEY")).to_be_visible()
        page.get_by_role("textbox", name="Base URL").fill("http://127.0.0.1:8/v1")
        page.get_by_label("API key", exact=True).and_(page.locator("input")).fill(KEY)
        page.get_by_role("button", name="Save").click()
        note = page.get_by_role("group", name="Saved, but overridden by another source")
        expect(note).to_contain_text("environment variable SKILLS_RUNTIME_SDK_LLM_BASE_URL")
        assert fresh.environment["OPENAI_API_KEY"] not in page.content()


def test_a_fresh_server_has_no_keys_and_no_runs_and_says_so(spares: Spares, fresh: Service) -> None:
    with spares.page(fresh, "/studio/operations/keys") as page:
        expect(page.get_by_role("heading", name="No API keys yet")).to_be_visible()
        expect(page.get_by_role("button", name="New key")).to_have_count(1)
        page.goto(f"{fresh.url}/studio/operations/storage")
        expect(page.get_by_text("No runs yet.")).to_be_visible()


def test_the_playground_explains_a_denial(studio: Open) -> None:
    with studio("/studio/operations/policy") as page:
        page.get_by_role("textbox", name="Command line").fill("make && git push --force")
        page.get_by_role("button", name="Check", exact=True).click()
        decision = page.get_by_role("region", name="Decision", exact=True)
        expect(decision).to_contain_text("Denied")
        expect(decision).to_contain_text("safety.denylist: git push")
        expect(decision.get_by_role("row").filter(has_text="git push --force")).to_contain_text("no rule")
        expect(decision.get_by_role("list", name="In each policy mode").get_by_role("listitem")).to_have_count(4)
        keep_screenshot(page, "operations-policy")
        page.reload()
        expect(page.get_by_role("textbox", name="Command line")).to_have_value("make && git push --force")


def test_the_playground_takes_a_call_of_a_tool_and_offers_a_rule(studio: Open) -> None:
    with studio("/studio/operations/policy") as page:
        page.get_by_role("combobox", name="Check").select_option("Tool call")
        box = page.get_by_role("textbox", name="Arguments (JSON)")
        box.fill("{")
        page.get_by_role("button", name="Check", exact=True).click()
        expect(page.get_by_text("Invalid JSON.")).to_be_visible()
        box.fill('{"tool": "shell_command", "arguments": {"command": "curl example.com"}}')
        box.press("Control+Enter")
        decision = page.get_by_role("region", name="Decision", exact=True)
        expect(decision).to_contain_text("Needs approval")
        expect(decision.get_by_role("row").filter(has_text="curl example.com")).to_contain_text("uses the network")
        rules = decision.get_by_role("region", name="Rule")
        expect(rules).to_have_count(2)  # for this folder, and for every run
        for rule in rules.all():
            expect(rule).to_contain_text("curl example.com $")
        box.fill('{"tool": "file_write", "arguments": {"path": 1}}')
        box.press("Control+Enter")
        expect(page.get_by_role("alert")).to_be_visible()


def test_the_doctor_says_what_works_here(studio: Open) -> None:
    with studio("/studio/operations/sandbox") as page:
        expect(page.get_by_role("group", name="Sandbox status")).to_be_visible()
        fences = page.get_by_role("list", name="Sandboxes")
        expect(fences.get_by_role("heading", name="bubblewrap")).to_be_visible()
        page.get_by_role("button", name="Check again").click()
        expect(page.get_by_role("button", name="Check again")).not_to_have_attribute("aria-busy", "true")
        keep_screenshot(page, "operations-sandbox")


def test_every_setting_is_shown_with_its_origin_and_can_be_found(studio: Open) -> None:
    with studio("/studio/operations/configuration") as page:
        line = page.get_by_role("listitem").filter(has_text="safety.denylist")
        expect(line).to_contain_text("set when the server started")
        page.get_by_role("checkbox", name="Only changed settings").check()
        expect(page.get_by_text("run.max_steps")).to_be_hidden()
        expect(line).to_be_visible()
        page.get_by_role("checkbox", name="Only changed settings").uncheck()
        page.get_by_role("searchbox", name="Search settings").fill("max_steps")
        expect(page.get_by_text("run.max_steps")).to_be_visible()
        expect(line).to_be_hidden()
        page.reload()
        expect(page.get_by_role("searchbox", name="Search settings")).to_have_value("max_steps")
        page.get_by_role("searchbox", name="Search settings").fill("no such thing")
        page.get_by_role("button", name="Show all settings").click()
        expect(line).to_be_visible()


def test_storage_names_the_largest_runs(studio: Open, service: Service) -> None:
    with service.client(token=True) as client:
        run_id = client.post("/api/v1/demo", json={}).json()["run_id"]
    with studio("/studio/operations/storage") as page:
        expect(page.get_by_role("region", name="Disk")).to_contain_text("free of")
        expect(page.get_by_role("list", name="Used by").get_by_role("listitem")).to_have_count(4)
        link = page.get_by_role("list", name="Largest runs").get_by_role("link", name=run_id)
        expect(link).to_be_visible()
        keep_screenshot(page, "operations-storage")
        link.click()
        expect(page).to_have_url(f"{service.url}/studio/runs/{run_id}")


def test_the_tabs_are_used_with_the_keyboard_alone_and_each_has_an_address(studio: Open) -> None:
    with studio("/studio/operations") as page:
        first = page.get_by_role("tab", name="Model")
        expect(first).to_have_attribute("aria-selected", "true")
        first.focus()
        for name in TABS[1:]:
            page.keyboard.press("ArrowRight")
            expect(page.get_by_role("tab", name=name)).to_be_focused()
            expect(page.get_by_role("tabpanel", name=name)).to_be_visible()
        assert page.url.endswith("/studio/operations/storage")
        page.reload()
        expect(page.get_by_role("tab", name="Storage")).to_have_attribute("aria-selected", "true")
        page.get_by_role("tab", name="Storage").focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="Count again")).to_be_focused()


@pytest.mark.parametrize(("locale", "theme"), [("en-GB", "light"), ("zh-CN", "dark")])
def test_every_tab_fits_a_narrow_screen(studio: Open, locale: str, theme: str) -> None:
    size = {"width": 360, "height": 780}
    with studio("/studio/operations", viewport=size, locale=locale, color_scheme=theme) as page:
        for name in ("model", "keys", "sandbox", "policy", "configuration", "storage"):
            go(page, f"/studio/operations/{name}")
            expect(page.get_by_role("tab", selected=True)).to_be_in_viewport(ratio=0.9)
            expect(page.get_by_role("tabpanel").get_by_role("heading", level=2).first).to_be_visible()
            expect(page.get_by_role("status").filter(has_text=re.compile("Loading|加载"))).to_have_count(0)
            beyond = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert beyond == 0, name
            keep_screenshot(page, f"operations-{name}-360-{locale[:2]}-{theme}")


def test_an_error_of_the_server_is_shown_and_asked_again(studio: Open) -> None:
    with studio("/studio/operations/storage") as page:
        page.route(
            "**/api/v1/storage", lambda route: route.fulfill(status=500, json={"kind": "unknown", "detail": "no"})
        )
        page.reload()
        expect(page.get_by_role("alert")).to_contain_text("no")
        page.unroute("**/api/v1/storage")
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("region", name="Disk")).to_be_visible()
