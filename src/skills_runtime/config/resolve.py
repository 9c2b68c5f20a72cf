"""From a workspace to its settings: layers are gathered, checked and merged, and every field keeps its source."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from skills_runtime.config.environment import Environment, config_home, process_environ, read_environment
from skills_runtime.config.files import current_directory, workspace
from skills_runtime.config.layers import checked, embedded_layer, given_layer, overlays, read_layers, variable_layers
from skills_runtime.config.merge import Layer, settle
from skills_runtime.config.model_choice import stored_keys
from skills_runtime.config.models import Settings
from skills_runtime.config.problems import Problem, refuse


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
    environment = replace(environment, stored=stored_keys(config_home(environment.process)))
    layers, problems = read_layers(files)
    low, high = _given_layers(defaults, session_settings, root)
    given = [*low, *layers, *variable_layers(root, environment), *high]
    merged = settle(embedded_layer(root), _all_checked(given, problems, environment))
    return Resolved(
        settings=Settings.model_validate(merged.data),
        sources=MappingProxyType(dict(merged.sources)),
        notices=(*environment.dotenv.notices, *(text for _, text in merged.ignored)),
        ignored=merged.ignored,
        by_project=merged.by_project,
        overlay_paths=tuple(each.path for each in files),
        env_file=environment.dotenv.path,
        workspace_root=root,
        environment=environment,
    )


def _given_layers(
    defaults: Defaults | None, session_settings: Mapping[str, Any] | None, root: Path
) -> tuple[list[Layer], list[Layer]]:
    """The lowest and the highest layer a caller may hand over."""
    low = [given_layer(defaults.values, defaults.label, "#", f"of `{defaults.label}`", root)] if defaults else []
    if session_settings is None:
        return low, []
    return low, [given_layer(session_settings, "session_settings", ":", "of the session settings", root)]


def _all_checked(layers: Iterable[Layer], problems: list[Problem], environment: Environment) -> list[Layer]:
    good: list[Layer] = []
    found = list(problems)
    for layer in layers:
        result, wrong = checked(layer, environment.process)
        good.append(result)
        found += wrong
    if found:
        refuse(found)
    return good
