"""A full search of every source for a command."""

from skills_runtime.agent.skills.libraries import library_of
from skills_runtime.cli.options import ConfigOptions
from skills_runtime.cli.skill_settings import looked_at
from skills_runtime.clock import RandomIds
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.skills.scan_report import Issue, ScanReport, issue_of, scan_report


def scanned(given: ConfigOptions, *, no_dotenv: bool, program: str) -> ScanReport:
    """What a search finds now; settings that cannot work are errors of the report, and nothing is searched then."""
    scan_id = RandomIds().new("scan")
    looked = looked_at(given, no_dotenv=no_dotenv, program=program)
    resolved = looked.settings
    if resolved is None or any(one.severity == "error" for one in looked.issues):
        return scan_report(scan_id, (), looked.issues, spaces=0, sources=0)
    skills = resolved.settings.skills
    spaces, sources = sum(space.enabled for space in skills.spaces), len(skills.sources)
    try:
        library = library_of(resolved, looking=True)
        found, problems = library.list(), library.problems()
    except SkillsRuntimeError as error:
        failed = Issue(code="CLI_SCAN_FAILED", severity="error", message=error.message, hint=error.hint)
        return scan_report(scan_id, (), (*looked.issues, failed), spaces=spaces, sources=sources)
    issues = (*looked.issues, *map(issue_of, problems))
    return scan_report(scan_id, found, issues, spaces=spaces, sources=sources)
