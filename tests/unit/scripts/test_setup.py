"""`scripts/setup` does what is needed and no more, and says what it cannot do."""

import re
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.checkouts import Checkout

NO_SANDBOX = "setup: bubblewrap is missing: agents cannot run commands: no sandbox\n"
NO_RIPGREP = "setup: ripgrep is missing: searching many files is slow\n"
NO_FUSE = "setup: fuse3 is missing: power-loss tests cannot run\n"
NO_COMPILER = "setup: gcc is missing: tests cannot compile a program for the sandbox\n"
NO_NODE = "setup: nodejs is missing: the bundled Node skill cannot be tested\n"
NO_REDIS = "setup: redis-server is missing: tests of skills in redis cannot run\n"
NO_POSTGRES = "setup: postgresql is missing: tests of skills in PostgreSQL cannot run\n"
NO_NPM = "setup: npm is missing: Studio cannot be built\n"
NO_BROWSER = "setup: chromium is missing: Studio tests cannot run\n"
NO_FONT = "setup: fonts-wqy-microhei is missing: Studio screenshots have no Chinese characters\n"
PACKAGES = "bubblewrap ripgrep fuse3 gcc nodejs redis-server postgresql npm chromium fonts-wqy-microhei"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout of an ordinary user on a machine with nothing missing."""
    checkout = Checkout(tmp_path)
    checkout.add_user(1000)
    for name in (
        "apt-get",
        "bwrap",
        "rg",
        "fusermount3",
        "cc",
        "node",
        "redis-server",
        "pg_ctlcluster",
        "npm",
        "chromium",
    ):
        checkout.add_command(name, "exit 0")
    checkout.say_of_files(are_there=True)
    return checkout


@pytest.fixture
def bare(tmp_path: Path) -> Checkout:
    """A checkout of an ordinary user on a Debian machine without our system packages and without sudo."""
    checkout = Checkout(tmp_path)
    checkout.add_user(1000)
    checkout.add_command("apt-get", "exit 0")
    checkout.say_of_files(are_there=False)
    return checkout


def _files(root: Path) -> set[Path]:
    return set(root.rglob("*"))


def test_every_line_of_the_table_has_a_package_a_check_groups_and_a_limitation() -> None:
    rows = [line.split(maxsplit=3) for line in (ROOT / "scripts/system-packages").read_text().splitlines()]
    rows = [row for row in rows if row[0] != "#"]
    assert all(len(row) == 4 and set(row[2].split(",")) <= {"core", "dev"} for row in rows)
    assert {row[0] for row in rows} >= {"bubblewrap", "ripgrep", "fuse3"}


def test_a_plan_changes_nothing_and_calls_nothing(checkout: Checkout) -> None:
    before = _files(checkout.root)
    plan = checkout.setup("--plan", "dev")
    assert plan.returncode == 0, plan.stdout
    assert "would create .venv with Python 3." in plan.stdout
    assert "pinned packages of requirements/dev.txt" in plan.stdout
    assert (_files(checkout.root), checkout.calls()) == (before, [])


def test_without_rights_the_exact_command_and_the_limitation_are_printed(bare: Checkout) -> None:
    plan = bare.setup("--plan", "dev")
    limited = (NO_SANDBOX, NO_RIPGREP, NO_FUSE, NO_COMPILER, NO_NODE, NO_REDIS, NO_POSTGRES)
    limited += (NO_NPM, NO_BROWSER, NO_FONT)
    assert plan.stdout.startswith(
        f"{''.join(limited)}setup: install them as root: "
        f"apt-get update && apt-get install -y --no-install-recommends {PACKAGES}\n"
    )
    assert plan.returncode == 0


def test_a_sudo_that_asks_for_a_password_is_left_to_the_user(bare: Checkout) -> None:
    bare.add_command("sudo", "exit 1")
    install = "sudo apt-get update && sudo apt-get install -y --no-install-recommends bubblewrap ripgrep\n"
    assert bare.setup("--plan", "core").stdout.startswith(
        f"{NO_SANDBOX}{NO_RIPGREP}setup: install them with: {install}"
    )


def test_packages_of_the_tests_are_not_asked_for_when_only_running(bare: Checkout) -> None:
    assert "fuse3" not in bare.setup("--plan", "core").stdout


def test_a_machine_without_apt_is_told_the_names_of_the_packages(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    checkout.add_user(0)
    checkout.say_of_files(are_there=False)
    plan = checkout.setup("--plan", "dev")
    assert f"apt-get is not available; install with your system's package manager: {PACKAGES}\n" in plan.stdout


def test_a_package_that_is_there_is_not_mentioned(checkout: Checkout) -> None:
    assert "bubblewrap" not in checkout.setup("--plan").stdout


def test_root_installs_what_is_missing_and_updates_the_lists_once_when_needed(bare: Checkout) -> None:
    bare.add_user(0)
    lists = bare.root / "lists"
    bare.add_command("apt-get", f'case "$*" in *update) touch "{lists}" ;; *) test -e "{lists}" ;; esac')
    result = bare.setup("dev")
    assert result.returncode == 0, result.stdout
    assert [call.split("=120 ")[1] for call in bare.calls() if call.startswith("apt-get")] == [
        "install --no-install-recommends bubblewrap",
        "update",
        *(f"install --no-install-recommends {name}" for name in PACKAGES.split()),
    ]
    assert "limited" not in result.stdout


def test_passwordless_sudo_installs_what_is_missing(bare: Checkout) -> None:
    bare.add_command("sudo", '[ "$1" = -n ] && shift && exec "$@"')
    bare.add_command("true", "exit 0")
    assert bare.setup("core").returncode == 0
    assert [call for call in bare.calls() if call.startswith("sudo -n env") and call.endswith(" bubblewrap")]


def test_a_package_that_cannot_be_installed_does_not_stop_the_setup(bare: Checkout) -> None:
    bare.add_user(0)
    bare.add_command("apt-get", "echo no route to host; exit 100")
    result = bare.setup("core")
    assert result.returncode == 0
    assert f"no route to host\n{NO_SANDBOX}" in result.stdout
    assert f"no route to host\n{NO_RIPGREP}setup: install them as root: apt-get update" in result.stdout
    assert any("--editable" in call for call in bare.calls())


def test_the_first_run_creates_the_environment_and_installs_the_pinned_packages(checkout: Checkout) -> None:
    result = checkout.setup("core")
    assert result.returncode == 0, result.stdout
    assert result.stdout.startswith("setup: creating .venv with Python 3.")
    assert [call.split("--no-deps ")[1] for call in checkout.calls()] == [
        "--require-hashes --requirement requirements/service.txt",
        "--no-build-isolation --editable .",
    ]


def test_the_second_run_does_nothing(checkout: Checkout) -> None:
    checkout.setup("dev")
    checkout.calls()
    result = checkout.setup("dev")
    assert result.stdout.startswith("setup: everything else is in place: .venv with Python 3.")
    assert checkout.calls() == []


def test_what_running_needs_is_part_of_what_the_tests_need(checkout: Checkout) -> None:
    checkout.setup("dev")
    checkout.calls()
    checkout.setup("core")
    assert checkout.calls() == []


@pytest.mark.parametrize("name", ["requirements/dev.txt", "pyproject.toml"])
def test_a_changed_requirement_is_installed_into_the_same_environment(checkout: Checkout, name: str) -> None:
    checkout.setup("dev")
    checkout.calls()
    with (checkout.root / name).open("a") as file:
        file.write("# changed\n")
    assert "creating .venv" not in checkout.setup("dev").stdout
    assert len(checkout.calls()) == 2


def test_the_service_is_part_of_running(checkout: Checkout) -> None:
    checkout.setup("core")
    checkout.calls()
    with (checkout.root / "requirements/service.txt").open("a") as file:
        file.write("# changed\n")
    checkout.setup("core")
    assert len(checkout.calls()) == 2


def test_an_interrupted_setup_is_started_over(checkout: Checkout) -> None:
    checkout.add_python(pip="kill -9 0")
    assert checkout.setup("core").returncode == -9
    checkout.add_python()
    result = checkout.setup("core")
    assert result.returncode == 0
    assert result.stdout.startswith("setup: replacing .venv: it is not usable\nsetup: creating .venv with")


def test_an_environment_that_came_with_a_copy_of_the_checkout_is_replaced(checkout: Checkout) -> None:
    checkout.setup("core")
    checkout.root = checkout.root.rename(checkout.root.with_name("moved"))
    assert "replacing .venv" in checkout.setup("core").stdout


def test_the_output_of_a_failed_pip_is_shown_and_the_next_run_tries_again(checkout: Checkout) -> None:
    checkout.add_python(pip="echo no such version; exit 1")
    result = checkout.setup("core")
    assert result.returncode == 1
    assert "no such version\nsetup: pip could not install: " in result.stdout
    checkout.calls()
    checkout.setup("core")
    assert len(checkout.calls()) == 1


def test_a_python_without_ensurepip_gets_its_package_when_that_is_allowed(checkout: Checkout) -> None:
    checkout.add_user(0)
    python = checkout.add_python(lacks="ensurepip")
    repair = f"""sed -i 's/import ensurepip/import nothing/' "{python}"; exit 0"""
    checkout.add_command("apt-get", f'PATH="$PATH:/usr/bin:/bin"; {repair}')
    assert checkout.setup("core").returncode == 0
    assert [call for call in checkout.calls() if call.startswith("apt-get") and call.endswith("-venv")]


def test_a_python_without_ensurepip_lends_its_own_pip(checkout: Checkout) -> None:
    checkout.add_python(lacks="ensurepip")
    result = checkout.setup("core")
    assert result.returncode == 0, result.stdout
    assert "-venv is missing; borrowing the pip of " in result.stdout
    borrowed = next(call for call in checkout.calls() if call.startswith("pip --python .venv/bin/python install "))
    assert borrowed.endswith("--require-hashes --requirement requirements/pip.txt")


def test_a_python_without_ensurepip_and_pip_needs_a_command_that_is_printed(checkout: Checkout) -> None:
    checkout.add_python(lacks="ensurepip", pip="exit 1")
    result = checkout.setup("core")
    assert result.returncode == 1
    assert "as root: apt-get update && apt-get install -y --no-install-recommends python3" in result.stdout
    assert "-venv\nsetup: could not create .venv\n" in result.stdout


def test_the_interpreter_can_be_named(checkout: Checkout) -> None:
    named = checkout.add_python("my own python")
    (named.parent / "python3").unlink()
    assert checkout.setup("core", PYTHON=str(named)).returncode == 0


def test_a_machine_without_a_recent_python_is_told_so(checkout: Checkout) -> None:
    checkout.add_command("python3", "exit 1")
    result = checkout.setup("core")
    assert result.returncode == 1
    assert "setup: found no Python 3.11 or newer; install one, or name it: PYTHON=" in result.stdout
    assert not (checkout.root / ".venv").exists()


def test_a_named_interpreter_that_is_too_old_is_refused_by_its_name(checkout: Checkout) -> None:
    checkout.add_command("python3.9", "exit 1")
    result = checkout.setup("core", PYTHON="python3.9")
    assert (result.returncode, result.stdout) == (1, "setup: PYTHON=python3.9 is not a Python 3.11 or newer\n")


def test_an_unknown_argument_is_answered_with_the_usage(checkout: Checkout) -> None:
    result = checkout.setup("everything")
    assert (result.returncode, result.stdout) == (2, "usage: scripts/setup [--plan] [core|dev]\n")


def test_packages_are_installed_by_their_hashes_and_run_nothing() -> None:
    *setups, studio = ((ROOT / "scripts" / name).read_text() for name in ("setup", "environment", "install", "studio"))
    for line in "\n".join(setups).splitlines():
        if "--requirement " in line:
            assert "--require-hashes" in line
    assert "npm ci --ignore-scripts" in studio
    assert "npm install" not in studio


def test_the_service_and_the_tests_use_the_versions_that_run() -> None:
    def pins(name: str) -> dict[str, str]:
        return dict(re.findall(r"^([a-z0-9-]+)\S*?==(\S+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE))

    core, service, dev = pins("core.txt"), pins("service.txt"), pins("dev.txt")
    assert core.items() <= service.items() <= dev.items()
