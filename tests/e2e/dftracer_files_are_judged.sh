#!/bin/bash
# pipeprobe import and report on files that DFTracer writes here, of a PyTorch job with workers, of one whose storage is slow and of one without workers: the
# share of the wait is that of a clock around next(), every call of a file is there, and a cause is named where the calls show it. The package is kept in
# build/venvs/dftracer. The shares agree within 1 point on an idle machine; a process that loses its CPU between two clocks moves them further apart.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PIPEPROBE_TEST_PYTHON:-/usr/bin/python3}
imports "$PYTHON" torch || skip_all "python3-torch is not installed"
dir=${VENVS:-$PWD/build/venvs}/dftracer
if [ ! -e "$dir/complete" ] && ! { timeout 120 python3 -m pip --python "$PYTHON" install -q --retries 0 --no-deps --only-binary :all: --target "$dir" \
    dftracer==2.2.0 pydftracer==2.0.6 && touch "$dir/complete"; } >"$T/pip" 2>&1; then
    rm -rf "$dir"
    skip_all "DFTracer cannot be had: $(tail -n 1 "$T/pip" | cut -c1-100)"
fi
mkdir "$T/data"
for i in {1..80}; do head -c 20000 /dev/zero >"$T/data/$i"; done
share() { json "$1" '$.data_wait_share'; }
truth() { sqlite3 :memory: "SELECT json_extract(CAST(readfile('$1') AS TEXT), '\$.wait_s') / json_extract(CAST(readfile('$1') AS TEXT), '\$.step_s')"; }
trace() { # NAME WORKERS SLEEP_MS STEP_MS [SLOW]: files in $T/NAME/, $T/NAME.report
    local name=$1
    shift
    mkdir "$T/$name"
    PYTHONPATH=$dir DFTRACER_ENABLE=1 DFTRACER_INC_METADATA=1 run timeout 200 "$PYTHON" tests/jobs/dftraced.py "$T/$name/trace" "$T/data" "$@"
    is "$name: the job ran" "$rc" 0
    cp "$OUT" "$T/$name.truth"
    run "$PP" import "$T/$name" -o "$T/$name.sqlite"
    is "$name: its files are one recording" "$rc $(ls "$T" | grep -c "^$name.*sqlite$")" "0 1"
    cp "$ERR" "$T/$name.words"
    "$PP" report "$T/$name.sqlite" --json >"$T/$name.report"
    echo "# $name: clock $(truth "$T/$name.truth"), trace $(share "$T/$name.report")"
    holds "$name: the share is that of the clock, within 5 points" "$(share "$T/$name.report") - $(truth "$T/$name.truth") <= 0.05 && $(truth "$T/$name.truth") - $(share "$T/$name.report") <= 0.05"
}
calls() { zcat "$T/$1"/*.gz | grep -c '"name":"\(open64\|read\|lseek64\|close\)","cat":"POSIX"'; }
spans() { sql "$T/$1.sqlite" "SELECT count(*) FROM span WHERE phase = (SELECT id FROM phase WHERE name = 'read')"; }

trace workers 2 20 10
is "two workers: each wrote a file" "$(ls "$T/workers" | grep -c gz)" 3
like "and what was found is said" "$(cat "$T/workers.words")" '20 steps, 20 waits of the trainer .DFTracer'
holds "all calls of files are there" "$(calls workers) > 80 * 3 && $(calls workers) == $(spans workers)"
is "by the processes that made them" "$(sql "$T/workers.sqlite" "SELECT count(DISTINCT pid) FROM thread WHERE lane = 'worker'")" 2
is "their bytes are those of the files" "$(sql "$T/workers.sqlite" "SELECT sum(bytes) FROM span WHERE phase = (SELECT id FROM phase WHERE name = 'read')")" 1600000
is "slow transforms are input-bound, and no cause is made up" "$(json "$T/workers.report" '$.verdict.l0') $(json "$T/workers.report" '$.verdict.l1')" "input-bound "
like "and the report says what the workers do" "$(json "$T/workers.report" '$.verdict.reason')" 'calls of files for .* transforms that have a range for'

mkfifo "$T/data/slow"
(while sleep 0.03; do echo x >"$T/data/slow"; done) &
feeder=$!
trace storage 1 0 10 "$T/data/slow"
kill $feeder
wait $feeder 2>/dev/null
is "slow storage is named" "$(json "$T/storage.report" '$.verdict.l0') $(json "$T/storage.report" '$.verdict.l1')" "input-bound storage"
like "with what is not known of it" "$(json "$T/storage.report" '$.losses')" 'page cache'
rm "$T/data/slow"

trace alone 0 20 10
is "a loader without workers is named" "$(json "$T/alone.report" '$.verdict.l1') $(json "$T/alone.report" '$.verdict.l2')" "loader in-trainer"

# ---- one file alone, and one that was cut
run "$PP" report "$T"/alone/*.pfw.gz --json
is "report takes a file itself" "$rc $(share "$OUT")" "0 $(share "$T/alone.report")"
zcat "$T"/alone/*.pfw.gz | head -c -150 >"$T/cut.pfw"
run "$PP" import "$T/cut.pfw" -o "$T/cut.sqlite"
is "a cut file is taken" "$rc" 0
like "to its last whole event" "$(cat "$ERR")" 'is cut: it ends inside of an event, at byte'
done_testing
