"""Every admissible plan of a small graph and its value, straight from the formulas; and random graphs to compare on.

Not a line of the product is used here: graphs and devices are the dictionaries of their JSON files.
"""

import random
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

Plan = list[tuple[frozenset[str], int, bool, bool]]
"""Per stage: names of its operators, replicas, recompute, offload."""
MODES = {"never": (False,), "auto": (False, True), "all": (True,)}


def cuts_of(graph: dict[str, Any], stages: int | None = None) -> Iterator[list[frozenset[str]]]:
    """Yield every way to cut a graph into stages."""
    names = [each["name"] for each in graph["operators"]]
    together = {name: {name} for name in names}
    for group in graph.get("glued", []):
        whole = set().union(*(together[name] for name in group))
        for name in whole:
            together[name] = whole
    edges = [(edge["from"], edge["to"]) for edge in graph["edges"]]

    def rest(placed: frozenset[str]) -> Iterator[list[frozenset[str]]]:
        left = [name for name in names if name not in placed]
        if not left:
            yield []
            return
        for size in range(1, len(left) + 1):
            for chosen in combinations(left, size):
                stage = frozenset(chosen)
                after = placed | stage
                if all(b not in after or a in after for a, b in edges) and all(together[n] <= stage for n in stage):
                    for others in rest(after):
                        yield [stage, *others]

    for found in chain_cuts(names, edges, together) or rest(frozenset()):
        if stages is None or len(found) == stages:
            yield found


def chain_cuts(
    names: list[str], edges: list[tuple[str, str]], together: dict[str, set[str]]
) -> list[list[frozenset[str]]] | None:
    """Return the cuts of a chain, None for another graph: the general way is slow."""
    following = dict(edges)
    if len(edges) != len(names) - 1 or len(following) != len(edges) or len({b for _, b in edges}) != len(edges):
        return None
    starts = set(names) - {b for _, b in edges}
    if len(starts) != 1:
        return None
    order = [starts.pop()]
    while order[-1] in following:
        order.append(following[order[-1]])
    found = []
    for mask in range(1 << (len(order) - 1)):
        parts, part = [], [order[0]]
        for at, name in enumerate(order[1:]):
            if mask >> at & 1:
                parts.append(frozenset(part))
                part = []
            part.append(name)
        parts.append(frozenset(part))
        if all(together[name] <= each for each in parts for name in each):
            found.append(parts)
    return found


class Oracle:
    """The formulas of the contract for one graph, one set of devices, one number of micro-batches."""

    def __init__(self, graph: dict[str, Any], devices: dict[str, Any], micro_batches: int) -> None:
        self.graph, self.devices, self.m = graph, devices, micro_batches
        self.operators = {each["name"]: each for each in graph["operators"]}
        self.tensors: dict[str, tuple[float, float, set[str]]] = {}
        for edge in graph["edges"]:
            default = edge["bytes"] if self.operators[edge["from"]]["backward"] > 0 else 0
            size, gradient, readers = self.tensors.get(edge["from"], (0, 0, set()))
            self.tensors[edge["from"]] = (
                max(size, edge["bytes"]), max(gradient, edge.get("gradient_bytes", default)), readers | {edge["to"]}
            )  # fmt: skip
        self.allreduce = devices.get("allreduce_bandwidth", devices["bandwidth"])

    def seconds(self, size: float) -> float:
        return self.devices.get("latency", 0) + size / self.devices["bandwidth"] if size > 0 else 0.0

    def trainable(self, stage: frozenset[str]) -> float:
        total = sum(self.operators[name]["parameters"] for name in stage)
        for alias in self.graph.get("aliases", []):
            total -= max(0, len(stage & set(alias["operators"])) - 1) * alias["bytes"]
        return total

    def parts(self, plan: Plan) -> list[dict[str, Any]]:
        """Return F, B, transfers, memory and all-reduce of each stage."""
        found: list[dict[str, Any]] = []
        warm = 1
        for number in range(len(plan) - 1, -1, -1):
            stage, r, recompute, offload = plan[number]
            if number < len(plan) - 1:
                warm = -(-warm * plan[number + 1][1] // r) + 1
            members = [self.operators[name] for name in stage]
            forward, backward = sum(o["forward"] for o in members), sum(o["backward"] for o in members)
            if recompute:
                backward += forward
            p = self.trainable(stage)
            if offload:
                forward = max(forward, p / self.devices["host_bandwidth"])
                backward = max(backward, 2 * p / self.devices["host_bandwidth"])
            ins = [t for name, t in self.tensors.items() if name not in stage and t[2] & stage]
            outs = [t for name, t in self.tensors.items() if name in stage and t[2] - stage]
            in_bytes, saved = sum(t[0] for t in ins), sum(o["saved"] for o in members)
            held = min(warm, -(-self.m // r))
            optimizer = self.devices.get("optimizer_bytes_per_parameter_byte", 2)
            states = 3 * max(o["parameters"] for o in members) if offload else p + p + optimizer * p
            memory = states + sum(o.get("frozen", 0) + o.get("buffers", 0) for o in members)
            memory += held * in_bytes + saved if recompute else held * (in_bytes + saved)
            memory += max(o["workspace"] for o in members)
            found.append({
                "F": forward, "B": backward, "r": r, "warm": warm, "memory": memory, "P": p,
                "in": sum(self.seconds(t[0]) for t in ins), "in_b": sum(self.seconds(t[1]) for t in ins),
                "out": sum(self.seconds(t[0]) for t in outs), "out_b": sum(self.seconds(t[1]) for t in outs),
            })  # fmt: skip
        return found[::-1]

    def fits(self, parts: list[dict[str, Any]]) -> bool:
        return all(each["memory"] <= self.devices["memory"] * (1 + 1e-12) for each in parts)

    def max_load(self, parts: list[dict[str, Any]]) -> float:
        return max((e["F"] + e["B"] + e["in"] + e["in_b"] + e["out"] + e["out_b"]) / e["r"] for e in parts)

    def fill(self, parts: list[dict[str, Any]]) -> float:
        passes = max((e["F"] + e["in"]) / e["r"] for e in parts) + max((e["B"] + e["out_b"]) / e["r"] for e in parts)
        exchange = max(2 * (e["r"] - 1) / e["r"] * e["P"] / self.allreduce for e in parts)
        return (self.m + len(parts) - 1) * passes + exchange

    def step(self, plan: Plan, parts: list[dict[str, Any]]) -> float:
        """Return the end of the step: passes as the longest way through their dependencies, then all-reduces."""
        where = {name: number for number, (stage, *_) in enumerate(plan) for name in stage}
        delay: dict[tuple[int, int], tuple[float, float]] = {}
        for name, (size, gradient, readers) in self.tensors.items():
            for other in {where[reader] for reader in readers} - {where[name]}:
                c = delay.get((where[name], other), (0.0, 0.0))
                delay[where[name], other] = (
                    max(c[0], self.seconds(size)), max(c[1], self.seconds(gradient))
                )  # fmt: skip
        needs: dict[tuple[int, int, str], list[tuple[tuple[int, int, str], float]]] = {}
        for s, each in enumerate(parts):
            for q in range(each["r"]):
                mine = list(range(q, self.m, each["r"]))
                ahead = min(each["warm"], len(mine))
                order = [(i, "F") for i in mine[:ahead]]
                for at, i in enumerate(mine):
                    order.append((i, "B"))
                    order += [(mine[at + ahead], "F")] if at + ahead < len(mine) else []
                for at, (i, kind) in enumerate(order):
                    needs[s, i, kind] = [((s, *order[at - 1]), 0.0)] if at else []
        for (a, b), (c, c_back) in delay.items():
            for i in range(self.m):
                needs[b, i, "F"].append(((a, i, "F"), c))
                needs[a, i, "B"].append(((b, i, "B"), c_back))
        ends: dict[tuple[int, int, str], float] = {}
        stack = list(needs)
        while stack:
            node = stack[-1]
            missing = [] if node in ends else [other for other, _ in needs[node] if other not in ends]
            if missing:
                stack += missing
                assert len(stack) < 100 * len(needs) + 1000, "the order waits for itself"
                continue
            stack.pop()
            begin = max([ends[other] + seconds for other, seconds in needs[node]], default=0.0)
            ends[node] = begin + parts[node[0]][node[2]]
        last = [max(ends[s, i, "B"] for i in range(self.m)) for s in range(len(plan))]
        return self._exchanges(plan, parts, where, last)

    def _exchanges(self, plan: Plan, parts: list[dict[str, Any]], where: dict[str, int], last: list[float]) -> float:
        sizes: dict[tuple[int, ...], float] = {(s,): each["P"] for s, each in enumerate(parts)}
        for alias in self.graph.get("aliases", []):
            holders = tuple(sorted({where[name] for name in alias["operators"]}))
            if len(holders) > 1:
                sizes[holders] = sizes.get(holders, 0.0) + alias["bytes"]
                for holder in holders:
                    sizes[holder,] -= alias["bytes"]
        free = list(last)
        for holders in sorted(sizes, key=lambda each: (max(last[s] for s in each), len(each), each)):
            ranks = sum(parts[s]["r"] for s in holders)
            if ranks > 1 and sizes[holders] > 0:
                end = max(free[s] for s in holders) + 2 * (ranks - 1) / ranks * sizes[holders] / self.allreduce
                for s in holders:
                    free[s] = end
        return max(free)

    def value(self, objective: str, plan: Plan, parts: list[dict[str, Any]]) -> float:
        if objective == "step":
            return self.step(plan, parts)
        return self.fill(parts) if objective == "fill" else self.max_load(parts)

    def plans(
        self, recompute: str = "never", offload: str = "never", stages: int | None = None,
        replicas: tuple[int, ...] = (),
    ) -> Iterator[tuple[Plan, list[dict[str, Any]]]]:  # fmt: skip
        """Yield every admissible plan that fits, with its parts."""
        ways = list(product(MODES[recompute], MODES[offload]))
        for cut in cuts_of(self.graph, stages):
            for counts in product(range(1, min(self.m, self.devices["count"]) + 1), repeat=len(cut)):
                wanted = replicas * len(cut) if len(replicas) == 1 else replicas
                if sum(counts) > self.devices["count"] or (replicas and tuple(wanted) != counts):
                    continue
                for chosen in product(ways, repeat=len(cut)):
                    plan = [(stage, r, *way) for stage, r, way in zip(cut, counts, chosen, strict=True)]
                    parts = self.parts(plan)
                    if self.fits(parts):
                        yield plan, parts

    def best(self, objective: str, **options: Any) -> tuple[float, int, int] | None:
        """Return the least value, and of the plans that have it the fewest devices, then the fewest stages."""
        rows = [
            (self.value(objective, plan, parts), sum(each[1] for each in plan), len(plan))
            for plan, parts in self.plans(**options)
        ]
        if not rows:
            return None
        least = min(rows)[0]
        return (least, *min(row[1:] for row in rows if row[0] <= least * (1 + 1e-10)))


def random_graph(
    dice: random.Random, count: int, *, branched: bool = False, ties: bool = False, aliases: bool = False
) -> dict[str, Any]:
    """Return a random graph: a chain, or one in which operators read several earlier ones."""
    whole = ties or dice.random() < 0.3

    def number(most: float) -> float:
        return float(dice.randint(0, 3)) * most / 3 if whole else dice.uniform(0, most)

    names = [f"op{each:03d}" for each in range(count)]
    operators = [
        {
            "name": name, "forward": number(1.0), "backward": number(2.0), "parameters": round(number(100)) * 8,
            "saved": round(number(50)), "workspace": round(number(30)), "frozen": dice.choice((0, 0, 16)),
            "buffers": dice.choice((0, 0, 5)),
        }
        for name in names
    ]  # fmt: skip
    edges = []
    for at in range(1, count):
        sources = [at - 1]
        if branched:
            sources = dice.sample(range(max(0, at - 3), at), k=min(at, dice.choice((1, 1, 2))))
        for source in sources:
            edge = {"from": names[source], "to": names[at], "bytes": round(number(40))}
            if dice.random() < 0.1:
                edge["gradient_bytes"] = round(number(40))
            edges.append(edge)
    graph: dict[str, Any] = {"schema_version": 1, "operators": operators, "edges": edges}
    if aliases and count > 1:
        pair = dice.sample(range(count), 2)
        size = min(operators[each]["parameters"] for each in pair) // 2
        graph["aliases"] = [{"operators": [names[each] for each in pair], "bytes": size}]
    if count > 3 and dice.random() < 0.2:
        at = dice.randrange(count - 1)
        graph["glued"] = [[names[at], names[at + 1]]]
    return graph


def random_devices(dice: random.Random, count: int, graph: dict[str, Any]) -> dict[str, Any]:
    """Return random devices, with memory that holds a part of the graph or all of it."""
    whole = sum(
        4 * each["parameters"] + each["saved"] * 3 + each["frozen"] + each["buffers"] for each in graph["operators"]
    )
    return {
        "count": count, "memory": round(whole * dice.choice((0.3, 0.5, 0.8, 1.2, 3.0))) + 50,
        "bandwidth": dice.choice((50.0, 200.0, 1e4)), "latency": dice.choice((0.0, 0.01)),
        "host_bandwidth": dice.choice((300.0, 3000.0)),
        "optimizer_bytes_per_parameter_byte": dice.choice((0, 1, 2, 2)),
    }  # fmt: skip
