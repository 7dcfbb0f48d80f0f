"""The sampler's torch and sequential orders beside the real DistributedSampler.

    sampler_equals_pytorch.py golden        prints what is kept in tests/golden/sampler_torch.txt
    sampler_equals_pytorch.py requests      prints the grid of the live test, one request per line
    sampler_equals_pytorch.py expect        reads requests, prints each with what DistributedSampler yields
    sampler_equals_pytorch.py plan PROGRAM  compares `PROGRAM plan --n ...` with DistributedSampler, line by line

A request is "kind n seed epoch world rank drop_last"; the answer appends the number of samples, a digest (FNV-1a over whole
samples instead of bytes) and the first eight samples. tests/tools/order_digest.c answers the same requests from the shipped sampler."""
import itertools
import subprocess
import sys

from torch.utils.data.distributed import DistributedSampler

SEEDS = (0, 1, 42, 2**31, 2**32 - 1, 2**32 + 7, 2**63 - 9)


def order(kind, n, seed, epoch, world, rank, drop_last):
    sampler = DistributedSampler(range(n), num_replicas=world, rank=rank, shuffle=kind == "torch", seed=seed, drop_last=bool(drop_last))
    sampler.set_epoch(epoch)
    return list(sampler)


def answer(line):
    kind, *numbers = line.split()
    samples = order(kind, *map(int, numbers))
    digest = 0xCBF29CE484222325
    for sample in samples:
        digest = (digest ^ sample) * 0x100000001B3 % 2**64
    return f"{line.strip()} {len(samples)} {digest:016x} {' '.join(map(str, samples[:8]))}"


def requests(kinds, sizes, seeds, epochs, worlds):
    for kind, n, seed, epoch, world in itertools.product(kinds, sizes, seeds, epochs, worlds):
        for rank in sorted({0, world // 2, world - 1}):
            for drop_last in (0, 1) if n >= world else (0,):  # an epoch of nothing is refused, see test_sampler.c
                yield f"{kind} {n} {seed} {epoch} {world} {rank} {drop_last}"


def golden():
    yield "# Written by tests/e2e/sampler_equals_pytorch.py golden from PyTorch's DistributedSampler."
    yield "# kind n seed epoch world rank drop_last samples digest first-samples"
    for request in requests(("torch",), (1, 2, 3, 10, 1000), (0, 42, 2**32 + 7, 2**64 - 2), (0, 1), (1, 3)):
        yield answer(request)
    for request in requests(("torch", "sequential"), (5, 100), (3,), (2,), (2, 8, 9)):
        yield answer(request)
    for request in requests(("torch",), (1000000,), (1,), (3,), (1, 7)):
        yield answer(request)


def live():
    yield from requests(("torch",), (1, 2, 3, 4, 7, 10, 623, 624, 625, 1000), SEEDS, (0, 1, 5), (1, 2, 3, 8))
    yield from requests(("sequential",), (1, 2, 10, 1000), (0,), (0, 3), (1, 2, 3, 8, 16))
    yield from requests(("torch",), (100003, 1000000), (0, 2**32 + 7), (0, 9), (1, 8))


def compare_plan(program):
    failures = 0
    for kind, n, seed, epoch, world, rank, drop_last in itertools.product(
            ("torch", "sequential"), (1, 10, 1001), (0, 2**40 + 1), (0, 2), (1, 3), (0,), (0, 1)):
        if drop_last and n < world:
            continue
        command = [program, "plan", "--n", str(n), "--sampler", kind, "--seed", str(seed), "--epoch", str(epoch),
                   "--world-size", str(world), "--rank", str(rank)] + ["--drop-last"] * drop_last
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        if list(map(int, printed)) != order(kind, n, seed, epoch, world, rank, drop_last):
            print("differs:", " ".join(command), file=sys.stderr)
            failures += 1
    return failures


def main():
    what = sys.argv[1]
    if what == "plan":
        return 1 if compare_plan(sys.argv[2]) else 0
    lines = {"golden": golden, "requests": live, "expect": lambda: map(answer, sys.stdin)}[what]()
    for line in lines:
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
