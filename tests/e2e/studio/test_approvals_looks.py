"""The inbox in both languages, both themes, on a desk and on a phone."""

from collections.abc import Generator

import pytest
from playwright.sync_api import expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.asking import asking, begin
from tests.e2e.studio.browsers import keep_screenshot
from tests.e2e.studio.conftest import Open

WORDS = {
    "en-GB": ("Approvals", "Approve once", "Reject and stop the run", "Rejected, and the run stopped"),
    "zh-CN": ("审批", "仅批准这一次", "拒绝并停止运行", "已拒绝，运行已停止"),
}
LONG = "echo " + "a-very-long-word-without-any-space-" * 12


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with asking(tmp_path_factory.mktemp("looks")) as found:
        begin(found, ("shell_command", {"command": LONG, "justification": "\x1b[31mred\u202e text <b>bold</b>"}))
        begin(found, ("file_write", {"path": "notes.txt", "content": "one\n" * 8}), task="写下八行。")
        yield found


@pytest.mark.parametrize("language", WORDS)
@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_inbox_fits_and_speaks(studio: Open, language: str, width: int, theme: str) -> None:
    title, approve, stop, _ = WORDS[language]
    size = {"width": width, "height": 900}
    with studio("/studio/approvals", locale=language, viewport=size, color_scheme=theme) as page:
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
        expect(page.get_by_role("button", name=approve)).to_have_count(2)
        expect(page.get_by_role("button", name=stop)).to_have_count(2)
        expect(page.get_by_text("‹U+202E›").first).to_be_visible()
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, "the page is wider than the window"
        keep_screenshot(page, f"approvals-{language}-{width}-{theme}")


@pytest.mark.parametrize("language", WORDS)
def test_a_decision_is_made_in_both_languages(studio: Open, service: Service, language: str) -> None:
    _, _, stop, told = WORDS[language]
    begin(service, ("shell_command", {"command": f"echo {language}"}))
    with studio("/studio/approvals", locale=language) as page:
        card = page.get_by_role("article").filter(has_text=f"echo {language}")
        card.get_by_role("button", name=stop).click()
        expect(card.get_by_text(told)).to_be_visible()
