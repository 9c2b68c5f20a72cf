"""What users may import: a change of a package's `__all__` is a change here, made on purpose."""

import importlib

import pytest

SURFACE = {
    "kgent": """
        RunContext RunStatus create_run_context load_run_context resolve_sandbox_path update_run_state
    """,
}
"""The names of each public package; one entry is one package."""


@pytest.mark.parametrize("package", SURFACE)
def test_the_names_of_a_package_are_the_pinned_ones(package: str) -> None:
    exported, pinned = set(importlib.import_module(package).__all__), set(SURFACE[package].split())
    assert exported == pinned, (
        f"new: {sorted(exported - pinned)}, gone: {sorted(pinned - exported)}; if meant, edit SURFACE"
    )


@pytest.mark.parametrize("package", SURFACE)
def test_every_exported_name_exists_once(package: str) -> None:
    module = importlib.import_module(package)
    assert len(module.__all__) == len(set(module.__all__))
    assert not [name for name in module.__all__ if not hasattr(module, name)]
