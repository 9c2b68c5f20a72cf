"""Files and directories named in ARCHITECTURE and CONTRIBUTING exist."""

import re

import pytest

from tests.support import ROOT, SOURCES

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
