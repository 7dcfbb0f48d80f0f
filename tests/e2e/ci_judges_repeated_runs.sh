#!/bin/bash
# pipeprobe ci: repeated runs in ABBA order, baselines and who may replace them, failures that are no samples, outputs, and the examples
# in samples/ci as printed.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

"$MAKE_DATASET" "$T/images" --n 32 --size 120x90 --classes 2 >/dev/null
OPTIONS=("$T/images" --workers 2 --batch-size 8 --step-ms 2 --epochs 2 --warmup 2 --seed 1)
TIMINGS=(--ungate samples_per_s --ungate data_wait_share --ungate data_wait_p99_s --ungate first_batch_s --ungate cpu_s_per_sample --ungate verdict)
ROOT=$PWD
mkdir "$T/tmp" && export TMPDIR=$T/tmp
cd "$T" || exit 1

# ---- without a baseline ----
refuses "no baseline" 2 "baseline pipeprobe-baseline.json does not exist.*--lenient" "$PP" ci run -- "${OPTIONS[@]}"
run "$PP" ci run --lenient --runs 2 --warmup-runs 0 --keep "$T/first" -- "${OPTIONS[@]}"
is "--lenient: exit code" "$rc" 0
like "--lenient: says that nothing was compared" "$(cat "$ERR")" 'nothing was compared'
is "--keep: the recordings" "$(cd "$T/first" && echo *.sqlite)" "head-01.sqlite head-02.sqlite"
refuses "--keep does not overwrite" 2 "head-01.sqlite exists" "$PP" ci run --lenient --runs 2 --warmup-runs 0 --keep "$T/first" -- "${OPTIONS[@]}"

# ---- baseline ----
run "$PP" ci baseline save "$T/first" --label v1
is "save: exit code" "$rc" 0
check "save: JSON" json_valid pipeprobe-baseline.json
is "save: schema and runs" "$(json pipeprobe-baseline.json '$.schema'), $(json pipeprobe-baseline.json '$.runs' | grep -o '"outcome"' | wc -l)" "pipeprobe.baseline/1, 2"
refuses "save does not overwrite" 2 "exists; 'ci baseline update'" "$PP" ci baseline save "$T/first"
run "$PP" ci baseline show
like "show: label and throughput" "$(cat "$OUT")" 'v1'
cp pipeprobe-baseline.json before.json
refuses "update by the runs that are in it" 2 "are the same run, on both sides; record another run" "$PP" ci baseline update "$T/first"
run "$PP" ci run --lenient -q -b none.json --runs 2 --warmup-runs 0 --keep "$T/second" -- "${OPTIONS[@]}"
run "$PP" ci baseline update "$T/second" # two runs tell nothing about timings
is "update by inconclusive runs: exit code" "$rc" 3
check "update by inconclusive runs: unchanged" cmp pipeprobe-baseline.json before.json
run "$PP" ci baseline update "$T/second" "${TIMINGS[@]}" --label v2
is "update by runs that are not worse: exit code" "$rc" 0
is "update: label" "$(json pipeprobe-baseline.json '$.label')" v2
cp first/head-01.sqlite stopped.sqlite && sqlite3 stopped.sqlite "UPDATE meta SET value = 'interrupted' WHERE section = 'run' AND key = 'outcome'"
cp pipeprobe-baseline.json before.json
refuses "update by an unfinished run" 3 "stopped.sqlite cannot be used" "$PP" ci baseline update stopped.sqlite
refuses "save of an unfinished run" 3 "stopped.sqlite cannot be used" "$PP" ci baseline save stopped.sqlite -b x.json
check "update by an unfinished run: unchanged" cmp pipeprobe-baseline.json before.json
refuses "a typo" 2 "did you mean update" "$PP" ci baseline updat

# ---- against the baseline ----
run "$PP" ci run --runs 1 --max-runs 1 --warmup-runs 0 "${TIMINGS[@]}" --update -- "${OPTIONS[@]}"
is "counts as before: exit code" "$rc" 0
check "--update: the baseline is new" test "$(json pipeprobe-baseline.json '$.runs' | grep -o '"outcome"' | wc -l)" = 1
cp pipeprobe-baseline.json before.json
run "$PP" ci run --runs 1 --max-runs 1 --warmup-runs 0 "${TIMINGS[@]}" --update --junit j.xml -- "${OPTIONS[@]}" --inject read-errors=0.3,fails=1
is "more reads: exit code" "$rc" 1
check "more reads: the baseline stays" cmp pipeprobe-baseline.json before.json
check "more reads: JUnit" grep -q 'failure type="regressed"' j.xml
sed 's/"cpu_model": "[^"]*"/"cpu_model": "Other CPU"/' before.json >other.json
refuses "the baseline of another machine" 3 "cpu_model is 'Other CPU' in .*--allow-env cpu_model" "$PP" ci run -q -b other.json --runs 1 --warmup-runs 0 -- "${OPTIONS[@]}"
echo '{"schema":"pipeprobe.baseline/7"}' >future.json
refuses "a baseline of another schema" 4 "pipeprobe.baseline/7" "$PP" ci run -b future.json -- "${OPTIONS[@]}"
head -c 200 before.json >cut.json
refuses "a baseline cut short" 4 "cut.json is not JSON" "$PP" ci run -b cut.json -- "${OPTIONS[@]}"

# ---- failures ----
refuses "nothing to run" 2 "after --" "$PP" ci run --aa
refuses "words before --" 2 "after --" "$PP" ci run "$T/images"
refuses "options that run refuses" 2 "exit code 2 and is not compared: .*wrokers" "$PP" ci run -q --aa --warmup-runs 0 -- "${OPTIONS[@]}" --wrokers 3
refuses "a data set that is not there" 2 "is not compared: .*missing" "$PP" ci run -q --aa -- "$T/missing"
refuses "a BASE that fails" 4 "exit code 3[0-9] and is not compared: went wrong" "$PP" ci run -q --warmup-runs 0 --ab 'echo went wrong; exit 33;' -- "${OPTIONS[@]}"
refuses "--ab and --aa" 2 "give one" "$PP" ci run --aa --ab x -- "${OPTIONS[@]}"
"$PP" ci run -q --aa --warmup-runs 0 -- "${OPTIONS[@]}" --epochs 4000 >"$OUT" 2>"$ERR" &
sleep 1
kill -TERM $!
wait $!
is "interrupted: exit code" "$?" 130
like "interrupted: said" "$(cat "$ERR")" 'interrupted during a run'
is "no recordings are left behind" "$(ls -d "$TMPDIR"/pipeprobe-ci-* 2>/dev/null | wc -l)" 0

# ---- ABBA ----
run "$PP" ci run -q --runs 7 --max-runs 7 --warmup-runs 0 --keep ab --ab "$PP run ${OPTIONS[*]} --inject read-latency=10ms" --no-noise-check --ungate verdict --threshold 900% --json -- "${OPTIONS[@]}"
is "A/B: exit code" "$rc" 0
cp "$OUT" "$T/ab.json"
is "A/B: pair by pair" "$(json "$OUT" '$.settings.paired'), $(json "$OUT" '$.metrics[0].pair_log_times_worse' | tr -cd , | wc -c)" "1, 6"
is "A/B: HEAD is the faster one" "$(json "$OUT" '$.metrics[0].improved')" 1
like "A/B: attributed" "$(json "$OUT" '$.attribution.sentence')" '^-.*of which read blocked -'
is "A/B: in turn" "$(for f in ab/*.sqlite; do echo "$(sqlite3 "$f" "SELECT value FROM meta WHERE section = 'run' AND key = 'started_mono_ns'") $(basename "$f" .sqlite)"; done | sort -n | sed 's/.* \(.\).*/\1/' | tr -d '\n')" bhhbbhhbbhhbbh

run "$PP" compare "ab/base-*.sqlite" "ab/head-*.sqlite" --paired --threshold 900% --ungate verdict --json
is "A/B: compare --paired says the same of the kept runs" "$rc, $(json "$OUT" '$.metrics[0].times_worse')" "0, $(json "$T/ab.json" '$.metrics[0].times_worse')"
refuses "A/B: pairs without a partner" 2 "equally many runs on each side.*has 7 and .* has 1" "$PP" compare "ab/base-*.sqlite" ab/head-01.sqlite --paired

# ---- the examples ----
# The command of an example: the folded text after "pipeprobe ci run" up to a line that is not part of it, as a shell would get it.
command_of() {
    sed -n '/^ *pipeprobe ci run/,/^ *-- /p' "$1" | tr '\n' ' ' | sed 's/  */ /g'
}
# ---- sides, logs, foreign files ----
is "--keep: what runs printed is out of the way of patterns" "$(ls -d ab/base-0* | grep -vc '[.]sqlite$'), $(ls ab/logs | wc -l)" "0, 14"
run "$PP" compare 'ab/base*' 'ab/head*' --paired --threshold 900% --ungate verdict
is "patterns without a suffix find recordings alone" "$rc" 0
for words in "ci baseline save ab -b both.json" "history add ab/ --db both.sqlite" "compare ab ab/head-01.sqlite"; do
    # shellcheck disable=SC2086
    refuses "both sides in one directory: $words" 2 "ab/? holds both sides of a comparison, 7 base-\*.sqlite and 7 head-\*.sqlite: name one of them, such as 'ab/head-" "$PP" $words
done
mkdir foreign && cp ab/head-01.sqlite foreign/ && echo hello >foreign/notes.sqlite && cp foreign/notes.sqlite foreign/head-notes
refuses "a directory with a foreign file" 4 "foreign/notes.sqlite.* it is one of the files of foreign: name recordings only" "$PP" compare ab/base-01.sqlite foreign
refuses "a pattern with a foreign file" 4 "foreign/head-notes.* it is one of the files of foreign/head\*: name recordings only" "$PP" compare ab/base-01.sqlite 'foreign/head*'

# ---- a gate of a program: exec behind -- ----
CLIENT=$ROOT/$BUILD/tests/tools/nvtx_client
gate=(--runs 7 --max-runs 7 --warmup-runs 0 --no-noise-check --threshold 900% --ungate verdict)
run "$PP" ci run -q --ab "$PP exec --map pytorch \"\$@\" -- $CLIENT train=60" "${gate[@]}" --json --junit exec.xml -- exec --map pytorch -- "$CLIENT" train=60
is "exec: exit code" "$rc" 0
is "exec: throughput in batches" "$(json "$OUT" '$.metrics[11].metric'), $(json "$OUT" '$.metrics[11].answer'), $(json "$OUT" '$.metrics[0].answer')" "batches_per_s, not-regressed, not-measured"
check "exec: the throughput that there is not is no question of JUnit's" bash -c "! grep -q 'name=\"samples_per_s\"' exec.xml"
refuses "exec: a program that fails" 4 "exit code 7 and is not compared: .*" "$PP" ci run -q --aa --warmup-runs 0 -- exec --map pytorch -- "$CLIENT" train=20 exit=7
refuses "exec: a program that ends with 3 is not inconclusive" 4 "exit code 3 and is not compared" "$PP" ci run -q --aa --warmup-runs 0 -- exec --map pytorch -- "$CLIENT" train=20 exit=3
refuses "exec: a program that is not there" 4 "exit code 127 and is not compared: .*program not found" "$PP" ci run -q --aa -- exec -- "$T/no-program"
refuses "exec: an option that exec refuses" 2 "exit code 125 and is not compared: .*nosuch" "$PP" ci run -q --aa -- exec --nosuch -- "$CLIENT"
refuses "exec: a BASE whose options would be the program's" 2 'write "\$@" where' "$PP" ci run -q --ab "$PP exec -- $CLIENT train=60" -- exec -- "$CLIENT" train=60
run "$PP" ci run -q --lenient -b none.json --runs 1 --warmup-runs 0 -- run "${OPTIONS[@]}"
is "run may be written out behind --" "$rc" 0

mkdir example && cd example || exit 1
cp -r "$T/images" data-base && cp -r "$T/images" data-head && cp -r "$T/images" data
mkdir bin && ln -s "$PP" bin/pipeprobe
export PIPEPROBE_WARMUP=2 PIPEPROBE_BATCH_SIZE=4 # an epoch of this data is short; the commands stay as printed
github=$(command_of "$ROOT/samples/ci/github.yml") gitlab=$(command_of "$ROOT/samples/ci/gitlab.yml")
printf '#!/bin/sh\nexec "%s" train=60\n' "$CLIENT" >bin/python && chmod +x bin/python # stands for the training script
export PIPEPROBE_MAP=pytorch # which names that client's ranges; a PyTorch script needs none
run env PATH="$PWD/bin:$PATH" GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY="$PWD/summary.md" sh -c "$github"
check "GitHub's example: an answer" test "$rc" -eq 0 -o "$rc" -eq 1 -o "$rc" -eq 3
check "GitHub's example: its files" test -s gate.xml -a -s gate.json -a -s summary.md
check "GitHub's example: the training script was measured" test "$(json gate.json '$.metrics[11].head_median')" != null -a -n "$(json gate.json '$.metrics[11].head_median')"
for sample in github gitlab; do
    check "$sample's example installs pipeprobe with its dependencies" bash -c "grep -q 'pipeprobe-src deps' '$ROOT/samples/ci/$sample.yml' && grep -q 'pipeprobe-src install' '$ROOT/samples/ci/$sample.yml'"
done
rm -f gate.xml
run env PATH="$PWD/bin:$PATH" sh -c "$(sed -n 's/^# *\(pipeprobe ci run .*\)/\1/p' "$ROOT/samples/ci/gitlab.yml")"
is "GitLab's example: runs for the baseline" "$rc, $(ls runs/*.sqlite | wc -l)" "0, 7"
run env PATH="$PWD/bin:$PATH" CI_COMMIT_SHORT_SHA=abc sh -c "$(sed -n 's/^# *\(pipeprobe ci baseline .*\)/\1/p' "$ROOT/samples/ci/gitlab.yml")"
is "GitLab's example: the baseline" "$rc, $(json pipeprobe-baseline.json '$.label')" "0, abc"
run env PATH="$PWD/bin:$PATH" sh -c "$gitlab"
check "GitLab's example: an answer" test "$rc" -eq 0 -o "$rc" -eq 1 -o "$rc" -eq 3
check "GitLab's example: its files" test -s gate.xml -a -s metrics.txt
done_testing
