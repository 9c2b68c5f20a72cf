"""The list of available skills that a model is told of, within a budget and with a word on what is left out."""

from skills_runtime.skills.catalog.catalog import (
    Catalog,
    CatalogReport,
    Level,
    budget_for,
    catalog_of,
    catalog_offered,
    listed,
)
from skills_runtime.skills.catalog.entries import model_may_call, people_may_call, tokens_of

__all__ = [
    "Catalog",
    "CatalogReport",
    "Level",
    "budget_for",
    "catalog_of",
    "catalog_offered",
    "listed",
    "model_may_call",
    "people_may_call",
    "tokens_of",
]
