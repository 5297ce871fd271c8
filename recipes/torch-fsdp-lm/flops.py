"""How much arithmetic a token costs, and which part of the machine's peak that is."""

from model import GPT


def flops_per_token(net: GPT) -> float:
    """Return the floating-point operations of forward and backward for one token: 6N + 12·L·H·Q·T.

    Chowdhery et al., PaLM (2022), appendix B: N parameters, L layers, H heads of size Q, sequence length T. N leaves
    out the table of positions, which is looked up and not multiplied; the embedding counts, for it is the last layer
    too. What activation checkpointing computes twice counts once, and attention as if it were not causal.
    Call it before the network is cut into shards.
    """
    parameters = sum(each.numel() for each in net.parameters()) - net.positions.weight.numel()
    return 6 * parameters + 12 * net.shape.layers * net.shape.width * net.shape.sequence  # H·Q is the width


def utilisation(tokens_per_s: float, per_token: float, processes: int, peak_tflops: float) -> float:
    """Return the model FLOPs utilisation (MFU): what all processes reach ÷ `peak_tflops` × processes."""
    return tokens_per_s * per_token / (processes * peak_tflops * 1e12)
