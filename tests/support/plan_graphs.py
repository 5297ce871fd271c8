"""Graphs with the proportions of real networks, as their JSON files have them."""

from typing import Any


def transformer(layers: int) -> dict[str, Any]:
    """Return a graph of Llama's kind: equal heavy layers, each with branches that no chain has, and a large head."""
    operators: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    tokens, width, inner, words = 2048, 4096, 11008, 32000
    sizes: dict[str, int] = {}

    def add(name: str, flop: float, parameters: int, saved: int, size: int, *reads: str) -> str:
        seconds = max(flop / 2.5e14, size / 2e12)
        operators.append({
            "name": name, "forward": seconds, "backward": 2 * seconds, "parameters": 4 * parameters, "saved": saved,
            "workspace": 0,
        })  # fmt: skip
        edges.extend({"from": each, "to": name, "bytes": sizes[each]} for each in reads)
        sizes[name] = size
        return name

    full, wide, thin = 4 * tokens * width, 4 * tokens * inner, 4 * tokens

    def norm(name: str, x: str) -> str:
        for part, size in (("pow", full), ("mean", thin), ("rsqrt", thin), ("scale", full)):
            x = add(f"{name}.{part}", 0, 0, 0 if size == thin else full, size, x)
        return add(f"{name}.weight", 0, width, full, full, x)

    def rotated(name: str, x: str) -> str:
        halves = [add(f"{name}.half{each}", 0, 0, 0, full // 2, x) for each in (1, 2)]
        turned = add(f"{name}.cat", 0, 0, 0, full, halves[0], add(f"{name}.neg", 0, 0, 0, full // 2, halves[1]))
        products = add(f"{name}.cos", 0, 0, 0, full, x), add(f"{name}.sin", 0, 0, 0, full, turned)
        return add(f"{name}.add", 0, 0, full, full, *products)

    x = add("embed", 0, words * width, 0, full)
    for number in range(layers):
        layer = f"layer{number:02d}"
        y = norm(f"{layer}.norm1", x)
        heads = []
        for each in "qkv":
            z = add(f"{layer}.{each}", 2 * tokens * width**2, width**2, full, full, y)
            z = add(f"{layer}.{each}.view", 0, 0, 0, full, z)
            heads.append(z if each == "v" else rotated(f"{layer}.{each}", z))
        y = add(f"{layer}.attention", 4 * tokens**2 * width, 0, 2 * full, full, *heads)
        y = add(f"{layer}.o", 2 * tokens * width**2, width**2, full, full, y)
        x = add(f"{layer}.add1", 0, 0, 0, full, x, y)
        y = norm(f"{layer}.norm2", x)
        gate = add(f"{layer}.gate", 2 * tokens * width * inner, width * inner, wide, wide, y)
        gate = add(f"{layer}.silu", 0, 0, wide, wide, gate)
        up = add(f"{layer}.up", 2 * tokens * width * inner, width * inner, wide, wide, y)
        y = add(f"{layer}.mul", 0, 0, wide, wide, gate, up)
        y = add(f"{layer}.down", 2 * tokens * width * inner, width * inner, wide, full, y)
        x = add(f"{layer}.add2", 0, 0, 0, full, x, y)
    x = add("head", 2 * tokens * width * words, words * width, full, 4 * tokens * words, x)
    add("loss", 0, 0, 4 * tokens * words, 4, x)
    return {"schema_version": 1, "operators": operators, "edges": edges}
