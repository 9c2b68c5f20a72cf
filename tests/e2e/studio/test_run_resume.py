"""A run that stands still goes on from its page, whether it reached a limit, lost its process or failed."""

import re
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.service.servers import SCRIPTS, Service
from tests.e2e.studio.browsers import keep_screenshot
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.talking import PATIENCE_SEC, Talker, begin, finished, log_of, serving_with
from tests.support import model_server
from tests.support.model_server import Answer, ModelServer, refuses

PHONE = {"width": 360, "height": 780}


class Moody(Talker):
    """A talker that has nothing to say as long as it is in a bad mood."""

    broken = False

    def __call__(self, request: dict[str, Any]) -> Answer:
        """The next answer, or the refusal of a service that is broken."""
        return refuses(400, "the model is out of order") if self.broken else super().__call__(request)


class Place(NamedTuple):
    """The service, and what it talks to."""

    service: Service
    model: ModelServer
    talker: Moody
    home: Path


@pytest.fixture(scope="module")
def place(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Place]:
    home = tmp_path_factory.mktemp("resume")
    (home / "skills").mkdir()
    (home / "note.txt").write_text("a note\n")
    talker = Moody()
    with model_server.start(talker) as model, serving_with(home, model.base_url) as running:
        yield Place(running, model, talker, home)


@pytest.fixture(scope="module")
def service(place: Place) -> Service:
    return place.service


def _status(page: Page, word: str) -> None:
    expect(page.get_by_role("main").get_by_text(word, exact=True).first).to_be_visible()


def test_a_run_that_reached_its_limit_goes_on_with_more(studio: Open, service: Service) -> None:
    run_id = begin(service, "READ 3 times", max_steps=1, on_limit="park")
    with studio(f"/studio/runs/{run_id}") as page:
        box = page.get_by_role("region", name="The run stands still")
        expect(box).to_contain_text("step")
        keep_screenshot(page, "resume-parked")
        box.get_by_label("Most steps").fill("50")
        box.get_by_role("button", name="Resume").click()
        _status(page, "Completed")
        expect(box).to_have_count(0)
        expect(page.get_by_role("button", name="Resume")).to_have_count(0)
    told = [event["type"] for event in log_of(service, run_id)]
    assert told.count("run_started") + told.count("run_resumed") >= 1
    assert told[-1] == "run_completed"


def test_a_run_whose_limit_was_not_raised_says_so_again(studio: Open, service: Service) -> None:
    run_id = begin(service, "READ 3 times", max_steps=1, on_limit="park")
    with studio(f"/studio/runs/{run_id}", viewport=PHONE, locale="zh-CN") as page:
        box = page.get_by_role("region", name="运行停在这里")
        expect(box).to_be_visible()
        keep_screenshot(page, "resume-parked-360-zh")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        asked = page.get_by_role("article").filter(has_text="运行在等待")
        expect(asked).to_have_count(1)
        box.get_by_role("button", name="继续运行").click()
        expect(asked).to_have_count(2)
        expect(box).to_be_visible()
    assert "run_completed" not in [event["type"] for event in log_of(service, run_id)]


def _killed_at_work(place: Place) -> str:
    """A run of the command line whose process was killed while its model thought."""
    run_id, asked = "run_killed", len(place.model.requests)
    settings = {
        "llm.backend": "openai",
        "llm.base_url": place.model.base_url,
        "llm.api_key_env": "MODEL_KEY",
        "models.planner": "talker",
        "models.executor": "talker",
        "safety.mode": "allow",
    }
    given = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    process = subprocess.Popen(
        [SCRIPTS / "skills-runtime", "run", "--json", "--run-id", run_id, *given, "HOLD until told"],
        cwd=place.home,
        env=dict(place.service.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            if b'"llm_request_started"' in line:
                break
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=PATIENCE_SEC)
    assert len(place.model.requests) - asked <= 1
    return run_id


def test_a_run_whose_process_was_killed_says_so_and_goes_on(studio: Open, place: Place) -> None:
    place.talker.go.clear()
    run_id = _killed_at_work(place)
    with studio(f"/studio/runs/{run_id}") as page:
        box = page.get_by_role("region", name="The run stands still")
        expect(box).to_contain_text("the process that worked on this run has ended")
        keep_screenshot(page, "resume-interrupted")
        place.talker.go.set()
        page.get_by_role("button", name="Resume").first.click()
        _status(page, "Completed")
        expect(box).to_have_count(0)
    seqs = [event["seq"] for event in log_of(place.service, run_id)]
    assert seqs == list(range(len(seqs)))


def test_a_run_that_works_is_not_said_to_stand_still(studio: Open, place: Place) -> None:
    place.talker.go.clear()
    run_id = begin(place.service, "HOLD until told")
    with studio(f"/studio/runs/{run_id}") as page:
        _status(page, "Running")
        expect(page.get_by_role("region", name="The run stands still")).to_have_count(0)
        place.talker.go.set()
        _status(page, "Completed")


def test_a_run_that_failed_is_not_resumed_but_tried_again_from_where_it_was(studio: Open, place: Place) -> None:
    place.talker.broken = True
    run_id = finished(place.service, "READ 1 times")
    with studio(f"/studio/runs/{run_id}") as page:
        _status(page, "Failed")
        expect(page.get_by_text("the model is out of order").first).to_be_visible()
        expect(page.get_by_role("button", name="Resume")).to_have_count(0)
        keep_screenshot(page, "resume-failed")
        place.talker.broken = False
        page.get_by_role("button", name="Try again").click()
        page.wait_for_url(lambda address: f"/runs/{run_id}" not in address)
        _status(page, "Completed")
        expect(page.get_by_role("link", name=re.compile(run_id))).to_be_visible()
    assert log_of(place.service, run_id)[-1]["type"] == "run_failed"
