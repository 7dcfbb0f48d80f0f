#!/bin/bash
# pipeprobe top on the directory of a job: a row per rank with the slow one on top, while they record and afterwards, as a frame, a document, lines, and on a
# terminal, where Enter opens a rank's own dashboard. And the page of pipeprobe ranks on the same job.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
pids=()
cleanup() { [ -z "${pids[*]}" ] || kill -9 "${pids[@]}" 2>/dev/null; rm -rf "$T"; }
DIR=$T/job

begin() { # RANK OPTIONS...
    local rank=$1
    shift
    RANK=$rank WORLD_SIZE=2 "$PP" run --synthetic n=4000,size=64x48 --workers 1 --batch-size 8 --step-ms 20 --warmup 5 -o "$DIR/" --quiet "$@" >/dev/null 2>"$T/$rank.err" </dev/null &
    pids[rank]=$!
}
begin 0 --duration 600
begin 1 --duration 600 --inject read-latency=15ms
states() { "$PP" top "$DIR" --once --json 2>/dev/null | tr -d ' "' | grep -A3 '^state:running' | grep -c '^step_ns:[0-9]'; }
for _ in $(seq 600); do [ "$(states)" = 2 ] && break; sleep 0.1; done
run "$PP" top "$DIR" --once --json
is "while they record: both have a row" "$rc $(json "$OUT" '$.schema') $(json "$OUT" '$.ranks[0].state') $(json "$OUT" '$.ranks[1].state')" "0 pipeprobe.top.ranks/1 running running"
run timeout 60 "$PP" top "$DIR" --once --size 100x8
like "while they record: the frame says so" "$(cat "$OUT")" "^LIVE"
timeout 60 "$PP" top "$DIR" --line --json --interval 200ms >"$T/log" 2>"$T/log.err" &
log=$!
for _ in $(seq 900); do # until both have steps enough to be compared
    for rank in 0 1; do
        [ "$(sqlite3 -readonly "$DIR/rank000$rank.sqlite" "SELECT count(DISTINCT batch) > 40 FROM rollup_batch" 2>/dev/null)" = 1 ] || { sleep 0.1; continue 2; }
    done
    break
done
for rank in 0 1; do kill -INT "${pids[rank]}"; done
wait "${pids[@]}"
pids=()

wait "$log"
is "the log ends with the job" "$? $(cat "$T/log.err")" "0 "
is "a line is a document with its rank" "$(jq_ranks() { while read -r line; do printf '%s' "$line" >"$T/line"; json "$T/line" '$.rank'; done; }; tail -n 2 "$T/log" | jq_ranks | sort | tr '\n' ' ')" "0 1 "
holds "there were several intervals" "$(wc -l <"$T/log") > 4"
run "$PP" top "$DIR" --once --json
is "afterwards: the slow one is on top" "$(json "$OUT" '$.ranks[0].rank') $(json "$OUT" '$.ranks[0].state') $(json "$OUT" '$.ranks[1].rank')" "1 interrupted 0"
holds "by its wait for data" "$(json "$OUT" '$.ranks[0].data_wait_share') > $(json "$OUT" '$.ranks[1].data_wait_share')"
run "$PP" top "$DIR" --line
like "as a line" "$(cat "$OUT")" "^2 of 2 ranks, .* samples/s; worst: rank 1, data wait"
for size in 1x1 20x4 80x3 200x60; do
    run "$PP" top "$DIR" --once --size "$size"
    [ "$rc" = 0 ] && [ "$(wc -l <"$OUT")" -le "${size#*x}" ] || small="${small:-} $size"
done
is "any size of the screen" "${small:-}" ""
mkdir "$T/one" && cp "$DIR/rank0000.sqlite" "$T/one"
run "$PP" top "$T/one" --once --size 80x24
like "one rank alone is a recording as any other" "$(cat "$OUT")" "^overview"

# ---- the page

run "$PP" ranks "$DIR" --html "$T/page.html"
is "the page" "$rc $(grep -c 'id="map"' "$T/page.html") $(grep -c 'id="epochs"' "$T/page.html")" "0 1 1"
like "the text comes all the same" "$(cat "$OUT")" "^2 ranks of"
refuses "a page that is there" 2 "page.html exists; --force" "$PP" ranks "$DIR" --html "$T/page.html"
run "$PP" ranks "$DIR" --html - --force
is "on standard output alone" "$rc $(head -c 15 "$OUT")" "0 <!DOCTYPE html>"
refuses "two documents on one output" 2 "name a file" "$PP" ranks "$DIR" --html - --json
run "$PP" merge "$DIR" -o "$T/job.digest"
run "$PP" ranks "$T/job.digest" --html "$T/of-digest.html"
check "the page from a digest is that from the recordings" cmp "$T/page.html" "$T/of-digest.html"

# ---- on a terminal

if ! command -v tmux >/dev/null; then skip "on a terminal" "tmux is not installed"; done_testing; fi
. tests/tmux.sh
start_terminal 100 30
shell "clear; '$PP' top '$DIR'"
wait_for "the rows are shown" 'rank that the others wait for' 60
keys j
keys Enter
wait_for "Enter opens a rank's dashboard" '^overview  ' 60
type q
wait_for "q comes back" 'rank that the others wait for' 60
type q
restored "q again"
done_testing
