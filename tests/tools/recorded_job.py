# A job as PyTorch's DataLoader runs it without persistent workers: two processes are forked for every epoch, each makes every second batch.
# Recorded with pipeprobe_record (samples/python). Arguments: epochs, seconds of imports, name of the workers' threads.
import multiprocessing
import sys
import time

import pipeprobe_record as pp

EPOCHS, IMPORTS_S, NAME = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
WORKERS, BATCHES, BATCH = 2, 30, 4
time.sleep(IMPORTS_S)
run = pp.Recorder("unused.sqlite")
if run.error:
    sys.exit(run.error)
fork = multiprocessing.get_context("fork")


def work(number, out):
    thread = run.thread("worker", NAME)
    for batch in range(number, BATCHES, WORKERS):
        for sample in range(batch * BATCH, batch * BATCH + BATCH):
            for phase, seconds in (("read", 0.001), ("decode", 0.006), ("transform", 0.001)):
                with thread.span(phase, batch, sample):
                    time.sleep(seconds)
        out.put(batch)


trainer = run.thread("trainer", "trainer")
for epoch in range(EPOCHS):
    queues = [fork.SimpleQueue() for _ in range(WORKERS)]
    workers = [fork.Process(target=work, args=(n, queues[n])) for n in range(WORKERS)]
    for w in workers:
        w.start()
    for batch in range(BATCHES):
        with trainer.span("data_wait"):
            queues[batch % WORKERS].get()
        with trainer.span("step"):
            time.sleep(0.001)
    for w in workers:
        w.join()
problem = run.close()
if problem:
    sys.exit(problem)
