"""jax_profiled.py DIR WAIT_MS STEP_MS: a loop under jax.profiler whose next() takes WAIT_MS and whose steps take STEP_MS. Prints as JSON what a clock says of
the steps but the first: their number, waits and steps in seconds."""
import json
import sys
import time

import jax
import jax.numpy as jnp


def batches(wait_s):
    while True:
        time.sleep(wait_s)
        yield jnp.ones((8, 8))


def main(where, wait_ms, step_ms):
    step = jax.jit(lambda x: (x @ x).sum())
    source = batches(wait_ms / 1000)
    step(next(source)).block_until_ready()
    waits, steps = [], []
    with jax.profiler.trace(where):
        for i in range(15):
            start = time.perf_counter()
            with jax.profiler.TraceAnnotation("data_wait"):
                x = next(source)
            got = time.perf_counter()
            with jax.profiler.StepTraceAnnotation("train", step_num=i):
                step(x).block_until_ready()
                time.sleep(step_ms / 1000)
            waits.append(got - start)
            steps.append(time.perf_counter() - start)
    print(json.dumps({"steps": len(steps) - 1, "wait_s": sum(waits[1:]), "step_s": sum(steps[1:])}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))
