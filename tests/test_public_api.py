"""What users may import: the names of `docs/reference/python.md`, each exported by its package."""

import importlib
import subprocess
import sys

import pytest

from scripts.reference import PUBLIC

SURFACE = {package: names.split() for package, names in PUBLIC.items()}
WHOLE = ("skills_runtime", "skills_runtime.testing", "kgent")
"""Packages that are for users alone: they export nothing but the listed names."""


@pytest.mark.parametrize("package", SURFACE)
def test_every_public_name_is_exported_by_its_package(package: str) -> None:
    module = importlib.import_module(package)
    exported = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    assert sorted(set(SURFACE[package]) - set(exported)) == []
    assert [name for name in SURFACE[package] if not hasattr(module, name)] == []


@pytest.mark.parametrize("package", WHOLE)
def test_a_package_for_users_exports_nothing_else(package: str) -> None:
    assert sorted(importlib.import_module(package).__all__) == sorted(SURFACE[package])


def test_there_are_few_enough_names_to_keep() -> None:
    objects = {getattr(importlib.import_module(package), name) for package, names in SURFACE.items() for name in names}
    assert 60 <= len(objects) <= 100


def test_importing_the_package_loads_nothing_but_itself() -> None:
    code = "import sys, skills_runtime; print([name for name in sys.modules if name.startswith('skills_runtime.')])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_a_name_that_does_not_exist_is_refused_as_python_does() -> None:
    with pytest.raises(ImportError, match="cannot import name 'Angel'"):
        exec("from skills_runtime import Angel", {})
