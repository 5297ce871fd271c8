"""Figures of `hackathon plan model.py:build`: `python tests/bench/bench_capture.py cuts|large` (PYTHONPATH=.:tests).

cuts: every legal cut of ResNet-50 and of a U-Net gives the loss, gradients and buffers of the uncut model, bit by bit;
every other one is refused. large: seconds and memory for models of 101 B and 1,008 B parameters on 64 devices.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def cuts() -> None:
    """Try all cuts."""
    from support import networks
    from support.cut_networks import CutNetwork

    for name in ("resnet50", "unet"):
        begin = time.monotonic()
        network = CutNetwork(getattr(networks, name))
        wrong = [cut for cut in network.cuts if not network.equal(cut)]
        others = set(range(1, len(network.traced.operators))) - set(network.cuts)
        refused = sum(network.refused(cut) == "glued" for cut in others)
        print(
            f"{name}: {len(network.cuts)} legal cuts, {len(wrong)} differ; {len(others)} others, {refused} refused; "
            f"{time.monotonic() - begin:.0f} s"
        )


def large() -> None:
    """Plan models that no device holds. The child's memory counts, and the planner's."""
    for name, memory in (("gpt_100b", "80GB"), ("gpt_1t", "640GB")):
        with tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            done = subprocess.run(
                [sys.executable, "-m", "hackathon", "plan", f"{ROOT}/tests/support/networks.py:{name}", "--gpus", "64",
                 "--memory", memory, "--peak-tflops", "312", "--memory-bandwidth", "2TB", "--bandwidth", "50GB",
                 "--micro-batches", "256", "--recompute", "auto", "--json"],
                env={**os.environ, "XDG_CACHE_HOME": folder}, capture_output=True, text=True, check=False,
            )  # fmt: skip
            took = time.monotonic() - begin
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        if done.returncode:
            print(f"{name}: exit code {done.returncode}: {done.stderr}")
            continue
        plan = json.loads(done.stdout)
        used = sum(each["replicas"] for each in plan["stages"])
        print(
            f"{name}: {sum(len(each['operators']) for each in plan['stages'])} operators, {len(plan['stages'])} stages "
            f"on {used} devices, step {plan['value']:.1f} s, gap {100 * plan['gap']:.1f} %; {took:.0f} s, "
            f"{peak / 1e9:.2f} GB at most in one process"
        )


if __name__ == "__main__":
    {"cuts": cuts, "large": large}[sys.argv[1]]()
