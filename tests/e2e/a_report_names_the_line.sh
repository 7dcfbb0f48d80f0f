#!/bin/bash
# A job whose hot operation is known: the report names its line with its share, what is as hot and not waited for is no cause, and half of the operation,
# made in the running job in turns, gains about what was predicted.
# alone
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
if [ ! -e "$PWD/$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip "the line is named" "the extension is not built: no Python.h"; done_testing; fi
if ! imports "$PYTHON" torch; then skip "the line is named" "$PYTHON has no torch"; done_testing; fi
if ! "$PP" exec --help | grep -q -- --no-lines; then skip "the line is named" "this build records no stacks"; done_testing; fi
line=$(grep -n '# line: blur' tests/jobs/hot_line.py | cut -d: -f1)
run timeout 90 "$PP" exec -q --lines 20 --duration 14s -o "$T/job.sqlite" -- "$PYTHON" tests/jobs/hot_line.py 16
is "exit status" "$rc" 0
run "$PP" report --json "$T/job.sqlite"
cp "$OUT" "$T/report.json"
of() { sqlite3 :memory: "SELECT json_extract(value, '\$.$2') FROM json_each(CAST(readfile('$T/report.json') AS TEXT), '\$.ops') WHERE json_extract(value, '\$.word') = '$1'"; }
if [ "$(json "$T/report.json" '$.op_samples')" = "" ]; then skip "the line is named" "no stacks: $(sql "$T/job.sqlite" "SELECT group_concat(key || '=' || value) FROM meta WHERE section = 'stacks'")"; done_testing; fi
is "its place" "$(of Blur place)" "hot_line.py:$line"
# 50,000 of 70,000 turns of the same loop
judged holds "its share lies in its interval, or a tenth beside it" "$(of Blur low) < 5.0 / 7 + 0.1 && $(of Blur high) > 5.0 / 7 - 0.1"
# A batch of it for eight of the others, 40,000 turns a sample to their 70,000: it takes 1 / 15; half of that is held
judged holds "what nobody waits for has no share" "$(of Decoy share) < 0.05 && $(of Decoy share_all) > 0.5 / 15 && $(of Decoy share_all) > 2 * $(of Decoy share)"
run "$PP" report "$T/job.sqlite"
is "it is not named" "$(head -12 "$OUT" | grep -c Decoy)" 0
like "the line is" "$(cat "$OUT")" "Blur.*hot_line.py:$line"
predicted=$(of Blur gain)
run timeout 60 "$PP" whatif "$T/job.sqlite" --set op=Blur:0.5 --json
holds "the what-if says the same" "($(json "$OUT" '$.predictions[0].gain') - $predicted) ^ 2 < 0.02 ^ 2"
refuses "no such op" 2 "the largest are: Blur" "$PP" whatif "$T/job.sqlite" --set op=Nothing:0.5
# Half of it, in turns, in the job itself.
(sleep 3; for s in 0.5 1 0.5 1 0.5 1; do echo $s >"$T/scale.new"; mv "$T/scale.new" "$T/scale"; sleep 2; done) &
echo 1 >"$T/scale"
used() { awk '/^cpu / { printf "%.2f", ($2 + $3 + $4 + $7 + $8 + $9) / 100 }' /proc/stat; } # CPU seconds of everybody, stolen ones too
before=$(used)
run timeout 60 "$PYTHON" tests/jobs/hot_line.py 15 "$T/scale"
others=$(awk -v used="$(used)" -v before="$before" -v job="$(tail -n 1 "$OUT")" 'BEGIN { print (used - before - job) / 15 }')
sed -i '$d' "$OUT"
# Each turn against the one before it: what the machine did between them lies in how far these gains are apart.
read -r low high < <(awk 'NR > 2 { g = $1 == 0.5 ? $2 / last : last / $2; if (!n++ || g < low) low = g; if (g > high) high = g } { last = $2 } END { print low - 1, high - 1 }' "$OUT")
echo "# half of Blur: predicted $predicted, measured $low to $high; others used $others CPUs"
if [ "$(awk -v o="$others" 'BEGIN { print (o > 0.2) }')" = 1 ]; then
    skip "half of it gains what was predicted, or a tenth beside it" "other processes used $others CPUs"
else holds "half of it gains what was predicted, or a tenth beside it" "$predicted > $low - 0.1 && $predicted < $high + 0.1"
fi
for format in folded speedscope pprof; do
    run timeout 60 "$PP" export "$T/job.sqlite" --to $format -o "$T/out.$format"
    is "export to $format" "$rc" 0
done
like "folded stacks" "$(cat "$T/out.folded")" "^worker 0;.*;Blur.*hot_line.py:$line\).* [0-9]+$"
check "speedscope is JSON" json_valid "$T/out.speedscope"
done_testing
