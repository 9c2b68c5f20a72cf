"""From a workspace to its settings: layers are gathered, checked and merged, and every field keeps its source.

In order: which files take part, a layer of each place, `resolve` itself, and the settings as text.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

import yaml
from pydantic import ValidationError

from skills_runtime.config.confirmations import ModelAddress, ModelConfirmations
from skills_runtime.config.environment import (
    CONFIG_PATHS,
    VARIABLES,
    Environment,
    Trust,
    config_home,
    expand_home,
    process_environ,
    read_environment,
    state_home,
)
from skills_runtime.config.files import (
    CHOICE,
    MAX_DEPTH,
    canonical,
    current_directory,
    keys_for,
    path_exists,
    read_mapping,
    workspace,
)
from skills_runtime.config.merge import Layer, flatten, may_be_projects, nest_value, settle, value_at
from skills_runtime.config.models import Settings
from skills_runtime.config.problems import Problem, invalid_fields, refuse, rendered, too_new, unfit_values
from skills_runtime.errors import ConfigError, ValidationFailed
from skills_runtime.text import printable

PROJECT_FILES = ("config/runtime.yaml", "kgent.yaml")
"""Files of a workspace that are read when they are there."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """A file that takes part."""

    path: Path
    trust: Trust
    kind: str = "overlay"


def overlays(root: Path, environment: Environment, named: Iterable[str | os.PathLike[str]], cwd: Path) -> list[Overlay]:
    """Every file that takes part, the lowest first, each once."""
    process = environment.process
    home = config_home(process)
    of_user = (path for path in (home / "config.yaml", home / CHOICE) if path_exists(path))
    found = [Overlay(canonical(path, path.parent), "user", "user") for path in of_user]
    found += [Overlay(canonical(name, root), "project") for name in PROJECT_FILES if path_exists(root / name)]
    by_variable = (environment.get(CONFIG_PATHS) or "").replace(";", ",").split(",")
    found += [
        Overlay(canonical(expand_home(name, process), root), environment.trust(CONFIG_PATHS))
        for name in map(str.strip, by_variable)
        if name
    ]
    found += [Overlay(canonical(expand_home(path, process), cwd), "user") for path in named]
    kept: dict[Path, Overlay] = {}
    for overlay in found:
        before = kept.get(overlay.path)
        # A project that names the user's own file must not take the user's trust from it.
        if before is None or before.trust != "user" or overlay.trust != "project":
            kept.pop(overlay.path, None)
            kept[overlay.path] = overlay
    return list(kept.values())


def file_layer(overlay: Overlay) -> Layer:
    """The unchecked layer of a file."""
    shown = printable(str(overlay.path))
    return Layer(
        data=read_mapping(overlay.path),
        label=f"yaml:{overlay.kind}:{shown}",
        where=f"in `{shown}`",
        trust=overlay.trust,
        base=overlay.path.parent,
    )


def variable_layers(root: Path, environment: Environment) -> list[Layer]:
    """One unchecked layer for every variable that sets a field; an empty variable sets nothing."""
    return [
        Layer(
            data=nest_value(key, value),
            label=f"env:{name}",
            joint="",
            where=f"of the variable `{name}`",
            trust=environment.trust(name),
            base=root,
        )
        for name, key in VARIABLES.items()
        if (value := environment.get(name))
    ]


def given_layer(values: Mapping[str, Any], label: str, joint: Literal["#", ":"], where: str, base: Path) -> Layer:
    """The unchecked layer of what a caller handed over."""
    return Layer(data=_plain(values, where), label=label, joint=joint, where=where, base=base)


def _plain(value: Any, where: str, depth: int = 0) -> Any:
    """The same values in the shapes a file would have."""
    if depth > MAX_DEPTH or (depth == 0 and not isinstance(value, Mapping)):
        raise ValidationFailed(f"what was given {where} is not a mapping of settings", hint="give a nested mapping")
    if isinstance(value, Mapping):
        entries = cast(Mapping[object, Any], value).items()
        return {str(key): _plain(inner, where, depth + 1) for key, inner in entries}
    if isinstance(value, list | tuple):
        return [_plain(inner, where, depth + 1) for inner in cast(Sequence[Any], value)]
    if isinstance(value, str):
        return str.__str__(value)
    return os.fspath(cast(os.PathLike[str], value)) if isinstance(value, os.PathLike) else value


def embedded_layer(root: Path) -> Layer:
    """The defaults of the models: every field there is."""
    data = _anchored(Settings().model_dump(), root, {})
    return Layer(data=data, label="yaml:embedded_default", where="of the defaults", base=root)


def checked(layer: Layer, environ: Mapping[str, str], root: Path) -> tuple[Layer, list[Problem]]:
    """The layer with its values validated and its paths absolute, or what is wrong with it."""
    if newer := too_new(layer.data, layer.where):
        return layer, [newer]
    problems = unfit_values(layer.data, layer.where)
    try:
        settings = Settings.model_validate(layer.data)
    except ValidationError as error:
        known = {problem.path for problem in problems}
        problems += [each for each in invalid_fields(error, layer.where) if each.path not in known]
        return layer, problems
    data = _anchored(settings.model_dump(exclude_unset=True), layer.base, environ)
    if layer.trust == "project":
        problems += _paths_outside(data, layer.where, root, environ)
    return replace(layer, data=data), problems


def _paths_outside(data: Mapping[str, Any], where: str, root: Path, environ: Mapping[str, str]) -> list[Problem]:
    """A problem for every path of a project's settings that leads out of its workspace, by a link or by itself."""
    named = [(key, each) for key, value in flatten(data) if may_be_projects(key) for each in _paths_in(value)]
    named += [
        ("skills.sources", root / expand_home(source["options"]["root"], environ))
        for source in data.get("skills", {}).get("sources", ())
        if source["type"] == "filesystem" and isinstance(source["options"].get("root"), str)
    ]
    return [
        Problem(
            f"`{key}` {where} leads out of the workspace",
            "name a place in the workspace, or set it in your own configuration",
        )
        for key, path in named
        if not _stays_inside(path, root)
    ]


def _paths_in(value: Any) -> list[Path]:
    values = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
    return [each for each in values if isinstance(each, Path)]


def _stays_inside(path: Path, root: Path) -> bool:
    """Whether a path lies in a directory, also with every link followed that there is now."""
    if not Path(os.path.normpath(path)).is_relative_to(root):
        return False
    try:
        return canonical(path, root).is_relative_to(root)
    except ValidationFailed:
        return False


def _anchored(value: Any, base: Path, environ: Mapping[str, str]) -> Any:
    """The same data with every relative path made absolute."""
    if isinstance(value, Path):
        return Path(os.path.normpath(base / expand_home(value, environ)))
    if isinstance(value, dict):
        return {key: _anchored(inner, base, environ) for key, inner in cast(dict[str, Any], value).items()}
    if isinstance(value, tuple):
        return tuple(_anchored(inner, base, environ) for inner in cast(tuple[Any, ...], value))
    return value


def read_layers(found: Iterable[Overlay]) -> tuple[list[Layer], list[Problem]]:
    """The unchecked layers of all files, and what is wrong with files that are none."""
    layers: list[Layer] = []
    problems: list[Problem] = []
    for overlay in found:
        try:
            layers.append(file_layer(overlay))
        except ConfigError as error:
            problems.append(Problem(error.message, error.hint))
    return layers, problems


@dataclass(frozen=True, slots=True)
class Defaults:
    """Defaults of one program, just above the embedded ones; `label` names the program, as in `program:kgent`."""

    label: str
    values: Mapping[str, Any]


KGENT_DEFAULTS = Defaults(values={"sandbox": {"workspace": "isolated"}}, label="program:kgent")


@dataclass(frozen=True, slots=True)
class ResolvedRunConfig:
    """The few values a run's backend needs, with their sources."""

    planner_model: str
    executor_model: str
    base_url: str
    api_key_env: str
    overlay_paths: tuple[Path, ...]
    env_file: Path | None
    sources: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The settings of a workspace, and where every one of them comes from."""

    settings: Settings
    sources: Mapping[str, str]
    notices: tuple[str, ...]
    ignored: tuple[tuple[str, str], ...]
    by_project: frozenset[str]
    """The fields whose value only the project chose."""
    overlay_paths: tuple[Path, ...]
    env_file: Path | None
    workspace_root: Path
    environment: Environment

    @property
    def unconfirmed_model(self) -> ModelAddress | None:
        """The model address that the project chose and the user has not confirmed, if there is one."""
        if not {"llm.base_url", "llm.api_key_env"} & self.by_project:
            return None
        address = ModelAddress(self.settings.llm.base_url, self.settings.llm.api_key_env)
        return None if address in ModelConfirmations(state_home(self.environment.process)) else address

    @property
    def run_config(self) -> ResolvedRunConfig:
        """The part a run's backend needs."""
        keys = ("models.planner", "models.executor", "llm.base_url", "llm.api_key_env")
        return ResolvedRunConfig(
            planner_model=self.settings.models.planner,
            executor_model=self.settings.models.executor,
            base_url=self.settings.llm.base_url,
            api_key_env=self.settings.llm.api_key_env,
            overlay_paths=self.overlay_paths,
            env_file=self.env_file,
            sources=MappingProxyType({key: self.sources[key] for key in keys}),
        )


def resolve(
    workspace_root: str | os.PathLike[str],
    *,
    config_paths: Iterable[str | os.PathLike[str]] = (),
    session_settings: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    defaults: Defaults | None = None,
) -> Resolved:
    """Everything configured for a workspace; nothing is written anywhere."""
    here = current_directory() if cwd is None else Path(cwd)
    root = workspace(workspace_root, here)
    environment = read_environment(root, process_environ(environ))
    files = overlays(root, environment, config_paths, here)
    layers, problems = read_layers(files)
    given = [*layers, *variable_layers(root, environment)]
    if defaults:
        given.insert(0, given_layer(defaults.values, defaults.label, "#", f"of `{defaults.label}`", root))
    if session_settings is not None:
        given.append(given_layer(session_settings, "session_settings", ":", "of the session settings", root))
    merged = settle(embedded_layer(root), _all_checked(given, problems, environment, root))
    settings = Settings.model_validate(merged.data)
    stored = keys_for(config_home(environment.process), settings.llm.base_url)
    return Resolved(
        settings=settings,
        sources=MappingProxyType(dict(merged.sources)),
        notices=(*environment.dotenv.notices, *(text for _, text in merged.ignored)),
        ignored=merged.ignored,
        by_project=merged.by_project,
        overlay_paths=tuple(each.path for each in files),
        env_file=environment.dotenv.path,
        workspace_root=root,
        environment=replace(environment, stored=stored),
    )


def _all_checked(layers: Iterable[Layer], problems: list[Problem], environment: Environment, root: Path) -> list[Layer]:
    good: list[Layer] = []
    found = list(problems)
    for layer in layers:
        result, wrong = checked(layer, environment.process, root)
        good.append(result)
        found += wrong
    if found:
        refuse(found)
    return good


@dataclass(frozen=True, slots=True)
class Origin:
    """One row of the answer to where a setting comes from."""

    key: str
    value: str
    source: str
    note: str = ""


def snapshot(settings: Settings) -> str:
    """All settings as YAML, the same text for the same settings; it names variables and never holds a key."""
    data = settings.model_dump(mode="json")
    if problems := unfit_values(data, "of the settings"):
        refuse(problems)
    return yaml.dump(
        data, Dumper=yaml.CSafeDumper, allow_unicode=True, default_flow_style=False, sort_keys=False, width=2**31 - 1
    )


def explain(resolved: Resolved) -> list[Origin]:
    """Every field with its value, its source and what was ignored about it."""
    data = resolved.settings.model_dump(mode="json")
    rows: list[Origin] = []
    for key, source in resolved.sources.items():
        notes = [text for ignored, text in resolved.ignored if ignored == key]
        if source.startswith("env:") and resolved.environment.origin(source.removeprefix("env:")) == "dotenv":
            notes.insert(0, f"set in `{printable(str(resolved.env_file))}`")
        rows.append(Origin(key, rendered(value_at(data, key)), source, "; ".join(notes)))
    return rows
