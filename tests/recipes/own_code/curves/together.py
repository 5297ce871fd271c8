"""The same training on several processes that average their gradients, each with its own share of the data."""

import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
inputs, weights = torch.randn(512, 8), torch.randn(8)
targets, guess = inputs @ weights, torch.zeros(8)
for step in range(20):
    begin = 32 * (step * world + rank) % 512
    error = inputs[begin : begin + 32] @ guess - targets[begin : begin + 32]
    gradient = inputs[begin : begin + 32].T @ error / world
    dist.all_reduce(gradient)
    guess -= 0.02 * gradient
    time.sleep(0.01)
    print(f"step {step} loss: {float((error**2).mean()):.6f} throughput: {32 / 0.01:.1f} samples/s", flush=True)
dist.destroy_process_group()
