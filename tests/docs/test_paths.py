"""Files named in ARCHITECTURE and CONTRIBUTING, and targets of relative links, exist."""

import re
from pathlib import Path

import pytest

from tests.support import ROOT, SOURCES
from tests.support.checkouts import pages

LINK = re.compile(r"\]\((?!https?:)([^()#\s]*)(?:#([\w-]+))?\)")
PATH = re.compile(r"`([a-z_][\w./-]*(?:\.py|/))`")


def _exists(path: str) -> bool:
    if any((base / path).exists() for base in (ROOT, SOURCES / "skills_runtime")):
        return True
    inner = path.endswith("/") and path.count("/") == 1  # a folder named below its package
    return inner and any(match.is_dir() for match in SOURCES.rglob(path.rstrip("/")))


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_paths_on_the_page_exist(page: str) -> None:
    paths = {path for path in PATH.findall((ROOT / page).read_text(encoding="utf-8")) if "NAME" not in path}
    assert len(paths) > 10
    assert not sorted(path for path in paths if not _exists(path))


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


ROOT_PAGES = [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]


@pytest.mark.parametrize("page", [*pages(), *ROOT_PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_to_existing_pages_and_headings(page: Path) -> None:
    text = re.sub(
        r"^```.*?^```|``.*?``|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    broken = [
        f"{path}#{anchor}"
        for path, anchor in LINK.findall(text)
        if not (target := (page.parent / path) if path else page).exists()
        or (anchor and anchor not in _anchors(target))
    ]
    assert broken == []
