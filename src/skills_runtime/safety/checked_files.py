"""Files under the policy: a denied path cannot be reached from a parent directory or through a link either."""

from collections.abc import Sequence

import msgspec

from skills_runtime.errors import PolicyDenied
from skills_runtime.ports import DirectoryListing, FileChange, FileEntry, Files, FileTouch
from skills_runtime.safety.guard import Facts
from skills_runtime.safety.policy import Deny, Rules, decide


def restrict_files(files: Files, rules: Rules, tool: str) -> Files:
    """Return the files as a tool may access them; the same object if no rule denies a path."""
    deny_rules = tuple(rule for rule in rules.rules if rule.effect == "deny" and rule.path)
    if not deny_rules:
        return files
    return PolicyCheckedFiles(files, Rules(mode="allow", rules=deny_rules, root=rules.root, home=rules.home), tool)


class PolicyCheckedFiles(msgspec.Struct, frozen=True):
    """Checks every path before use, as written and as resolved."""

    files: Files
    rules: Rules
    tool: str

    def for_call(self, call_id: str) -> Files:
        """Return a copy whose records carry a call id."""
        return PolicyCheckedFiles(self.files.for_call(call_id), self.rules, self.tool)

    def read(self, path: str, *, limit: int) -> bytes:
        """Return the first `limit` bytes of a file."""
        self._check(path)
        return self.files.read(path, limit=limit)

    def glance(self, path: str, *, limit: int) -> bytes | None:
        """Return what a change would replace, for display to an approver."""
        self._check(path)
        return self.files.glance(path, limit=limit)

    def real(self, path: str) -> str:
        """Return where a path really leads."""
        return self.files.real(path)

    def write(self, path: str, data: bytes, *, create_dirs: bool) -> int:
        """Replace a file atomically; returns the number of bytes."""
        self._check(path)
        return self.files.write(path, data, create_dirs=create_dirs)

    def delete(self, path: str) -> None:
        """Move a file to the run's trash, if deleting is allowed."""
        self._check(path)
        self.files.delete(path)

    def rename(self, source: str, target: str) -> None:
        """Rename a file."""
        self._check(source)
        self._check(target)
        self.files.rename(source, target)

    def apply(self, changes: Sequence[FileChange]) -> None:
        """Apply several changes, all or none."""
        for change in changes:
            self._check(change.path)
            if change.moved_to is not None:
                self._check(change.moved_to)
        self.files.apply(changes)

    def list(self, path: str) -> DirectoryListing:
        """List a directory."""
        self._check(path)
        return self.files.list(path)

    def stat(self, path: str) -> FileEntry:
        """Return the entry of a path, without its content."""
        self._check(path)
        return self.files.stat(path)

    def _check(self, path: str) -> None:
        paths = {path, self.files.real(path)}
        touches = tuple(FileTouch(path=name, touch="read") for name in sorted(paths))
        decision = decide(Facts(tool=self.tool, effect="read", files=touches), self.rules)
        if isinstance(decision, Deny):
            raise PolicyDenied(f"`{path}` is denied by {decision.rule}", hint=decision.justification)
