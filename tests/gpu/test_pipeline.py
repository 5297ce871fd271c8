"""The stages of AutoParallel on a real GPU: one stage gives what the plain program gives there."""

from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch.optim import SGD

from hackathon.parallel import AutoParallel
from hackathon.parallel.live import batches
from hackathon.parallel.live.capture import capture
from support.partitioned_models import example, seeding

pytestmark = [
    pytest.mark.torch,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]


@pytest.mark.parametrize("name", ["chain", "gpt", "unet"])
@pytest.mark.parametrize("precision", [None, "bf16"])
def test_one_stage_gives_what_the_plain_program_gives(
    name: str, precision: str | None, figures: dict[str, Any]
) -> None:
    model, batch, loss = example(name, 4)
    plain = example(name, 4)[0].cuda()
    args, kwargs, target = batches.even_pieces(batches.inputs_of(batch, loss is not None), 2)[0]
    captured = capture(model, args, kwargs, loss, target, evaluation=False)
    stage = {"operators": list(captured.operators), "replicas": 1, "recompute": True}
    plan = {"schema_version": 1, "micro_batches": 2, "stages": [stage]}
    parallel = AutoParallel(
        model, loss=loss, optimizer=lambda p: SGD(p, 0.05), example=batch, plan=plan, seed=3, precision=precision
    )
    optimizer = SGD(plain.parameters(), 0.05)
    for step in range(2):
        mean, expected = parallel.step(batch), []
        optimizer.zero_grad()
        for number, piece in enumerate(batches.even_pieces(batches.inputs_of(batch, loss is not None), 2)):
            leaves = torch.utils._pytree.tree_map(lambda e: e.cuda() if isinstance(e, torch.Tensor) else e, piece)
            with seeding(3, step, number), torch.autocast("cuda", torch.bfloat16, enabled=precision is not None):
                output = plain(*leaves[0], **leaves[1])
                value = loss(output, leaves[2]) if loss else output["loss"]
            (value / 2).backward()
            expected.append(value.detach().float())
        optimizer.step()
        figures[f"{name} {precision} step {step}"] = float(abs(mean - torch.stack(expected).mean()))
        assert mean.item() == pytest.approx(torch.stack(expected).mean().item(), abs=2e-2 if precision else 1e-4)
