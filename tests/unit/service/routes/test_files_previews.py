"""What a run left behind can be looked at, and can do nothing while it is."""

from pathlib import Path

import pytest

from skills_runtime.service.file_response import find_preview
from skills_runtime.testing import says
from tests.support.agents import calls, writes
from tests.unit.service.served import serving

HOSTILE = "<script>parent.document.title='stolen'</script><img src=//evil.example>"


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a.html", "text/html; charset=utf-8"),
        ("a.svg", "image/svg+xml"),
        ("a.md", "text/plain; charset=utf-8"),
        ("a.csv", "text/plain; charset=utf-8"),
        ("a.json", "text/plain; charset=utf-8"),
        ("a.js", "text/plain; charset=utf-8"),
        ("a.xml", "text/plain; charset=utf-8"),
        ("a.png", "image/png"),
    ],
)
def test_a_preview_has_a_type_that_runs_nothing(name: str, media_type: str) -> None:
    preview = find_preview(name)
    assert preview is not None
    assert preview.media_type == media_type
    assert "script" not in preview.policy
    assert "default-src 'none'" in preview.policy
    assert "frame-ancestors 'self'" in preview.policy
    assert preview.policy.startswith("sandbox;")


@pytest.mark.parametrize("name", ["a.exe", "a", "a.zip", "a.docx", "a.wasm", "a.pdf"])
def test_what_cannot_be_looked_at_is_only_saved(name: str) -> None:
    assert find_preview(name) is None


async def test_a_page_that_a_run_made_is_shown_on_an_origin_of_its_own(tmp_path: Path) -> None:
    script = [calls(writes("deliverables/page.html", HOSTILE)), says("done")]
    async with serving(tmp_path, script) as service:
        run_id = await service.begin()
        await service.until(run_id, "completed")
        saved = await service.get(f"/runs/{run_id}/deliverables/page.html")
        response = await service.get(f"/runs/{run_id}/deliverables/page.html", params={"preview": "1"})
        same = await service.get(f"/runs/{run_id}/artifacts/deliverables/page.html", params={"preview": "1"})
    assert saved.headers["content-disposition"].startswith("attachment")
    assert response.headers["content-disposition"].startswith("inline")
    assert response.headers["content-security-policy"].startswith("sandbox;")
    assert "allow-scripts" not in response.headers["content-security-policy"]
    assert response.headers["x-frame-options"] == "SAMEORIGIN"
    assert response.text == same.text == HOSTILE
