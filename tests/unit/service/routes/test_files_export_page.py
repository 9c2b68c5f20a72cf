"""A run is handed on as one page, over HTTP and from the command line, the same both times."""

from pathlib import Path

import pytest

from skills_runtime.errors import ValidationFailed
from skills_runtime.runs.export import write_page
from skills_runtime.testing import says
from tests.support.agents import calls, writes
from tests.unit.service.served import serving

SCRIPT = [calls(writes("deliverables/a.txt", "hello")), says("<b>done</b>")]


async def test_a_run_is_one_page_that_needs_nothing_else(tmp_path: Path) -> None:
    async with serving(tmp_path, SCRIPT) as service:
        run_id = await service.begin("write <script>it</script>")
        await service.until(run_id, "completed")
        english = await service.get(f"/runs/{run_id}/export.html")
        chinese = await service.get(f"/runs/{run_id}/export.html", params={"lang": "zh"})
        odd = await service.get(f"/runs/{run_id}/export.html", params={"lang": "xx"})
        absent = await service.get("/runs/run_none/export.html")
        write_page(service.runs.find(run_id), tmp_path / "page.html")
    assert english.headers["content-disposition"] == f'attachment; filename="{run_id}.html"'
    assert english.headers["content-security-policy"].startswith("sandbox;")
    assert "&lt;script&gt;it&lt;/script&gt;" in english.text
    assert "<script" not in english.text
    assert "&lt;b&gt;done" in english.text
    assert "deliverables/a.txt" in english.text
    assert "交付物" in chinese.text
    assert (odd.status_code, absent.status_code) == (400, 404)
    assert (tmp_path / "page.html").read_text() == english.text


async def test_a_page_never_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("mine")
    async with serving(tmp_path, SCRIPT) as service:
        run_id = await service.begin()
        await service.until(run_id, "completed")
        with pytest.raises(ValidationFailed, match="already exists"):
            write_page(service.runs.find(run_id), tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == "mine"
