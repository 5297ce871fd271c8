"""Start the child process that captures a model, in the user's own Python."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.files import known_json

OLDEST = (3, 11)
"""Python version that the live half of the planner needs."""
_PACKAGE = Path(__file__).resolve().parents[2]
# The other Python sees only this package of the toolkit's; every Python 3 can run these lines.
_CODE = """
import sys
sys.path[:1] = [] if sys.path[:1] == [''] else sys.path[:1]
import json, os
request = json.loads(sys.argv[1])
sys.argv[:] = [request['path']]
if sys.version_info < tuple(request['oldest']):
    found = '.'.join(map(str, sys.version_info[:3]))
    with open(os.path.join(request['folder'], 'answer.json'), 'w') as stream:
        json.dump({'refused': 'capture.old_python', 'values': {'python': sys.executable, 'version': found}}, stream)
    sys.exit(0)
import importlib.util
place = request['package']
spec = importlib.util.spec_from_file_location(
    'hackathon', os.path.join(place, '__init__.py'), submodule_search_locations=[place])
module = importlib.util.module_from_spec(spec)
sys.modules['hackathon'] = module
spec.loader.exec_module(module)
from hackathon.parallel.description.worker import main
main(request)
"""


def users_python(environment: Mapping[str, str]) -> str:
    """Return the Python of the active environment ($VIRTUAL_ENV, $CONDA_PREFIX), else the toolkit's own."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        chosen = environment.get(name)
        executable = shutil.which("python", path=str(Path(chosen) / "bin")) if chosen else None
        if executable:
            return executable
    return sys.executable


def run_child(python: str, request: Mapping[str, Any], folder: Path) -> tuple[Any, dict[str, Any]]:
    """Return graph.json and the answer of a child; output of the user's code goes to standard error.

    `folder`: a private one, in which the child creates a new folder. Raises RequestError with the child's reason.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix="capture-") as directory:
        message = {**request, "folder": directory, "package": str(_PACKAGE), "oldest": OLDEST}
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
        try:
            done = subprocess.run(
                [python, "-c", _CODE, json.dumps(message)], stdin=subprocess.DEVNULL, stdout=2, check=False,
                env=environment,
            )  # fmt: skip
        except OSError as error:
            raise RequestError(
                "capture.no_python",
                "{python} cannot be started: {reason}",
                python=python,
                reason=error.strerror or str(error),
            ) from None
        answer = _read(Path(directory) / "answer.json")
        if not isinstance(answer, dict):
            raise HackathonError(
                "capture.child_ended",
                "The process that captures the model ended without an answer (exit code {code})",
                hint="A negative code is a signal; -9 often means that the memory was used up. What the process "
                "printed stands above.",
                code=done.returncode,
            )
        if "refused" in answer:
            values = answer.get("values")
            text, hint = str(answer.get("text", "")), str(answer.get("hint", ""))
            raise RequestError(str(answer["refused"]), text, hint=hint, **(values if isinstance(values, dict) else {}))
        return _read(Path(directory) / "graph.json"), answer


def _read(path: Path) -> Any:
    try:
        return known_json(path)
    except OSError:
        return None
