"""How workers and the parameter server meet, and what they send to each other.

Torch's point-to-point messages over Gloo, also between GPUs: NCCL has no receive for a server that waits for several
senders. The server is one more rank than there are workers, the last one. Each worker sends a gradient and is
answered with weights; both are one tensor of float32 with some numbers in front (`HEADER`).
"""

import os
import time
from datetime import timedelta
from typing import NamedTuple

import torch
import torch.distributed as dist
from hackathon_runtime import Identity, rendezvous

HEADER = 8
"""Numbers in front of a gradient or of weights."""
VERSION, LOSS, SAMPLES, COMPUTE, EXCHANGE = range(5)
"""Their places in a gradient: updates in the weights it was computed with, loss, samples, seconds of this gradient, and
seconds of the former exchange."""
STOP = 1
"""Its place in weights: not 0 when the training is over. They have VERSION, too."""
PROBES = 30
TIMEOUT = timedelta(seconds=600)
"""After so long without an answer a rank gives up. A rank that died is noticed at once, by its connection."""


class Meeting(NamedTuple):
    """Where the ranks tell each other their addresses; `store` is there in ranks that have looked for it."""

    address: str
    port: int
    attempt: int
    store: dist.TCPStore

    @classmethod
    def of(cls, me: Identity) -> "Meeting":
        """Return where the workers meet: torchrun has a store already, else the first worker makes one."""
        alone = me.world_size == 1
        address, port = ("127.0.0.1", 0) if alone else rendezvous(me)
        leads = alone or (me.rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True")
        store = dist.TCPStore(address, port, is_master=leads, timeout=TIMEOUT, wait_for_workers=False)
        return cls(address, store.port, int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0)), store)

    def __str__(self) -> str:
        return f"{self.address}:{self.port}:{self.attempt}"


def where(text: str) -> Meeting:
    """Return the meeting that a text of it names."""
    address, port, attempt = text.rsplit(":", 2)
    store = dist.TCPStore(address, int(port), is_master=False, timeout=TIMEOUT, wait_for_workers=False)
    return Meeting(address, int(port), int(attempt), store)


def join(meeting: Meeting, rank: int, workers: int) -> int:
    """Join the workers and the server, and return the server's rank."""
    store = dist.PrefixStore(f"async-sgd/{meeting.attempt}", meeting.store)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=workers + 1, timeout=TIMEOUT)
    return workers


def probe(server: int) -> None:
    """Exchange empty messages with the server, which measures how long one takes."""
    empty = torch.zeros(HEADER)
    for _ in range(PROBES):
        dist.send(empty, server)
        dist.recv(empty, server)
        empty[COMPUTE] = time.perf_counter()  # the same work as after a message with weights
    dist.send(empty, server)


def answer_probes(worker: int) -> float:
    """Return the seconds of an exchange of empty messages with a worker: the median."""
    empty = torch.zeros(HEADER)
    spent = []
    dist.recv(empty, worker)
    for _ in range(PROBES):
        began = time.perf_counter()
        dist.send(empty, worker)
        dist.recv(empty, worker)
        spent.append(time.perf_counter() - began)
    return sorted(spent)[PROBES // 2]
