"""Settings as text: the snapshot a run keeps, and the table that says where each field comes from."""

from dataclasses import dataclass
from typing import Any

import yaml

from skills_runtime.config.merge import value_at
from skills_runtime.config.models import Settings
from skills_runtime.config.problems import refuse, unfit_values
from skills_runtime.config.resolve import Resolved
from skills_runtime.config.wording import rendered
from skills_runtime.text import printable


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
    return _yaml(data)


def _yaml(data: dict[str, Any]) -> str:
    return yaml.dump(
        data, Dumper=yaml.CSafeDumper, allow_unicode=True, default_flow_style=False, sort_keys=False, width=2**31 - 1
    )


def explain(resolved: Resolved) -> list[Origin]:
    """Every field with its value, its source and what was ignored about it."""
    data = resolved.settings.model_dump(mode="json")
    return [
        Origin(key, rendered(value_at(data, key)), source, _note(resolved, key, source))
        for key, source in resolved.sources.items()
    ]


def _note(resolved: Resolved, key: str, source: str) -> str:
    notes = [text for ignored, text in resolved.ignored if ignored == key]
    if source.startswith("env:") and resolved.environment.origin(source.removeprefix("env:")) == "dotenv":
        notes.insert(0, f"set in `{printable(str(resolved.env_file))}`")
    return "; ".join(notes)
