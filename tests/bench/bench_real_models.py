"""Do real models still plan and train as the plain loop? `python tests/bench/bench_real_models.py [NAME…]`.

40 models of torchvision, timm and transformers with random weights and small configurations, as far as these libraries
are installed: each is planned, trained for three steps by AutoParallel (one process) and by a plain loop, and compared.
One row each (PYTHONPATH=.:tests). Nothing is downloaded.
"""

import copy
import importlib
import importlib.util
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

STEPS = 3
FUNCTIONAL = ("drop_rate", "dropout", "attention_dropout", "activation_dropout")
"""Attributes of modules that call dropout as a function."""
Example = tuple[nn.Module, Any, Callable[..., Any] | None]
"""Model, batch of a step, loss."""


def vision(library: str, name: str, pixels: int, **options: Any) -> Callable[[], Example]:
    """Return what makes a model of images with ten classes."""

    def make() -> Example:
        if library == "timm":
            model = importlib.import_module("timm").create_model(name, pretrained=False, num_classes=10, **options)
        else:
            model = getattr(importlib.import_module("torchvision.models"), name)(num_classes=10, **options)
        batch = (torch.randn(4, 3, pixels, pixels), torch.randint(10, (4,)))
        return model, batch, nn.functional.cross_entropy

    return make


def text(kind: str, task: str = "ForCausalLM", decoder: bool = False, **options: Any) -> Callable[[], Example]:
    """Return what makes a model of tokens that returns its loss."""

    def make() -> Example:
        transformers = importlib.import_module("transformers")
        config = getattr(transformers, f"{kind}Config")(**options)
        model = getattr(transformers, f"{kind}{task}")(config)
        words = torch.randint(3, 90, (4, 12))
        batch = {"input_ids": words, "labels": words[:, 0] % 2 if task.endswith("Classification") else words}
        if decoder:
            batch["decoder_input_ids"] = words
        return model, batch, None

    return make


SMALL = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
         "intermediate_size": 64}  # fmt: skip
EARLIER = {"vocab_size": 100, "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 32}
PAIRED = {"vocab_size": 100, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
          "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_position_embeddings": 32,
          "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}  # fmt: skip
MODELS: dict[str, tuple[str, Callable[[], Example]]] = {
    **{
        f"torchvision {name}": ("torchvision", vision("torchvision", name, pixels, **options))
        for name, pixels, options in (
            ("resnet18", 32, {}), ("resnext50_32x4d", 32, {}), ("wide_resnet50_2", 32, {}), ("densenet121", 32, {}),
            ("mobilenet_v2", 32, {}), ("mobilenet_v3_small", 32, {}), ("efficientnet_b0", 32, {}),
            ("shufflenet_v2_x0_5", 32, {}), ("squeezenet1_1", 64, {}), ("mnasnet0_5", 32, {}),
            ("regnet_y_400mf", 32, {}), ("convnext_tiny", 32, {}), ("vgg11_bn", 32, {}),
            ("alexnet", 64, {}), ("swin_t", 64, {}),
        )
    },
    **{
        f"timm {name}": ("timm", vision("timm", name, pixels, **options))
        for name, pixels, options in (
            ("resnet10t", 32, {}), ("vit_tiny_patch16_224", 32, {"img_size": 32}),
            ("deit_tiny_patch16_224", 32, {"img_size": 32}), ("mixer_s32_224", 64, {"img_size": 64}),
            ("convmixer_768_32", 32, {}), ("efficientvit_b0", 64, {}), ("ghostnet_050", 32, {}), ("lcnet_035", 32, {}),
            ("xcit_nano_12_p16_224", 32, {"img_size": 32}), ("eva02_tiny_patch14_224", 28, {"img_size": 28}),
            ("pvt_v2_b0", 32, {}), ("regnetx_002", 32, {}),
        )
    },
    **{
        f"transformers {kind}": ("transformers", text(kind, **options))
        for kind, options in {
            "GPT2": {"task": "LMHeadModel", **EARLIER}, "OPT": {**SMALL, "ffn_dim": 64, "word_embed_proj_dim": 32},
            "Bloom": {"vocab_size": 100, "hidden_size": 32, "n_layer": 2, "n_head": 2},
            "Llama": {**SMALL, "num_key_value_heads": 2}, "Qwen3": {**SMALL, "num_key_value_heads": 2, "head_dim": 16},
            "Gemma2": {**SMALL, "num_key_value_heads": 2, "head_dim": 16},
            "Mistral": {**SMALL, "num_key_value_heads": 2}, "Phi": SMALL, "GPTNeoX": SMALL,
            "Bert": {"task": "ForSequenceClassification", **SMALL},
            "Albert": {"task": "ForSequenceClassification", **SMALL, "embedding_size": 32},
            "Electra": {"task": "ForSequenceClassification", **SMALL, "embedding_size": 32},
            "Bart": {"task": "ForConditionalGeneration", "decoder": True, **PAIRED},
        }.items()
    },
}  # fmt: skip
"""Name → library, and what makes it."""


def compared(make: Callable[[], Example]) -> dict[str, Any]:
    """Return operators, whether the self-check was run, and the largest relative difference of the losses."""
    from hackathon.parallel import AutoParallel
    from hackathon.parallel.live.batches import inputs_of
    from hackathon.parallel.live.capture import Whole

    def sgd(parameters: Any) -> torch.optim.Optimizer:
        return torch.optim.SGD(parameters, 0.01)

    torch.manual_seed(0)
    model, batch, loss = make()
    for item in model.modules():  # two programs draw other random numbers: none are drawn
        if isinstance(item, (nn.Dropout, nn.Dropout1d, nn.Dropout2d)):
            item.p = 0.0
        for name in ("drop_prob", "dropout_p", "p") if type(item).__name__ in ("DropPath", "StochasticDepth") else ():
            if hasattr(item, name):
                setattr(item, name, 0.0)
        for name in FUNCTIONAL:
            if isinstance(getattr(item, name, None), float):
                setattr(item, name, 0.0)
    state = copy.deepcopy(model.state_dict())  # with the versions of its modules, which a model may ask for
    begin = time.monotonic()
    parallel = AutoParallel(model, loss=loss, optimizer=sgd, example=batch, micro_batches=1, seed=0)
    took = time.monotonic() - begin
    losses = [float(parallel.step(batch)) for _ in range(STEPS)]
    torch.manual_seed(0)
    plain = make()[0]
    plain.load_state_dict(state)
    for one, other in zip(plain.modules(), model.modules(), strict=True):
        for name in ("p", "drop_prob", "dropout_p", *FUNCTIONAL):
            if isinstance(getattr(other, name, None), float):
                setattr(one, name, getattr(other, name))
    plain.train()
    with_loss, optimizer = Whole(plain, loss, True), sgd(plain.parameters())
    difference = 0.0
    for value in losses:
        optimizer.zero_grad()
        expected = with_loss(*inputs_of(batch, loss is not None))
        expected.backward()
        optimizer.step()
        difference = max(difference, abs(value - expected.item()) / max(abs(expected.item()), 1e-12))
    check = parallel.checked
    return {
        "operators": len(parallel.plan.stage_of), "difference": difference, "seconds": took,
        "check": "modules" if check is None else check.why_not or f"{check.gradients} gradients",
    }  # fmt: skip


def main(names: list[str]) -> None:
    """Print a row for each model."""
    from hackathon.parallel.description import choice

    choice.MEASURING, choice.SEARCHING = 0.0, 0.0
    absent = [item for item in ("torchvision", "timm", "transformers") if importlib.util.find_spec(item) is None]
    for item in absent:
        print(f"{item} is not installed: {sum(library == item for library, _ in MODELS.values())} models left out")
    for name, (library, make) in MODELS.items():
        if library in absent or (names and not any(item in name for item in names)):
            continue
        try:
            row = compared(make)
        except Exception as error:
            print(f"| {name} | refused | {type(error).__name__}: {str(error).splitlines()[0][:150]} |", flush=True)
            continue
        print(
            f"| {name} | {row['operators']} operators | {row['check']} | {row['difference']:.1e} "
            f"| {row['seconds']:.1f} s |", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
