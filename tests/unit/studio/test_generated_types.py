"""The types of the web app are made from what the service really offers."""

from pathlib import Path

from scripts.openapi import text

COMMITTED = Path(__file__).parents[3] / "studio" / "src" / "api" / "openapi.json"


def test_the_document_of_the_web_app_is_that_of_the_service() -> None:
    message = "run `python -m scripts.openapi > studio/src/api/openapi.json`, then `npm run types` in studio/"
    assert COMMITTED.read_text(encoding="utf-8") == text(), message
