"""Run Studio's demo in Chromium and write a picture of the run as it asks: its skill, its steps, and the approval.

    python -m scripts.record_studio docs/images/studio.png

It serves an empty workspace with its own home, so nothing of this machine is in the picture.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import ViewportSize, expect, sync_playwright

CHROMIUM = "/usr/bin/chromium"
SIZE = ViewportSize(width=1280, height=800)
LINK = re.compile(r"Open (http://\S+)")
PROGRAM = "skills-runtime"
"""The installed one, because the picture shows where it is."""


@contextmanager
def serve_studio() -> Generator[str]:
    """Serve Studio in an empty workspace, and return the address that logs in."""
    with tempfile.TemporaryDirectory() as directory:
        home, workspace = Path(directory, "home"), Path(directory, "shop")
        home.mkdir()
        workspace.mkdir()
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PORT": "0"}
        command = [PROGRAM, "studio", "--no-browser"]
        with subprocess.Popen(command, cwd=workspace, env=environment, stdout=subprocess.PIPE, text=True) as service:
            assert service.stdout is not None
            try:
                yield next(link[1] for line in service.stdout if (link := LINK.search(line)))
            finally:
                service.terminate()


def main(target: str) -> None:
    """Take the picture."""
    with serve_studio() as link, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, locale="en-GB", reduced_motion="reduce")
        page.goto(link)
        page.goto(f"{link.partition('?')[0]}welcome")
        page.get_by_role("button", name="Start the demo").click()
        approve = page.get_by_role("button", name="Approve once", exact=True)
        expect(approve).to_be_visible(timeout=30_000)
        approve.scroll_into_view_if_needed()
        expect(page.get_by_text("get-available-resources").last).to_be_visible()
        page.screenshot(path=target)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
