"""Settings that are wrong: which one, where, and what it should be."""

from typing import TYPE_CHECKING, Any

import pytest

from skills_runtime.config import Defaults
from skills_runtime.errors import ConfigError

if TYPE_CHECKING:
    from conftest import ConfigDirs


@pytest.mark.parametrize(
    ("text", "key", "nearest"),
    [
        ("safety: {mod: ask}", "safety.mod", "safety.mode"),
        ("saftey: {mode: ask}", "saftey", "safety"),
        ("max_steps: 3", "max_steps", "run.max_steps"),
        ("llm: {max_retires: 3}", "llm.max_retires", "llm.retry.max_retries"),
        ("sandbox: {os: {bubblewrap: {unshare_nett: true}}}", "sandbox.os.bubblewrap.unshare_nett",
         "sandbox.os.bubblewrap.unshare_net"),
        ("skills: {spaces: [{id: a, namespace: b, enable: true}]}", "skills.spaces[0].enable",
         "skills.spaces[0].enabled"),
        ("deliverables: {required: [{path: a.md, mediatype: x}]}", "deliverables.required[0].mediatype",
         "deliverables.required[0].media_type"),
    ],
)  # fmt: skip
def test_an_unknown_key_is_refused_with_the_nearest_name(
    config_dirs: "ConfigDirs", text: str, key: str, nearest: str
) -> None:
    path = config_dirs.write("kgent.yaml", text)
    place = f"in `{path}` (line 1, column {text.index(key.rpartition('.')[2]) + 1})"
    assert config_dirs.problems() == [f"`{key}` {place} is not a setting; did you mean `{nearest}`?"]


def test_an_unknown_key_like_no_other_is_refused_with_what_is_valid_there(config_dirs: "ConfigDirs") -> None:
    path = config_dirs.write("kgent.yaml", "models: {zzz: 1}")
    with pytest.raises(ConfigError) as caught:
        config_dirs.resolve()
    assert caught.value.message == f"`models.zzz` in `{path}` (line 1, column 10) is not a setting"
    assert caught.value.hint == "settings here are: planner, executor"


@pytest.mark.parametrize("legacy", ["account", "domain"])
def test_the_legacy_keys_of_a_space_are_refused(config_dirs: "ConfigDirs", legacy: str) -> None:
    config_dirs.write("kgent.yaml", f"skills: {{spaces: [{{id: a, namespace: b, {legacy}: c}}]}}")
    assert f"`skills.spaces[0].{legacy}` in" in config_dirs.problems()[0]


@pytest.mark.parametrize(
    ("session", "sentence"),
    [
        ({"run": {"max_steps": "many"}}, "`run.max_steps` {} must be an integer, not 'many'"),
        ({"run": {"max_steps": True}}, "`run.max_steps` {} must be an integer, not true"),
        ({"run": {"max_steps": 1.5}}, "`run.max_steps` {} must be an integer, not 1.5"),
        ({"run": {"max_steps": None}}, "`run.max_steps` {} must be an integer, not nothing"),
        ({"run": {"max_steps": 0}}, "`run.max_steps` {} must be at least 1, not 0"),
        ({"run": {"max_cost_usd": -1}}, "`run.max_cost_usd` {} must be more than 0, not -1"),
        ({"run": {"max_wall_time_sec": "1h"}}, "`run.max_wall_time_sec` {} must be an integer, not '1h'"),
        ({"run": []}, "`run` {} must be a mapping, not a list"),
        ({"run": "fast"}, "`run` {} must be a mapping, not 'fast'"),
        ({"safety": {"mode": "alow"}}, "`safety.mode` {} must be `auto`, `ask`, `allow` or `deny`, not 'alow'"),
        ({"safety": {"allowlist": "ls"}}, "`safety.allowlist` {} must be a list, not 'ls'"),
        ({"safety": {"allowlist": ["ls", 3]}}, "`safety.allowlist[1]` {} must be text, not 3"),
        ({"safety": {"allowlist": ["ls", " "]}}, "`safety.allowlist[1]` {} must not be blank"),
        ({"sandbox": {"os": {"bubblewrap": {"unshare_net": "no"}}}},
         "`sandbox.os.bubblewrap.unshare_net` {} must be `true` or `false`, not 'no'"),
        ({"llm": {"retry": {"jitter_ratio": 2}}}, "`llm.retry.jitter_ratio` {} must be at most 1, not 2"),
        ({"llm": {"retry": {"jitter_ratio": "x"}}}, "`llm.retry.jitter_ratio` {} must be a number, not 'x'"),
        ({"llm": {"retry": {"jitter_ratio": float("nan")}}}, "`llm.retry.jitter_ratio` {} must be a finite number"),
        ({"llm": {"fake": {"script": 3}}}, "`llm.fake.script` {} must be a path, not 3"),
        ({"llm": {"fake": {"script": ""}}}, "`llm.fake.script` {} must be the path of a file; use `null` for none"),
        ({"llm": {"fake": {"script": "a\0b"}}},
         "`llm.fake.script` {} must be the path of a file; use `null` for none"),
        ({"llm": {"api_key_env": 3}}, "`llm.api_key_env` {} must be text"),
        ({"models": {"planner": " "}}, "`models.planner` {} must not be blank"),
        ({"skills": {"sources": [{"type": "redis"}]}}, "`skills.sources[0].id` {} is missing"),
        ({"skills": {"sources": [{"id": "a", "type": "s3"}]}},
         "`skills.sources[0].type` {} must be `filesystem`, `in-memory`, `redis`, `pgsql` or `packages`, not 's3'"),
        ({"skills": {"sources": [{"id": "a", "type": "redis", "options": 3}]}},
         "`skills.sources[0].options` {} must be a mapping, not 3"),
        ({"skills": {"sources": [{"id": "a", "type": "redis", "options": {"n": 2**70}}]}},
         "`skills.sources[0].options.n` {} is too large a number"),
        ({"skills": {"sources": [{"id": "a", "type": "redis", "options": {"b": b"x"}}]}},
         "`skills.sources[0].options.b` {} must be plain data, not a value of type `bytes`"),
        ({"prompt": {"template": "x\udcff"}}, "`prompt.template` {} must be valid Unicode text"),
        ({"run": {"resume_strategy": "\x1b[31m"}},
         "`run.resume_strategy` {} must be `summary` or `replay`, not '\\x1b[31m'"),
        ({"\x1b[31m": 1}, "`\\x1b[31m` {} is not a setting"),
        ({"run": {"resume_strategy": "x" * 100}},
         "`run.resume_strategy` {} must be `summary` or `replay`, not '" + "x" * 40 + "…'"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_what_it_must_be(
    config_dirs: "ConfigDirs", session: dict[str, Any], sentence: str
) -> None:
    assert config_dirs.problems(session=session) == [sentence.format("of the session settings")]


@pytest.mark.parametrize(
    "url",
    ["ftp://example.com", "example.com/v1", "http://", "https://[::1", "http://a b/", "http://h:x/", "http://h\n/"],
)
def test_a_base_url_that_is_not_of_the_web_is_refused(config_dirs: "ConfigDirs", url: str) -> None:
    [problem] = config_dirs.problems(session={"llm": {"base_url": url}})
    assert problem == "`llm.base_url` of the session settings must be an `http` or `https` URL"


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "", ".", "a/", "a\0b"])
def test_a_deliverable_outside_its_directory_is_refused(config_dirs: "ConfigDirs", path: str) -> None:
    [problem] = config_dirs.problems(session={"deliverables": {"required": [path]}})
    assert problem.startswith("`deliverables.required[0].path` of the session settings must be a relative path")


def test_an_unquoted_date_in_free_options_is_refused(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "skills: {sources: [{id: a, type: redis, options: {since: 2024-01-01}}]}")
    assert config_dirs.problems()[0].endswith("must be plain data, not a value of type `date`")


def test_a_configuration_of_a_later_version_asks_for_an_upgrade(config_dirs: "ConfigDirs") -> None:
    path = config_dirs.write("kgent.yaml", "config_version: 2\nbrand_new: 1")
    with pytest.raises(ConfigError) as caught:
        config_dirs.resolve()
    assert (
        caught.value.message
        == f"`config_version: 2` in `{path}` (line 1, column 1) is newer than this program understands (1)"
    )
    assert caught.value.hint == "upgrade skills-runtime"
    assert len(caught.value.details["problems"]) == 1


@pytest.mark.parametrize("version", ["0", "one", "true", "null"])
def test_a_version_that_is_no_version_is_refused(config_dirs: "ConfigDirs", version: str) -> None:
    config_dirs.write("kgent.yaml", f"config_version: {version}")
    assert config_dirs.problems()[0].startswith("`config_version` in ")


def test_the_problems_of_all_layers_are_reported_at_once(config_dirs: "ConfigDirs") -> None:
    user = config_dirs.write_user_file("run: [")
    runtime = config_dirs.write("config/runtime.yaml", "safety: {mod: ask}\nrun: {max_steps: 0}")
    config_dirs.variables["SKILLS_RUNTIME_SDK_LLM_BACKEND"] = "magic"
    starts = [
        f"`{user}` is not usable YAML (line 2, column",
        f"`run.max_steps` in `{runtime}` (line 2, column 7) must be at least 1",
        f"`safety.mod` in `{runtime}` (line 1, column 10) is not a setting",
        "`llm.backend` of the variable `SKILLS_RUNTIME_SDK_LLM_BACKEND` must be `openai`, `fake` or `replay`",
        "`models.planner` of the session settings must be text",
    ]
    problems = config_dirs.problems(session={"models": {"planner": 1}})
    assert [problem[: len(start)] for problem, start in zip(problems, starts, strict=True)] == starts


def test_a_problem_in_a_list_names_the_line_of_the_entry(config_dirs: "ConfigDirs") -> None:
    path = config_dirs.write("kgent.yaml", "# mine\nsafety:\n  denylist:\n    - rm\n    - 7\n")
    [problem] = config_dirs.problems()
    assert problem == f"`safety.denylist[1]` in `{path}` (line 5, column 7) must be text, not 7"


def test_a_value_from_a_merged_mapping_has_no_line_of_its_own(config_dirs: "ConfigDirs") -> None:
    path = config_dirs.write("kgent.yaml", "llm: &base {timeout_sec: soon}\nmodels:\n  <<: *base\n")
    problems = config_dirs.problems()
    assert problems[0].startswith(f"`llm.timeout_sec` in `{path}` (line 1, column 13) must be")
    assert problems[1].startswith(f"`models.timeout_sec` in `{path}` is not a setting")


def test_a_path_out_of_the_workspace_names_its_line(config_dirs: "ConfigDirs") -> None:
    path = config_dirs.write("kgent.yaml", "llm:\n  fake:\n    script: ../x.yaml\n")
    assert config_dirs.problems() == [f"`llm.fake.script` in `{path}` (line 3, column 5) leads out of the workspace"]


def test_a_wrong_value_comes_with_what_the_setting_means(config_dirs: "ConfigDirs") -> None:
    with pytest.raises(ConfigError) as caught:
        config_dirs.resolve(session={"safety": {"allowlist": [3]}})
    assert caught.value.hint == "correct it; it means: Command prefixes that are allowed without approval."


def test_the_problems_of_a_programs_defaults_name_the_program(config_dirs: "ConfigDirs") -> None:
    with pytest.raises(ConfigError, match=r"`run\.max_step` of `program:kgent` is not a setting"):
        config_dirs.resolve(defaults=Defaults("program:kgent", {"run": {"max_step": 1}}))
