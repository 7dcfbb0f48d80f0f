#!/bin/bash
# bench_neighbour.sh [ROUNDS]: what a second worker gains beside a neighbour that takes 0, 0.25, 0.5 and 1 CPU: predicted from the run with one worker, and measured.
#
# The neighbour is one spinning process under a CPU quota. In each round every load is run with one worker and then with two, so that what else the machine does
# falls on both. Printed per load: the means of the ratios of the rates, predicted and measured, with 95 % intervals over the rounds, what others took besides, and
# how often the 80 % interval of the prediction holds the measured rate. 5 rounds by default, about a minute each.
. "$(dirname "$0")/../lib.sh"
. tests/os_causes.sh
need_pipeprobe
rounds=${1:-5} seconds=${SECONDS_PER_RUN:-5}
cleanup() { stop_spinning; drop_group; rm -rf "$T"; }
reason=$(why_no_quota)
[ -z "$reason" ] || skip_all "$reason"
"$MAKE_DATASET" "$T/images" --n 200 >/dev/null
cat "$T"/images/*/* >/dev/null

one() { # WORKERS
    "$PP" run "$T/images" --workers "$1" --batch-size 32 --step-ms 10 --duration "$seconds" --quiet --force -o "$T/$1.sqlite" --json >"$T/$1.json" 2>"$T/err" ||
        [ $? = 3 ] || { cat "$T/err" >&2; exit 1; }
    json "$T/$1.json" '$.samples_per_s'
}

for round in $(seq "$rounds"); do
    for load in 0 25 50 100; do
        if [ $load != 0 ]; then
            quota_group $load
            bash -c 'echo $$ >"$0/cgroup.procs" && while :; do :; done' "$group" &
            spinners=$!
        fi
        alone=$(one 1)
        two=$(one 2)
        if [ $load != 0 ]; then stop_spinning; sleep 0.2; drop_group; fi
        "$PP" whatif "$T/1.sqlite" --set workers=2 --json >"$T/whatif.json"
        outside=$(sql "$T/1.sqlite" "SELECT (max(CASE name WHEN 'machine_cpu_user_ns_total' THEN value END) - min(CASE name WHEN 'machine_cpu_user_ns_total' THEN value END)
            + max(CASE name WHEN 'machine_cpu_system_ns_total' THEN value END) - min(CASE name WHEN 'machine_cpu_system_ns_total' THEN value END)
            - max(CASE name WHEN 'process_cpu_ns_total' THEN value END) + min(CASE name WHEN 'process_cpu_ns_total' THEN value END)) / (max(t_ns) - min(t_ns)) FROM counter")
        printf '%s %s %s %s %s %s %s\n' $load "$alone" "$two" "$(json "$T/whatif.json" '$.predictions[0].samples_per_s')" "$(json "$T/whatif.json" '$.predictions[0].low')" \
            "$(json "$T/whatif.json" '$.predictions[0].high')" "$outside" | tee -a "$T/rows" >&2
    done
done
echo "neighbour  others took      predicted gain         measured gain     held   ($rounds rounds of $seconds s, $(nproc) CPUs)"
awk '
{ n[$1]++; p = $4 / $2 - 1; m = $3 / $2 - 1; sp[$1] += p; spp[$1] += p * p; sm[$1] += m; smm[$1] += m * m; o[$1] += $7; held[$1] += ($3 >= $5 && $3 <= $6) }
function pm(s, ss, n) { return n > 1 ? 196 * sqrt((ss - s * s / n > 0 ? ss - s * s / n : 0) / (n - 1) / n) : 0 }
END {
    for (i = 0; i < 4; i++) {
        k = i == 0 ? 0 : i == 1 ? 25 : i == 2 ? 50 : 100
        printf "%5.2f CPU   %6.2f CPUs  %+6.0f %% (+-%3.0f)        %+6.0f %% (+-%3.0f)    %d of %d\n", k / 100, o[k] / n[k], 100 * sp[k] / n[k], pm(sp[k], spp[k], n[k]),
            100 * sm[k] / n[k], pm(sm[k], smm[k], n[k]), held[k], n[k]
    }
}' "$T/rows"
