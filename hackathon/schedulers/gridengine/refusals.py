"""What Grid Engine's commands say when they do not do what they are told: the words tell, the exit code does not.

`Unable to run job:` with exit code 1 is a refusal of the server or of a site's verifier as well as a server that does
not answer. Exit codes 2, 5, 7 and 14 are about options and the script (`samples/qsub_errors.txt`).
"""

import re

from hackathon.schedulers.base import CommandOutput, SchedulerError
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
"""Words → message, and whether the same command may go through later."""
ANSWERED = frozenset({"schedulers.user_limit"})
"""Of these it is certain that no job came of a submission that may go through later."""
_TABLE = tuple((re.compile(pattern, re.IGNORECASE), key, transient) for pattern, key, transient in _WORDS)
_OPTION = re.compile(r"(?:invalid option argument|Unknown option) *\"?(-\w+)?")
_OTHERS = (
    (re.compile(r"^usage: *q(?:sub|stat|del) \[-[af]|^usage:\nqstat|qstat: illegally formed", re.M), "pbs"),
    (re.compile(r"slurm", re.IGNORECASE), "slurm"),
)
"""Whose command of the same name it is."""


def failed(answer: CommandOutput, otherwise: str = "failed") -> SchedulerError:
    """Return the error of a command, with its own words."""
    output = answer.stderr + answer.stdout
    values: dict[str, object] = {"command": command(answer), "code": answer.exit_code, "words": plain_words(answer)}
    for pattern, scheduler in _OTHERS:
        if pattern.search(output):
            return SchedulerError("schedulers.other_scheduler", transient=False, scheduler=scheduler, **values)
    for pattern, key, transient in _TABLE:
        if pattern.search(output):
            return SchedulerError(f"schedulers.{key}", transient=transient, **values)
    if match := _OPTION.search(output):
        if match[1] == "-g":
            return SchedulerError("schedulers.no_group_option", transient=False, **values)
        return SchedulerError("schedulers.bad_options", transient=False, **values)
    return SchedulerError(f"schedulers.{otherwise}", transient=False, **values)


def garbage(answer: CommandOutput) -> SchedulerError:
    """Return the error of an answer that says nothing, or that was cut off."""
    return SchedulerError("schedulers.garbage", transient=True, command=command(answer), words=plain_words(answer))


def plain_words(answer: CommandOutput) -> str:
    """Return what a command said, without the line with which every refusal ends."""
    return words(answer).removesuffix("/ Exiting.").strip()
