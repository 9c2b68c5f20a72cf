"""The public names in `docs/reference/python.md` are exported by their packages."""

import importlib
import subprocess
import sys

import pytest

from scripts.reference import PUBLIC

SURFACE = {package: names.split() for package, names in PUBLIC.items()}
PUBLIC_ONLY = ("skills_runtime", "skills_runtime.testing", "kgent")
"""Packages that export nothing but the listed names."""


@pytest.mark.parametrize("package", SURFACE)
def test_every_public_name_is_exported_by_its_package(package: str) -> None:
    module = importlib.import_module(package)
    exported = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    assert sorted(set(SURFACE[package]) - set(exported)) == []
    assert [name for name in SURFACE[package] if not hasattr(module, name)] == []


@pytest.mark.parametrize("package", PUBLIC_ONLY)
def test_public_package_exports_nothing_else(package: str) -> None:
    assert sorted(importlib.import_module(package).__all__) == sorted(SURFACE[package])


def test_number_of_public_names_is_limited() -> None:
    objects = {getattr(importlib.import_module(package), name) for package, names in SURFACE.items() for name in names}
    assert 60 <= len(objects) <= 100


def test_importing_the_package_loads_no_submodules() -> None:
    code = "import sys, skills_runtime; print([name for name in sys.modules if name.startswith('skills_runtime.')])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_unknown_name_raises_import_error() -> None:
    with pytest.raises(ImportError, match="cannot import name 'Angel'"):
        exec("from skills_runtime import Angel", {})
