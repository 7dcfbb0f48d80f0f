#!/bin/bash
# A PyTorch job in which a thread of its own takes the DataLoader's batches and the training thread gets them from a queue or a future: the data wait is that
# of the training thread, by its own clock, and the other thread is a copy lane.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
JOB=$PWD/tests/jobs/prefetched.py
R=$T/run.sqlite
if [ ! -e "$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip "the trainer may be another thread" "the extension is not built: no Python.h"; done_testing; fi
if ! imports "$PYTHON" torch; then skip "the trainer may be another thread" "$PYTHON has no torch"; done_testing; fi

lanes() { sql "$R" "SELECT lane, phase, count(*) FROM v_span WHERE lane IN ('trainer', 'copy', 'main') GROUP BY 1, 2 ORDER BY 1, 2" | tr '\n' ' ' | sed 's/ $//'; }
# recorded NAME ARGUMENTS...: as without us, and the trainer's waits are the job's own. A thread may lose its CPU between the two clocks, and the
# job's first wait of an epoch has the start of its thread in it: so a quarter of the waits may differ. What it computes depends on no option but
# --inference.
recorded() {
    local name=$1
    shift
    run timeout 240 "$PP" exec -q --force -o "$R" -- "$PYTHON" "$JOB" "$@"
    is "$name: exit status and standard error" "$rc $(cat "$ERR")" "0 "
    is "$name: losses, weights, random state" "$(grep -v waited "$OUT")" "$(grep -v waited "$T/plain.out")"
    is "$name: the hooks stayed on" "$(sql "$R" "SELECT value FROM meta WHERE section = 'process_note'")" ""
    is "$name: one trainer" "$(sql "$R" "SELECT count(DISTINCT thread) FROM v_span WHERE phase = 'data_wait'")" 1
    is "$name: its batches, in order" "$(sql "$R" "SELECT group_concat(batch) = group_concat(n - 1) FROM (SELECT batch, row_number() OVER (ORDER BY start_ns) AS n FROM v_span WHERE phase = 'data_wait')")" 1
    is "$name: no phase of the trainer runs into the next" "$(sql "$R" "SELECT count(*) FROM (SELECT start_ns, lag(start_ns + dur_ns) OVER (PARTITION BY thread ORDER BY start_ns, id) AS before FROM v_span WHERE lane = 'trainer') WHERE before > start_ns + 1000")" 0
    sql "$R" "SELECT dur_ns / 1000 FROM v_span WHERE phase = 'data_wait' ORDER BY start_ns" >"$T/ours"
    awk '/^waited/ {for (i = 2; i <= NF; i++) print $i}' "$OUT" >"$T/theirs"
    is "$name: as many waits as the job's clock has" "$(wc -l <"$T/ours")" "$(wc -l <"$T/theirs")"
    is "$name: three of four waits are the job's own, to 1 % and 1 ms" "$(paste "$T/theirs" "$T/ours" |
        awk '{d = $1 - $2; if (d < 0) d = -d; if (d <= 0.01 * $1 + 1000) good++} END {print (good >= 0.75 * NR ? "yes" : good " of " NR)}')" yes
}

handed="copy|get_wait|24 copy|put_wait|26 trainer|data_wait|24 trainer|epoch_boundary|2 trainer|step|24"
starts="trainer|epoch_boundary|2 trainer|sampler|2 trainer|startup|2 trainer|step|24" # where the trainer makes the iterators
second="trainer|epoch_boundary|2 trainer|sampler|1 trainer|startup|1 trainer|step|24" # and where it is the trainer from the second on
"$PYTHON" "$JOB" >"$T/plain.out"
recorded "a queue"
is "a queue: who waited for what" "$(lanes)" "$handed"
is "a queue: both lanes by their names" "$(sql "$R" "SELECT group_concat(DISTINCT lane || ' ' || name) FROM (SELECT * FROM thread WHERE lane <> 'worker' ORDER BY lane)")" "copy prefetch,trainer trainer"
recorded "a slow step" --step-ms 30 --sample-ms 1
is "a slow step: who waited for what" "$(lanes)" "$handed"
# The other thread waits for its batches all the same, and it is not counted as the trainer's.
holds "a slow step: the queue's wait is the prefetching thread's" "$(sql "$R" "SELECT sum(dur_ns) FILTER (WHERE phase = 'put_wait') FROM v_span") > 2 * $(sql "$R" "SELECT median FROM (SELECT dur_ns AS median FROM v_span WHERE phase = 'step' ORDER BY dur_ns LIMIT 1)")"
recorded "a queue that is asked again and again" --poll
is "a queue that is asked again and again: who got what" "$(lanes | sed 's/put_wait|[0-9]*/put_wait/')" "copy|get_wait|24 copy|put_wait trainer|data_wait|24 trainer|epoch_boundary|2 trainer|step|24"
recorded "without workers" --workers 0
is "without workers: who waited for what" "$(lanes)" "$handed"
recorded "a pool of threads" --pool
is "a pool of threads: who waited for what" "$(lanes)" "copy|get_wait|24 copy|put_wait|26 trainer|data_wait|24 $starts"
recorded "training in another thread" --train-in-thread
is "training in another thread: it is the trainer" "$(lanes)" "trainer|data_wait|24 $second"
"$PYTHON" "$JOB" --inference >"$T/plain.out"
recorded "inference" --inference
is "inference: who waited for what" "$(lanes)" "$handed"
recorded "inference from a pool" --inference --pool
is "inference from a pool: who waited for what" "$(lanes)" "copy|get_wait|24 copy|put_wait|26 trainer|data_wait|24 $starts"

# A queue whose type is in C.
"$PYTHON" "$JOB" >"$T/plain.out"
sed 's/queue.Queue(2)/queue.SimpleQueue()/; s/ready.put(/ready.put_nowait(/' "$JOB" >"$T/simple.py"
JOB=$T/simple.py
recorded "a simple queue"
is "a simple queue: who waited for what" "$(lanes)" "$handed"
run timeout 60 "$PP" exec -q --force -o "$R" -- "$PYTHON" -c '
import _queue, pickle, queue, torch.utils.data, weakref
q = queue.SimpleQueue()
q.put(1); q.put_nowait(2); q.put(3, block=False, timeout=None)
print(isinstance(q, _queue.SimpleQueue), queue.SimpleQueue[int], q.qsize(), q.get(), q.get_nowait(), q.get(True, 5), q.empty(), weakref.ref(q)() is q)
print(pickle.loads(pickle.dumps(queue.SimpleQueue)) is queue.SimpleQueue, queue.SimpleQueue.__name__, queue.SimpleQueue.put.__text_signature__)
for call in (q.get_nowait, lambda: q.get(timeout=-1), lambda: q.put(), lambda: pickle.dumps(q)):
    try: call()
    except Exception as e: print(type(e).__name__)'
is "a simple queue is as it was" "$(cat "$OUT" "$ERR")" "$("$PYTHON" -c '
import queue
print("True %s 3 1 2 3 True True" % (queue.SimpleQueue[int],))
print("True SimpleQueue", queue.SimpleQueue.put.__text_signature__)
print("Empty", "ValueError", "TypeError", "TypeError", sep=chr(10))')"

# A hand-over that is not seen: no data wait, and no verdict from the wrong thread's.
cat >"$T/box.py" <<'EOT'
import collections, threading
class Box:
    def __init__(self): self.items, self.there = collections.deque(), threading.Semaphore(0)
    def put(self, item): self.items.append(item); self.there.release()
    def get(self, timeout): self.there.acquire(); return self.items.popleft()
EOT
{ cat "$T/box.py"; sed 's/queue.Queue(2)/Box()/' tests/jobs/prefetched.py; } >"$T/boxed.py"
run timeout 240 "$PP" exec --force -o "$R" -- "$PYTHON" "$T/boxed.py"
is "another way to hand over: exit status" "$rc" 0
is "another way to hand over: nobody's wait is the trainer's" "$(sql "$R" "SELECT count(*) FROM v_span WHERE phase IN ('data_wait', 'step')")" 0
like "another way to hand over: said" "$(cat "$ERR")" "no verdict: a helper thread reads the DataLoader"
done_testing
