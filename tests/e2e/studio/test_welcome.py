"""The demonstration from the first visit to the opened deliverable, in both languages, wide and narrow."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.service.servers import serving
from tests.e2e.studio.browsers import keep_screenshot, opened
from tests.e2e.studio.conftest import Open


@dataclass(frozen=True)
class Visit:
    """Somebody who comes for the first time, and what they read."""

    locale: str
    width: int
    scheme: str
    demo: str
    title: str
    scripted: str
    begin: str
    approve: str
    done: str
    files: str
    preview: str
    labelled: str


ENGLISH = Visit(
    "en-GB", 1440, "light", "See the offline demo", "Welcome", "Scripted model", "Start the demo", "Approve once",
    "Completed", "Files", "Preview of deliverables/report.md", "Scripted",
)  # fmt: skip
CHINESE = Visit(
    "zh-CN", 360, "dark", "查看离线演示", "欢迎", "脚本模型", "开始演示", "仅批准这一次",
    "已完成", "文件", "deliverables/report.md 的预览", "脚本模型",
)  # fmt: skip


@pytest.mark.parametrize("visit", [CHINESE, ENGLISH], ids=["zh-360", "en-1440"])
def test_the_demo_goes_from_the_first_visit_to_the_opened_deliverable(
    browser: Browser, built: None, tmp_path: Path, visit: Visit
) -> None:
    viewport = {"width": visit.width, "height": 800}
    name = f"welcome-{visit.locale}-{visit.width}"
    (tmp_path / "skills").mkdir()
    with (
        serving(tmp_path, tmp_path / "skills") as service,
        opened(browser, service, locale=visit.locale, viewport=viewport, color_scheme=visit.scheme) as page,
    ):
        page.get_by_role("link", name=visit.demo).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(visit.title)
        expect(page.get_by_text(visit.scripted)).to_be_visible()
        _fits(page, visit.width)
        keep_screenshot(page, name)
        page.get_by_role("button", name=visit.begin).click()
        page.wait_for_url("**/studio/runs/*")
        page.get_by_role("button", name=visit.approve, exact=True).click()
        expect(page.get_by_text(visit.done, exact=True).first).to_be_visible()
        expect(page.get_by_text(visit.labelled).first).to_be_visible()
        page.get_by_role("tab", name=visit.files).click()
        page.get_by_role("button", name="report.md").click()
        report = page.get_by_role("region", name=visit.preview)
        expect(report.get_by_role("heading", name="This machine")).to_be_visible()
        _fits(page, visit.width)
        keep_screenshot(page, f"{name}-deliverable")


def test_the_first_visit_says_where_a_model_is_configured(studio: Open) -> None:
    with studio("/studio/welcome") as page:
        link = page.get_by_role("link", name="Configure the model")
        expect(link).to_have_attribute("href", "/studio/operations/model")


def _fits(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width
