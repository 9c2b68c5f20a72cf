"""Measure Studio in a real browser: opening a run of ten thousand events, and frame times at 200 events a second.

The page is built, served by the real service, and opened in Debian's Chromium on the same machine. Opening is measured
inside the page, from the start of the navigation until the transcript is complete, as the best of some attempts with a
warm cache. The flood is written into the log of an open run by this process; the page reports its frame times.
"""

import subprocess
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.fixture import directory
from benchmarks.measure import Number, report
from skills_runtime.runs import Run
from tests.e2e.service.servers import Service, serving
from tests.e2e.studio.browsers import CHROMIUM, opened
from tests.e2e.studio.seeded import add_turns, end_run, long_run, open_run, turn_of

ROOT = Path(__file__).parents[1]
EVENTS = 10_000
TRIES = 5
RATE = 200
SECONDS = 10
FRAME_MS = 1000 / 60
DROPPED = 3.0
"""A frame that takes this many times its share counts as dropped."""
WATCH = """() => {
    window.frames_seen = [];
    let before = performance.now();
    const look = (now) => { window.frames_seen.push(now - before); before = now; requestAnimationFrame(look); };
    requestAnimationFrame(look);
}"""


def opening(page: Page, service: Service) -> tuple[float, float]:
    """Return the milliseconds until a long run is visible, and until it is complete."""
    seen: list[float] = []
    whole: list[float] = []
    for _ in range(TRIES):
        page.goto(f"{service.url}/studio/runs/run_long")
        page.get_by_text("All events loaded", exact=True).wait_for()
        times = page.evaluate(
            "['run-seen', 'run-complete'].map((name) => performance.getEntriesByName(name)[0].startTime)"
        )
        seen.append(times[0])
        whole.append(times[1])
    return min(seen), min(whole)


def flood(page: Page, service: Service, run: Run) -> tuple[float, float, float, int]:
    """Return events and frames per second, the share of dropped frames, and the number of missing events."""
    page.goto(f"{service.url}/studio/runs/run_flood")
    page.get_by_text("Live", exact=True).wait_for()
    page.evaluate(WATCH)
    begun, written = time.perf_counter(), 0
    events = (event for number in range(RATE * SECONDS) for event in turn_of(number))
    while written < RATE * SECONDS:
        due = min(RATE * SECONDS, int((time.perf_counter() - begun) * RATE) + 1)
        for _ in range(due - written):
            payload, where = next(events)
            run.append(payload, **where)
        written = due
        run.commit()
        time.sleep(0.01)
    seconds = time.perf_counter() - begun
    frames: list[float] = page.evaluate("window.frames_seen")
    last = run.state.last_seq
    end_run(run)
    page.get_by_text("All events loaded", exact=True).wait_for()
    shown = page.evaluate("document.body.innerText.match(/(\\d+) events/)?.[1] ?? '0'")
    dropped = sum(frame > DROPPED * FRAME_MS for frame in frames) / max(1, len(frames))
    return written / seconds, len(frames) / seconds, dropped, max(0, last + 1 - int(shown))


def measure(browser: Browser, home: Path) -> None:
    long_run(home, "run_long", EVENTS)
    (home / "skills").mkdir()
    with serving(home, home / "skills") as service, opened(browser, service) as page:
        seen, whole = opening(page, service)
        run = open_run(home, "run_flood")
        add_turns(run, 0, 1)
        rate, drawn, dropped, missing = flood(page, service, run)
    report(
        Number(f"a run of {EVENTS:,} events is seen", seen, "ms", 1000, "at most"),
        Number(f"a run of {EVENTS:,} events is all there", whole, "ms", 1000, "at most"),
        Number("live events a second", rate, "/s", 0.9 * RATE, "at least"),
        Number("frames a second meanwhile", drawn, "/s", 30, "at least"),
        Number("frames dropped meanwhile", 100 * dropped, "%", 5, "at most"),
        Number("live events that did not arrive", missing, "", 0, "at most"),
    )


def main() -> None:
    subprocess.run([ROOT / "scripts" / "studio"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with directory() as home, sync_playwright() as playwright:
        measure(playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]), home)


if __name__ == "__main__":
    main()
