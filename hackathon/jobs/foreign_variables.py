"""Environment variables of a program that comes from others: which are not taken over, and how the rest stay text."""

import re

from hackathon.schedulers.foreign import TASK_VARIABLES, leaks
from hackathon.text.quoting import in_double_quotes

_HARMLESS = frozenset({"PYTHONHASHSEED", "PYTHONUNBUFFERED", "PYTHONFAULTHANDLER", "PYTHONDONTWRITEBYTECODE"})
_REFUSED = re.compile(
    # what loaders, interpreters and shells read before, or instead of, the program that was confirmed
    r"(PYTHON|PERL|RUBY|BASH|CUDA_INJECTION)\w*|(LD|DYLD|JAVA|LUA|GIT|SSH|PIP|UV|CONDA|GCONV|GLIBC|MALLOC)_\w*"
    r"|NODE_(OPTIONS|PATH)|_JAVA_OPTIONS|CLASSPATH|TCLLIBPATH|ENV|IFS|PS[0-4]|PROMPT_COMMAND|SHELLOPTS|CDPATH|GLOBIGNORE|SHELL|EDITOR|PAGER"
    # where programs and a user's own packages are looked for
    r"|PATH|HOME|USER|LOGNAME|TMPDIR|VIRTUAL_ENV|XDG_\w+|HTTPS?_PROXY|ALL_PROXY|\w*_PLUGIN(_PATH)?|\w*_MODULE_DIR"
    # Open MPI's and PMIx's: components that are loaded, programs that are started
    r"|(OMPI|PRTE|PMIX|OPAL)_MCA_\w*(path|agent|prefix|rsh)\w*"
    # this toolkit's own: the job script reads them after they are set
    r"|HK_\w*|HACKATHON_\w*|MASTER_(ADDR|PORT)",
    re.IGNORECASE,
)
_SET = re.compile(r"(?<![\w$])([A-Za-z_]\w*)\+?=")


def is_refused(name: str) -> bool:
    """Return whether a variable decides what is loaded or run beside the program itself."""
    if name.startswith(TASK_VARIABLES) or leaks(name):
        return True
    return name not in _HARMLESS and _REFUSED.fullmatch(name) is not None


def set_by_line(line: str) -> str | None:
    """Return the name of a loader's or interpreter's variable that a shell line sets, None where it sets none.

    PATH may be changed: the line is shown, and what it adds has to be named in it.
    """
    return next((name for name in _SET.findall(line) if name != "PATH" and is_refused(name)), None)


def plain_value(recorded: str) -> str:
    """Return the value that a recorded one stands for when nothing in it is evaluated: `$HOME` is five letters."""
    return re.sub(r'\\([\\"$`])', r"\1", recorded)


def literal(recorded: str) -> str:
    """Return a recorded value (double-quoted shell text) as shell text that stands for its letters."""
    return in_double_quotes(plain_value(recorded))
