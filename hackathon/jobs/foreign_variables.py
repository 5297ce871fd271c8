"""Environment variables of a program from outside: which are refused, and how the values of the others stay text."""

import re

from hackathon.jobs.script import in_double_quotes
from hackathon.schedulers.foreign import TASK_VARIABLES, leaks

_HARMLESS = frozenset({"PYTHONHASHSEED", "PYTHONUNBUFFERED", "PYTHONFAULTHANDLER", "PYTHONDONTWRITEBYTECODE"})
_REFUSED = re.compile(
    # read by loaders, interpreters and shells before, or instead of, the program that the user confirmed
    r"(PYTHON|PERL|RUBY|BASH|CUDA_INJECTION)\w*|(LD|DYLD|JAVA|LUA|GIT|SSH|PIP|UV|CONDA|GCONV|GLIBC|MALLOC)_\w*"
    r"|NODE_(OPTIONS|PATH)|_JAVA_OPTIONS|CLASSPATH|TCLLIBPATH|ENV|IFS|PS[0-4]|PROMPT_COMMAND|SHELLOPTS|CDPATH|GLOBIGNORE|SHELL|EDITOR|PAGER"
    # search paths of programs and of a user's own packages
    r"|PATH|HOME|USER|LOGNAME|TMPDIR|VIRTUAL_ENV|XDG_\w+|HTTPS?_PROXY|ALL_PROXY|\w*_PLUGIN(_PATH)?|\w*_MODULE_DIR"
    # Open MPI's and PMIx's: components that they load, programs that they start
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
    """Return the variable of a loader or interpreter that a shell line sets, or None.

    PATH may be changed: the user sees the line, and it has to name the folders that it adds.
    """
    return next((name for name in _SET.findall(line) if name != "PATH" and is_refused(name)), None)


def plain_value(recorded: str) -> str:
    """Return the value of a recorded one if nothing in it is evaluated: `$HOME` is five letters."""
    return re.sub(r'\\([\\"$`])', r"\1", recorded)


def literal(recorded: str) -> str:
    """Return shell text whose value is the recorded text (double-quoted shell text) without any evaluation."""
    return in_double_quotes(plain_value(recorded))
