"""The exit codes of commands, as their help and `docs/reference/json.md` tell them."""

from hackathon.text.messages import N_, _

GENERAL = {
    0: N_("done"),
    1: N_("the work failed"),
    2: N_("wrong request"),
    3: N_("scheduler or environment not available, try again"),
    130: N_("interrupted"),
}
"""What a code means where a command says nothing else."""
OWN: dict[str, dict[int, str]] = {
    "try": {0: N_("ready"), 1: N_("not ready")},
    "scale": {1: N_("with --wait: a point failed")},
    "results": {1: N_("a run failed, or a result misses its reference")},
    "cancel": {1: N_("a job could not be cancelled")},
    "check": {0: N_("accepted"), 2: N_("refused, or the program has errors")},
    "submit": {1: N_("with --wait: a run failed")},
    "shell": {0: N_("the exit code is that of the shell")},
    "compare": {0: N_("the same or faster"), 1: N_("slower, different in accuracy, failed, or unknown")},
    "publish": {1: N_("the pages would show what must not be published")},
    "rerun": {1: N_("with --wait: a run failed")},
    "fetch": {1: N_("a pattern matches nothing, or a file could not be copied")},
    "notify relay": {3: N_("with --once: the server is busy or does not answer")},
    "export": {2: N_("the tracker's package is missing, or the folder has the study already")},
    "lint": {0: N_("no errors"), 1: N_("errors were found"), 2: N_("a script could not be read or checked")},
    "convert": {1: N_("something has no equivalent"), 2: N_("the cluster would refuse the new script")},
    "port": {0: N_("nothing is left to ask"), 1: N_("questions are left"), 2: N_("the program cannot be read")},
    "data check": {1: N_("a file is missing or differs")},
    "profile": {1: N_("the run failed")},
    "speedup": {1: N_("the run failed, or there is no result")},
    "tune": {1: N_("no trial has a result")},
    "plan": {1: N_("no plan fits in memory")},
    "microbatch": {1: N_("the run failed, or nothing fits in memory")},
    "compress": {1: N_("the run failed")},
    "doctor": {1: N_("a check failed")},
    "clusters check": {1: N_("a value differs or is missing"), 2: N_("the file is wrong")},
    "clusters measure": {1: N_("a job failed")},
    "ready": {0: N_("everything is proven"), 1: N_("something is not")},
    "plugins": {1: N_("a plug-in cannot be used")},
    "rules check": {2: N_("a problem was found")},
    "event check": {0: N_("only warnings or notes"), 1: N_("there is an error")},
    "survey check": {2: N_("a problem was found")},
    "survey import": {2: N_("a row is wrong; nothing was imported")},
}
"""Command → code → its meaning there."""


def codes_of(command: str) -> dict[int, str]:
    """Return code → meaning, in the current language, for a command such as `clusters check`."""
    return {code: _(text) for code, text in (GENERAL | OWN.get(command, {})).items()}


def line_of(command: str) -> str:
    """Return the codes of a command in one line."""
    return "; ".join(f"{code} {text}" for code, text in codes_of(command).items())
