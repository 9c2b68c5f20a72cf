"""A project whose own rules would allow something is told of when a run begins."""

from pathlib import Path

from tests.e2e.cli.programs import invoke

SCRIPT = "calls:\n  - text: done\n"
RULES = "rules:\n- name: all\n  effect: allow\n  tool: '*'\n"


def test_ignored_project_rules_are_reported_when_a_run_starts(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "rules.yaml").write_text(RULES)
    (tmp_path / "script.yaml").write_text(SCRIPT)
    where = ("--workspace-root", str(tmp_path), "--set", "llm.backend=fake")
    answer = invoke("run", "x", *where, "--set", f"llm.fake.script={tmp_path / 'script.yaml'}")
    assert answer.code == 0, answer.err
    assert "rule `all` in `config/rules.yaml` was ignored" in answer.err
