#!/bin/bash
# tests/check_layers.sh [ROOT]: the plan of the house as a test. Every #include "..." and <pipeprobe/...> must follow an arrow of the
# plan below, and each public header must compile alone, as C and as C++. Prints TAP; a violation names file, line and rule.
set -u
cd "${1:-$(dirname "$0")/..}" || exit 1

# room: what its files may include, besides the room itself. A name stands for the files directly in that folder, a
# file name for that one header. The arrows are those of the design: measuring half below, reading half above, one door.
plan='
include/pipeprobe:
probe/base:       include/pipeprobe
probe/trace:      include/pipeprobe probe/base
probe/device:     include/pipeprobe probe/base probe/trace
probe/loader:     include/pipeprobe probe/base probe/trace probe/device
collectors/store: include/pipeprobe probe/base
collectors:       include/pipeprobe probe/base probe/trace probe/device probe/loader collectors/store collectors/cupti
collectors/cupti: include/pipeprobe probe/base probe/device collectors/store
report:           include/pipeprobe probe/base collectors/store/reader.h
report/export:    include/pipeprobe probe/base collectors/store/reader.h report/source.h
report/live:      include/pipeprobe probe/base collectors/store/reader.h report
tui/dash:         include/pipeprobe probe/base collectors/store/reader.h report report/live
tui/cli:          *
samples:          *
tests:            *
'
# Libraries that only some rooms may know: the reading half (but for the exporter whose format it is) and the pipeline speak no SQL,
# nothing but the dashboard draws screens (the front hall sees all, and names their versions).
libraries='
sqlite3.h: collectors collectors/store report/export tui/cli tests
ncurses.h: tui/cli tui/dash
curses.h:  tui/cli tui/dash
'

# file:line:include, quoted includes resolved beside the file first, then from the root.
includes() {
    find include probe collectors report tui samples tests -name '*.[ch]' -o -name '*.def' 2>/dev/null | sort | while read -r file; do
        sed -nE 's/^[ \t]*#[ \t]*include[ \t]+(["<][^">]+[">]).*/\1/; t show; b; :show =; p' "$file" | paste - - | while read -r line what; do
            name=${what:1:-1}
            case $what in
            '<pipeprobe/'*) name=include/$name ;;
            '"'*) [ -e "$(dirname "$file")/$name" ] && name=$(dirname "$file")/$name ;;
            esac
            case $name in *../*) name=$(realpath -m --relative-to=. "$name") ;; esac
            echo "$file:$line:${what:0:1}:$name"
        done
    done
}

violations() {
    includes | awk -F: -v plan="$plan" -v libraries="$libraries" '
        function room_of(path,   r) { # the longest room that holds path
            while (sub(/\/[^\/]*$/, "", path)) if (path in allowed) return path
            return ""
        }
        function listed(list, room, file,   n, w, i) {
            n = split(list, w, " ")
            for (i = 1; i <= n; i++) if (w[i] == "*" || w[i] == room || w[i] == file) return 1
            return 0
        }
        BEGIN {
            n = split(plan, row, "\n")
            for (i = 1; i <= n; i++) if (row[i] ~ /:/) { split(row[i], part, ":"); allowed[part[1]] = part[2] }
            n = split(libraries, row, "\n")
            for (i = 1; i <= n; i++) if (row[i] ~ /:/) { split(row[i], part, ":"); users[part[1]] = part[2] }
        }
        {
            from = room_of($1)
            if (from == "") { print $1 ":" $2 ": this folder is in no room of the plan"; next }
            if ($3 == "<" && $4 !~ /^include\//) {
                if ($4 in users && !listed(users[$4], from, "")) print $1 ":" $2 ": <" $4 "> is for" users[$4] " alone"
                next
            }
            to = room_of($4)
            if (to == "") print $1 ":" $2 ": " $4 " is in no room of the plan"
            else if (to != from && !listed(allowed[from], to, $4)) print $1 ":" $2 ": " from " may include only" (allowed[from] != "" ? allowed[from] : " itself") ", not " $4
        }'
}

headers_alone() { # COMPILER LANGUAGE: prints what fails
    local h
    for h in include/pipeprobe/*.h; do
        "$1" -x "$2" -Iinclude -Wall -Wextra -Werror -fsyntax-only "$h" 2>&1 || echo "$h does not compile alone"
    done
}

t=0 failed=0
report() { # NAME OUTPUT
    t=$((t + 1))
    if [ -z "$2" ]; then echo "ok $t - $1"; else echo "not ok $t - $1"; sed 's/^/# /' <<<"$2"; failed=1; fi
}
skip() { t=$((t + 1)); echo "ok $t - $1 # SKIP $2"; }

report "every include follows the plan of the house" "$(violations)"
if command -v "${CC:-cc}" >/dev/null; then report "public headers compile alone as C" "$(headers_alone "${CC:-cc}" c)"
else skip "public headers compile alone as C" "no ${CC:-cc}"; fi
if command -v "${CXX:-c++}" >/dev/null; then report "public headers compile alone as C++" "$(headers_alone "${CXX:-c++}" c++)"
else skip "public headers compile alone as C++" "no ${CXX:-c++}"; fi
echo "1..$t"
exit $failed
