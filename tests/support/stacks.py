"""Environments of recipes for tests: built once for a checkout, by the real `hackathon env create`, into `.stacks/`."""

import fcntl
import functools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from support import warm
from support.paths import ROOT

FOLDER = ROOT / ".stacks"
COMPILER, CMAKE = (str(Path(__file__).with_name("quick_compiler") / name) for name in ("c++", "cmake"))
BUILDING = 3600
"""Time limit of tests that may have to wait until Horovod is compiled: two minutes where nothing else runs."""
WARM = {
    "chainermn-mnist": ("numpy", "chainer", "sklearn.datasets"),
    "own-code": (
        "torch",
        "torch._dynamo",
        "torch.distributed.run",
        "sklearn.datasets",
        "lightning",
        "accelerate",
        "transformers.trainer",
        "mlperf_logging.mllog",
    ),
    "tensorflow-multiworker": ("tensorflow", "tf_keras", "sklearn.datasets"),
    "horovod-keras": ("tensorflow", "keras", "horovod.tensorflow.keras", "horovod.runner.launch", "sklearn.datasets"),
    "horovod-torch": ("torch", "torch._dynamo", "horovod.torch", "horovod.runner.launch", "sklearn.datasets"),
}
"""Recipe → what its programs spend more time to import than to train."""
FRAMEWORKS = ("lightning==2.6.6", "transformers==5.23.0", "accelerate==1.15.0", "mlperf-logging==4.1.68")
# read before any test changes it: packages that were once downloaded are taken from the caller's cache
_CACHE = {name: os.environ[name] for name in ("XDG_CACHE_HOME", "PIP_CACHE_DIR", "UV_CACHE_DIR") if name in os.environ}
_LEAN = {"PIP_NO_COMPILE": "0"}
"""pip compiles every module, an import those that it needs. For pip this variable is the value of its `compile`."""
_ACTIVE = ("VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME", "XDG_CACHE_HOME")


def stack(name: str) -> Path:
    """Return the environment of a recipe, built when it is not there or its requirements have changed.

    Tests that run at the same time wait for one another. Raises AssertionError with what the installer said.
    """
    code, stdout, stderr = _create(name)
    assert code == 0, stderr
    return Path(json.loads(stdout)["path"])


@functools.cache
def _create(name: str) -> tuple[int, str, str]:
    """Return (exit code, stdout, stderr) of the command; a build that failed is not tried again by every test."""
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = {
            key: value for key, value in os.environ.items() if key not in _ACTIVE and not key.startswith("HACKATHON_")
        }
        done = subprocess.run(
            [sys.executable, "-m", "hackathon", "env", "create", name, "--cluster", "laptop", "--json"],
            cwd=ROOT, env={**kept, **_CACHE, **_LEAN, "HACKATHON_ENVS": str(FOLDER), "HACKATHON_LANG": "en",
                           "CXX": COMPILER, "HOROVOD_CMAKE": CMAKE},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def warm_path(name: str) -> str:
    """Return the folder of a `python` of a recipe's environment that has imported its framework (`support.warm`)."""
    folder = frameworks() if name == "own-code" else stack(name)
    return str(Path(warm.of_stack(folder, *WARM[name])).parent)


def stack_environ(name: str) -> dict[str, str]:
    """Return variables for a child process in which a recipe's environment is the active one, and jobs take it too.

    Programs that it starts itself, not its jobs, find a `python` that has imported the framework.
    """
    path = stack(name)
    warmed = f"{warm_path(name)}{os.pathsep}" if name in WARM else ""
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME", "CONDA_PREFIX")}
    return {
        **kept,
        "HACKATHON_ENVS": str(FOLDER),
        "VIRTUAL_ENV": str(path),
        "PATH": f"{warmed}{path}/bin{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    }


def frameworks() -> Path:
    """Return an environment with torch's high-level frameworks on top of this Python's packages, built once."""
    wanted = " ".join(FRAMEWORKS)
    path = FOLDER / "own-code"
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "own-code.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = path / "made-of.txt"
        if not made.exists() or made.read_text() != wanted:
            shutil.rmtree(path, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(path)], check=True)
            # torch, NumPy and pip are those of this Python, not a second time on the disk
            here = sysconfig.get_path("purelib", vars={"base": str(path)})
            (Path(here) / "below.pth").write_text(sysconfig.get_path("purelib") + "\n")
            command = [str(path / "bin" / "python"), "-m", "pip", "install", "-q", "--no-compile", *FRAMEWORKS]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            made.write_text(wanted)
    return path
