#!/bin/bash
# tests/check_docs.sh finds what it is there for: each way in which a page can be wrong, made in a copy of the pages.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

tree=$T/tree
mkdir -p "$tree/tests"
cp -r README.md CHANGELOG.md LICENSE docs samples "$tree"
cp -r tests/golden tests/recordings tests/field "$tree/tests/"
d=docs # so that the names below are no paths that this check itself would look for
check_docs() { run env BUILD="$BUILD" bash tests/check_docs.sh "$tree"; }
broken() { # NAME REGEX FILE SED-SCRIPT: with the file so changed, the check fails and says so
    cp "$tree/$3" "$T/kept"
    sed -i "$4" "$tree/$3"
    check_docs
    is "$1" "$rc" 1
    like "$1: it is named" "$(cat "$OUT")" "$2"
    cp "$T/kept" "$tree/$3"
}

check_docs
is "the pages as they are" "$rc" 0
broken "a dead link" "# README.md:[0-9]+: $d/nothing.md: there is no" README.md "\$a [x]($d/nothing.md)"
broken "a dead anchor" '# docs/README.md:[0-9]+: guide/gpu.md#nothing: no such heading' docs/README.md '$a [x](guide/gpu.md#nothing)'
broken "a page that is gone, named without a link" "CHANGELOG.md:[0-9]+: there is no $d/OLD.md" CHANGELOG.md "\$a see $d/OLD.md"
broken "a page without a way to it" '# docs/internals/store.md: no way' docs/README.md '/store.md/d'
broken "a long line" '# docs/guide/gpu.md:[0-9]+' docs/guide/gpu.md "\$a $(printf 'x%.0s' {1..161})"
broken "a long README.md" '# it has [0-9]{3}' README.md "\$a $(printf 'a\\n%.0s' {1..120})a"
broken "a report that the program does not print" 'not ok 6' README.md 's|^    Cause:|    Kause:|'
broken "an option that the program does not have" 'not ok 7' docs/reference/commands.md 's/--workers/--wrokers/'
echo "int x; /* $d/GONE.md */" >"$tree/tests/x.c"
check_docs
like "a comment that names a page that is gone" "$(cat "$OUT")" "# tests/x.c:1: there is no $d/GONE.md"
done_testing
