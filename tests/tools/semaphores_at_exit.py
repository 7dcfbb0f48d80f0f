"""semaphores_at_exit.py N: N processes that end as a training script ends whose DataLoader has spawned workers: nobody waits for the threads that feed its queues.
Such a thread drops the queue's last semaphore. Where the interpreter ends between its unlink and the message to Python's resource tracker, the tracker says
at its own end that a semaphore leaked, and that it is not there. Neither torch nor pipeprobe takes part: 20 of 1,500 under CPython 3.11.7."""
import multiprocessing
import os
import random
import sys
import time
from multiprocessing import resource_tracker

context = multiprocessing.get_context("spawn")
resource_tracker.ensure_running()  # one for all, which speaks when the last has ended
for i in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        random.seed(i)
        for _ in range(4):
            queue = context.Queue()
            queue.cancel_join_thread()  # as DataLoader does
            queue.put(1)
            queue.get()
            queue.close()
            del queue
        time.sleep(random.random() * 0.0008)
        break
    os.waitpid(child, 0)
