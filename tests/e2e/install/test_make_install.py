"""`make install` from a clone on a machine without Node, its upgrade, its failures, and `make uninstall`."""

import shutil
from pathlib import Path

import httpx2
import pytest

from tests.e2e.install.conftest import Clone
from tests.e2e.service.servers import serving
from tests.support import ROOT

COMMANDS = ["kgent", "skills-runtime", "skills-runtime-sdk"]


def list_names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_three_links_lead_to_an_environment_of_their_own(clone: Clone) -> None:
    assert list_names(clone.bin) == COMMANDS
    assert {(clone.bin / name).readlink() for name in COMMANDS} == {
        clone.data / "current" / "bin" / name for name in COMMANDS
    }
    assert list_names(clone.data) == ["current", "environments"]
    assert clone.call("skills-runtime", "--version").stdout.strip()
    assert clone.call("kgent", "demo").returncode == 0


def test_what_is_missing_is_printed_with_the_line_to_add(clone: Clone) -> None:
    printed = (clone.home / "installed.txt").read_text()
    assert "install: without Studio, the web app: install Node 20 or newer and run `make install` again\n" in printed
    assert f"install: {clone.bin} is not on your PATH; add this line to ~/.profile" in printed
    assert 'install:   export PATH="$HOME/.local/bin:$PATH"\n' in printed


def test_studio_prints_how_to_get_it_and_the_service_works_without_it(clone: Clone) -> None:
    studio = clone.call("skills-runtime", "studio", "--no-browser")
    assert (studio.returncode, studio.stdout) == (20, "")
    assert studio.stderr == (
        "error: this installation has no Studio, the web app\n  kind: config_error\n"
        f"  hint: install Node 20 or newer, then run `make -C '{clone.root}' install`\n"
    )
    (clone.home / "skills").mkdir(exist_ok=True)
    with serving(clone.home / "served", clone.home / "skills", program=[clone.bin / "skills-runtime"]) as service:
        page = httpx2.get(f"{service.url}/studio/", trust_env=False)
        assert httpx2.get(f"{service.url}/api/health", trust_env=False).json()["status"] == "ok"
    assert (page.status_code, "<code>skills-runtime studio</code>" in page.text) == (503, True)


def test_an_upgrade_takes_the_place_of_the_old_version_and_a_failed_one_changes_nothing(clone: Clone) -> None:
    source = clone.root / "src" / "skills_runtime" / "__init__.py"
    text = source.read_text()
    before = clone.call("skills-runtime", "--version").stdout.strip()
    old = (clone.data / "current").readlink()
    source.write_text(text.replace(f'"{before}"', '"99.0"'))
    try:
        failed = clone.install(PIP_NO_INDEX="1", PIP_FIND_LINKS="", PIP_EXTRA_INDEX_URL="")
        assert (failed.returncode, (clone.data / "current").readlink()) == (1, old)
        assert failed.stderr.endswith("install: pip could not install requirements/service.txt\n")
        assert list_names(clone.data / "environments") == [old.name]
        assert clone.call("skills-runtime", "--version").stdout.strip() == before
        upgraded = clone.install(PATH=f"{clone.bin}:{clone.path}")
    finally:
        source.write_text(text)
    assert upgraded.returncode == 0, upgraded.stderr
    assert "PATH" not in upgraded.stderr
    assert clone.call("skills-runtime", "--version").stdout == "99.0\n"
    assert len(list_names(clone.data / "environments")) == 2  # programs may still run from the old one
    assert list_names(clone.bin) == COMMANDS


@pytest.fixture
def stranger(clone: Clone, tmp_path: Path) -> Clone:
    """A user of the same clone who has installed nothing."""
    return Clone(clone.root, tmp_path, clone.path)


def test_a_command_of_another_installation_is_left_alone(stranger: Clone) -> None:
    stranger.bin.mkdir(parents=True)
    (stranger.bin / "kgent").write_text("mine")
    refused = stranger.install()
    assert (refused.returncode, (stranger.bin / "kgent").read_text()) == (1, "mine")
    assert refused.stderr.startswith(f"install: {stranger.bin}/kgent belongs to another installation; remove that")
    assert not stranger.data.exists()


def test_a_python_that_is_too_old_is_refused_in_one_sentence(stranger: Clone) -> None:
    refused = stranger.install(PYTHON="false")
    assert (refused.returncode, refused.stderr) == (1, "install: PYTHON=false is not a Python 3.11 or newer\n")
    assert not list(stranger.data.glob("environments/*"))
    assert not list(stranger.bin.iterdir())


def test_uninstall_removes_what_was_installed_and_nothing_else(stranger: Clone, clone: Clone) -> None:
    share = stranger.home / "share of mine"
    shutil.copytree(clone.data, share / "skills-runtime", symlinks=True)
    (share / "other").touch()
    stranger.bin.mkdir(parents=True)
    for name in COMMANDS[1:]:
        (stranger.bin / name).symlink_to(share / "skills-runtime" / "current" / "bin" / name)
    (stranger.bin / "kgent").write_text("mine")
    configuration = stranger.home / ".config" / "skills_runtime" / "config.yaml"
    configuration.parent.mkdir(parents=True)
    configuration.touch()
    removed = stranger.install("--remove", XDG_DATA_HOME=str(share))
    assert removed.returncode == 0
    assert removed.stderr.splitlines() == [
        "install: removed Skills Runtime",
        f"install: your configuration ({configuration.parent}), "
        f"state ({stranger.home}/.local/state/skills_runtime) and the runs in your projects stay",
    ]
    assert (list_names(stranger.bin), list_names(share), configuration.exists()) == (["kgent"], ["other"], True)
    again = stranger.install("--remove", XDG_DATA_HOME=str(share))
    assert (again.returncode, again.stderr) == (0, "install: nothing is installed\n")


def test_another_argument_is_answered_with_the_usage(stranger: Clone) -> None:
    answer = stranger.install("--purge")
    assert (answer.returncode, answer.stderr) == (2, "usage: scripts/install [--remove]\n")


def test_make_runs_the_script() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert "\t@scripts/install\n" in makefile
    assert "\t@scripts/install --remove\n" in makefile
