"""Variables that change what programs do: setting one of them is as good as running something else."""

import re

from skills_runtime.safety.guard.facts import Level

_HIGH = re.compile(
    r"(?:LD_|DYLD_|GIT_|GLIBC_|MALLOC_|PYTHON|PYTEST_|PERL|RUBY|NODE_|SKILLS_RUNTIME|LESS|npm_config_|NPM_CONFIG_)\w*"
    r"|PATH|IFS|ENV|BASH_CMDS|BASH_ALIASES|BASH_ENV|SHELLOPTS|BASHOPTS|CDPATH|GLOBIGNORE|PS[0-4]|PROMPT_COMMAND|SHELL|EDITOR|VISUAL|FCEDIT|PAGER|MANPAGER"
    r"|BROWSER|SSH_ASKPASS|SUDO_ASKPASS|HOME|XDG_\w+|ZDOTDIR|FPATH|INPUTRC|EXINIT|VIMINIT|TERMINFO|GCONV_PATH|LOCPATH|NLSPATH"
    r"|HOSTALIASES|CLASSPATH|_?JAVA_\w*OPTIONS|JDK_JAVA_OPTIONS|MAVEN_OPTS|GRADLE_OPTS|RUSTC\w*|CARGO_\w+|GOFLAGS|MAKEFLAGS|MAKEFILES"
    r"|OPENSSL_CONF|CURL_HOME|WGETRC|TAR_OPTIONS|RSYNC_RSH|CVS_RSH|GREP_OPTIONS|DOCKER_HOST|KUBECONFIG|PIP_\w+|UV_\w+|CC|CXX|LUA_\w+"
    r"|R_PROFILE\w*|PHPRC|PHP_INI_SCAN_DIR|VIMRUNTIME|MYVIMRC|HISTFILE|OLDPWD|PWD"
)
_HARMLESS = re.compile(
    r"GIT_(?:AUTHOR|COMMITTER)_\w+|GIT_TERMINAL_PROMPT|GIT_OPTIONAL_LOCKS|LESSCHARSET"
    r"|PYTHON(?:UNBUFFERED|DONTWRITEBYTECODE|HASHSEED|IOENCODING|UTF8|OPTIMIZE|FAULTHANDLER)|NODE_ENV|NODE_NO_WARNINGS"
    r"|PIP_(?:DISABLE_PIP_VERSION_CHECK|NO_INPUT|NO_CACHE_DIR|QUIET)|CARGO_TERM_\w+|CARGO_INCREMENTAL|UV_NO_\w+"
)
_SHOWING = re.compile(r"(?:GIT_|MAN)?PAGER|(?:GIT_)?EDITOR|VISUAL|GIT_SEQUENCE_EDITOR|LESS")
_SHOWS = frozenset({"", "cat", "true", ":", "less", "more", "-R", "-FRX", "-F", "-X"})
_MEDIUM = re.compile(
    r"(?:https?|ftp|all|no)_proxy|(?:AWS|AZURE|GOOGLE|OPENAI|ANTHROPIC)_\w+|TMPDIR|TZDIR", re.IGNORECASE
)


def risk_of_variable(name: str, value: str | None) -> tuple[Level, str] | None:
    """What setting a variable means, when it means something."""
    name = name.removesuffix("+").split("[", 1)[0]
    if _HARMLESS.fullmatch(name) or (_SHOWING.fullmatch(name) and value in _SHOWS):
        return None
    if _HIGH.fullmatch(name) or name.startswith("BASH_FUNC") or (value or "").startswith("() {"):
        return "high", "sets a variable that changes what programs do"
    if _MEDIUM.fullmatch(name):
        return "medium", "sets a variable that changes where programs connect or write"
    return None
