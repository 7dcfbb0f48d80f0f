#!/bin/bash
# tests/check_sizes.sh [--table]: how large the product is, room by room, and the limits it is held to. Prints TAP, the table as comments; --table prints the
# table alone (make check). A function is what stands between a line "{" and a line "}" of a .c file.
set -u
cd "$(dirname "$0")/.." || exit 1

# Limits go down, but for what a user can see or do anew: causes and records of PyTorch jobs (network, threads, memory, bytes, the sampler, failures, order,
# time between epochs, the line of a slow step), predictions for other loaders.
# 6,600 functions were 6,610: their rate rose where lines went that are of no function (includes, the heads of commands).
most_lines=142361
most_functions_per_1000=41.8
most_lines_of_a_file=600
sources() { find include probe collectors report tui -name '*.c' -o -name '*.h' -o -name '*.def' | sort; }

# "file FILE LINES", "room ROOM FILES LINES LINES-OF-.c", "function ROOM LINES".
measured=$(sources | xargs awk '
    function end_of_file() { if (file != "") print "file", file, lines }
    FNR == 1 { end_of_file(); file = FILENAME; room = file; sub(/\/[^\/]*$/, "", room); is_c = file ~ /\.c$/; files[room]++; opened = 0 }
    { lines = FNR; total[room]++; code[room] += is_c }
    is_c && $0 == "{" { opened = FNR }
    is_c && $0 == "}" && opened { print "function", room, FNR - opened + 1; opened = 0 }
    END { end_of_file(); for (room in files) print "room", room, files[room], total[room], code[room] }')

table() {
    {
        grep '^room' <<<"$measured"
        grep '^function' <<<"$measured"
    } | sort -k2,2 -k1,1r -k3,3n | awk '
        function row(name, files, lines, functions, code, median) {
            printf "%-34s %5d %7d %6d %7.1f %7s\n", name, files, lines, functions, code ? functions * 1000 / code : 0, median
        }
        function end_of_room() { if (room != "") row(room, files, lines, n, code, n ? length_of[int((n + 1) / 2)] : "-") }
        $1 == "room" {
            end_of_room(); room = $2; files = $3; lines = $4; code = $5; n = 0
            all_files += files; all_lines += lines; all_code += code
        }
        $1 == "function" { length_of[++n] = $3; at_length[$3]++; all++; if ($3 > longest) longest = $3 }
        BEGIN { printf "%-34s %5s %7s %6s %7s %7s\n", "room", "files", "lines", "funcs", "/1000.c", "median" }
        END {
            end_of_room()
            for (i = 1; i <= longest && seen < all / 2; i++) seen += at_length[i]
            row("all", all_files, all_lines, all, all_code, i - 1)
        }'
}
sizes=$(table)
if [ "${1:-}" = --table ]; then echo "$sizes"; exit; fi
sed 's/^/# /' <<<"$sizes"

t=0 failed=0
report() { # NAME WHAT-IS-WRONG
    t=$((t + 1))
    if [ -z "$2" ]; then echo "ok $t - $1"; else echo "not ok $t - $1"; sed 's/^/# /' <<<"$2"; failed=1; fi
}
over() { # NUMBER of the last row, by column, LIMIT, what it counts
    awk -v column="$1" -v limit="$2" -v what="$3" 'END { if ($column + 0 > limit + 0) print "the product has " $column " " what ", " limit " at most: tests/check_sizes.sh" }' <<<"$sizes"
}
report "the product has $most_lines lines at most" "$(over 3 "$most_lines" lines)"
report "it has $most_functions_per_1000 functions per 1,000 lines of .c at most" "$(over 5 "$most_functions_per_1000" "functions per 1,000 lines of .c")"
report "no file has more than $most_lines_of_a_file lines" "$(awk -v most=$most_lines_of_a_file '
    $1 == "file" && $3 > most { print $2 " has " $3 " lines, " most " at most: is it one subject?" }
' <<<"$measured")"
echo "1..$t"
exit $failed
