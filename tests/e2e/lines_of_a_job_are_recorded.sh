#!/bin/bash
# Stacks of a PyTorch job, read from outside: the lines of its workers have about their true share, its output and exit status are its own, and what cannot
# be read is said once.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3} R=$T/run.sqlite
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
imports "$PYTHON" torch || skip_all "$PYTHON has no torch"
[ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" -lt 2 ] || skip_all "kernel.yama.ptrace_scope forbids it"
fact() { sql "$R" "SELECT value FROM meta WHERE section = 'stacks' AND key = '$1'"; }
# Samples of the workers of the loader, in which the function was on the stack.
samples_in() {
    sql "$R" "WITH RECURSIVE up(leaf, n, id, parent, function) AS (SELECT s.rowid, 1, k.id, k.parent, k.function FROM stack_sample s JOIN thread t ON t.id = s.thread
 AND t.lane = 'worker' JOIN stack k ON k.id = s.stack UNION ALL SELECT leaf, 1, k.id, k.parent, k.function FROM up JOIN stack k ON k.id = up.parent)
 SELECT count(DISTINCT leaf) FROM up JOIN stack_function f ON f.id = up.function WHERE f.function = '$1'"
}

for how in fork spawn; do
    run timeout 120 "$PP" exec -q -f --lines 25 -o "$R" -- "$PYTHON" tests/jobs/lines.py 8 $how
    is "$how: exit status" "$rc" 0
    true_share=$(sed -n 's/^burn //p' "$OUT")
    all=$(samples_in Train.__getitem__) burn=$(sql "$R" "WITH RECURSIVE up(leaf, parent, function) AS (SELECT s.rowid, k.parent, k.function FROM stack_sample s
 JOIN stack k ON k.id = s.stack UNION ALL SELECT leaf, k.parent, k.function FROM up JOIN stack k ON k.id = up.parent), in_it AS (SELECT leaf, group_concat(f.function) AS all_f
 FROM up JOIN stack_function f ON f.id = up.function GROUP BY leaf) SELECT count(*) FROM in_it WHERE all_f LIKE '%burn%' AND all_f LIKE '%Train.__getitem__%'")
    check "$how: $all samples of the first loader's workers" [ "$all" -ge 60 ]
    # Three standard errors of a share of so many samples.
    check "$how: burn has $burn of $all, truly $true_share" awk "BEGIN { p = $true_share; d = $burn / $all - p; d = d < 0 ? -d : d; exit !(d < 0.02 + 3 * sqrt(p * (1 - p) / $all)) }"
    check "$how: the decoy's worker is read too" [ "$(samples_in Decoy.__getitem__)" -gt 0 ]
    check "$how: the training thread is read too" [ "$(sql "$R" "SELECT count(*) FROM stack_sample s JOIN thread t ON t.id = s.thread WHERE t.lane = 'trainer'")" -ge 60 ]
    # A thread that has slept waits for a CPU, as R, before it goes on: on a loaded machine often.
    is "$how: the line of the sleep, less on the CPU than the loop" "$(sql "$R" "SELECT n.line || ' ' || (1.0 * n.on_cpu / n.samples < (SELECT 1.0 * sum(on_cpu) / sum(samples)
 FROM v_stack_line WHERE function = 'burn')) FROM v_stack_line n WHERE n.function = 'nap' ORDER BY n.samples DESC LIMIT 1")" "$(grep -n 'time.sleep(seconds)' tests/jobs/lines.py | cut -d: -f1) 1"
    check "$how: at most 1 of 100 is lost" [ $(($(fact lost) * 100)) -le "$(fact samples)" ]
    is "$how: nothing is said against it" "$(fact why_not)" ""
done
# A span covers the samples of its thread.
check "most samples of __getitem__ lie in a span of their thread" [ "$(sql "$R" "SELECT 10 * count(*) > 8 * (SELECT count(*) FROM stack_sample s JOIN thread t ON t.id = s.thread WHERE t.lane = 'worker')
 FROM stack_sample s JOIN thread t ON t.id = s.thread WHERE t.lane = 'worker' AND EXISTS (SELECT 1 FROM span p WHERE p.thread = s.thread AND p.start_ns <= s.t_ns AND s.t_ns < p.start_ns + p.dur_ns)")" = 1 ]

run timeout 60 "$PP" exec -q -f --no-lines -o "$R" -- "$PYTHON" tests/jobs/lines.py 1
is "--no-lines: no sample" "$rc $(sql "$R" "SELECT count(*) FROM stack_sample") $(fact rate_hz)" "0 0 "

# A process that nobody may look into.
cat >"$T/closed.py" <<'P'
import ctypes, sys
ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE
sys.path.insert(0, "tests/jobs")
sys.argv[1:] = ["3"]
import lines
lines.main(3)
sys.exit(7)
P
less="" # root without the right to trace
[ "$(id -u)" != 0 ] || less="setpriv --bounding-set=-sys_ptrace"
if $less true 2>/dev/null; then
    run timeout 60 $less "$PP" exec -q -f -o "$R" -- "$PYTHON" "$T/closed.py"
    is "not dumpable: exit status" "$rc" 7
    like "not dumpable: said" "$(fact why_not)" "^the stacks of process [0-9]* cannot be read: "
else
    skip "a process that nobody may look into" "no setpriv"
fi
done_testing
