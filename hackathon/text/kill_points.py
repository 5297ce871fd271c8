"""Points at which a test can kill this process, to prove that what it writes survives it.

`HACKATHON_FAULT=<step>` in the environment makes the process end by SIGKILL when it reaches that step: nothing is
cleaned up, no handler runs, exactly as when a login node kills a process. Without the variable a step is one look-up.
"""

import os
import signal

CREATE_STEPS = ("after-mkdir", "after-source", "after-files", "after-rename")
"""Steps of `create.create`, in order; until `after-rename` only a hidden `.partial-…` directory exists."""
SUBMIT_STEPS = ("after-submitting", "after-scheduler", "after-submitted")
"""Steps of `submit.submit`, in order: before the scheduler's command; the job is in the queue and nobody wrote its id
down; its id is written down."""
PUBLISH_STEPS = ("before-name", "after-name")
"""Steps of `access.publish.publish`: the whole file has a hidden name; it has its own as well."""
REPLACE_STEPS = ("before-replace", "after-replace")
"""Steps of putting a hackathon.yaml in the place of an older one."""
STEPS = (
    *CREATE_STEPS,
    *SUBMIT_STEPS,
    *PUBLISH_STEPS,
    *REPLACE_STEPS,
    "after-reserved",
    "after-refused",
    "after-recovered",
    "after-trial",
)
"""Every step. `after-trial`: a trial of a tuning study is written and nobody has reserved it;
`after-reserved`: a study's point has a run id and no directory; `after-refused`, `after-recovered`: that
fact has just been written."""


def step(name: str) -> None:
    """End this process by SIGKILL when HACKATHON_FAULT names this step."""
    if os.environ.get("HACKATHON_FAULT") == name:
        os.kill(os.getpid(), signal.SIGKILL)
