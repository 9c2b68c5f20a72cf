"""Merging settings: laws that hold for every stack of layers."""

import tempfile
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from skills_runtime.config import Settings, resolve, snapshot
from skills_runtime.config.environment import Trust
from skills_runtime.config.merge import (
    PRESETS,
    ConfigSource,
    deep_merge,
    get_value,
    is_guarded,
    merge_with_profile,
    nest_value,
)
from skills_runtime.config.models import ServiceLimits, iterate_keys
from skills_runtime.config.problems import Location
from skills_runtime.config.resolution import build_defaults, validate_source
from skills_runtime.config.secrets import is_key_shaped
from skills_runtime.errors import SkillsRuntimeError
from tests.support.examples import examples

ROOT = Path("/w")
quick = settings(deadline=None, max_examples=examples(60))

words = st.sampled_from(["ls", "cat", "rm", "dd", "git status"])
word_lists = st.lists(words, max_size=4)
host_lists = st.lists(st.sampled_from(["a.test", "*.b.test", "c.test:8443"]), max_size=3)
GUARDED: Mapping[str, st.SearchStrategy[Any]] = {
    "safety.mode": st.sampled_from(["allow", "auto", "ask", "deny"]),
    "safety.allowlist": word_lists,
    "safety.denylist": word_lists,
    "safety.tool_allowlist": word_lists,
    "safety.tool_denylist": word_lists,
    "safety.rule_files": st.lists(st.sampled_from(["/a.yaml", "rules.yaml"]), max_size=2),
    "safety.approval_timeout_ms": st.integers(1, 200_000),
    "safety.approval_expires_sec": st.integers(1, 2_000_000),
    "safety.skill_tools": st.sampled_from(["preapprove", "ignore", "enforce"]),
    "sandbox.profile": st.sampled_from(["dev", "balanced", "prod"]),
    "sandbox.default_policy": st.sampled_from(["none", "restricted"]),
    "sandbox.os.mode": st.sampled_from(["auto", "none", "seatbelt", "bubblewrap"]),
    "sandbox.os.seatbelt.profile": st.sampled_from(["(mine)", "(theirs)"]),
    "sandbox.os.bubblewrap.bwrap_path": st.sampled_from(["/usr/bin/bwrap", "./evil"]),
    "sandbox.os.bubblewrap.unshare_net": st.booleans(),
    "sandbox.workspace": st.sampled_from(["shared", "isolated"]),
    "sandbox.delete": st.sampled_from(["disabled", "allow"]),
    "sandbox.allow_home": st.booleans(),
    "sandbox.egress.allow": host_lists,
    "sandbox.egress.allow_private": host_lists,
    "sandbox.egress.deny": host_lists,
    "sandbox.egress.unknown": st.sampled_from(["ask", "deny"]),
    "service.host": st.sampled_from(["127.0.0.1", "0.0.0.0", "::1"]),
    "service.allowed_hosts": st.lists(st.sampled_from(["a.test", ".b.test", "*", "c.test:8443"]), max_size=3),
    "service.skill_service": st.sampled_from(["open", "user", "closed"]),
    "service.skills_dir": st.none() | st.sampled_from(["/skills", "skills"]),
    "service.artifacts_dir": st.none() | st.sampled_from(["/artifacts", "artifacts"]),
    "service.default_timeout_ms": st.integers(1, 20_000),
    "service.max_timeout_ms": st.integers(1, 1_000_000),
    "service.grace_seconds": st.floats(0, 90),
    "service.limits.body_bytes": st.integers(1024, 9_000_000),
    "service.limits.body_seconds": st.floats(0.1, 90),
    "service.limits.requests_per_second": st.floats(0.1, 900),
    "service.limits.burst": st.integers(1, 9000),
    "service.limits.failures_per_minute": st.integers(1, 90),
    "service.limits.concurrent": st.integers(1, 90),
    "service.limits.waiting": st.integers(0, 90),
    "service.executions.keep_days": st.none() | st.floats(0.01, 400),
    "service.executions.keep_bytes": st.none() | st.integers(1, 9_000_000),
}
OTHERS: Mapping[str, st.SearchStrategy[Any]] = {
    "run.max_steps": st.integers(1, 99),
    "run.human_timeout_ms": st.none() | st.integers(1, 99),
    "models.planner": words,
    "llm.fake.script": st.none() | st.sampled_from(["a.json", "b/c.json"]),
    "skills.sources": st.lists(st.fixed_dictionaries({"id": words, "type": st.just("redis")}), max_size=2),
    "deliverables.required": st.lists(st.sampled_from(["a.md", "b/c.md"]), max_size=2),
}


def trees(fields: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    chosen = st.fixed_dictionaries({}, optional=dict(fields))
    return chosen.map(lambda flat: reduce(deep_merge, (nest_value(key, value) for key, value in flat.items()), {}))


def layer(data: dict[str, Any], trust: Trust) -> ConfigSource:
    good, problems = validate_source(
        ConfigSource(data=data, label=f"yaml:{trust}", location=Location("here"), trust=trust, base=ROOT), {}, ROOT
    )
    assert problems == []
    return good


trusts: st.SearchStrategy[Trust] = st.sampled_from(["user", "project"])
layers = st.builds(layer, trees({**GUARDED, **OTHERS}), trusts)
stacks = st.lists(layers, max_size=5)


@quick
@given(trees(OTHERS), trees(OTHERS), trees(OTHERS))
def test_merging_is_associative(a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]) -> None:
    assert deep_merge(deep_merge(a, b), c) == deep_merge(a, deep_merge(b, c))


@quick
@given(trees(OTHERS), trees(OTHERS))
def test_the_right_side_wins_and_nothing_else_changes(a: dict[str, Any], b: dict[str, Any]) -> None:
    merged = deep_merge(a, b)
    for key in OTHERS:
        expected = _find(b, key) if _holds(b, key) else _find(a, key)
        assert _find(merged, key) == expected


@quick
@given(trees(OTHERS))
def test_the_empty_tree_changes_nothing(a: dict[str, Any]) -> None:
    assert deep_merge(a, {}) == deep_merge({}, a) == a


@quick
@given(trees(OTHERS), trees(OTHERS))
def test_merging_leaves_both_sides_as_they_were(a: dict[str, Any], b: dict[str, Any]) -> None:
    before = repr((a, b))
    deep_merge(a, b)
    assert repr((a, b)) == before


def _holds(tree: Mapping[str, Any], key: str) -> bool:
    try:
        get_value(tree, key)
    except KeyError:
        return False
    return True


def _find(tree: Mapping[str, Any], key: str) -> Any:
    return get_value(tree, key) if _holds(tree, key) else "nothing"


@quick
@given(stacks)
def test_every_stack_gives_valid_settings_with_a_source_for_exactly_every_leaf(stack: list[ConfigSource]) -> None:
    merged = merge_with_profile(build_defaults(ROOT), stack)
    assert list(merged.sources) == list(iterate_keys(Settings))
    Settings.model_validate(merged.data)


def _rank(*loosest_first: object) -> Callable[[Any, Any], bool]:
    return lambda result, baseline: loosest_first.index(result) >= loosest_first.index(baseline)


def _same_or_closed_by_production(result: str, baseline: str) -> bool:
    production = get_value(PRESETS["prod"], "sandbox.os.seatbelt.profile")
    return result == baseline or (result == production and baseline == Settings().sandbox.os.seatbelt.profile)


NOT_LOOSER: Mapping[str, Callable[[Any, Any], bool]] = {
    "safety.mode": _rank("allow", "auto", "ask", "deny"),
    "safety.allowlist": lambda result, baseline: set(result) <= set(baseline),
    "safety.denylist": lambda result, baseline: set(result) >= set(baseline),
    "safety.tool_allowlist": lambda result, baseline: set(result) <= set(baseline),
    "safety.tool_denylist": lambda result, baseline: set(result) >= set(baseline),
    "safety.rule_files": lambda result, baseline: result == baseline,
    "safety.approval_timeout_ms": lambda result, baseline: result <= baseline,
    "safety.approval_expires_sec": lambda result, baseline: result <= baseline,
    "safety.skill_tools": _rank("preapprove", "ignore", "enforce"),
    "sandbox.profile": _rank("dev", "balanced", "prod"),
    "sandbox.default_policy": _rank("none", "restricted"),
    "sandbox.os.mode": lambda result, baseline: (
        result == baseline or (baseline in ("none", "auto") and result != "none")
    ),
    "sandbox.os.seatbelt.profile": _same_or_closed_by_production,
    "sandbox.os.bubblewrap.bwrap_path": lambda result, baseline: result == baseline,
    "sandbox.os.bubblewrap.unshare_net": lambda result, baseline: result >= baseline,
    "sandbox.workspace": _rank("shared", "isolated"),
    "sandbox.delete": _rank("allow", "disabled"),
    "sandbox.allow_home": lambda result, baseline: result == baseline,
    "sandbox.egress.allow": lambda result, baseline: set(result) <= set(baseline),
    "sandbox.egress.allow_private": lambda result, baseline: set(result) <= set(baseline),
    "sandbox.egress.deny": lambda result, baseline: set(result) >= set(baseline),
    "sandbox.egress.unknown": _rank("ask", "deny"),
    "service.allowed_hosts": lambda result, baseline: set(result) <= set(baseline),
    "service.skill_service": _rank("open", "user", "closed"),
    **{
        f"service.{name}": lambda result, baseline: result == baseline
        for name in (
            "host",
            "skills_dir",
            "artifacts_dir",
            "grace_seconds",
            "executions.keep_days",
            "executions.keep_bytes",
        )
    },
    **{
        f"service.{name}": lambda result, baseline: result <= baseline
        for name in (
            "default_timeout_ms",
            "max_timeout_ms",
            *(f"limits.{limit}" for limit in ServiceLimits.model_fields),
        )
    },
}


def test_every_guarded_field_takes_part_in_these_laws() -> None:
    guarded = {key for key in iterate_keys(Settings) if is_guarded(key) and not key.startswith("skills.")}
    assert set(NOT_LOOSER) == set(GUARDED) == guarded


@settings(deadline=None, max_examples=examples(150))
@given(st.lists(st.builds(layer, trees(GUARDED), trusts), max_size=6))
def test_no_project_layer_ever_loosens_a_guarded_field(stack: list[ConfigSource]) -> None:
    result = merge_with_profile(build_defaults(ROOT), stack).data
    baseline = merge_with_profile(build_defaults(ROOT), [each for each in stack if each.trust == "user"]).data
    looser = [key for key, holds in NOT_LOOSER.items() if not holds(get_value(result, key), get_value(baseline, key))]
    assert looser == []


@quick
@given(st.lists(st.builds(layer, trees(GUARDED), st.just("project")), max_size=4))
def test_the_order_of_project_layers_does_not_matter_for_what_is_allowed(stack: list[ConfigSource]) -> None:
    forth = merge_with_profile(build_defaults(ROOT), stack).data
    back = merge_with_profile(build_defaults(ROOT), stack[::-1]).data
    for key in ("safety.mode", "safety.approval_timeout_ms", "sandbox.profile", "sandbox.workspace", "sandbox.delete"):
        assert get_value(forth, key) == get_value(back, key)
    assert set(get_value(forth, "safety.denylist")) == set(get_value(back, "safety.denylist"))


@quick
@given(st.text(st.characters(codec="utf-8"), max_size=80), trees(OTHERS))
def test_a_snapshot_reads_back_as_the_same_data(text: str, tree: dict[str, Any]) -> None:
    assume(not is_key_shaped(text))
    whole = Settings.model_validate({**tree, "prompt": {"system_text": text}})
    assert yaml.safe_load(snapshot(whole)) == whole.model_dump(mode="json")


plain_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=5) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
fields = st.sampled_from(
    list(iterate_keys(Settings)) + sorted({key.rpartition(".")[0] or "run" for key in iterate_keys(Settings)})
)


def _refusal(root: str, session: Mapping[str, Any] | None = None) -> str:
    """What resolving says when it refuses; anything but our own errors is a failure of the test."""
    try:
        snapshot(resolve(root, session_settings=session, environ={"HOME": root}).settings)
    except SkillsRuntimeError as error:
        return f"{error.message}{error.hint}"
    return ""


@settings(deadline=None, max_examples=examples(200))
@given(fields, plain_data)
def test_any_value_anywhere_is_taken_or_refused_in_words(key: str, value: Any) -> None:
    with tempfile.TemporaryDirectory() as root:
        assert _refusal(root, nest_value(key, value)).isprintable()


yaml_like = st.text(st.sampled_from("runsafetymode:{}[],&*!|>-?'\"#%@` \n\t01.~<"), max_size=60).map(str.encode)


@settings(deadline=None, max_examples=examples(200))
@given(st.binary(max_size=60) | yaml_like)
def test_any_file_is_taken_or_refused_in_words(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as root:
        (Path(root) / "kgent.yaml").write_bytes(content)
        assert _refusal(root).isprintable()
