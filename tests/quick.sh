#!/bin/bash
# tests/quick.sh [--list] [--changed FILE...]: tests only what a change touches (make quick).
#
# Changed is what `git diff` names against $BASE (default HEAD) and what git does not track yet; or the FILEs. It builds, chooses,
# prints each choice with its reason, and runs the chosen programs by tests/run.sh. --list chooses in what is built already and
# runs nothing. How it chooses:
#
#   unit test    when an object in its binary was compiled from a changed file: the symbols of the binary tell the objects, their .d
#                files the sources. And when its source names a changed file that is no C (a golden file, a page, a sample).
#   e2e script   only those marked "# quick": when it was changed itself; when it names a changed file that is no C; when it calls
#                a touched command. A command is touched when a changed file is its own (tui/cli/NAME.c, tui/cli/NAME/), or is a
#                header that one of these includes, or the .c beside such a header.
#   checks       layers, links and format, always.
#
# The choice of scripts is an approximation: a change deep below a command does not choose it. `make check` runs all.
set -u
cd "$(dirname "$0")/.." || exit 2
build=${BUILD:-build/release} list=0 changed=
while [ $# -gt 0 ]; do
    case $1 in
    --list) list=1; shift ;;
    --changed) shift; changed=$(printf '%s\n' "$@"); break ;;
    *) echo "usage: tests/quick.sh [--list] [--changed FILE...]" >&2; exit 2 ;;
    esac
done
if [ -z "$changed" ]; then
    changed=$({ git diff --name-only "${BASE:-HEAD}" -- && git ls-files --others --exclude-standard; } | sort -u) ||
        { echo "tests/quick.sh asks git what changed, and git could not say" >&2; exit 2; }
fi
[ -n "$changed" ] || { echo "nothing changed against ${BASE:-HEAD}: nothing to test"; exit 0; }
sed 's/^/changed  /' <<<"$changed"
if [ $list -eq 0 ]; then ${MAKE:-make} -j"$(nproc)" all unit helpers || exit 1; fi
[ -x "$build/pipeprobe" ] || { echo "$build/pipeprobe is missing: build with make" >&2; exit 2; }

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
grep -E '\.(c|h|def|cuh)$' <<<"$changed" >"$work/code"
grep -vE '\.(c|h|def|cuh)$' <<<"$changed" >"$work/other"

# "OBJECT changed-file", without build directory and suffix, for each object or program that was compiled from a changed file.
find "$build" -name '*.d' -not -path "$build/pic/*" -not -path "$build/lib/*" -print0 | xargs -0 awk -v code="$work/code" -v skip=$((${#build} + 2)) '
    BEGIN { while ((getline file < code) > 0) wanted[file] = 1 }
    { for (i = 1; i <= NF; i++) { sub(/:$/, "", $i); if ($i in wanted && !((FILENAME, $i) in told)) { told[FILENAME, $i] = 1; print substr(FILENAME, skip, length(FILENAME) - skip - 1), $i } } }
' >"$work/touched"

# Which binary holds which objects: by the global symbols that an object defines. Prints "FILE SYMBOL".
symbols() { nm -A --defined-only -g "$@" /dev/null 2>/dev/null | sed -E 's/^([^:]*):.* ([^ ]+)$/\1 \2/' | grep -v ' main$'; }
mapfile -t units < <(find "$build/tests/unit" -type f -name 'test_*' -perm -u+x 2>/dev/null | sort)
awk -v build="$build/" '{ print build $1 ".o" }' "$work/touched" | sort -u | while read -r object; do [ -e "$object" ] && echo "$object"; done >"$work/objects"
mapfile -t objects <"$work/objects"
symbols "${objects[@]}" >"$work/symbols"

# "PROGRAM why", one reason each.
{
    symbols "${units[@]}" | awk -v skip=$((${#build} + 2)) -v symbols="$work/symbols" -v touched="$work/touched" '
        BEGIN {
            while ((getline line < touched) > 0) { split(line, w, " "); if (!(w[1] in from)) from[w[1]] = w[2] }
            while ((getline line < symbols) > 0) { split(line, w, " "); object[w[2]] = substr(w[1], skip, length(w[1]) - skip - 1) }
        }
        $2 in object && !($1 in told) { told[$1] = 1; print $1, "links " object[$2] ".o, made from " from[object[$2]] }'
    awk -v build="$build/" '$1 ~ /^tests\/unit\// { print build $1, "is made from " $2 }' "$work/touched"
    while read -r file; do
        grep -rslF --include='*.c' -- "$(basename "$file")" tests/unit | sed -E "s|^(.*)\.c\$|$build/\1 names $file|"
    done <"$work/other"
} | awk '!($1 in told) { told[$1] = 1; print }' | sort >"$work/unit"

# Commands with a changed file in or directly under them.
commands=$(sed -n '/^Record:/,/^Guides/s/^  \([a-z]*\) .*/\1/p' < <("$build/pipeprobe" help 2>/dev/null))
for command in $commands; do
    while read -r file; do
        header=${file%.c}.h
        if [[ $file == tui/cli/$command.[ch] || $file == tui/cli/$command/* ]] ||
            grep -qsE "(^|[ \t])$header(:|[ \t]|\$)" "$build/tui/cli/$command.d" "$build/tui/cli/$command"/*.d; then
            echo "$command $file"
            break
        fi
    done <"$work/code"
done >"$work/commands"

for script in $(grep -l '^# quick' tests/e2e/*.sh /dev/null); do
    if grep -qxF "$script" <<<"$changed"; then echo "$script was changed"; continue; fi
    while read -r file; do
        if grep -qF -- "$(basename "$file")" "$script"; then echo "$script names $file"; continue 2; fi
    done <"$work/other"
    while read -r command file; do
        if grep -qE "(\\\$PP\"?|pipeprobe) $command\b" "$script"; then echo "$script calls $command, which uses $file"; continue 2; fi
    done <"$work/commands"
done >"$work/e2e"

while read -r program why; do printf 'chosen   %s: %s\n' "${program#"$build"/}" "$why"; done < <(cat "$work/unit" "$work/e2e")
echo "chosen   tests/check_layers.sh, check_links.sh, check_format.sh: always"
grep '^tests/e2e/.*\.sh$' <<<"$changed" | while read -r script; do
    if [ -e "$script" ] && ! grep -q '^# quick' "$script"; then echo "left out $script: not marked quick; run it by itself"; fi
done
echo "$(wc -l <"$work/unit") of ${#units[@]} unit tests, $(wc -l <"$work/e2e") of $(ls tests/e2e/*.sh | wc -l) scripts"
[ $list -eq 0 ] || exit 0
mapfile -t programs < <(awk '{ print $1 }' "$work/unit" "$work/e2e")
bash tests/run.sh -j "$(nproc)" "${programs[@]}" tests/check_layers.sh tests/check_links.sh tests/check_format.sh
