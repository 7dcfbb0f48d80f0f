#!/bin/bash
# pipeprobe report in all its formats on a recorded run: they say the same, the page is valid HTML and needs nothing else, a long run's is small,
# and what is no recording is refused in a sentence.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

"$MAKE_DATASET" "$T/images" --n 60 >/dev/null
bad="$T/images/class_000/<script>alert(1)<b>&'.jpg"
head -c 400 "$(find "$T/images" -name '*.jpg' | head -n 1)" >"$bad"
run "$PP" run "$T/images" --workers 2 --batch-size 8 --steps 120 --step-ms 5 -o "$T/run.sqlite" --quiet
check "a run was recorded" test -s "$T/run.sqlite"

run "$PP" run "$T/images" --workers 1 --batch-size 4 --quick --step-ms 5 -o "$T/quick.sqlite" --quiet
like "--quick: whose loader" "$(head -n 1 "$OUT")" "quick.sqlite: pipeprobe's own loader on( |$)"
like "--quick: how much, why and what to do" "$(cat "$OUT")" '^(Training runs at|INCONCLUSIVE)'
holds "in a few lines" "$(wc -l <"$OUT") <= 12 && $(grep -c '^Do:' "$OUT") == 1 && $(grep -c '^More: .*pipeprobe report' "$OUT") == 1"
refuses "--quick has its own end" 2 '5 s: leave out --steps' "$PP" run "$T/images" --quick --steps 5 -o "$T/no.sqlite"

widest() { awk '{ if (length > most) most = length } END { print most }'; }
holds "COLUMNS is the width where there is no terminal" "$(COLUMNS=60 "$PP" report "$T/run.sqlite" --full | sed '/^How this was decided/q' | sed 1d | widest) <= 60 && $(COLUMNS=120 "$PP" report "$T/run.sqlite" --full | widest) > 80"
is "a COLUMNS that is no width is not" "$(COLUMNS=wide "$PP" report "$T/run.sqlite" | widest)" "$("$PP" report "$T/run.sqlite" | widest)"
holds "--help too, up to 80" "$(COLUMNS=64 "$PP" report --help-all | grep '^   ' | widest) <= 64 && $(COLUMNS=200 "$PP" run --help-all | widest) <= 80"
mkdir -p "$XDG_CONFIG_HOME/pipeprobe" && printf '[report]\ncolor = never\n\n[reprot]\nformat = md\n' >"$XDG_CONFIG_HOME/pipeprobe/config"
refuses "a heading with a typo" 2 'config:4: .reprot.: unknown command.*did you mean .report.' "$PP" report "$T/run.sqlite"
rm -r "$XDG_CONFIG_HOME/pipeprobe"

for format in text md html json csv; do
    run "$PP" report "$T/run.sqlite" --format $format -o "$T/out.$format"
    check "--format $format exits 0 or 3" test "$rc" -eq 0 -o "$rc" -eq 3
    check "--format $format writes something" test -s "$T/out.$format"
done
run "$PP" report "$T/run.sqlite" -o "$T/named.html"
check "the format follows the name of the output" cmp "$T/named.html" "$T/out.html"
refuses "an existing output is kept" 2 'exists' "$PP" report "$T/run.sqlite" -o "$T/named.html"
refuses "an unknown format" 2 'htlm.*html' "$PP" report "$T/run.sqlite" --format htlm

check "the JSON document is valid" json_valid "$T/out.json"
batches=$(json "$T/out.json" '$.batches') rate=$(json "$T/out.json" '$.samples_per_s')
like "HTML has the document's batches" "$(grep -o 'data-v="[^"]*" data-k="batches"' "$T/out.html" | head -n 1)" "\"$batches\""
is "CSV has the document's rate" "$(sed -n 's/^run,"",samples_per_s,\([^\r]*\)\r*$/\1/p' "$T/out.csv")" "$(grep -o '"samples_per_s": [^,]*' "$T/out.json" | head -n 1 | cut -d' ' -f2)"
holds "the rate is a rate" "$rate > 0"
sentence=$(json "$T/out.json" '$.verdict.sentence')
flat=$(tr -s '\n ' ' ' <"$T/out.text")
next=$(json "$T/out.json" '$.verdict.next_step') python=$(json "$T/out.json" '$.verdict.python')
is "text has what to do, and the line to paste" "$(grep -cF "$next" <<<"$flat")$([ -z "$python" ] || grep -cF "$python" <<<"$flat")" "1${python:+1}"
holds "on one screen" "$(wc -l <"$T/out.text") <= 20"
holds "--full has the rest" "$("$PP" report "$T/run.sqlite" --full | grep -cE '^(How this was decided|Phases|Where the time goes|Queues|Recording)') == 5"
is "and begins with the same" "$("$PP" report "$T/run.sqlite" --full | head -n 2)" "$(head -n 2 "$T/out.text")"

is "nothing of a file's name becomes markup" "$(grep -c '<script' "$T/out.html")" 0
is "nothing is loaded from elsewhere" "$(grep -cE 'https?:|src=|href="[^#]|@import' "$T/out.html")" 0
for id in verdict headroom steps queues workers waits batches errors evidence phases setup recording; do
    check "the page has $id" grep -q "id=\"$id\"" "$T/out.html"
done
if command -v tidy >/dev/null; then
    run tidy -q -e "$T/out.html"
    is "the page is valid HTML" "$rc" 0
else
    skip "the page is valid HTML" "tidy is not installed"
fi

# the run was killed: said, and reported all the same
sqlite3 "$T/run.sqlite" "DELETE FROM meta WHERE section = 'run' AND key = 'outcome'"
for format in html md; do
    "$PP" report "$T/run.sqlite" --format $format >"$T/killed.$format"
    check "$format says that the run is unfinished" grep -q 'This run is unfinished' "$T/killed.$format"
done
for full in "" --full; do like "text says so in its first lines" "$("$PP" report "$T/run.sqlite" $full | head -n 3)" "UNFINISHED \(killed"; done

echo 'no recording' >"$T/text"
sqlite3 "$T/foreign.sqlite" 'CREATE TABLE t(a)'
: >"$T/empty"
mkdir "$T/directory"
cp "$T/run.sqlite" "$T/newer.sqlite"
for format in text html csv; do
    refuses "$format of a text file" 4 'text' "$PP" report "$T/text" --format $format
    refuses "$format of another database" 4 'foreign.sqlite' "$PP" report "$T/foreign.sqlite" --format $format
    refuses "$format of an empty file" 4 'empty' "$PP" report "$T/empty" --format $format
done
refuses "a directory" 2 'directory' "$PP" report "$T/directory"
refuses "a file that is not there" 2 'nowhere' "$PP" report "$T/nowhere"
run_to() { run "$PP" report "$T/run.sqlite" --json -o "$1" "${@:2}"; }
run_to - && check "-o - is standard output" json_valid "$OUT"
run_to /dev/stdout && check "so is /dev/stdout, which stays what it is" test -s "$OUT" -a -h /dev/stdout
mkfifo "$T/pipe" && { cat "$T/pipe" >"$T/piped" & run_to "$T/pipe" --force; wait $!; }
check "a pipe is written to, not replaced" test -p "$T/pipe" -a -s "$T/piped"
run_to /dev/full --force
is "a full disk: exit code" "$rc" 4
like "a full disk is said" "$(cat "$ERR")" "cannot write /dev/full.*No space left"
check "and the device is still one" test -c /dev/full
refuses "a directory as output" 2 "is a directory; name a file in it" "$PP" report "$T/run.sqlite" -o "$T/directory"
refuses "an output that cannot be written" 2 'not/there' "$PP" report "$T/run.sqlite" -o "$T/not/there.html"

# ten million spans: under 2 MB in at most 10 s
LONG=$PWD/$BUILD/tests/tools/long_recording
need_built helpers "$LONG"
check "a long recording is made" "$LONG" "$T/long.sqlite" 10000000
# CPU time, which other tests beside this one do not change much; tests/bench/bench_report.sh measures the wall clock of every format
used=$( { TIMEFORMAT='%U %S' && time "$PP" report "$T/long.sqlite" -o "$T/long.html" >/dev/null 2>&1; } 2>&1 | awk '{ printf "%d", 1000 * ($1 + $2) }')
holds "10 million spans are reported in $used ms of CPU (at most 10 s)" "$used > 0 && $used <= 10000"
size=$(stat -c %s "$T/long.html" || echo 0)
holds "in $size bytes (under 2 MB)" "$size > 10000 && $size < 2000000"
done_testing
