"""The checks of the doctor: from facts to a mark, a sentence and the next command."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.config import Resolved, resolve
from skills_runtime.engine import Check, Diagnosis, diagnose
from skills_runtime.engine.doctor import (
    check_address,
    check_commands,
    check_disk,
    check_key,
    check_model,
    check_offline_model,
    check_sandbox,
    check_skills,
    check_state,
    check_studio,
    check_workspace,
    diagnose_model,
    diagnose_sandbox,
    diagnose_state,
    find_write_problem,
)
from skills_runtime.errors import ModelError
from skills_runtime.llm import EndpointProbe
from skills_runtime.sandbox import Capabilities, Gap
from skills_runtime.skills import SkillList
from skills_runtime.skills.reports import ListedSkill
from tests.support import model_server
from tests.support.model_lists import lists_models, names
from tests.support.model_server import refuses, says
from tests.support.users import Unprivileged

KEY = "sk-very-secret-key"


def brief(check: Check) -> tuple[str, str]:
    return check.status, check.fix


def test_commands_that_no_shell_finds_come_with_the_path_to_export(tmp_path: Path) -> None:
    links = tmp_path / ".local/bin"
    links.mkdir(parents=True)
    for name in ("skills-runtime", "skills-runtime-sdk", "kgent"):
        (links / name).write_text("#!/bin/sh\n")
        (links / name).chmod(0o755)
    hidden = check_commands({"PATH": "/nowhere", "HOME": str(tmp_path)})
    assert brief(hidden) == ("warning", f'export PATH={links}:"$PATH"')
    assert check_commands({"PATH": str(links), "HOME": str(tmp_path)}).status == "ok"


@pytest.mark.parametrize(
    ("origin", "problem", "status", "fact"),
    [
        (None, "no key", "failed", "`MY_KEY` is not set"),
        ("process", "`MY_KEY` does not contain a valid key", "failed", "`MY_KEY` does not contain a valid key"),
        ("process", "", "ok", "`MY_KEY`, from the environment"),
        ("dotenv", "", "ok", "`MY_KEY`, from `.env`"),
        ("stored", "", "ok", "`MY_KEY`, stored for this address"),
        (None, "", "ok", "`MY_KEY` is not set, and this address needs no key"),
    ],
)
def test_a_key_is_named_by_variable_and_origin(origin: str | None, problem: str, status: str, fact: str) -> None:
    check = check_key("MY_KEY", origin, problem)
    assert (check.status, check.fact) == (status, fact)
    assert check.fix == ("skills-runtime init" if status == "failed" else "")


@pytest.mark.parametrize(
    ("url", "fix"),
    [
        ("http://localhost:11434/v1", "start the server, or: skills-runtime init"),
        ("http://127.0.0.1:1/v1", "start the server, or: skills-runtime init"),
        ("https://api.example.com/v1", "check network and proxy, or: skills-runtime init"),
    ],
)
def test_a_dead_address_is_named_with_its_origin(url: str, fix: str) -> None:
    check = check_address(url, "the variable X", EndpointProbe(problem="Connection refused"))
    assert check.fact == f"could not reach {url} (llm.base_url from the variable X): Connection refused"
    assert brief(check) == ("failed", fix)


def test_any_answer_means_that_the_address_is_reachable() -> None:
    assert check_address("http://a/v1", "the defaults", EndpointProbe(status=404)).status == "ok"


def test_a_model_that_is_not_there_comes_with_similar_ones() -> None:
    probe = EndpointProbe(status=200, models=("qwen3:8b", "llama3.2", "other"))
    check = check_model("qwen3", probe, ModelError("`qwen3` does not work: it does not exist"))
    assert brief(check) == ("failed", "skills-runtime init")
    assert check.fact == "`qwen3` does not work: it does not exist"
    assert check.details == ("it has qwen3:8b",)


def test_an_offline_model_works_but_is_no_model() -> None:
    assert brief(check_offline_model("fake", "")) == ("warning", "skills-runtime init")
    assert check_offline_model("fake", "needs a script").status == "failed"


def test_without_an_adapter_the_fix_is_its_installation() -> None:
    broken = [
        Capabilities(adapter="bubblewrap", works=False, problem="it is not installed", fix="apt install bubblewrap"),
        Capabilities(adapter="landlock", works=False, problem="the kernel is too old"),
    ]
    check = check_sandbox(broken, (), is_ready=False)
    assert brief(check) == ("failed", "apt install bubblewrap")
    assert check.details == ("landlock: the kernel is too old",)


def test_a_sandbox_that_keeps_too_little_is_a_failure() -> None:
    gap = Gap(promise="network", text="the network is open", fix="use bubblewrap")
    works = [Capabilities(adapter="landlock", works=True, version="4")]
    assert check_sandbox(works, (gap,), is_ready=True).status == "ok"
    check = check_sandbox(works, (gap,), is_ready=False)
    assert brief(check) == ("failed", "skills-runtime sandbox doctor")
    assert check.details == ("network: the network is open; use bubblewrap",)


@pytest.mark.parametrize(
    ("settings", "status", "fix"),
    [
        ({"default_policy": "none"}, "warning", "skills-runtime config set sandbox.default_policy restricted"),
        ({"os": {"mode": "none"}}, "failed", "skills-runtime config set sandbox.os.mode auto"),
    ],
)
def test_a_sandbox_that_is_switched_off_says_how_to_switch_it_on(
    tmp_path: Path, settings: dict[str, Any], status: str, fix: str
) -> None:
    check = diagnose_sandbox(resolve(tmp_path, session_settings={"sandbox": settings}))
    assert brief(check) == (status, fix)


def listed(*states: str) -> SkillList:
    skills = tuple(ListedSkill(name="x", state=state, path="/w/x") for state in states)  # pyright: ignore[reportArgumentType]
    return SkillList(project="/w", trusted=None, skills=skills, problems=())


@pytest.mark.parametrize(
    ("states", "fact", "status", "fix"),
    [
        ((), "0 found, 1 built in", "ok", ""),
        (("offered",), "1 found, 1 built in", "ok", ""),
        (("offered", "untrusted"), "2 found, 1 built in, 1 not trusted", "warning", "skills-runtime skills trust"),
        (("broken",), "1 found, 1 built in, 1 broken", "warning", "skills-runtime skills list"),
    ],
)
def test_skills_are_counted(tmp_path: Path, states: tuple[str, ...], fact: str, status: str, fix: str) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one/SKILL.md").touch()
    check = check_skills(listed(*states), tmp_path)
    assert (check.fact, *brief(check)) == (fact, status, fix)


def test_missing_built_in_skills_are_a_warning(tmp_path: Path) -> None:
    assert check_skills(listed(), tmp_path / "none").status == "warning"


@pytest.mark.parametrize(("free", "status"), [(1 << 40, "ok"), (500 << 20, "warning"), (1 << 20, "failed")])
def test_the_fullest_disk_counts(free: int, status: str) -> None:
    check = check_disk({Path("/a"): 1 << 40, Path("/b"): free})
    assert check.status == status
    assert bool(check.fix) is (status != "ok")


def test_studio_is_built_or_says_how(tmp_path: Path) -> None:
    directory = tmp_path / "src/skills_runtime/studio_dist"
    directory.mkdir(parents=True)
    assert brief(check_studio(directory)) == ("warning", "install a wheel with Studio")
    (tmp_path / "studio").mkdir()
    (tmp_path / "studio/package.json").touch()
    assert brief(check_studio(directory)) == ("warning", f"make -C {tmp_path} studio")
    (directory / "index.html").touch()
    assert check_studio(directory).status == "ok"


def test_a_directory_that_does_not_exist_yet_can_be_created_and_is_not(tmp_path: Path) -> None:
    assert find_write_problem(tmp_path / "a/b/c") == ""
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_a_directory_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert find_write_problem(tmp_path / "file/state") == "Not a directory"


def test_a_directory_that_an_ordinary_user_may_not_write_is_a_problem(unprivileged: Unprivileged) -> None:
    closed = unprivileged.path / "closed"
    closed.mkdir(mode=0o555)
    assert unprivileged(lambda: find_write_problem(closed / "state")) == "Permission denied"


def test_a_file_system_that_takes_nothing_is_a_problem() -> None:
    assert find_write_problem(Path("/proc/state"))


def test_state_that_cannot_be_written_fails_and_configuration_only_warns() -> None:
    assert check_state(Path("/s"), "No space left on device", Path("/c"), "").status == "failed"
    assert check_state(Path("/s"), "", Path("/c"), "Read-only file system").status == "warning"
    assert check_workspace(Path("/w"), "Read-only file system", is_folder_trusted=True).status == "failed"


def test_a_damaged_ledger_is_reported_with_its_hint(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (state / "ledger.db").write_bytes(b"this is no database, but long enough to be read as one" * 40)
    check = diagnose_state(state, tmp_path)
    assert check.status == "failed"
    assert "ledger rebuild" in check.fix


# The model, over real HTTP


def resolved_for(tmp_path: Path, base_url: str, **models: str) -> Resolved:
    return resolve(
        tmp_path,
        session_settings={"llm": {"base_url": base_url, "api_key_env": "MY_KEY"}, "models": models},
        environ={**os.environ, "MY_KEY": KEY},
    )


def test_a_listed_model_is_not_asked_anything(tmp_path: Path) -> None:
    with lists_models(names("a", "b")) as service:
        checks = diagnose_model(resolved_for(tmp_path, service.base_url, planner="a", executor="b"))
    assert [(check.name, check.status) for check in checks] == [
        ("key", "ok"), ("address", "ok"), ("model", "ok"), ("model", "ok"),
    ]  # fmt: skip
    assert len(service.requests) == 1


def test_a_model_that_is_not_listed_but_answers_works(tmp_path: Path) -> None:
    with model_server.start([says("OK")]) as server:
        checks = diagnose_model(resolved_for(tmp_path, server.base_url, planner="m", executor="m"))
    assert [check.status for check in checks] == ["ok", "ok", "ok"]
    assert checks[-1].fact == "m is answering"


def test_a_model_that_does_not_exist_fails_with_the_names_that_do(tmp_path: Path) -> None:
    with lists_models(names("gpt-small", "other")) as service:
        *_, check = diagnose_model(resolved_for(tmp_path, service.base_url, planner="gpt-smal", executor="gpt-smal"))
    assert (check.status, check.details) == ("failed", ("it has gpt-small",))
    assert "does not have this model" in check.fact


def test_a_wrong_key_fails_and_is_never_shown(tmp_path: Path) -> None:
    with model_server.start([refuses(401, f"wrong key {KEY}")]) as server:
        checks = diagnose_model(resolved_for(tmp_path, server.base_url, planner="m", executor="m"))
    assert checks[-1].status == "failed"
    assert "refused the key in `MY_KEY`" in checks[-1].fact
    assert KEY not in msgspec.json.encode(checks).decode()


def test_without_a_key_nothing_is_sent_and_a_local_model_is_tested(tmp_path: Path) -> None:
    with lists_models(names("a")) as service:
        settings = {"llm": {"base_url": service.base_url, "api_key_env": "NO_SUCH_KEY"}, "model": "a"}
        checks = diagnose_model(resolve(tmp_path, session_settings=settings))
    assert [(check.name, check.status) for check in checks] == [("key", "ok"), ("address", "ok"), ("model", "ok")]
    assert checks[0].fact == "`NO_SUCH_KEY` is not set, and this address needs no key"
    assert service.requests == [("/v1/models", "")]


@pytest.mark.parametrize(
    "settings", [{}, {"llm": {"provider": "deepseek"}}, {"llm": {"base_url": "https://a.invalid"}}]
)
def test_a_provider_that_needs_a_key_fails_without_one(tmp_path: Path, settings: dict[str, Any]) -> None:
    key, *_, address = diagnose_model(resolve(tmp_path, session_settings=settings))
    variable = "DEEPSEEK_API_KEY" if "provider" in settings.get("llm", {}) else "OPENAI_API_KEY"
    assert (key.name, key.status, key.fact) == ("key", "failed", f"`{variable}` is not set")
    assert brief(key) == ("failed", "skills-runtime init")
    assert address.name == "address"


def test_an_address_that_only_the_project_chose_is_not_contacted(tmp_path: Path) -> None:
    with lists_models(names("a")) as service:
        (tmp_path / "kgent.yaml").write_text(f"llm: {{base_url: '{service.base_url}', api_key_env: MY_KEY}}\n")
        [check] = diagnose_model(resolve(tmp_path, environ={**os.environ, "MY_KEY": KEY}))
    assert brief(check) == ("failed", f"skills-runtime config confirm {service.base_url} MY_KEY")
    assert service.requests == []


# All together


def test_invalid_settings_are_one_failed_check_with_every_problem(tmp_path: Path) -> None:
    (tmp_path / "kgent.yaml").write_text("run: {max_step: 1, max_tokens: many}\n")
    diagnosis = diagnose(tmp_path, lambda: resolve(tmp_path))
    [check] = [check for check in diagnosis.checks if check.name == "configuration"]
    assert check.status == "failed"
    assert len([check.fact, *check.details]) == 2
    assert not diagnosis.can_run
    assert {"state", "disk", "studio", "extras"} <= {check.name for check in diagnosis.checks}


def test_warnings_do_not_keep_a_run_from_working() -> None:
    checks = (Check(name="a", status="ok", fact=""), Check(name="b", status="warning", fact="", fix="do it"))
    assert Diagnosis(checks=checks).can_run
    assert Diagnosis(checks=checks).document["can_run"] is True
