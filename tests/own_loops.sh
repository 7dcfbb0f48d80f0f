# shellcheck shell=bash
# tests/own_loops.sh, to be sourced behind tests/lib.sh: jobs of tests/jobs/own_loops.py under exec. PYTHON, and R, the recording.
mkdir "$T/files"
for i in $(seq 100); do head -c 32768 /dev/urandom >"$T/files/$i"; done

recorded() { # FORM MODE BATCHES: runs it; $stalls is the recording's share, $waited the job's own
    local dir=$T/files plain
    [ "$2" != storage ] || dir=$T/slow
    run timeout 120 "$PP" exec -q --force -o "$R" -- "$PYTHON" tests/jobs/own_loops.py "$dir" "$1" "$2" "$3" 12 # ms of a transform: the GIL stretches short steps
    is "$1 $2: exit status and output" "$rc $(sed 's/ .*//' "$OUT")" "0 $3"
    is "$1 $2: standard error is the job's own line" "$(grep -c . "$ERR") $(grep -c 'batches/s, waited' "$ERR")" "1 1"
    is "$1 $2: every hook fits" "$(sql "$R" "SELECT value FROM meta WHERE section = 'process_note'")" ""
    waited=$(sed -n 's/.*waited \(.*\) %/\1/p' "$ERR")
    "$PP" report "$R" --json >"$T/report.json" 2>"$T/report.err"
    stalls=$(json "$T/report.json" '$.data_wait_share')
}
starved() { # FORM MODE CAUSE [BATCHES]
    recorded "$1" "$2" "${4:-45}"
    holds "$1 $2: waits as the job's clock says ($waited %)" "100 * $stalls > $waited - 15 && 100 * $stalls < $waited + 10"
    if [ "${waited%.*}" -lt 30 ]; then skip "$1 $2: the cause" "it waited $waited %: the interpreter's lock stretched its steps instead"; return; fi
    is "$1 $2: input-bound" "$(json "$T/report.json" '$.verdict.l0')" input-bound
    like "$1 $2: the cause" "$(json "$T/report.json" '$.verdict.l1')" "$3"
}
