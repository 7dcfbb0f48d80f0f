#!/bin/bash
# loader_gains.sh [ROW...]: what `pipeprobe whatif` predicts for loaders that are no DataLoader, against the same job with that setting. Each row: the job is
# recorded once, then runs plain by turns without and with the change, ROUNDS times (2): as many batches, so that a pool's start counts in both. The rate is the job's own. Storage is a mount with 4 ms per open and
# 2 ms per read. GRAIN names an interpreter with Grain (build/venvs/loaders/bin/python, of make test-frameworks), PYTHON one with torch.
. "$(dirname "$0")/../lib.sh"
. tests/slow_fs.sh
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3} GRAIN=${GRAIN:-build/venvs/loaders/bin/python} ROUNDS=${ROUNDS:-2}
export OMP_NUM_THREADS=1 ROWS="$*"

# NAME | the job | changed to | --set
rows() {
    cat <<'END'
grain-threads-8|$GRAIN tests/jobs/other_loaders.py grain @ storage 120 1|$GRAIN tests/jobs/other_loaders.py grain @ storage 120 8|workers=8
grain-threads-4|$GRAIN tests/jobs/other_loaders.py grain @ storage 120 1|$GRAIN tests/jobs/other_loaders.py grain @ storage 120 4|workers=4
grain-threads-2|$GRAIN tests/jobs/other_loaders.py grain @ storage 120 1|$GRAIN tests/jobs/other_loaders.py grain @ storage 120 2|workers=2
grain-processes-2|$GRAIN tests/jobs/other_loaders.py grain @ transform 120 1|$GRAIN tests/jobs/other_loaders.py grain_processes @ transform 120 2|workers=2
pool-4|WORKERS=1 $PYTHON tests/jobs/own_loops.py @ pool storage 120|WORKERS=4 $PYTHON tests/jobs/own_loops.py @ pool storage 120|workers=4
pool-2|WORKERS=1 $PYTHON tests/jobs/own_loops.py @ pool storage 120|WORKERS=2 $PYTHON tests/jobs/own_loops.py @ pool storage 120|workers=2
threadpool-4|WORKERS=1 $PYTHON tests/jobs/own_loops.py @ threadpool storage 120|WORKERS=4 $PYTHON tests/jobs/own_loops.py @ threadpool storage 120|workers=4
completed-4|WORKERS=1 $PYTHON tests/jobs/own_loops.py @ completed storage 120|WORKERS=4 $PYTHON tests/jobs/own_loops.py @ completed storage 120|workers=4
imap-4|WORKERS=1 $PYTHON tests/jobs/own_loops.py @ imap storage 120|WORKERS=4 $PYTHON tests/jobs/own_loops.py @ imap storage 120|workers=4
processes-4|WORKERS=1 $PYTHON tests/jobs/own_loops.py @ processes storage 120|WORKERS=4 $PYTHON tests/jobs/own_loops.py @ processes storage 120|workers=4
sleeps-4|WORKERS=1 $PYTHON tests/jobs/own_loops.py @ pool sleeps 120|WORKERS=4 $PYTHON tests/jobs/own_loops.py @ pool sleeps 120|workers=4
END
}
rate() { # JOB: batches/s
    eval "timeout 120 env $1" 2>&1 >/dev/null | sed -nE 's/.*[ ,]([0-9.]+) batches\/s.*/\1/p; s/^([0-9.]+) batches\/s.*/\1/p' | tail -n 1
}
median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

mkdir "$T/files"
for i in $(seq 100); do head -c 32768 /dev/urandom >"$T/files/$i"; done
slow_mount "$T/files" open_ms=4,read_ms=2 || skip_all "no slow mount: $(head -n 1 "$T/slow.log")"
printf '%-20s %28s %10s\n' row 'predicted, times' 'measured'
while IFS='|' read -r name job with set; do
    [[ -z $ROWS || " $ROWS " = *" $name "* ]] || continue
    [[ $job != *"$GRAIN"* ]] || "$GRAIN" -c 'import grain' 2>/dev/null || { echo "$name 0 skipped: $GRAIN has no grain"; continue; }
    job=${job//@/$T/slow} with=${with//@/$T/slow}
    eval "timeout 120 $PP exec -q --force -o $T/run.sqlite -- env $job" >"$T/exec.out" 2>&1
    "$PP" whatif "$T/run.sqlite" --set "$set" --json >"$T/whatif.json" 2>"$T/whatif.err"
    : >"$T/ratios"
    for _ in $(seq "$ROUNDS"); do awk "BEGIN { a = $(rate "$job") + 0; b = $(rate "$with") + 0; if (a) print b / a }" >>"$T/ratios"; done
    predicted=$(sqlite3 -separator ' ' :memory: "SELECT 1 + json_extract(p, '\$.gain'), 1 + json_extract(p, '\$.gain_low'), 1 + json_extract(p, '\$.gain_high') FROM (SELECT json_extract(CAST(readfile('$T/whatif.json') AS TEXT), '\$.predictions[0]') AS p)" 2>"$T/sqlite.err")
    echo "$name $(median <"$T/ratios") ${predicted:-refused: $(head -n 1 "$T/whatif.err")}"
done < <(rows) | awk '
$3 + 0 { printf "%-20s %10.2f (%.2f to %.2f) %10.2f  %s\n", $1, $3, $4, $5, $2, $4 <= $2 && $2 <= $5 ? "inside" : "OUTSIDE"; n++; inside += $4 <= $2 && $2 <= $5; next }
$3 == "skipped:" { print; next }
{ printf "%-20s measured %.2f, %s\n", $1, $2, substr($0, index($0, $3)); refused++ }
END { printf "%d predicted: inside the interval %d; %d refused\n", n, inside, refused }'
slow_unmount
