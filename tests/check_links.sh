#!/bin/bash
# tests/check_links.sh [BUILD [PLAN]]: the plan of the house (tests/layers.plan) held against what is linked. Every symbol that an
# object of one room takes from an object of another must follow an arrow of the plan, as the includes do: so a header that declares a
# function of another room, or a declaration without a header, does not get round check_layers.sh.
#
# An arrow to a room allows its symbols; an arrow to one header allows those that the header names. What include/pipeprobe declares is
# public: rooms that may include it may use it, wherever it is defined. Objects are those of BUILD (build/release) whose source is
# there; of collectors/attach/inject, which is linked into the injection library alone, those of BUILD/pic. Prints TAP; a violation names
# both objects and the symbol. Run from the repository's root, or from the root that the objects belong to.
set -u
build=${1:-${BUILD:-build/release}}
plan=${2:-$(dirname "$0")/layers.plan}
name="every symbol that is linked follows the plan of the house"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
[ -r "$plan" ] || { echo "1..1"; echo "not ok 1 - $name"; echo "# no plan $plan"; exit 1; }

# "object symbol U|D": undefined or defined, of each object that the product is made of.
objects() {
    # What is preloaded into other programs has libc's own names, and is linked with nothing.
    find probe collectors report tui -name '*.c' -not -path 'collectors/attach/reads/*' | sort | while read -r source; do
        for object in "$build/${source%.c}.o" "$build/pic/${source%.c}.o"; do
            if [ -e "$object" ]; then echo "$object"; break; fi
        done
    done
}
objects >"$work/objects"
[ -s "$work/objects" ] || { echo "1..1"; echo "not ok 1 - $name"; echo "# no objects in $build: build with make"; exit 1; }
xargs nm -A -g <"$work/objects" 2>/dev/null | sed -nE -e 's/^([^:]*):.* U ([^ ]+)$/\1 \2 U/p' -e 's/^([^:]*):.* [TDBRVWC] ([^ ]+)$/\1 \2 D/p' >"$work/symbols"

# The headers that single arrows lead to, and the public ones, as "header symbol".
{ grep -v '^#' "$plan" | tr ' ' '\n' | grep '\.h$' | grep -v '^<'; find include/pipeprobe -name '*.h' 2>/dev/null; } | sort -u | while read -r header; do
    [ -e "$header" ] && grep -oE '[A-Za-z_][A-Za-z0-9_]*' "$header" | sort -u | sed "s|^|$header |"
done >"$work/headers"

found=$(awk -v build="$build/" -v plan="$plan" -v headers="$work/headers" '
    function short(object) { object = substr(object, length(build) + 1); sub(/^pic\//, "", object); return object }
    function room_of(path) { path = short(path); sub(/\/[^\/]*$/, "", path); return path }
    function is_public(symbol,   h) { for (h in public) if ((h, symbol) in names) return 1; return 0 }
    function may(from, to, symbol,   n, w, i) {
        n = split(allowed[from], w, " ")
        for (i = 1; i <= n; i++) {
            if (w[i] == "*" || w[i] == to || ((w[i], symbol) in names && index(w[i], to "/") == 1)) return 1
            if (w[i] == "include/pipeprobe" && is_public(symbol)) return 1
        }
        return 0
    }
    BEGIN {
        while ((getline line < headers) > 0) { split(line, w, " "); names[w[1], w[2]] = 1; if (w[1] ~ /^include\/pipeprobe\//) public[w[1]] = 1 }
        while ((getline line < plan) > 0) {
            sub(/#.*/, "", line)
            if (line ~ /^</ || !match(line, /:/)) continue
            allowed[substr(line, 1, RSTART - 1)] = substr(line, RSTART + 1)
        }
    }
    NR == FNR { if ($3 == "D") home[$2] = $1; next }
    $3 == "U" && $2 in home {
        from = room_of($1); to = room_of(home[$2])
        if (from != to && !may(from, to, $2)) print short($1) " takes " $2 " from " short(home[$2]) ", and " from " may use only" (allowed[from] ~ /[^ ]/ ? allowed[from] : " itself")
    }' "$work/symbols" "$work/symbols" | sort)
echo "1..1"
if [ -z "$found" ]; then echo "ok 1 - $name"; exit 0; fi
echo "not ok 1 - $name"
sed 's/^/# /' <<<"$found"
exit 1
