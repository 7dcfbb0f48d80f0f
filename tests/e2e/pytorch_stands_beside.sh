#!/bin/bash
# run --loader pytorch: PyTorch's own DataLoader is recorded whole, judged like any loader, and stands beside pipeprobe's.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
python=${PYTHON:-/usr/bin/python3}
IMAGES=$T/images
"$MAKE_DATASET" "$IMAGES" --n 160 --size 240x200 --classes 4 --seed 3 >/dev/null 2>&1 || { fail "a data set is made" </dev/null; done_testing; }
torch() { run timeout 240 "$PP" run "$IMAGES" --loader pytorch --python "$python" -q -f "$@"; }

# Refusals need no torch.
refuses "an option of our own loader" 2 "inject is for pipeprobe's own loader" "$PP" run "$IMAGES" --loader pytorch --inject read-latency=20ms
refuses "a synthetic set" 2 "synthetic is for pipeprobe's own loader" "$PP" run --synthetic n=10 --loader pytorch
refuses "a step on a GPU" 2 "step-ms" "$PP" run "$IMAGES" --loader pytorch --step cuda:2ms
refuses "--python without it" 2 "python goes with --loader pytorch" "$PP" run "$IMAGES" --python "$python"
refuses "an interpreter that is not there" 2 "program not found: $T/nopython" "$PP" run "$IMAGES" --loader pytorch --python "$T/nopython" -o "$T/no.sqlite"
refuses "a recording to compare with that is not there" 2 "against $T/gone.sqlite" "$PP" run "$IMAGES" --loader pytorch --against "$T/gone.sqlite"
printf '#!/bin/sh\nexit 7\n' >"$T/broken" && chmod +x "$T/broken"
refuses "an interpreter that dies" 4 "exit status 7" "$PP" run "$IMAGES" --loader pytorch --python "$T/broken" -o "$T/no.sqlite" -q
# An interpreter that has no torch, whatever is installed here.
mkdir "$T/without" && printf 'raise ModuleNotFoundError("No module named torch", name="torch")\n' >"$T/without/torch.py"
if command -v "$python" >/dev/null; then
    PYTHONPATH=$T/without refuses "an interpreter without torch" 4 "has no torch; install it .*--python" "$PP" run "$IMAGES" --loader pytorch --python "$python" -o "$T/no.sqlite" -q
else skip "an interpreter without torch" "$python is not there"; fi
check "none of them left a file" bash -c "! ls '$T'/no* 2>/dev/null"

case $BUILD in *address*|*thread*) skip "PyTorch's DataLoader is recorded" "a sanitizer's library cannot be loaded into Python"; done_testing ;; esac
imports "$python" 'torch.utils.data, PIL' || { skip "PyTorch's DataLoader is recorded" "PyTorch or Pillow is not installed for $python (python3-torch, python3-pil)"; done_testing; }

# Installed, every file is found where it was put.
run make install DIST="$T/dist" DESTDIR="$T/root" PREFIX=/usr
check "make install ships the Python files" test -r "$T/root/usr/share/pipeprobe/python/torch_loader.py" -a -r "$T/root/usr/share/pipeprobe/python/pipeprobe_record.py"
run timeout 240 "$T/root/usr/bin/pipeprobe" run "$IMAGES" --loader pytorch --python "$python" -q -w 1 -b 16 --steps 2 --against none -o "$T/installed.sqlite"
is "an installed program finds them" "$(sql "$T/installed.sqlite" "SELECT count(*) FROM v_span WHERE phase = 'data_wait'")" 2

# Two epochs in DistributedSampler's order.
A=$T/a.sqlite
torch -w 2 -b 16 --epochs 2 --sampler torch --seed 3 --step-ms 1 --json --list-delivered "$T/list" -o "$A"
check "it runs, and so does ours beside it" test "$rc" -eq 0 -o "$rc" -eq 3
is "the document's schema" "$(json "$OUT" '$.schema')" pipeprobe.loaders/1
is "both loaders delivered the same number of samples" "$(json "$OUT" '$.pytorch.samples') $(json "$OUT" '$.pipeprobe.samples')" "320 320"
is "nothing distinguishes their settings" "$(json "$OUT" '$.differences')" "[]"
is "ours is where it says" "$(json "$OUT" '$.pipeprobe.recording')" "$T/a-pipeprobe.sqlite"
for epoch in 0 1; do "$PP" plan --n 160 --sampler torch --seed 3 --epoch $epoch; done >"$T/plan"
check "the order is that of pipeprobe plan --sampler torch" diff "$T/plan" <(cut -f 2 "$T/list")
is "integrity" "$(sql "$A" 'PRAGMA integrity_check')" ok
for phase in read decode transform; do
    is "each sample has its $phase, in two workers" "$(sql "$A" "SELECT count(*), count(DISTINCT thread) FROM v_span WHERE lane = 'worker' AND phase = '$phase'")" "320|2"
done
is "each batch its collate" "$(sql "$A" "SELECT count(DISTINCT batch) FROM v_span WHERE lane = 'worker' AND phase = 'collate'")" 20
is "workers are processes of their own, by number" "$(sql "$A" "SELECT group_concat(name), count(DISTINCT pid) FROM (SELECT * FROM thread WHERE lane = 'worker' ORDER BY name)")" "worker-0,worker-1|2"
is "epochs" "$(sql "$A" "SELECT count(DISTINCT epoch) FROM v_span WHERE phase = 'step'")" 2
check "bytes are those of the files" test "$(sql "$A" "SELECT sum(bytes) FROM v_span WHERE phase = 'read'")" -eq $((2 * $(find "$IMAGES" -type f -name '*.jpg' -printf '%s\n' | paste -sd+ | bc)))
is "what whatif needs is in the file" "$(sql "$A" "SELECT group_concat(key || '=' || CAST(value AS INTEGER)) FROM (SELECT * FROM meta WHERE section = 'config' AND key IN ('workers', 'batch_size', 'prefetch') ORDER BY key)")" "batch_size=16,prefetch=2,workers=2"
check "nothing but the recordings is left" test "$(find "$T" -maxdepth 1 -name '*.rings' -o -maxdepth 1 -name '*-wal' | wc -l)" -eq 0

# Too short a run lacks batches, and no ranges; its time begins with the first batch.
torch -w 1 -b 16 --duration 100ms --against none -o "$T/brief.sqlite"
like "a run that is too short is told so" "$(cat "$OUT")" "Record more batches"
check "and nothing of ranges that nobody has to mark" bash -c "! grep -qE -- '--map|nvtx' '$OUT'"
holds "its time begins with the first batch" "$(sql "$T/brief.sqlite" "SELECT (max(start_ns + dur_ns) - min(start_ns + dur_ns)) / 1e6 FROM v_span WHERE phase IN ('data_wait', 'epoch_boundary')") >= 90"

# Far from the step on both sides; the second is long enough for a ratio, which is that of the two recordings.
torch -w 1 -b 4 --steps 24 --step-ms 600 --against none -o "$T/slow-step.sqlite"
is "a step far above the loader's rate: exit code" "$rc" 0
run timeout 60 "$PP" report --json "$T/slow-step.sqlite"
is "a step far above the loader's rate: not input-bound" "$(json "$OUT" '$.verdict.l0')" not-input-bound
torch -w 2 -b 16 --steps 250 --step-ms 0.1 -o "$T/fast-step.sqlite"
like "a step far below: the two stand side by side" "$(cat "$OUT")" "PyTorch DataLoader [0-9.,]+ samples/s, pipeprobe's loader [0-9.,]+"
cp "$OUT" "$T/side"
run timeout 60 "$PP" report --json "$T/fast-step.sqlite"
is "a step far below the loader's rate: input-bound" "$(json "$OUT" '$.verdict.l0')" input-bound
torch_rate=$(json "$OUT" '$.samples_per_s')
run timeout 60 "$PP" whatif "$T/fast-step.sqlite"
is "whatif reads it" "$rc" 0
torch -w 2 -b 16 --steps 250 --step-ms 0.1 --json --against "$T/fast-step-pipeprobe.sqlite" -o "$T/again.sqlite"
run timeout 60 "$PP" report --json "$T/fast-step-pipeprobe.sqlite"
own_rate=$(json "$OUT" '$.samples_per_s')
printed=$(sed -n "s/.*pipeprobe's loader .* \([0-9.]*\) times.*/\1/p" "$T/side")
if [ -n "$printed" ]; then holds "the ratio printed is that of the recordings" "$printed - $own_rate / $torch_rate < 0.051 && $own_rate / $torch_rate - $printed < 0.051"
else like "too little for a ratio is said" "$(cat "$T/side")" "too little was measured"; fi

# Damaged data, an end in mid-run.
printf 'not an image' >"$IMAGES/$(ls "$IMAGES" | head -1)/zz-bad.jpg"
torch -w 1 -b 16 --epochs 1 --against none -o "$T/bad.sqlite"
is "a damaged file is an error in the recording" "$(sql "$T/bad.sqlite" "SELECT count(*), kind, action FROM error")" "1|corrupt|skipped"
torch -w 1 -b 16 --epochs 1 --against none --on-error fail -o "$T/fail.sqlite"
is "with --on-error fail it ends the run" "$rc" 4
like "and is named" "$(cat "$ERR")" "zz-bad|cannot identify"
is "the recording is whole" "$(sql "$T/fail.sqlite" "SELECT value FROM meta WHERE key = 'outcome'") $(sql "$T/fail.sqlite" 'PRAGMA integrity_check')" "failed ok"
rm "$IMAGES"/*/zz-bad.jpg
steps() { sql "$1" "SELECT count(*) FROM v_span WHERE phase = 'data_wait'" 2>/dev/null; }
"$PP" run "$IMAGES" --loader pytorch --python "$python" -q -f -w 1 -b 8 --step-ms 20 -d 60s -o "$T/int.sqlite" >"$OUT" 2>"$ERR" &
pid=$!
for _ in $(seq 300); do find "$T/int.sqlite.rings" -name 'ring-*' 2>/dev/null | grep -q . && pgrep -P $pid >/dev/null && [ "$(find "$T/int.sqlite.rings" -name 'ring-*' | wc -l)" -ge 3 ] && break; sleep 0.1; done
sleep 2
kill -INT $pid
wait $pid
is "Ctrl-C: exit code" "$?" 130
is "Ctrl-C: a whole file" "$(sql "$T/int.sqlite" "SELECT value FROM meta WHERE key = 'outcome'") $(sql "$T/int.sqlite" 'PRAGMA integrity_check')" "interrupted ok"
check "Ctrl-C: with what was done" test "$(steps "$T/int.sqlite")" -gt 0
"$PP" run "$IMAGES" --loader pytorch --python "$python" -q -f -w 1 -b 8 --step-ms 20 -d 60s -o "$T/kill.sqlite" >"$OUT" 2>"$ERR" &
pid=$!
for _ in $(seq 300); do [ "$(find "$T/kill.sqlite.rings" -name 'ring-*' 2>/dev/null | wc -l)" -ge 3 ] && break; sleep 0.1; done
sleep 2
kill -9 "$(pgrep -P $pid | head -1)"
wait $pid
is "a loader that is killed: exit code" "$?" 4
like "a loader that is killed: said" "$(cat "$ERR")" "ended by signal 9"
is "a loader that is killed: a whole file" "$(sql "$T/kill.sqlite" 'PRAGMA integrity_check')" ok

# The other kinds of data.
"$MAKE_DATASET" "$T/tar" --n 60 --tar 2 --size 120x100 >/dev/null 2>&1
"$MAKE_DATASET" --tokens "$T/tokens.npy" --n 100000 >/dev/null 2>&1
for data in tar tokens.npy; do
    run timeout 240 "$PP" run "$T/$data" --loader pytorch --python "$python" -q -f -w 1 -b 8 --epochs 1 --sampler sequential --against none --list-delivered "$T/list" -o "$T/data.sqlite"
    check "$data: it runs" test "$rc" -eq 0 -o "$rc" -eq 3
    check "$data: every sample once" diff <(seq 0 $(($(wc -l <"$T/list") - 1))) <(cut -f 2 "$T/list")
    is "$data: as many as pipeprobe counts" "$(wc -l <"$T/list")" "$(sql "$T/data.sqlite" "SELECT CAST(value AS INTEGER) FROM meta WHERE section = 'config' AND key = 'dataset_samples'")"
done
done_testing
