"""A run directory with records of the shape that real runs write, for checks that read them."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hackathon.text.files import write_json

T = 1795287290.0
"""When it ran, in seconds since 1970."""


class RecordedRun:
    """A run directory as a job leaves it: request, events, Meter lines, telemetry, environment of each host."""

    def __init__(self, folder: Path, processes: int = 2, hosts: Sequence[str] = ("n1",), **record: Any) -> None:
        self.path, self.processes = folder, processes
        for name in ("events", "metrics", "telemetry", "env", "logs", "source"):
            (folder / name).mkdir(parents=True)
        per_host = processes // len(hosts)
        request = {
            "name": "own", "recipe": None, "framework": "torch", "cluster": "laptop", "nodes": len(hosts),
            "processes": processes, "processes_per_node": per_host, "gpus_per_node": 0, "parameters": {},
            "metric": "samples_per_s", "metrics": {}, "check": None, "mode": None, "study": None, "origins": {},
        }  # fmt: skip
        write_json(folder / "request.json", {**request, **record})
        self.host_of = {rank: hosts[rank // per_host] for rank in range(processes)}
        for rank, host in self.host_of.items():
            event = {"t": T, "event": "started", "attempt": 1, "host": host, "rank": rank}
            self.add(f"events/rank-{rank}.jsonl", event)
        write_json(folder / "final.json", {"state": "SUCCEEDED"})

    def add(self, name: str, *lines: Mapping[str, Any]) -> None:
        with (self.path / name).open("a") as stream:
            stream.writelines(json.dumps(line) + "\n" for line in lines)

    def meter(
        self, rank: int, losses: Sequence[float] = (), *, seconds: float = 1.0, every: int = 25,
        shares: Mapping[str, float] | None = None, first_step: int = 0, batch: int = 64, **first: Any,
    ) -> None:  # fmt: skip
        """Write a Meter's lines: the warm-up, then one for each loss."""
        shares = shares or {"communication": 0.2, "compute": 0.7, "data": 0.05, "other": 0.05}
        for number, loss in enumerate([losses[0], *losses] if losses else []):
            step = first_step + 10 + number * every
            line: dict[str, Any] = {"t": T + step, "attempt": 1, "step": step, "seconds": seconds}
            samples = (every if number else 10) * batch * self.processes
            line |= {"samples": samples, "samples_per_s": samples / seconds, **({} if number else {"warmup": True})}
            line |= {f"{name}_share": share for name, share in shares.items()}
            line["loss"] = loss if math.isfinite(loss) else "NaN" if math.isnan(loss) else "Infinity"
            self.add(f"metrics/rank-{rank}.jsonl", line | ({} if number else first))

    def steps(
        self, rank: int, *, work: int = 8, steps: int = 40, data: object = None, replicas: int | None = None,
        timed: int | None = None, **group: Any,
    ) -> None:  # fmt: skip
        """Write what a recorder wrote that counted batches of a DataLoader."""
        (self.path / "steps").mkdir(exist_ok=True)
        value = {
            "blocks": [{"first": 4, "last": 3 + steps, "seconds": steps / 4}],
            "work": [[work, 0, True, steps]],
            "group": {"world": self.processes, "collectives": steps, "steps": steps, "others": [], **group},
            "data": data, "replicas": self.processes if replicas is None else replicas,
            **({} if timed is None else {"timed": {"steps": timed, "seconds": timed / 4, "evaluations": 0}}),
        }  # fmt: skip
        write_json(self.path / f"steps/rank-{rank}.json", value)

    def saw(self, rank: int, *sums: str) -> None:
        self.add(f"metrics/rank-{rank}.jsonl", {"t": T, "attempt": 1, "data": list(sums)})

    def final(self, rank: int = 0, **numbers: Any) -> None:
        self.add(f"metrics/rank-{rank}.jsonl", {"t": T + 999, "attempt": 1, "final": True, **numbers})

    def log(self, rank: int, *lines: str) -> None:
        (self.path / f"logs/rank-{rank}.log").write_text("".join(f"{line}\n" for line in lines))

    def gpus(self, host: str, rows: Sequence[Sequence[tuple[int, int]]]) -> None:
        """Write what nvidia-smi told in turn: for each look (utilisation, memory) of each GPU."""
        text = "t,kind,index,utilisation_percent,memory_mib,power_w\n"
        for number, look in enumerate(rows):
            for index, (busy, memory) in enumerate(look):
                text += f"{int(T) + 10 * number},gpu,{index},{busy},{memory},61.20\n"
            text += f"{int(T) + 10 * number},cpu,,50,8000,\n"
        (self.path / f"telemetry/{host}.csv").write_text(text)

    def environment(self, host: str, **values: Any) -> None:
        write_json(
            self.path / f"env/{host}.json", {"host": host, "gpus": [], "packages": {}, "interfaces": ["lo"]} | values
        )

    def program(self, text: str) -> None:
        (self.path / "source/train.py").write_text(text)
