"""Demonstrations: a folder with a task, settings and the script of a model, so that a run really happens offline."""

from pathlib import Path
from typing import Any

import msgspec


class Demo(msgspec.Struct, frozen=True):
    """A task, and the settings above all others that make it run without a network."""

    prompt: str
    settings: dict[str, Any]


def read_demo(folder: Path) -> Demo:
    """The demonstration in a folder: `prompt.md`, `kgent.yaml` and `script.yaml`."""
    from skills_runtime.config.files import read_mapping
    from skills_runtime.config.merge import deep_merge, planted

    script = planted("llm.fake.script", str(folder / "script.yaml"))
    return Demo(
        prompt=(folder / "prompt.md").read_text(encoding="utf-8"),
        settings=deep_merge(read_mapping(folder / "kgent.yaml"), script),
    )
