"""The totals of two runs fit a phone, however long their words and figures are."""

from collections.abc import Generator

import pytest
from playwright.sync_api import expect

from skills_runtime.events.payloads import LlmRequestStarted, LlmUsage, RunCompleted, RunFailed
from skills_runtime.runs import finish_run
from tests.e2e.service.servers import Service, serving
from tests.e2e.studio.browsers import keep_screenshot
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.long_runs import open_run

RUNS = ("run_of_the_first_kind_0001", "run_of_the_second_kind_0002")
MODEL = "a-provider/model-with-a-long-name-2026-11"
PHONE = {"width": 360, "height": 780}


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home = tmp_path_factory.mktemp("narrow")
    (home / "skills").mkdir()
    ends = (RunCompleted(final_output="Done."), RunFailed(error_kind="rate_limited", message="the service is busy"))
    for run_id, end, tokens in zip(RUNS, ends, (12_345_678, 9_876), strict=True):
        run = open_run(home, run_id)
        run.append(LlmRequestStarted(model=MODEL, messages_count=1))
        run.append(LlmUsage(model=MODEL, input_tokens=tokens, output_tokens=1))
        finish_run(run, end)
        run.close()
    with serving(home, home / "skills") as running:
        yield running


@pytest.mark.parametrize(("locale", "totals"), [("en-GB", "Totals of both runs"), ("zh-CN", "两次运行的合计")])
def test_the_totals_need_no_scrolling_sideways(studio: Open, locale: str, totals: str) -> None:
    with studio(f"/studio/compare?a={RUNS[0]}&b={RUNS[1]}", viewport=PHONE, locale=locale) as page:
        region = page.get_by_role("region", name=totals)
        expect(region).to_contain_text("12,345,678")
        assert region.evaluate("one => one.scrollWidth - one.clientWidth") <= 0
        keep_screenshot(page, f"compare-narrow-{locale}")
