"""Messages of Grid Engine's commands when they fail. Only the text shows the reason, not the exit code.

`Unable to run job:` with exit code 1 may be a refusal of the server or of a site's verifier, or an unresponsive server.
Exit codes 2, 5, 7 and 14 are about options and the script (`samples/qsub_errors.txt`).
"""

import re
from typing import Any

from hackathon.schedulers.base import CommandOutput, SchedulerError
from hackathon.schedulers.failures import FAILURES
from hackathon.schedulers.words import command, words

_WORDS: tuple[tuple[str, str, bool], ...] = (
    (r"unable to (?:send message to|contact) qmaster|commlib error|failed receiving gdi request"
     r"|got (?:select|send|receive|read|sync receive) (?:error|timeout)", "server_down", True),
    (r"jobs are allowed", "user_limit", True),
    (r"unknown queue", "unknown_queue", False),
    (r"unknown resource", "unknown_type", False),
    (r"parallel environment \S+ does not exist", "unknown_pe", False),
    (r"project \S+ does not exist|no access to project|not allowed to use project", "bad_group", False),
    (r"necessary privileges|must be at least owner|requires operator privileges", "not_authorised", False),
    (r"no suitable queues", "no_such_nodes", False),
    (r"Unable to read script file", "bad_script", False),
    (r"is not a \S+ value|not a valid object name|not allowed in objectname|must not contain", "bad_value", False),
)  # fmt: skip
"""Words → message, and whether the same command may succeed later."""
ANSWERED = frozenset({"schedulers.user_limit"})
"""Messages after which certainly no job was created, although a later attempt may succeed."""
_TABLE = tuple((re.compile(pattern, re.IGNORECASE), key, transient) for pattern, key, transient in _WORDS)
_OPTION = re.compile(r"(?:invalid option argument|Unknown option) *\"?(-\w+)?")
_OTHERS = (
    (re.compile(r"^usage: *q(?:sub|stat|del) \[-[af]|^usage:\nqstat|qstat: illegally formed", re.M), "pbs"),
    (re.compile(r"slurm", re.IGNORECASE), "slurm"),
)
"""Output of another scheduler's command with the same name."""


def failed(answer: CommandOutput, otherwise: str = "failed") -> SchedulerError:
    """Return the error of a command, with its message."""
    output = answer.stderr + answer.stdout
    values: dict[str, Any] = {"command": command(answer), "code": answer.exit_code, "words": plain_words(answer)}
    for pattern, scheduler in _OTHERS:
        if pattern.search(output):
            return SchedulerError(
                "schedulers.other_scheduler",
                "`{command}` belongs to another scheduler here; the cluster needs `scheduler: {scheduler}`: {words}",
                hint="Set `scheduler: {scheduler}` in the cluster profile.",
                transient=False,
                scheduler=scheduler,
                **values,
            )
    for pattern, key, transient in _TABLE:
        if pattern.search(output):
            return SchedulerError(FAILURES[key], transient=transient, **values)
    if match := _OPTION.search(output):
        if match[1] == "-g":
            return SchedulerError(
                "schedulers.no_group_option",
                "`{command}` has no option `-g` here; the cluster needs `dialect.group: project` or `none`: {words}",
                hint="Set `dialect.group: project` in the cluster profile if jobs are charged to a project, else "
                "`dialect.group: none`.",
                transient=False,
                **values,
            )
        return SchedulerError(
            "schedulers.bad_options", "The scheduler does not accept the options: {words}", transient=False, **values
        )
    return SchedulerError(FAILURES[otherwise], transient=False, **values)


def garbage(answer: CommandOutput) -> SchedulerError:
    """Return the error for an empty or truncated answer."""
    return SchedulerError(
        "schedulers.garbage",
        "Cannot interpret the output of {command}: {words}",
        hint="Run the command by hand. A proxy or a wrapper of the site may have answered instead. Try again later.",
        transient=True,
        command=command(answer),
        words=plain_words(answer),
    )


def plain_words(answer: CommandOutput) -> str:
    """Return a command's message without the line that ends every refusal."""
    return words(answer).removesuffix("/ Exiting.").strip()
