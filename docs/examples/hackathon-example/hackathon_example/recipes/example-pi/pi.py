"""Estimate π: the share of random points in a square that lie in the circle, times four."""

import argparse
import random
import time

from hackathon_runtime import Meter, identity

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--throws", type=int, required=True)
throws = options.parse_args().throws

me = identity()
meter = Meter()
random.seed(me.rank)
begin = time.perf_counter()
hits = sum(random.random() ** 2 + random.random() ** 2 < 1 for _ in range(throws))
seconds = time.perf_counter() - begin
print(f"rank {me.rank} of {me.world_size}: {hits} of {throws} throws hit the circle", flush=True)
if me.rank == 0:
    meter.final(pi=4 * hits / throws, throws_per_s=me.world_size * throws / seconds)
