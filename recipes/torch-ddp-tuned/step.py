"""One step of the training: mixed precision, gradients of several batches added up, then the optimizer."""

from collections.abc import Callable, Iterator

import torch
from micro_batches import MicroBatches

DTYPES = {"none": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Step:
    """Forward and backward of `accumulate` batches in the precision `amp`, and the update of the weights.

    fp16 has few exponents: GradScaler multiplies the loss, so that small gradients do not become 0, and leaves out the
    steps in which large ones overflow. bf16 has as many exponents as fp32 and needs none of it. The state goes into
    checkpoints in the optimizer's place.
    """

    def __init__(
        self, optimizer: torch.optim.Optimizer, loss_of: Callable, device: str, amp: str, accumulate: int
    ) -> None:
        self.optimizer, self.micro, self._accumulate = optimizer, MicroBatches(loss_of), accumulate
        self._device, self._amp = device, amp
        self.scaler = torch.amp.GradScaler(device, enabled=amp == "fp16")

    def precision(self, **more: bool) -> torch.autocast:
        """Return the context in which the network computes."""
        return torch.autocast(self._device, DTYPES[self._amp], enabled=self._amp != "none", **more)

    def backward(self, model: torch.nn.Module, batches: Iterator) -> torch.Tensor:
        """Leave the mean gradient of the next batches in the weights; return their mean loss.

        All batches but the last skip the all-reduce (no_sync): it is linear, and averaging the sum once is enough.
        HACKATHON_MICRO_BATCHES cuts each batch again, for less memory (`micro_batches.py`).
        """
        loss = 0.0
        for left in reversed(range(self._accumulate)):
            images, labels = next(batches)
            loss = loss + self.micro.backward(
                model, images, labels, share=1 / self._accumulate, scale=self.scaler.scale, precision=self.precision,
                last=not left,
            )  # fmt: skip
        return loss

    def update(self) -> None:
        """Change the weights."""
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def state_dict(self) -> dict:
        """Return what a checkpoint keeps."""
        return {"optimizer": self.optimizer.state_dict(), "scaler": self.scaler.state_dict()}

    def load_state_dict(self, state: dict) -> None:
        """Take up a checkpoint's state, that of another precision too."""
        self.optimizer.load_state_dict(state["optimizer"])
        if state["scaler"] and self.scaler.is_enabled():
            self.scaler.load_state_dict(state["scaler"])
