#!/bin/bash
# docs/internals/pages.md: eight recordings before and after. What it says of after is what today's program says, and its pictures are small.
# PP_GOLDEN_UPDATE=1 renews the texts; make pages OLD=PROGRAM the pictures too.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PAGE=$PWD/docs/internals/pages.md
after() { awk -v name="## $1:" 'index($0, "## ") == 1 { of = index($0, name) == 1; after = 0 } of && /^After:/ { after = 1; next } of && after && /^    / { print substr($0, 5) }' "$PAGE"; }
names=$(sed -n 's/^## \([a-z_]*\):.*/\1/p' "$PAGE")
is "eight recordings" "$(wc -w <<<"$names")" 8
pictures=()
for name in $names; do
    if [ -e "tests/recordings/$name.sqlite" ]; then cp "tests/recordings/$name.sqlite" "$T"; else gzip -dc "tests/recordings/$name.sqlite.gz" >"$T/$name.sqlite"; fi
    (cd "$T" && "$PP" report "$name.sqlite") | sed 's/ *$//' >"$T/now"
    if [ -n "${PP_GOLDEN_UPDATE:-}" ]; then
        sed -E 's/^(.)/    \1/' "$T/now" >"$T/block"
        awk -v name="## $name:" -v block="$T/block" 'index($0, "## ") == 1 { of = index($0, name) == 1; after = 0 }
            of && after && (/^    / || /^$/) { next }
            after && of { after = 0 }
            { print }
            of && /^After:/ { after = 1; print ""; while ((getline line < block) > 0) print line; print "" }' "$PAGE" >"$T/page" && cat "$T/page" >"$PAGE"
    fi
    is "$name: as the program says it now" "$(grep . "$T/now")" "$(after "$name")"
    pictures+=("docs/internals/pages/$name.png")
done
holds "the pictures have 400 KiB at most" "$(cat "${pictures[@]}" | wc -c) <= 400 * 1024"
done_testing
