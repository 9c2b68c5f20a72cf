"""Brings skills here from elsewhere: git repositories, archives and sites that list their skills."""

from skills_runtime.engine.skill_fetch.fetcher import SkillFetcher

__all__ = ["SkillFetcher"]
