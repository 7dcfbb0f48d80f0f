#!/bin/bash
# alone
# A job whose batches are many small tensors: the training thread maps each of them, and neither workers nor a prefetch help. The same data as one
# tensor: the wait is gone.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
if [ ! -e "$PWD/$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip "many tensors are named" "the extension is not built: no Python.h"; done_testing; fi
if ! imports "$PYTHON" torch; then skip "many tensors are named" "$PYTHON has no torch"; done_testing; fi
job() { # TENSORS [--join]
    run timeout 120 "$PP" exec -q --force -o "$T/$([ "${2:-}" ] && echo joined || echo "$1").sqlite" -- "$PYTHON" tests/jobs/sleeps.py --workers 2 --sample-ms 1 --step-ms 10 --samples 600 --epochs 1 --tensors "$@"
    is "$1 tensors ${2:-}: exit status" "$rc" 0
}
wait_ms() { sql "$T/$1.sqlite" "SELECT sum(dur_ns) / 1e6 FROM v_span WHERE phase = 'data_wait'"; }
job 80
job 1
run "$PP" report --json "$T/80.sqlite"
verdict="$(json "$OUT" '$.verdict.l1') $(json "$OUT" '$.verdict.l2')"
run "$PP" report "$T/80.sqlite"
# Where others use the CPUs, that is the cause: the job leaves half of two idle.
idle=$(sql "$T/80.sqlite" "SELECT sum(d) FILTER (WHERE name LIKE '%idle%') / sum(d) FROM (SELECT name, max(value) - min(value) AS d FROM counter WHERE name LIKE 'machine_cpu_%' GROUP BY name)")
if awk "BEGIN { exit !($idle < 0.2) }"; then
    skip "its class and cause, and what to do" "$idle of the CPUs was idle"
else
    is "its class and cause" "$verdict" "loader unpickle"
    like "what to do" "$(cat "$OUT")" "Send fewer tensors per batch"
fi
like "what that would gain" "$(cat "$OUT")" "one tensor per batch in place of many small ones: .* samples/s"
is "the tensors of a batch are counted" "$(sql "$T/80.sqlite" "SELECT CAST(sum(value) AS INTEGER) FROM counter WHERE name = 'unpickle_tensors'")" 12000
is "one tensor is one" "$(sql "$T/1.sqlite" "SELECT CAST(sum(value) AS INTEGER) FROM counter WHERE name = 'unpickle_tensors'")" 150
is "unpickling is most of its wait" "$(sql "$T/80.sqlite" "SELECT (SELECT sum(value) FROM counter WHERE name = 'unpickle_ns') > 0.5 * (SELECT sum(dur_ns) FROM v_span WHERE phase = 'data_wait')")" 1
holds "one tensor waits less than a third of that" "$(wait_ms 1) < $(wait_ms 80) / 3"
# No prediction promises what no worker can do: the trainer's own part stays.
run "$PP" whatif "$T/80.sqlite" --set workers=16 --json
holds "16 workers are not said to help" "$(json "$OUT" '$.predictions[0].gain') < 0.5"
# The remedy's gain is predicted, and measured: the same tensors, sent as one. Other load makes the prediction's interval wider.
job 80 --join
run "$PP" whatif --json "$T/80.sqlite"
read -r low high was < <(sqlite3 :memory: "SELECT json_extract(value, '\$.low') || ' ' || json_extract(value, '\$.high') || ' ' || json_extract(d, '\$.measured_samples_per_s') FROM (SELECT CAST(readfile('$OUT') AS TEXT) AS d), json_each(d, '\$.predictions') WHERE json_extract(value, '\$.set') LIKE 'unpickle=%'")
run "$PP" report --json "$T/joined.sqlite"
measured=$(json "$OUT" '$.samples_per_s')
holds "one tensor is predicted to gain" "${low:-0} > ${was:-1}"
holds "it gains as much, give or take a factor of two at the ends of the interval" "$measured > ${low:-0} / 2 && $measured < 2 * ${high:-0}"
run "$PP" report --json "$T/80.sqlite"
holds "no fix gains more than there is to gain" "$(sqlite3 :memory: "SELECT max(json_extract(value, '\$.samples_per_s')) FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.verdict.fixes')") <= 1.000001 * $(json "$OUT" '$.verdict.headroom_samples_per_s')"
run "$PP" whatif "$T/1.sqlite" --set unpickle=-1
is "a factor below 0" "$rc" 2
done_testing
