#!/bin/bash
# quick
# What a stranger calls a file cannot deceive the reader: control, bidirectional and zero-width characters, line separators and formula cells reach no output as they are.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

# U+202E override, U+2066 isolate, U+200B zero-width space, U+2028 line separator, U+FEFF, U+061C, newline, ESC and CSI of 8 bits.
mkdir -p "$T/images/a"
for name in $'\u202egpj' $'i\u2066x\u2069' $'z\u200bw' $'line\u2028end' $'\ufeffbom' $'\u061cmark' $'two\nlines' $'\e[31mred' $'\u009b31m'; do
    echo "no picture" >"$T/images/a/$name.jpg"
done
"$MAKE_DATASET" "$T/images/b" --n 24 --size 60x40 --classes 1 >/dev/null
FILES=$(find "$T/images" -name '*.jpg' -print0 | tr -cd '\0' | wc -c)

# Fails when a file holds one of them. HTML may hold newlines, and every format ends its lines with one.
clean() {
    ! LC_ALL=C.UTF-8 grep -nP '[\x{061c}\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2060}-\x{206f}\x{feff}\x{80}-\x{9f}\x00-\x08\x0b\x0c\x0e-\x1f\x7f]' "$1"
}

printf '\xe2\x80\xae' >"$T/deceptive"
check "(the test sees such a character)" bash -c "! ( $(declare -f clean); clean '$T/deceptive' )"

run "$PP" plan "$T/images" --sampler sequential
is "plan: a line is a position, whatever the name" "$rc $(wc -l <"$OUT")" "0 $FILES"
check "plan: no such character" clean "$OUT"
like "plan: what is escaped can be read" "$(cat "$OUT")" 'two\\nlines.jpg'
run "$PP" plan "$T/images" --sampler sequential --json
is "plan --json: the exact name" "$(sqlite3 :memory: "SELECT count(*) FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.samples') WHERE json_extract(value, '\$.path') LIKE '%two' || char(10) || 'lines.jpg'")" 1

run timeout 60 "$PP" run "$T/images" --epochs 2 --batch-size 4 --workers 1 --step-ms 1 -o "$T/run.sqlite"
check "run: nothing on the terminal" clean "$OUT"
check "run: nothing among its messages" clean "$ERR"
# Names of ranges and threads come from other programs.
sql "$T/run.sqlite" "UPDATE thread SET name = '=cmd|''/c calc''!A1' WHERE name = 'pp-worker-0'; UPDATE thread SET name = '@' || char(0x202e) || 'x' WHERE name = 'pp-copy'"
for format in text md html csv json; do
    run "$PP" report "$T/run.sqlite" --format $format
    check "report --format $format" clean "$OUT"
done
for to in csv chrome; do
    run "$PP" export "$T/run.sqlite" --to $to --force -o "$T/export.$to"
    is "export --to $to" "$rc" 0
    check "export --to $to: none of them" clean "$T/export.$to"
done
is "export --to csv: no cell is a formula" "$(grep -cE '(^|,)"?[=+@-]' "$T/export.csv")" 0
holds "export --to csv: the text is there" "$(grep -c "^\"'=cmd|" "$T/export.csv") > 0"
for view in overview errors workers; do
    run "$PP" top "$T/run.sqlite" --once --view $view --size 120x50
    check "top --view $view" clean "$OUT"
done

# Messages that name a file.
mkdir "$T/"$'d\u202egpj' && run "$PP" run "$T/"$'d\u202egpj'
is "an error message that names a directory: exit code" "$rc" 4
check "an error message that names a directory" clean "$ERR"
cp "$T/run.sqlite" "$T/"$'r\u202egpj.sqlite'
for format in text md html csv; do
    run "$PP" report "$T/"$'r\u202egpj.sqlite' --format $format
    check "report --format $format of a recording with such a name" clean "$OUT"
done
run "$PP" compare "$T/"$'r\u202egpj.sqlite' "$T/run.sqlite"
check "compare of a recording with such a name" clean "$OUT"
run "$PP" top "$T/"$'r\u202egpj.sqlite' --once --size 120x40
check "top of a recording with such a name" clean "$OUT"
done_testing
