#!/usr/bin/env python3
"""M/M/1 at utilisation 0.9 in SimPy: jobs a second, medians of 5 (100,000 arrivals each)."""
import random
import statistics
import time

import simpy

ARRIVALS = 100_000


def job(env, server, stream, total):
    arrival = env.now
    with server.request() as turn:
        yield turn
        yield env.timeout(stream.expovariate(1.0))
    total[0] += env.now - arrival


def source(env, server, stream, total):
    for _ in range(ARRIVALS):
        yield env.timeout(stream.expovariate(0.9))
        env.process(job(env, server, stream, total))


def run(seed):
    stream, total = random.Random(seed), [0.0]
    start = time.perf_counter()
    env = simpy.Environment()
    env.process(source(env, simpy.Resource(env, 1), stream, total))
    env.run()
    return ARRIVALS / (time.perf_counter() - start)


print(statistics.median(run(seed) for seed in range(1, 6)))
