"""Resolve the settings of a workspace: collect, check and merge its sources, keeping the origin of every field.

In order: the files, a source of each kind, `resolve` itself, and the settings as text.
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
    home,
    process_environ,
    read_environment,
    state_home,
)
from skills_runtime.config.files import (
    MAX_DEPTH,
    MODEL_FILE,
    current_directory,
    find_keys,
    parse_mapping,
    path_exists,
    read_text,
    resolve_path,
    resolve_workspace,
)
from skills_runtime.config.merge import (
    ConfigSource,
    can_project_set,
    flatten,
    get_value,
    merge_with_profile,
    nest_value,
)
from skills_runtime.config.models import Settings
from skills_runtime.config.problems import (
    Location,
    Problem,
    check_version,
    describe_invalid_fields,
    find_unfit_values,
    format_value,
    raise_problems,
    unknown_key,
)
from skills_runtime.config.providers import DEFAULT_PROVIDER, expand_model
from skills_runtime.errors import ConfigError, NotFound, ValidationFailed
from skills_runtime.text import printable

USER_FILE = "config.yaml"
"""The user's own settings, in the directory of their configuration."""
PROJECT_FILES = ("config/runtime.yaml", "kgent.yaml")
"""Files of a workspace that are read if they exist."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration file to read."""

    path: Path
    trust: Trust
    kind: str = "overlay"


def find_config_files(
    root: Path, environment: Environment, extra_paths: Iterable[str | os.PathLike[str]], cwd: Path
) -> list[ConfigFile]:
    """Return every file to read, lowest precedence first, each once."""
    process = environment.process
    directory = config_home(process)
    user_paths = (path for path in (directory / USER_FILE, directory / MODEL_FILE) if path_exists(path))
    candidates = [ConfigFile(resolve_path(path, path.parent), "user", "user") for path in user_paths]
    candidates += [
        ConfigFile(resolve_path(name, root), "project") for name in PROJECT_FILES if path_exists(root / name)
    ]
    variable_paths = (environment.get(CONFIG_PATHS) or "").replace(";", ",").split(",")
    candidates += [
        ConfigFile(resolve_path(expand_home(name, process), root), environment.trust(CONFIG_PATHS))
        for name in map(str.strip, variable_paths)
        if name
    ]
    candidates += [ConfigFile(resolve_path(expand_home(path, process), cwd), "user") for path in extra_paths]
    files: dict[Path, ConfigFile] = {}
    for candidate in candidates:
        previous = files.get(candidate.path)
        # The user's own file keeps the user's trust even if the project names it too.
        if previous is None or previous.trust != "user" or candidate.trust != "project":
            files.pop(candidate.path, None)
            files[candidate.path] = candidate
    return list(files.values())


def read_source(file: ConfigFile) -> ConfigSource:
    """Read the unchecked source of a file."""
    shown_path, text = printable(str(file.path)), read_text(file.path)
    return ConfigSource(
        data=parse_mapping(text, file.path),
        label=f"yaml:{file.kind}:{shown_path}",
        location=Location(f"in `{shown_path}`", text),
        trust=file.trust,
        base=file.path.parent,
    )


def read_variables(root: Path, environment: Environment) -> list[ConfigSource]:
    """Return an unchecked source for every variable that sets a field; an empty variable sets nothing."""
    return [
        ConfigSource(
            data=nest_value(key, value),
            label=f"env:{name}",
            separator="",
            location=Location(f"of the variable `{name}`"),
            trust=environment.trust(name),
            base=root,
        )
        for name, key in VARIABLES.items()
        if (value := environment.get(name))
    ]


def build_source(
    values: Mapping[str, Any], label: str, separator: Literal["#", ":"], location: str, base: Path
) -> ConfigSource:
    """Build the unchecked source of values passed by a caller."""
    return ConfigSource(
        data=_to_plain_data(values, location),
        label=label,
        separator=separator,
        location=Location(location),
        base=base,
    )


def _to_plain_data(value: Any, location: str, depth: int = 0) -> Any:
    """Convert values to the types that a file would have."""
    if depth > MAX_DEPTH or (depth == 0 and not isinstance(value, Mapping)):
        raise ValidationFailed(f"what was given {location} is not a mapping of settings", hint="give a nested mapping")
    if isinstance(value, Mapping):
        entries = cast(Mapping[object, Any], value).items()
        return {str(key): _to_plain_data(inner, location, depth + 1) for key, inner in entries}
    if isinstance(value, list | tuple):
        return [_to_plain_data(inner, location, depth + 1) for inner in cast(Sequence[Any], value)]
    if isinstance(value, str):
        return str.__str__(value)
    return os.fspath(cast(os.PathLike[str], value)) if isinstance(value, os.PathLike) else value


def build_defaults(root: Path) -> ConfigSource:
    """Return the defaults of the models, which have every field."""
    data = _make_paths_absolute(Settings().model_dump(), root, {})
    return ConfigSource(data=data, label="yaml:embedded_default", location=Location("of the defaults"), base=root)


def validate_source(source: ConfigSource, environ: Mapping[str, str], root: Path) -> tuple[ConfigSource, list[Problem]]:
    """Validate the values of a source and make its paths absolute, or return its problems."""
    if newer := check_version(source.data, source.location):
        return source, [newer]
    problems = find_unfit_values(source.data, source.location)
    try:
        settings = Settings.model_validate(source.data)
    except ValidationError as error:
        reported_paths = {problem.path for problem in problems}
        problems += [
            problem for problem in describe_invalid_fields(error, source.location) if problem.path not in reported_paths
        ]
        return source, problems
    data = _make_paths_absolute(settings.model_dump(exclude_unset=True), source.base, environ)
    if source.trust == "project":
        problems += _find_paths_outside(data, source.location, root, environ)
    return replace(source, data=data), problems


def _find_paths_outside(
    data: Mapping[str, Any], location: Location, root: Path, environ: Mapping[str, str]
) -> list[Problem]:
    """Report every path in a project's settings that leads out of its workspace, directly or by a link."""
    paths = [(key, path) for key, value in flatten(data) if can_project_set(key) for path in _collect_paths(value)]
    paths += [
        ("skills.sources", root / expand_home(source["options"]["root"], environ))
        for source in data.get("skills", {}).get("sources", ())
        if source["type"] == "filesystem" and isinstance(source["options"].get("root"), str)
    ]
    return [
        Problem(
            f"`{key}` {location.at(tuple(key.split('.')))} leads out of the workspace",
            "name a place in the workspace, or set it in your own configuration",
        )
        for key, path in paths
        if not _is_inside(path, root)
    ]


def _collect_paths(value: Any) -> list[Path]:
    values = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
    return [item for item in values if isinstance(item, Path)]


def _is_inside(path: Path, root: Path) -> bool:
    """Return whether a path is inside a directory, with and without links resolved."""
    if not Path(os.path.normpath(path)).is_relative_to(root):
        return False
    try:
        return resolve_path(path, root).is_relative_to(root)
    except ValidationFailed:
        return False


def _make_paths_absolute(value: Any, base: Path, environ: Mapping[str, str]) -> Any:
    """Make every relative path absolute."""
    if isinstance(value, Path):
        return Path(os.path.normpath(base / expand_home(value, environ)))
    if isinstance(value, dict):
        return {key: _make_paths_absolute(inner, base, environ) for key, inner in cast(dict[str, Any], value).items()}
    if isinstance(value, tuple):
        return tuple(_make_paths_absolute(inner, base, environ) for inner in cast(tuple[Any, ...], value))
    return value


def read_sources(files: Iterable[ConfigFile]) -> tuple[list[ConfigSource], list[Problem]]:
    """Read the unchecked sources of all files, and the problems of unreadable ones."""
    layers: list[ConfigSource] = []
    problems: list[Problem] = []
    for overlay in files:
        try:
            layers.append(read_source(overlay))
        except ConfigError as error:
            problems.append(Problem(error.message, error.hint))
    return layers, problems


@dataclass(frozen=True, slots=True)
class Defaults:
    """Defaults of a program or option, just above the embedded ones; `label` names it, as in `program:kgent`."""

    label: str
    values: Mapping[str, Any]


KGENT_DEFAULTS = Defaults(values={"sandbox": {"workspace": "isolated"}}, label="program:kgent")
RUN_DIRECTORY_DEFAULTS = Defaults(values=KGENT_DEFAULTS.values, label="option:--run-dir")


@dataclass(frozen=True, slots=True)
class ResolvedRunConfig:
    """The values that a run's backend needs, with their sources."""

    planner_model: str
    executor_model: str
    base_url: str
    api_key_env: str
    overlay_paths: tuple[Path, ...]
    env_file: Path | None
    sources: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The settings of a workspace, with the origin of each."""

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
        """Return the model address that the project chose and the user has not confirmed, if there is one."""
        if not {"llm.base_url", "llm.api_key_env"} & self.by_project:
            return None
        llm = self.settings.llm
        address = ModelAddress(llm.base_url, llm.api_key_env, str(self.workspace_root))
        return None if address in ModelConfirmations(state_home(self.environment.process)) else address

    def describe_origin(self, key: str) -> str:
        """Describe to the user what set a setting."""
        return describe_source(self.sources[key], home(self.environment.process))

    @property
    def run_config(self) -> ResolvedRunConfig:
        """Return the values that a run's backend needs."""
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
    """Resolve everything configured for a workspace; nothing is written."""
    base = current_directory() if cwd is None else Path(cwd)
    root = resolve_workspace(workspace_root, base)
    environment = read_environment(root, process_environ(environ))
    files = find_config_files(root, environment, config_paths, base)
    file_sources, problems = read_sources(files)
    sources = [*file_sources, *read_variables(root, environment)]
    if defaults:
        sources.insert(0, build_source(defaults.values, defaults.label, "#", f"of `{defaults.label}`", root))
    if session_settings is not None:
        sources.append(build_source(session_settings, "session_settings", ":", "of the session settings", root))
    merged = merge_with_profile(build_defaults(root), _validate_sources(sources, problems, environment, root))
    settings = Settings.model_validate(merged.data)
    stored = find_keys(config_home(environment.process), settings.llm.base_url)
    return Resolved(
        settings=settings,
        sources=MappingProxyType(dict(merged.sources)),
        notices=(*environment.dotenv.notices, *(text for _, text in merged.ignored)),
        ignored=merged.ignored,
        by_project=merged.by_project,
        overlay_paths=tuple(file.path for file in files),
        env_file=environment.dotenv.path,
        workspace_root=root,
        environment=replace(environment, stored=stored),
    )


def _validate_sources(
    layers: Iterable[ConfigSource], problems: list[Problem], environment: Environment, root: Path
) -> list[ConfigSource]:
    validated: list[ConfigSource] = []
    all_problems = list(problems)
    provider: str | None = DEFAULT_PROVIDER.id
    for source in layers:
        result, source_problems = validate_source(source, environment.process, root)
        if not source_problems:
            data, shorthands, provider = expand_model(result.data, provider)
            validated.append(replace(result, data=data, shorthands=shorthands))
        all_problems += source_problems
    if all_problems:
        raise_problems(all_problems)
    return validated


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of one setting."""

    key: str
    value: str
    source: str
    note: str = ""


def snapshot(settings: Settings) -> str:
    """Return all settings as YAML, deterministically; it names variables and never holds a key."""
    data = settings.model_dump(mode="json")
    if problems := find_unfit_values(data, Location("of the settings")):
        raise_problems(problems)
    return yaml.dump(
        data, Dumper=yaml.CSafeDumper, allow_unicode=True, default_flow_style=False, sort_keys=False, width=2**31 - 1
    )


def select_settings(resolved: Resolved, key: str) -> Any:
    """Return the settings of a section, or the value of one setting, as plain data; raise for an unknown key."""
    current: Any = resolved.settings.model_dump(mode="json")
    for name in key.split("."):
        if not isinstance(current, dict) or name not in current:
            problem = unknown_key(key, Location("given to `config show`"))
            raise NotFound(problem.message, hint=problem.hint)
        current = cast("dict[str, Any]", current)[name]
    return current


def describe_source(source: str, user_home: Path) -> str:
    """Describe a source of a setting to its user: the file, the variable, or what else set it."""
    name = source.partition("#")[0]
    kind, _, rest = name.partition(":")
    if name == "yaml:embedded_default":
        return "the defaults"
    if kind == "yaml":
        path = Path(rest.partition(":")[2])
        return f"~/{path.relative_to(user_home)}" if path.is_relative_to(user_home) else str(path)
    if kind == "env":
        return f"the variable {rest}"
    return "the command line or session" if kind == "session_settings" else name


def explain(resolved: Resolved) -> list[Origin]:
    """Return every field with its value, its source and what was ignored."""
    data = resolved.settings.model_dump(mode="json")
    rows: list[Origin] = []
    for key, source in resolved.sources.items():
        notes = [text for ignored, text in resolved.ignored if ignored == key]
        if source.startswith("env:") and resolved.environment.origin(source.removeprefix("env:")) == "dotenv":
            notes.insert(0, f"set in `{printable(str(resolved.env_file))}`")
        rows.append(Origin(key, format_value(get_value(data, key)), source, "; ".join(notes)))
    return rows
