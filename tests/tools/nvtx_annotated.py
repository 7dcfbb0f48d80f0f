# A Python program annotated with the nvtx package: a decorator, a context manager, a mark, and two worker processes (one forked, one spawned).
import multiprocessing

import nvtx


@nvtx.annotate("decode_jpeg", domain="loader")
def decode():
    return 1


def worker(n):
    return sum(decode() for _ in range(n))


if __name__ == "__main__":
    with nvtx.annotate("epoch"):
        for method, n in (("fork", 2), ("spawn", 4)):
            p = multiprocessing.get_context(method).Process(target=worker, args=(n,))
            p.start()
            p.join()
            assert p.exitcode == 0
        for step in range(2):
            with nvtx.annotate("train_step", payload=step):
                pass
        nvtx.mark("tick")
