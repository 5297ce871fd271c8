"""Points at which a test can kill this process, to prove that its files survive.

`HACKATHON_FAULT=<step>` in the environment ends the process by SIGKILL at that step: no clean-up and no handler runs,
as when a login node kills a process. Without the variable a step is one look-up.
"""

import os
import signal

CREATE_STEPS = ("after-mkdir", "after-source", "after-files", "after-rename")
"""Steps of `create.create`, in order; before `after-rename` only a hidden `.partial-…` directory exists."""
SUBMIT_STEPS = ("after-submitting", "after-scheduler", "after-submitted")
"""Steps of `submit.submit`, in order: before the scheduler's command; job queued, id not stored; id stored."""
PUBLISH_STEPS = ("before-name", "after-name")
"""Steps of `access.publish.publish`: the complete file has a hidden name; it has its own as well."""
REPLACE_STEPS = ("before-replace", "after-replace")
"""Steps of replacing an older hackathon.yaml."""
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
"""All steps.

`after-trial`: a trial of a tuning study is written but not reserved; `after-reserved`: a study's point has a run id and
no directory; `after-refused`, `after-recovered`: that fact has just been written.
"""


def step(name: str) -> None:
    """End this process by SIGKILL when HACKATHON_FAULT names this step."""
    if os.environ.get("HACKATHON_FAULT") == name:
        os.kill(os.getpid(), signal.SIGKILL)
