"""Run a program with the recorder of a job, as its sitecustomize loads it.

python with_recorder.py RECORD PROGRAM
"""

import os
import runpy
import sys
from pathlib import Path

RECORDER = Path(__file__).resolve().parents[2] / "templates" / "jobs" / "steps.py"

if __name__ == "__main__":
    os.environ["HK_STEPS"] = sys.argv[1]
    exec(compile(RECORDER.read_text(), "<frozen importlib hackathon>", "exec"), {"__name__": "hackathon_steps"})
    sys.argv = sys.argv[2:]
    runpy.run_path(sys.argv[0], run_name="__main__")
