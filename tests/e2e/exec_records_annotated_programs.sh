#!/bin/bash
# idle
# pipeprobe exec: any annotated program becomes a recording, and is otherwise left as it is.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
CLIENT=$PWD/$BUILD/tests/tools/nvtx_client
V3=$PWD/$BUILD/tests/tools/nvtx_v3
TOOL=$PWD/$BUILD/tests/tools/libfake_tool.so
[ -x "$CLIENT" ] || { echo "not ok 1 - $CLIENT is built"; exit 1; }

count() { sql "$1" "SELECT count(*) FROM v_span WHERE $2"; }
no_leftovers() { check "$1: nothing but the recording is left" test "$(find "$T" -maxdepth 1 -name '*.rings' -o -maxdepth 1 -name '*-wal' | wc -l)" -eq 0; }

# Threads, forked and spawned processes, names, domains, marks, and a whole verdict.
run timeout 60 "$PP" exec --map pytorch -o "$T/train.sqlite" -- "$CLIENT" names train=450 fork=3 spawn=2 exit=5
is "the exit status is the program's" "$rc" 5
is "nothing on standard output but the program's" "$(cat "$OUT")" ""
like "what was recorded is said" "$(cat "$ERR")" "spans of 8 threads in 6 processes recorded in $T/train.sqlite"
like "and the verdict" "$(cat "$ERR")" "waits for data [0-9.]+ % of the time"
is "on one screen" "$(test "$(grep -v "^pipeprobe exec" "$ERR" | wc -l)" -le 20 && echo yes)" yes
is "with no option that exec does not have" "$(grep -cE -- "--(duration|steps|workers|prefetch|step-ms|out-of-order)" <(grep -v whatif "$ERR"))" 0
is "integrity" "$(sql "$T/train.sqlite" 'PRAGMA integrity_check')" ok
is "one ordinary file" "$(sql "$T/train.sqlite" 'PRAGMA journal_mode')" delete
is "steps" "$(count "$T/train.sqlite" "phase = 'step' AND name = 'train_step'")" 450
is "waits" "$(count "$T/train.sqlite" "phase = 'data_wait' AND name = 'next_batch'")" 450
is "decodes of two threads" "$(count "$T/train.sqlite" "phase = 'decode' AND name = 'decode_jpeg' AND lane = 'worker'")" 900
is "payloads are batches" "$(sql "$T/train.sqlite" "SELECT min(batch), max(batch) FROM v_span WHERE phase = 'step'")" "0|449"
is "the named thread is the trainer" "$(sql "$T/train.sqlite" "SELECT lane FROM thread WHERE name = 'the trainer'")" trainer
is "children's ranges" "$(count "$T/train.sqlite" "name = 'range' AND phase = 'user'")" 50
is "processes are listed" "$(sql "$T/train.sqlite" "SELECT count(*) FROM meta WHERE section = 'process'")" 6
is "a registered string in its domain" "$(count "$T/train.sqlite" "name = 'lib:registered'")" 1
is "a mark" "$(sql "$T/train.sqlite" "SELECT dur_ns FROM v_span WHERE name = 'epoch done'")" 0
check "ranges that stand for a phase carry CPU time" test "$(count "$T/train.sqlite" "phase = 'decode' AND cpu_ns IS NOT NULL")" -gt 800
run timeout 60 "$PP" report "$T/train.sqlite"
is "pipeprobe report reads it like any run" "$rc" 0
no_leftovers "exec"

# Without a map: names stay, no verdict.
run timeout 60 "$PP" exec -o "$T/plain.sqlite" -- "$CLIENT" train=20
is "no map: exit status" "$rc" 0
is "no map: every range is the program's own" "$(count "$T/plain.sqlite" "phase <> 'user'")" 0
is "no map: names are kept" "$(count "$T/plain.sqlite" "name = 'decode_jpeg'")" 40
like "no map: no verdict, and what it would need" "$(cat "$ERR")" "no verdict: .*data_wait and step.*--map"
run timeout 60 "$PP" report "$T/plain.sqlite"
is "no map: report is inconclusive" "$rc" 3
like "no map: and says what to do, not to run longer" "$(tr -s '\n ' ' ' <"$OUT")" "does not say when the trainer waited.* Do: Map ranges of the training loop to data_wait and step"

# Own map.
printf '# mine\nload_* = read\ndecode_jpeg = decode\ntrain* = step\nnext* = data_wait\n' >"$T/mine.map"
run timeout 60 "$PP" exec -q -m "$T/mine.map" -o "$T/mine.sqlite" -- "$CLIENT" train=20
is "own map: silent with -q" "$(cat "$ERR")" ""
is "own map: phases" "$(sql "$T/mine.sqlite" "SELECT group_concat(phase, ' ') FROM (SELECT DISTINCT phase FROM v_span ORDER BY phase)")" "data_wait decode read step"
printf 'a = read\nb = deocde\n' >"$T/bad.map"
refuses "a bad line in a map" 125 "bad.map:2: .*deocde.*did you mean decode" "$PP" exec --map "$T/bad.map" -o "$T/no.sqlite" -- "$CLIENT" push=1
refuses "a map that is not there" 125 "map not found: nomap" "$PP" exec --map nomap -o "$T/no.sqlite" -- "$CLIENT" push=1
refuses "a map file that is not there" 125 "gone.map" "$PP" exec --map "$T/gone.map" -o "$T/no.sqlite" -- "$CLIENT" push=1

# Exit statuses and signals.
refuses "missing program" 127 "program not found: $T/missing" "$PP" exec -o "$T/no.sqlite" -- "$T/missing"
refuses "missing in PATH" 127 "program not found: nowhere-to-be-found in PATH" "$PP" exec -o "$T/no.sqlite" -- nowhere-to-be-found
refuses "a script without its interpreter" 127 "a script has its interpreter in front: python3 train.py" "$PP" exec -o "$T/no.sqlite" -- train.py
refuses "not executable" 126 "cannot be executed" "$PP" exec -o "$T/no.sqlite" -- "$T/mine.map"
refuses "no program at all" 125 "no program given" "$PP" exec -o "$T/no.sqlite"
refuses "nothing behind --" 125 "no program given" "$PP" exec -o "$T/no.sqlite" --
run "$PP" exec -q -f -o "$T/without.sqlite" "$CLIENT" push=1
is "a forgotten --" "$rc" 0
run "$PP" exec --nosuch -- "$CLIENT" push=1
is "an unknown option" "$rc" 125
check "none of them left a file" test ! -e "$T/no.sqlite"
run "$PP" exec --help
is "--help" "$rc" 0

run timeout 60 "$PP" exec -f -o "$T/kill.sqlite" -- "$CLIENT" push=100 kill=9
is "a killed program" "$rc" 137
is "and its ranges" "$(count "$T/kill.sqlite" "name = 'range'")" 100
run timeout 60 "$PP" exec -f -o "$T/segv.sqlite" -- "$CLIENT" push=5 kill=11
is "a crashed program" "$rc" 139
"$PP" exec -f -o "$T/term.sqlite" -- "$CLIENT" push=5 trap sleep=20000 >"$OUT" 2>"$ERR" &
pid=$!
for _ in $(seq 100); do [ -n "$(find "$T/term.sqlite.rings" -name 'ring-*' 2>/dev/null)" ] && break; sleep 0.05; done
sleep 0.3
kill -TERM $pid
wait $pid
is "SIGTERM is passed on, the status is the program's" "$?" 42
is "the file is finished all the same" "$(sql "$T/term.sqlite" "SELECT value FROM meta WHERE section = 'run' AND key = 'outcome'"), $(count "$T/term.sqlite" "name = 'range'")" "interrupted, 5"
is "standard input and output are the program's" "$(echo through | "$PP" exec -q -f -o "$T/cat.sqlite" -- "$CLIENT" cat)" through

# exec itself is killed: the program goes on, who looks meanwhile takes nothing away, and once it has ended every range is there, once.
"$PP" exec -f -m "$T/mine.map" -o "$T/orphan.sqlite" -- "$CLIENT" push=100 sleep=2500 push=50 >"$OUT" 2>"$ERR" &
pid=$!
for _ in $(seq 100); do [ -n "$(find "$T/orphan.sqlite.rings" -name 'ring-*' 2>/dev/null)" ] && break; sleep 0.05; done
kill -9 $pid
wait $pid 2>/dev/null
orphan=$(find "$T/orphan.sqlite.rings" -name 'process-*' | sed 's/.*-//')
run timeout 60 "$PP" report "$T/orphan.sqlite"
check "exec killed: the program goes on" kill -0 "$orphan"
is "exec killed: its rings are left to it" "$(sql "$T/orphan.sqlite" "SELECT count(*) FROM meta WHERE key = 'recovery'")" 0
for _ in $(seq 100); do kill -0 "$orphan" 2>/dev/null || break; sleep 0.1; done
run timeout 60 "$PP" report "$T/orphan.sqlite" --full
like "exec killed: its ranges are recovered in the end" "$(cat "$OUT" "$ERR")" "recovered [0-9]+ spans"
is "exec killed: each once" "$(count "$T/orphan.sqlite" "name = 'range'")" 150

# No call, or no way to hear of it.
run timeout 60 "$PP" exec -f -o "$T/quiet.sqlite" -- "$CLIENT" quiet
is "a program without NVTX: its status" "$rc" 0
like "and why there may be nothing" "$(cat "$ERR")" "nothing was recorded: .* ran no Python that can be seen and made no NVTX range"
is "and no empty recording" "$(ls "$T"/quiet* 2>/dev/null)" ""

# A full ring: the program goes on, the loss is said.
run timeout 60 "$PP" exec -f --ring-spans 1024 -o "$T/full.sqlite" -- "$CLIENT" push=300000
is "a full ring: exit status" "$rc" 0
kept=$(sql "$T/full.sqlite" "SELECT sum(recorded) + sum(dropped) FROM thread")
is "a full ring: kept and lost add up" "$kept" 300000
like "a full ring: the loss is said" "$(cat "$ERR")" "lost because rings were full"

# Another tool holds the variable: both see the calls.
NVTX_INJECTION64_PATH=$TOOL FAKE_TOOL_LOG=$T/tool.log run timeout 60 "$PP" exec -f -o "$T/chain.sqlite" -- "$CLIENT" push=7 names
like "the other tool is named" "$(cat "$ERR")" "is set to $TOOL; both"
like "the other tool saw them" "$(cat "$T/tool.log")" "pushes 8 pops 8 .*marks 1 domains 1 strings 1 wrong 0"
is "and so did we" "$(count "$T/chain.sqlite" "name = 'range'")" 7
NVTX_INJECTION64_PATH=$T/gone.so run timeout 60 "$PP" exec -f -o "$T/chain.sqlite" -- "$CLIENT" push=7
like "one that cannot be attached" "$(cat "$ERR")" "could not be attached"
is "does not keep us from recording" "$(count "$T/chain.sqlite" "name = 'range'")" 7
run timeout 60 "$PP" exec -f -o "$T/outer.sqlite" -- "$PP" exec -f -o "$T/inner.sqlite" -- "$CLIENT" push=7
is "an exec inside an exec: the inner one records" "$(count "$T/inner.sqlite" "name = 'range'")" 7

# NVIDIA's own header.
run timeout 60 "$PP" exec -f -o "$T/v3.sqlite" -- "$V3"
if [ "$rc" -eq 77 ]; then skip "a client built with the NVTX v3 header" "the header was not found when this was built"
else
    is "a client built with the NVTX v3 header" "$rc" 0
    is "its ranges" "$(sql "$T/v3.sqlite" "SELECT group_concat(name, ',') FROM (SELECT name FROM v_span ORDER BY name)")" "child,dom:registered,dom:registered,inner grüß,mark,outer"
    is "its payload" "$(sql "$T/v3.sqlite" "SELECT DISTINCT batch FROM v_span WHERE name = 'dom:registered'")" 17
fi

# Python's nvtx package.
PYTHON=${PYTHON:-/usr/bin/python3}
if "$PYTHON" -c 'import nvtx' 2>/dev/null; then
    run timeout 60 "$PP" exec -f -m "$T/mine.map" -o "$T/py.sqlite" -- "$PYTHON" tests/tools/nvtx_annotated.py
    is "a Python program with nvtx" "$rc" 0
    is "its ranges, also of its workers" "$(sql "$T/py.sqlite" "SELECT name, count(*) FROM v_span GROUP BY name ORDER BY name" | tr '\n' ' ')" "epoch|1 loader:decode_jpeg|6 tick|1 train_step|2 "
    is "its payloads" "$(sql "$T/py.sqlite" "SELECT group_concat(batch) FROM (SELECT batch FROM v_span WHERE name = 'train_step' ORDER BY batch)")" "0,1"
    is "three processes" "$(sql "$T/py.sqlite" "SELECT count(DISTINCT pid) FROM thread")" 3
else skip "a Python program with nvtx" "$PYTHON has no module nvtx"; fi
no_leftovers "everything"
done_testing
