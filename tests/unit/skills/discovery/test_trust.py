"""Trust: the skills of a project count once the user has said so, and never before."""

import json
import os
import stat
import threading
from pathlib import Path

import pytest

from skills_runtime.errors import NotFound, StorageFailed
from skills_runtime.skills import SkillError
from skills_runtime.skills.discovery import TrustedPaths, TrustStore, find_project_root
from skills_runtime.skills.discovery.trust import FILE
from skills_runtime.skills.problems import Problem
from tests.unit.skills.discovery.homes import User, codes, mentions, put


@pytest.fixture
def user(tmp_path: Path) -> User:
    user = User(tmp_path)
    put(user.project / ".agents/skills", "theirs")
    put(user.home / ".agents/skills", "mine")
    return user


def store_of(user: User) -> TrustStore:
    return TrustStore(user.discovery_paths().state)


def test_the_skills_of_a_project_do_not_count_before_it_is_trusted(user: User) -> None:
    library = user.library()
    assert mentions(library) == ["$[user].mine"]
    (problem,) = library.problems()
    assert (problem.code, problem.severity) == ("SKILL_FOLDER_UNTRUSTED", "warning")
    assert problem.details["directories"] == [str(user.project / ".agents/skills")]
    with pytest.raises(SkillError) as caught:
        library.find_by_name("theirs")
    assert "skills trust" in caught.value.hint


def test_a_trusted_project_has_its_skills_until_it_is_forgotten(user: User) -> None:
    assert store_of(user).trust(user.project) is True
    assert store_of(user).trust(user.project) is False
    assert mentions(user.library()) == ["$[project].theirs", "$[user].mine"]
    assert store_of(user).forget(user.project) is True
    assert store_of(user).forget(user.project) is False
    assert mentions(user.library()) == ["$[user].mine"]


def test_a_repository_inside_a_trusted_one_is_not_trusted(user: User) -> None:
    user.trust()
    (user.project / "vendored/.git").mkdir(parents=True)
    put(user.project / "vendored/.agents/skills", "foreign")
    library = user.library("vendored")
    assert mentions(library) == ["$[user].mine"]
    assert codes(library) == [("SKILL_FOLDER_UNTRUSTED", "")]


def test_what_is_trusted_is_the_real_directory(user: User, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(user.project)
    store_of(user).trust(tmp_path / "link")
    assert store_of(user).read() == TrustedPaths(frozenset({str(user.project)}))


def test_a_repository_of_another_user_above_the_project_does_not_count(user: User, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    (tmp_path / "shared/work").mkdir(parents=True)
    (tmp_path / "shared/.git").mkdir()
    assert find_project_root(tmp_path / "shared/work") == tmp_path / "shared"
    os.chown(tmp_path / "shared", 65534, 65534)
    assert find_project_root(tmp_path / "shared/work") == tmp_path / "shared/work"


def test_only_the_user_can_write_the_list(user: User) -> None:
    user.trust()
    file = user.discovery_paths().state / FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text()) == {"version": 1, "folders": [str(user.project)]}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 2, "folders": []}', '{"version": 1, "folders": ["."]}', "[" * 100_000]
)
def test_a_list_that_cannot_be_read_trusts_nothing_and_is_not_overwritten(user: User, text: str) -> None:
    user.trust()
    file = user.discovery_paths().state / FILE
    file.write_text(text)
    library = user.library()
    assert mentions(library) == ["$[user].mine"]
    assert codes(library)[0] == ("SKILL_TRUST_UNREADABLE", "")
    with pytest.raises(StorageFailed):
        store_of(user).trust(user.project)
    assert file.read_text() == text


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_list_that_others_may_write_to_trusts_nothing(user: User, mode: int) -> None:
    user.trust()
    (user.discovery_paths().state / FILE).chmod(mode)
    assert isinstance(store_of(user).read(), Problem)


def test_a_link_in_the_place_of_the_list_trusts_nothing(user: User, tmp_path: Path) -> None:
    user.trust()
    file = user.discovery_paths().state / FILE
    file.rename(tmp_path / "list")
    file.symlink_to(tmp_path / "list")
    assert isinstance(store_of(user).read(), Problem)


def test_what_is_not_a_directory_cannot_be_trusted(user: User) -> None:
    with pytest.raises(NotFound):
        store_of(user).trust(user.project / "nothing")
    assert store_of(user).read() == TrustedPaths()


def test_two_concurrent_trusts_are_both_recorded(user: User, tmp_path: Path) -> None:
    folders = [tmp_path / f"folder-{number}" for number in range(20)]
    for folder in folders:
        folder.mkdir()
    threads = [threading.Thread(target=store_of(user).trust, args=(folder,)) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store_of(user).read() == TrustedPaths(frozenset(map(str, folders)))


def test_a_project_cannot_switch_on_what_its_user_switched_off(user: User) -> None:
    from skills_runtime.config import resolve

    (user.home / ".config/skills_runtime").mkdir(parents=True)
    own = "skills: {discovery: {other_clients: false, max_depth: 3}}\n"
    (user.home / ".config/skills_runtime/config.yaml").write_text(own)
    (user.project / "config").mkdir()
    asked = "skills: {discovery: {other_clients: true, packages: true, user: false, max_depth: 9, directory: /tmp}}\n"
    (user.project / "config/runtime.yaml").write_text(asked)
    discovery = resolve(user.project, environ={"HOME": str(user.home)}).settings.skills.discovery
    assert (discovery.other_clients, discovery.packages, discovery.user) == (False, False, False)
    assert (discovery.max_depth, discovery.directory) == (3, user.project / ".skills_runtime_sdk/skills")
