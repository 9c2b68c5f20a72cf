"""Which places settings come from, in order, and each of them read and checked.

Lowest first: defaults of the program, the user's file, the project's files, files named by a variable, files named
by the caller, variables, settings of the session.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import ValidationError

from skills_runtime.config.environment import CONFIG_PATHS, VARIABLES, Environment, Trust, config_home, expand_home
from skills_runtime.config.files import MAX_DEPTH, canonical, is_there, read_mapping
from skills_runtime.config.merge import Layer, planted
from skills_runtime.config.model_choice import CHOICE
from skills_runtime.config.models import Settings
from skills_runtime.config.problems import Problem, invalid_fields, too_new, unfit_values
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
    found = [*_user_files(environment), *_project_files(root), *_files_of_variable(root, environment)]
    found += [Overlay(canonical(expand_home(path, environment.process), cwd), "user") for path in named]
    return _each_once(found)


def _user_files(environment: Environment) -> list[Overlay]:
    home = config_home(environment.process)
    files = (home / "config.yaml", home / CHOICE)
    return [Overlay(canonical(path, path.parent), "user", "user") for path in files if is_there(path)]


def _project_files(root: Path) -> list[Overlay]:
    return [Overlay(canonical(name, root), "project") for name in PROJECT_FILES if is_there(root / name)]


def _files_of_variable(root: Path, environment: Environment) -> list[Overlay]:
    names = (name.strip() for name in (environment.get(CONFIG_PATHS) or "").replace(";", ",").split(","))
    trust = environment.trust(CONFIG_PATHS)
    return [Overlay(canonical(expand_home(name, environment.process), root), trust) for name in names if name]


def _each_once(found: Sequence[Overlay]) -> list[Overlay]:
    kept: dict[Path, Overlay] = {}
    for overlay in found:
        before = kept.get(overlay.path)
        # A project that names the user's own file must not take the user's trust from it.
        if before is not None and before.trust == "user" and overlay.trust == "project":
            continue
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
            data=planted(key, value),
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


def checked(layer: Layer, environ: Mapping[str, str]) -> tuple[Layer, list[Problem]]:
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
    return replace(layer, data=data), problems


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
