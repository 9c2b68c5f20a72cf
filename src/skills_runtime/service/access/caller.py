"""Who makes a request, and what they may do."""

from typing import Literal, get_args

import msgspec

Scope = Literal["read", "run", "approve", "execute", "admin"]
"""`read` looks, `run` starts and changes runs, `approve` decides, `execute` executes skills, `admin` does the rest."""
SCOPES: tuple[Scope, ...] = get_args(Scope)


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who was recognised, or nobody in particular."""

    kind: Literal["nobody", "token", "key"]
    name: str
    """For logs and for whoever reads who decided."""
    scopes: frozenset[Scope] = frozenset()
    by_cookie: bool = False
    """Whether a browser sent the token by itself."""

    def may(self, scope: Scope) -> bool:
        """Whether this caller has a scope; `admin` does not stand for the others."""
        return scope in self.scopes


NOBODY = Caller(kind="nobody", name="nobody")
