"""The stages of AutoParallel on a real GPU: one process gives what the plain program gives there."""

from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch.optim import SGD

from hackathon.parallel import AutoParallel
from hackathon.parallel.live import batches
from hackathon.parallel.live.capture import capture
from support.cuts import legal_cuts
from support.partitioned_models import example, seeding

pytestmark = [
    pytest.mark.torch,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]


@pytest.mark.parametrize("name", ["chain", "gpt", "unet"])
@pytest.mark.parametrize(
    ("precision", "schedule"), [(None, "1f1b"), ("bf16", "1f1b"), (None, "interleaved-zero-bubble")]
)
def test_one_process_gives_what_the_plain_program_gives(
    name: str, precision: str | None, schedule: str, figures: dict[str, Any]
) -> None:
    model, batch, loss = example(name, 4)
    plain = example(name, 4)[0].cuda()
    args, kwargs, target = batches.even_pieces(batches.inputs_of(batch, loss is not None), 2)[0]
    captured = capture(model, args, kwargs, loss, target, evaluation=False)
    cuts = legal_cuts(captured.train) if schedule != "1f1b" else []
    starts = [0, *cuts[len(cuts) // 3 :: max(1, len(cuts) // 3)][:2]]
    stages = [
        {"operators": list(captured.operators[start:end]), "replicas": 1, "recompute": True}
        for start, end in pairwise([*starts, len(captured.operators)])
    ]
    plan = {"schema_version": 1, "micro_batches": 2, "stages": stages}
    parallel = AutoParallel(
        model, loss=loss, optimizer=lambda p: SGD(p, 0.05), example=batch, plan=plan, seed=3, precision=precision,
        schedule=schedule,
    )  # fmt: skip
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
        figures[f"{name} {precision} {schedule} step {step}"] = float(abs(mean - torch.stack(expected).mean()))
        assert mean.item() == pytest.approx(torch.stack(expected).mean().item(), abs=2e-2 if precision else 1e-4)
