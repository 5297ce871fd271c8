"""What an interactive job does beside its shell: JupyterLab, or a configuration for VS Code's Remote-SSH."""

import os
import socket
from collections.abc import Mapping
from typing import Literal

from hackathon.jobs.render import shell_values
from hackathon.text.messages import _

Interactive = Literal["jupyter", "vscode"]


def interactive_values(kind: Interactive, *, this_machine: bool) -> str:
    """Return the assignments that the template `interactive.sh.j2` reads, with texts in the user's language.

    `this_machine`: the job runs here, so that nothing has to be forwarded from another machine.
    """
    texts = {
        "jupyter": (
            _("On your own machine, forward the port of this node:"),
            _("Then open there:") if not this_machine else _("Open in a browser of this machine:"),
            _("Ctrl-C twice ends JupyterLab and the job. The job's walltime ends both."),
        ),
        "vscode": (
            _("Write this into ~/.ssh/config on your own machine:"),
            _(
                "In VS Code: Remote-SSH: Connect to Host, hackathon-node. Nodes have no Internet: set "
                "`remote.SSH.localServerDownload` to `always`."
            ),
            _("`exit` ends the job, and with it the connection. The job's walltime does so, too."),
        ),
    }[kind]
    return shell_values(
        {
            "HK_LOGIN": "" if this_machine else login_name(os.environ),
            "HK_FORWARD": texts[0],
            "HK_OPEN": texts[1],
            "HK_END": texts[2],
            "HK_NO_JUPYTER": _(
                "`jupyter` was not found in the job's environment: install jupyterlab there (`hackathon env create` "
                "builds it from requirements.txt), or name its lines under `environment:` in project.yaml"
            ),
        }
    )


def login_name(environment: Mapping[str, str]) -> str:
    """Return the address of this login node as a user's own machine may know it.

    That is its name with a domain; else the address that the user's ssh reached (`SSH_CONNECTION`, ssh(1)); else the
    plain name.
    """
    name = socket.getfqdn()
    if "." in name and not name.startswith("localhost"):
        return name
    parts = environment.get("SSH_CONNECTION", "").split()
    return parts[2] if len(parts) == 4 else socket.gethostname()
