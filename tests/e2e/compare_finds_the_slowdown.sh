#!/bin/bash
# pipeprobe compare and history on recorded runs: a slow-down made on purpose is found and attributed, counts are exact, what cannot be
# compared is refused by name, and every kind of bad input gets its sentence and exit code.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

"$MAKE_DATASET" "$T/images" --n 48 --size 120x90 --classes 3 >/dev/null
record() { # FILE OPTIONS...
    local file=$1 code
    shift
    timeout 60 "$PP" run "$T/images" --workers 2 --batch-size 8 --step-ms 2 --epochs 3 --warmup 3 --seed 1 --quiet --force -o "$file" "$@" >"$T/run.out" 2>&1
    code=$? # 3: so short a run has no verdict, but numbers
    [ $code -eq 0 ] || [ $code -eq 3 ] || note <"$T/run.out"
}
mkdir "$T/base" "$T/slow" "$T/few"
for i in 1 2 3 4 5 6 7; do # in turn: a drifting machine hits both alike
    record "$T/base/r$i.sqlite"
    record "$T/slow/r$i.sqlite" --inject read-latency=15ms
done
cp "$T"/base/r[123].sqlite "$T/few"

# ---- answers ----
run "$PP" compare "$T/base" "$T/slow" --json
cp "$OUT" "$T/slow.json"
is "slow-down: exit code" "$rc" 1
check "slow-down: JSON" json_valid "$T/slow.json"
is "slow-down: answer" "$(json "$T/slow.json" '$.answer')" regressed
is "slow-down: throughput" "$(json "$T/slow.json" '$.metrics[0].answer')" regressed
like "slow-down: attributed to reading, blocked" "$(json "$T/slow.json" '$.attribution.sentence')" 'of which read blocked \+'
is "slow-down: the option that did it" "$(json "$T/slow.json" '$.changed_options[0].field')" config.inject
metric() { json "$1" "\$.metrics[$2].$3"; }
is "counts: bytes are exact" "$(metric "$T/slow.json" 5 exact), $(metric "$T/slow.json" 5 answer)" "1, not-regressed"
is "counts: bytes of the files" "$(metric "$T/slow.json" 5 base_median | cut -d. -f1)" "$(find "$T/images" -type f -name '*.j*' -printf '%s\n' -o -type f -name '*.J*' -printf '%s\n' | awk '{s += $1} END {print s}')"
is "counts: opens, reads, samples, batches" "$(metric "$T/slow.json" 6 base_median) $(metric "$T/slow.json" 7 base_median) $(metric "$T/slow.json" 9 base_median) $(metric "$T/slow.json" 8 base_median)" "48 48 48 6"

run "$PP" compare "$T/base/r*.sqlite" "$T/slow/r?.sqlite" --format text
is "globs: exit code" "$rc" 1
like "globs: first line" "$(head -n 1 "$OUT")" '^REGRESSED: throughput'
run "$PP" compare "$T/slow" "$T/base" --ungate verdict --threshold 500%
is "faster, with wide thresholds: exit code" "$rc" 0
like "faster: says improved" "$(cat "$OUT")" 'throughput .*improved'
run "$PP" compare "$T/few" "$T/slow"
is "three runs a side cannot tell: exit code" "$rc" 3
like "three runs: how many are needed" "$(cat "$OUT")" 'need at least 7 runs on each side, have 3 and 7'
run "$PP" compare "$T/few" "$T/slow" --strict
is "--strict turns 3 into 1" "$rc" 1
first() { # one run on each side is enough for counts
    "$PP" compare "$T/base/r1.sqlite" "$1" --ungate samples_per_s --ungate data_wait_share --ungate data_wait_p99_s --ungate first_batch_s --ungate cpu_s_per_sample --ungate verdict "${@:2}"
}
run first "$T/base/r2.sqlite"
is "counts of one run against one: exit code" "$rc" 0
record "$T/errors.sqlite" --inject read-errors=0.2,fails=1
run first "$T/errors.sqlite"
is "reads tried again: exit code" "$rc" 1
like "reads tried again: a count says so" "$(cat "$OUT")" '(reads|errors) per epoch .*REGRESSED'

# ---- forms ----
export GITHUB_STEP_SUMMARY=$T/summary.md GITHUB_ACTIONS=true
echo "before" >"$GITHUB_STEP_SUMMARY"
run "$PP" compare "$T/base" "$T/slow" -o "$T/o.txt" --junit "$T/j.xml" --openmetrics "$T/m.txt" --benchmark "$T/b.json" --markdown "$T/o.md"
unset GITHUB_STEP_SUMMARY GITHUB_ACTIONS
like "files: where it is, in one line" "$(cat "$OUT")" "^$T/o.txt: REGRESSED: [^:]*$"
like "files: text" "$(head -n 1 "$T/o.txt")" '^REGRESSED'
check "files: JUnit has the failure" grep -q '<testcase classname="pipeprobe" name="samples_per_s">' "$T/j.xml"
if command -v xmllint >/dev/null; then check "files: JUnit is XML" xmllint --noout "$T/j.xml"; else skip "files: JUnit is XML" "no xmllint"; fi
is "files: OpenMetrics ends as it must" "$(tail -n 1 "$T/m.txt")" "# EOF"
is "files: benchmark" "$(json "$T/b.json" '$[0].unit')" "s/sample"
is "summary: what was there stays" "$(head -n 1 "$T/summary.md")" before
check "summary: the same as --markdown" cmp <(tail -n +2 "$T/summary.md") "$T/o.md"
like "annotations: an error line" "$(cat "$ERR")" '^::error title=pipeprobe regression::throughput'
"$PP" compare "$T/base" "$T/slow" -o "$T/o2.json" >/dev/null
check "files: the form is that of the suffix" json_valid "$T/o2.json"
refuses "a comparison is no PDF" 2 "o.pdf: a comparison is written as .txt, .md or .json, or .html as a page" "$PP" compare "$T/base" "$T/slow" -o "$T/o.pdf"
refuses "outputs are not overwritten" 2 "j.xml exists; --force" "$PP" compare "$T/base" "$T/slow" --junit "$T/j.xml"

# ---- bad input ----
mkdir "$T/empty"
head -c 100000 /dev/urandom >"$T/noise.sqlite"
head -c 30000 "$T/base/r1.sqlite" >"$T/cut.sqlite"
sqlite3 "$T/other.sqlite" 'CREATE TABLE t(x)'
cp "$T/base/r1.sqlite" "$T/newer.sqlite" && sqlite3 "$T/newer.sqlite" 'PRAGMA user_version=99'
copy_of() { # NAME SQL
    cp "$T/base/r1.sqlite" "$T/$1.sqlite" && sqlite3 "$T/$1.sqlite" "$2"
}
copy_of unfinished "DELETE FROM meta WHERE section = 'run' AND key = 'outcome'"
copy_of interrupted "UPDATE meta SET value = 'interrupted' WHERE section = 'run' AND key = 'outcome'"
copy_of foreign "UPDATE meta SET value = 'Other CPU' WHERE section = 'environment' AND key = 'cpu_model'; UPDATE meta SET value = 'f' WHERE key = 'session_id'"
copy_of nothing "DELETE FROM chunk; DELETE FROM span"
refuses "no operands" 2 "BASE and HEAD" "$PP" compare
refuses "three operands" 2 "two operands" "$PP" compare a b c
refuses "BASE is HEAD" 2 "r1.sqlite and .*r1.sqlite are the same run, on both sides" "$PP" compare "$T/base" "$T/base"
mkdir "$T/twice" && cp "$T/base/r1.sqlite" "$T/twice/a.sqlite" && cp "$T/base/r1.sqlite" "$T/twice/b.sqlite"
refuses "a run given twice" 2 "a.sqlite and .*b.sqlite are the same run; record another run" "$PP" compare "$T/twice" "$T/slow"
refuses "a file that is not there" 2 "missing.sqlite" "$PP" compare "$T/base" "$T/missing.sqlite"
refuses "an empty directory" 2 "empty: the directory holds no recording" "$PP" compare "$T/base" "$T/empty"
as_user=()
[ "$(id -u)" -ne 0 ] || as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
mkdir "$T/locked" && cp "$T/base/r1.sqlite" "$T/locked" && chmod 000 "$T/locked" && chmod 755 "$T" && cp "$PP" "$T/pp"
if "${as_user[@]}" test -x "$T/pp" 2>/dev/null; then
    refuses "a directory that may not be read" 4 "cannot list the directory .*locked: Permission denied" "${as_user[@]}" "$T/pp" compare "$T/locked" "$T/slow"
else
    skip "a directory that may not be read" "cannot become another user here"
fi
chmod 755 "$T/locked"
refuses "a glob without a match" 2 "no file matches" "$PP" compare "$T/base" "$T/nothing*.x"
refuses "a file that is no recording" 4 "noise.sqlite" "$PP" compare "$T/base" "$T/noise.sqlite"
refuses "a recording cut short" 4 "cut.sqlite" "$PP" compare "$T/base" "$T/cut.sqlite"
refuses "another SQLite file" 4 "other.sqlite" "$PP" compare "$T/base" "$T/other.sqlite"
refuses "another version of the schema" 4 "newer.sqlite" "$PP" compare "$T/base" "$T/newer.sqlite"
refuses "an unfinished run" 3 "unfinished.sqlite cannot be used: the run is unfinished" "$PP" compare "$T/base" "$T/unfinished.sqlite"
refuses "an unfinished run, strict" 1 "unfinished.sqlite cannot be used" "$PP" compare "$T/base" "$T/unfinished.sqlite" --strict
refuses "an interrupted run" 3 "the run is interrupted" "$PP" compare "$T/interrupted.sqlite" "$T/base"
refuses "zero batches" 3 "nothing.sqlite cannot be used: no batch" "$PP" compare "$T/base" "$T/nothing.sqlite"
refuses "another machine" 3 "cpu_model is .*Other CPU.*--allow-env cpu_model" "$PP" compare "$T/base" "$T/foreign.sqlite"
run "$PP" compare "$T/base" "$T/foreign.sqlite" --allow-env cpu_model
is "another machine, allowed: compared" "$rc" 3
like "another machine, allowed: said" "$(cat "$OUT")" 'allowed to differ: cpu_model'
mkdir "$T/mixed" && cp "$T/base/r1.sqlite" "$T/mixed" && record "$T/mixed/r9.sqlite" --prefetch 5
refuses "a side of two configurations" 3 "differ in configuration: config.prefetch" "$PP" compare "$T/mixed" "$T/base"
refuses "a metric with a typo" 2 "did you mean samples_per_s" "$PP" compare "$T/base" "$T/slow" --ungate samples_pers
refuses "a threshold that is none" 2 "is not a percentage" "$PP" compare "$T/base" "$T/slow" --threshold samples_per_s=lots
refuses "a field with a typo" 2 "did you mean cpu_model" "$PP" compare "$T/base" "$T/slow" --allow-env cpu_mode

# ---- history ----
H=$T/history.sqlite
refuses "history: show before add" 2 "history .* does not exist" "$PP" history show --db "$H"
for i in 1 2 3; do run "$PP" history add "$T/base" --db "$H" --label "c$i"; done
is "history: add" "$rc" 0
refuses "history: the same label twice" 2 "already" "$PP" history add "$T/base" --db "$H" --label c3
refuses "history: an unfinished run is no point" 3 "cannot be used" "$PP" history add "$T/unfinished.sqlite" --db "$H"
run "$PP" history show --db "$H"
like "history: too few for changes" "$(cat "$OUT")" '3 points: change detection needs 20'
# the level drops by a fifth after the 15th of 30
sqlite3 "$H" "WITH RECURSIVE i(n) AS (SELECT 10 UNION ALL SELECT n + 1 FROM i WHERE n < 39) INSERT INTO point SELECT n, 1, 4000000000 + n, 'k' || n FROM i;
              INSERT INTO value SELECT id, 'samples_per_s', CASE WHEN id < 25 THEN 1000 ELSE 800 END + id * 7 % 5, 7 FROM point WHERE id >= 10"
run "$PP" history show samples_per_s --db "$H" --json --last 30
check "history: JSON" json_valid "$OUT"
is "history: the change is at its place" "$(json "$OUT" '$.series[0].changes[0].label') of $(json "$OUT" '$.series[0].points' | grep -o utc_s | wc -l)" "k25 of 30"
cp "$OUT" "$T/h1" && run "$PP" history show samples_per_s --db "$H" --json --last 30
check "history: the same every time" cmp "$OUT" "$T/h1"
refuses "history: a metric with a typo" 2 "did you mean" "$PP" history show samples_pers --db "$H"
refuses "history: no history" 4 "noise.sqlite" "$PP" history show --db "$T/noise.sqlite"
refuses "history: another SQLite file" 4 "not a pipeprobe history" "$PP" history show --db "$T/other.sqlite"
done_testing
