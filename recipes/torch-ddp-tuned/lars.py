"""LARS, for very large batches: You, Gitman and Ginsburg, Large Batch Training of Convolutional Networks, 2017."""

import torch


class Lars(torch.optim.Optimizer):
    """SGD with momentum in which every layer has a rate of its own, in proportion to ‖weights‖ ÷ ‖gradient‖.

    Algorithm 1 of the paper: v ← momentum·v + lr·local·(g + decay·w), w ← w − v, with
    local = trust·‖w‖ / (‖g‖ + decay·‖w‖). Biases and batch normalisation (tensors of one dimension) are neither
    adapted nor decayed, as is usual since: their norms say nothing.
    """

    def __init__(
        self, params, lr: float, momentum: float = 0.9, weight_decay: float = 0.0, trust: float = 0.001
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "trust": trust})

    @torch.no_grad()
    def step(self, closure=None) -> None:
        """Update the weights from their gradients; there is no closure, it is asked for by GradScaler's interface."""
        for group in self.param_groups:
            for weights in group["params"]:
                if weights.grad is None:
                    continue
                update = weights.grad
                if weights.dim() > 1:
                    decay = group["weight_decay"]
                    norm, slope = torch.linalg.vector_norm(weights), torch.linalg.vector_norm(update)
                    local = group["trust"] * norm / (slope + decay * norm)
                    # all-zero weights or gradients say nothing either; `where` does not make the host wait for a GPU
                    local = torch.where((norm > 0) & (slope > 0), local, 1.0)
                    update = local * (update + decay * weights)
                state = self.state[weights]
                if "velocity" not in state:
                    state["velocity"] = torch.zeros_like(weights)
                weights -= state["velocity"].mul_(group["momentum"]).add_(group["lr"] * update)
