#!/bin/bash
# tests/check_layers.sh [ROOT [PLAN]]: the plan of the house (tests/layers.plan) as a test. Every #include "..." and <pipeprobe/...>
# must follow an arrow of the plan, every arrow must be used, no two rooms may include each other, not even by way of others, and
# each public header must compile alone, as C and as C++. Prints TAP; a violation names file, line and rule.
set -u
plan=$(sed 's/#.*//' "${2:-$(dirname "$0")/layers.plan}") || exit 1
cd "${1:-$(dirname "$0")/..}" || exit 1

# file:line:include, quoted includes resolved beside the file first, then from the root.
includes() {
    find include probe collectors report tui samples mk tests -name '*.[ch]' -o -name '*.def' 2>/dev/null | sort | while read -r file; do
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

# Three kinds of lines: "I " an include that follows no arrow, "U " an arrow that nothing follows, "C " a cycle.
violations() {
    includes | awk -F: -v plan="$plan" '
        # A folder of the halves is a room of its own; samples and tests are one each with all that is in them.
        function room_of(path,   top) {
            top = path; sub(/\/.*/, "", top)
            if (top == "samples" || top == "tests") return top
            return sub(/\/[^\/]*$/, "", path) && path in allowed ? path : ""
        }
        function listed(list, room, file,   n, w, i) { # the entry that allows it
            n = split(list, w, " ")
            for (i = 1; i <= n; i++) if (w[i] == "*" || w[i] == room || w[i] == file) return w[i]
            return ""
        }
        function reaches(from, to,   r) { # a way of includes, in way[]
            if (from == to) { way = to; return 1 }
            visited[from] = 1
            for (r in allowed) if ((from, r) in edge && !(r in visited) && reaches(r, to)) { if (r != to) way = r " -> " way; return 1 }
            return 0
        }
        BEGIN {
            n = split(plan, row, "\n")
            for (i = 1; i <= n; i++) if (match(row[i], /:/)) {
                name = substr(row[i], 1, RSTART - 1); rest = substr(row[i], RSTART + 1)
                gsub(/[ \t]+/, " ", rest)
                if (name ~ /^</) users[substr(name, 2, length(name) - 2)] = rest
                else { allowed[name] = rest; order[++rooms] = name }
            }
        }
        {
            from = room_of($1)
            if (from == "") { print "I " $1 ":" $2 ": this folder is in no room of the plan"; next }
            if ($3 == "<" && $4 !~ /^include\//) {
                if ($4 in users && !listed(users[$4], from, "")) print "I " $1 ":" $2 ": <" $4 "> is for" users[$4] " alone"
                next
            }
            to = room_of($4)
            if (to == "") { print "I " $1 ":" $2 ": " $4 " is in no room of the plan"; next }
            if (to == from) next
            entry = listed(allowed[from], to, $4)
            if (entry == "") print "I " $1 ":" $2 ": " from " may include only" (allowed[from] ~ /[^ ]/ ? allowed[from] : " itself") ", not " $4
            used[from, entry] = 1
            if (!((from, to) in edge)) { edge[from, to] = $1 ":" $2; }
        }
        END {
            for (i = 1; i <= rooms; i++) {
                n = split(allowed[order[i]], w, " ")
                for (k = 1; k <= n; k++)
                    if (w[k] != "*" && !((order[i], w[k]) in used)) print "U " order[i] ": nothing there includes " w[k]
                for (k = 1; k <= rooms; k++) if ((order[i], order[k]) in edge) {
                    split("", visited)
                    if (reaches(order[k], order[i])) print "C " edge[order[i], order[k]] ": " order[i] " -> " order[k] " -> " way
                }
            }
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

found=$(violations)
report "every include follows the plan of the house" "$(sed -n 's/^I //p' <<<"$found")"
report "every arrow of the plan is used" "$(sed -n 's/^U //p' <<<"$found")"
report "no two rooms include each other" "$(sed -n 's/^C //p' <<<"$found")"
if command -v "${CC:-cc}" >/dev/null; then report "public headers compile alone as C" "$(headers_alone "${CC:-cc}" c)"
else skip "public headers compile alone as C" "no ${CC:-cc}"; fi
if command -v "${CXX:-c++}" >/dev/null; then report "public headers compile alone as C++" "$(headers_alone "${CXX:-c++}" c++)"
else skip "public headers compile alone as C++" "no ${CXX:-c++}"; fi
echo "1..$t"
exit $failed
