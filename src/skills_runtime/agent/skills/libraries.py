"""From settings to the skills of an agent: those that are named, and those that are found."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.skills import Library


def library_of(resolved: "Resolved", variables: Mapping[str, str] | None = None, *, looking: bool = False) -> "Library":
    """The skills that the settings name or allow to be found; `variables` are what somebody told us besides.

    Whoever is only `looking` also sees what a project names that nobody trusts.
    """
    from skills_runtime.skills import library_from
    from skills_runtime.skills.catalog import budget_for
    from skills_runtime.skills.configured import Supplied
    from skills_runtime.skills.discovery import is_trusted, places_of, untrusted_spaces
    from skills_runtime.skills.prompt.profile import PROFILES

    process, settings = resolved.environment.process, resolved.settings
    places = places_of(resolved.workspace_root, process)
    skills, notes = settings.skills, ()
    named = {"skills.spaces", "skills.sources"} & resolved.by_project
    if named and not looking and not is_trusted(places):
        skills, notes = skills.model_copy(update={"spaces": ()}), (untrusted_spaces(places),)
    library = library_from(
        skills,
        resolved.workspace_root,
        environment={**process, **(variables or {})},
        sources_with=Supplied(variable=resolved.environment.get, notes=notes),
        places=places,
    )
    catalog, window = settings.skills.catalog, settings.run.context_recovery.window_tokens
    tokens = budget_for(window, share=catalog.share, max_tokens=catalog.max_tokens)
    render = settings.prompt.skill_injection.render or PROFILES[settings.prompt.profile].render
    library.rules = msgspec.structs.replace(library.rules, catalog_tokens=tokens, whole_texts=render == "body")
    return library
