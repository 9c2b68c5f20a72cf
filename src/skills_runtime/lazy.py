"""Names that a package imports only on first use, so that importing the package stays cheap."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package; `modules` maps its modules to the names they provide."""
    module_of_name = {name: module for module, names in modules.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in module_of_name:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{module_of_name[name]}"), name)
        setattr(sys.modules[package], name, value)  # found at once the next time
        return value

    return find
