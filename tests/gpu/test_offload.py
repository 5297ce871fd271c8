"""Parameters in main memory on a real GPU: bytes, equality, and whether copies hide behind computing."""

import copy
import time
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from hackathon.parallel.live.offload_blocks import stream_modules

pytestmark = [
    pytest.mark.torch,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]
WIDTH, LAYERS = 2048, 12


def model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(*(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)))


def steps(net: Any, optimizer: Any, samples: int, count: int) -> list[Any]:
    """Train, two micro-batches a step, and return the losses."""
    generator = torch.Generator(device="cuda").manual_seed(1)
    losses = []
    for _ in range(count):
        for _ in range(2):
            loss = net(torch.randn(samples, WIDTH, device="cuda", generator=generator)).square().mean()
            loss.backward()
            losses.append(loss.detach().cpu())
        optimizer.step()
        optimizer.zero_grad()
    return losses


def test_offloaded_training_is_equal_and_holds_three_blocks(figures: dict[str, Any]) -> None:
    net = model().cuda()
    other = copy.deepcopy(net).cpu()
    # the same optimizer on the same processor, so that only the streaming differs
    hosts = [nn.Parameter(each.detach().cpu()) for each in net.parameters()]
    expected = []
    generator = torch.Generator(device="cuda").manual_seed(1)
    reference = torch.optim.SGD(hosts, lr=0.01)
    for _ in range(3):
        for _ in range(2):
            loss = net(torch.randn(64, WIDTH, device="cuda", generator=generator)).square().mean()
            loss.backward()
            expected.append(loss.detach().cpu())
        for host, each in zip(hosts, net.parameters(), strict=True):
            host.grad = each.grad.cpu()
        reference.step()
        with torch.no_grad():
            for host, each in zip(hosts, net.parameters(), strict=True):
                each.copy_(host)
                each.grad = None
    del net, loss
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    streamed = stream_modules(other, device="cuda")
    assert torch.cuda.memory_allocated() == before and all(each.is_pinned() for each in streamed.parameters())
    found = steps(other, torch.optim.SGD(streamed.parameters(), lr=0.01), 64, 3)
    torch.cuda.synchronize()
    assert found == expected
    assert all(torch.equal(one, two) for one, two in zip(hosts, streamed.parameters(), strict=True))
    assert streamed.peak == streamed.planned == 3 * WIDTH * WIDTH * 4
    activations = (LAYERS + 4) * 64 * WIDTH * 4 + 64 * 1024**2  # and a workspace of the matrix library
    most = torch.cuda.max_memory_allocated() - before
    figures |= {"planned_mib": streamed.planned >> 20, "allocated_mib": most >> 20}
    assert most <= streamed.planned + activations < LAYERS * WIDTH * WIDTH * 4


def test_copies_hide_behind_computing(figures: dict[str, Any]) -> None:
    """Only told, not judged: how much longer a step takes, and how long the copies alone take."""
    seconds = {}
    for name in ("resident", "streamed"):
        net = model()
        if name == "streamed":
            streamed = stream_modules(net, device="cuda")
            parameters = streamed.parameters()
        else:
            parameters = list(net.cuda().parameters())
        optimizer = torch.optim.SGD(parameters, lr=0.01)
        steps(net, optimizer, 8192, 2)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(3):
            net(torch.randn(8192, WIDTH, device="cuda")).square().mean().backward()
        torch.cuda.synchronize()
        seconds[name] = (time.perf_counter() - begin) / 3
    pinned, there = (
        torch.empty(2**28, dtype=torch.uint8, pin_memory=True),
        torch.empty(2**28, dtype=torch.uint8, device="cuda"),
    )
    torch.cuda.synchronize()
    begin = time.perf_counter()
    there.copy_(pinned, non_blocking=True)
    torch.cuda.synchronize()
    rate = 2**28 / (time.perf_counter() - begin)
    figures |= {f"{name}_ms": round(1e3 * each, 2) for name, each in seconds.items()}
    figures |= {"host_gb_per_s": round(rate / 1e9, 1), "copies_ms": round(3e3 * LAYERS * WIDTH * WIDTH * 4 / rate, 2)}
    assert all(each > 0 for each in seconds.values())
