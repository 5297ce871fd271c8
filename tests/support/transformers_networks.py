"""Models of transformers from tiny configurations that `hackathon plan` calls. No weights are read."""

from collections.abc import Callable
from typing import Any

import torch
import transformers

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


def _tokens(length: int = 8) -> torch.Tensor:
    return torch.randint(60, (2, length))


def bert() -> dict[str, Any]:
    """BERT with a head of words."""
    config = transformers.BertConfig(vocab_size=60, max_position_embeddings=16, **SIZES)
    named = {"input_ids": _tokens(), "attention_mask": torch.ones(2, 8, dtype=torch.long), "labels": _tokens()}
    return {"model": transformers.BertForMaskedLM(config), "args": (), "kwargs": named}


def gpt2() -> dict[str, Any]:
    """GPT-2, tied."""
    config = transformers.GPT2Config(vocab_size=60, n_positions=16, n_embd=16, n_layer=2, n_head=2, use_cache=False)
    return {"model": transformers.GPT2LMHeadModel(config), "args": (),
            "kwargs": {"input_ids": _tokens(), "labels": _tokens()}}  # fmt: skip


def llama() -> dict[str, Any]:
    """Llama with grouped queries."""
    config = transformers.LlamaConfig(vocab_size=60, num_key_value_heads=1, use_cache=False, **SIZES)
    return {"model": transformers.LlamaForCausalLM(config), "args": (),
            "kwargs": {"input_ids": _tokens(), "labels": _tokens()}}  # fmt: skip


def t5() -> dict[str, Any]:
    """T5: encoder and decoder, tied."""
    config = transformers.T5Config(vocab_size=60, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2,
                                   use_cache=False, decoder_start_token_id=0)  # fmt: skip
    return {"model": transformers.T5ForConditionalGeneration(config), "args": (),
            "kwargs": {"input_ids": _tokens(), "labels": _tokens(6)}}  # fmt: skip


def vit() -> dict[str, Any]:
    """ViT for images of 16 × 16 pixels."""
    config = transformers.ViTConfig(image_size=16, patch_size=4, num_labels=3, **SIZES)
    return {"model": transformers.ViTForImageClassification(config), "args": (torch.ones(2, 3, 16, 16),),
            "kwargs": {"labels": torch.zeros(2, dtype=torch.long)}}  # fmt: skip


def mixtral() -> dict[str, Any]:
    """Mixtral: a mixture of experts."""
    config = transformers.MixtralConfig(vocab_size=60, num_key_value_heads=1, num_local_experts=2, use_cache=False,
                                        **SIZES)  # fmt: skip
    return {"model": transformers.MixtralForCausalLM(config), "args": (),
            "kwargs": {"input_ids": _tokens(), "labels": _tokens()}}  # fmt: skip


CAPTURED: dict[str, Callable[[], dict[str, Any]]] = {
    each.__name__: each for each in (bert, gpt2, llama, t5, vit, mixtral)
}
