"""The variables by which programs find the proxy."""

from collections.abc import Collection

from skills_runtime.sandbox.egress.handover import PROXY_PORT

LOCAL = ("localhost", "127.0.0.1", "::1")
"""Served inside the sandbox itself: these never leave it, unless a rule names one."""

_PROXIED = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def proxy_variables(port: int = PROXY_PORT, *, named: Collection[str] = ()) -> dict[str, str]:
    """What a process in the sandbox needs in its environment, in both cases since programs disagree about that.

    `named` are the hosts of rules: for those the proxy is asked, also where it is a name of the own machine.
    `ALL_PROXY` names HTTP too: some clients refuse to start over a SOCKS address whose library they lack. SOCKS5 is
    spoken on the same port for programs that are told to use it.
    """
    address = f"http://127.0.0.1:{port}"
    variables = dict.fromkeys(_PROXIED, address) | {"NO_PROXY": ",".join(host for host in LOCAL if host not in named)}
    lowered = {name.lower(): value for name, value in variables.items()}
    return variables | lowered | {"NODE_USE_ENV_PROXY": "1"}
