"""Skills of installed packages: found by convention or by entry point, and no package is ever imported."""

import sys
from pathlib import Path

import pytest

from skills_runtime.skills import Origin
from skills_runtime.skills.sources.packages import PackagesSource, find_installed_paths, package_roots
from tests.unit.skills.samples import make_skill

ORIGIN = Origin("space", "tools", "packages")


def install(site: Path, package: str, *, below: str = ".agents/skills", entry_point: str = "") -> None:
    """A package that breaks when somebody imports it."""
    make_skill(site / package / below, f"{package.replace('_', '-')}-skill")
    (site / package / "__init__.py").write_text("raise AssertionError('imported')")
    if entry_point:
        info = site / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[skills_runtime.skills]\nmain = {entry_point}\n")


def names(site: Path, *packages: str) -> list[str]:
    return [skill.name for skill in PackagesSource(ORIGIN, packages, search_path=[str(site)]).skills().skills]


def test_all_packages_that_ship_skills_are_found(tmp_path: Path) -> None:
    install(tmp_path, "alpha")
    install(tmp_path, "beta", below="data/skills", entry_point="beta.data.skills")
    install(tmp_path, "gamma", below="elsewhere")
    assert names(tmp_path) == ["alpha-skill", "beta-skill"]


def test_only_named_packages_are_found_when_some_are_named(tmp_path: Path) -> None:
    install(tmp_path, "alpha")
    install(tmp_path, "beta", below="skills", entry_point="beta.skills")
    assert names(tmp_path, "beta") == ["beta-skill"]


def test_a_package_without_skills_or_that_is_not_installed_is_reported_by_name(tmp_path: Path) -> None:
    install(tmp_path, "alpha")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "__init__.py").write_text("")
    report = PackagesSource(ORIGIN, ["alpha", "empty", "missing"], search_path=[str(tmp_path)]).skills()
    assert [skill.name for skill in report.skills] == ["alpha-skill"]
    assert [problem.locator for problem in report.problems] == ["package://empty", "package://missing"]
    assert {problem.code for problem in report.problems} == {"SKILL_SCAN_SOURCE_UNAVAILABLE"}


@pytest.mark.parametrize("point", ["beta.nowhere", "..evil", "", "beta.skills:thing", "no_such.skills", "/etc"])
def test_an_entry_point_that_leads_nowhere_breaks_nothing(point: str, tmp_path: Path) -> None:
    install(tmp_path, "alpha")
    install(tmp_path, "beta", below="skills", entry_point=point or "x")
    assert "alpha-skill" in names(tmp_path)


def test_a_package_found_twice_counts_where_python_finds_it_first(tmp_path: Path) -> None:
    for site in ("first", "second"):
        install(tmp_path / site, "alpha")
    roots = package_roots([], [str(tmp_path / "first"), str(tmp_path / "second")])
    assert roots == {"alpha": [tmp_path / "first" / "alpha" / ".agents" / "skills"]}


def test_packages_of_the_current_directory_and_of_the_workspace_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, project, site = (tmp_path / name for name in ("here", "project", "site"))
    for place in (here, project, site):
        install(place, f"in_{place.name}")
    monkeypatch.chdir(here)
    path = ["", ".", str(here), str(project), str(site), str(tmp_path / "missing")]
    source = PackagesSource(ORIGIN, (), search_path=path, workspace_root=project)
    assert [skill.name for skill in source.skills().skills] == ["in-site-skill"]


def test_without_a_path_python_s_own_is_searched() -> None:
    assert set(find_installed_paths()) <= set(sys.path)
    assert "" not in find_installed_paths()


def test_the_text_of_a_skill_of_a_package_is_read_from_it(tmp_path: Path) -> None:
    install(tmp_path, "alpha")
    source = PackagesSource(ORIGIN, (), search_path=[str(tmp_path)])
    assert source.body(source.skills().skills[0]) == "Do it.\n"
    assert "alpha" not in sys.modules
