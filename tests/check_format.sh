#!/bin/bash
# tests/check_format.sh [--rewrite]: every C source obeys .clang-format (110 columns). Prints TAP and names the files that do not;
# --rewrite brings them into shape instead. The style is that of clang-format 14: other versions break lines elsewhere.
set -u
cd "$(dirname "$0")/.." || exit 1

name="C sources obey .clang-format"
format=
for program in clang-format-14 clang-format; do
    "$program" --version 2>/dev/null | grep -q 'version 14\.' && { format=$program; break; }
done
if [ -z "$format" ]; then
    [ "${1:-}" != --rewrite ] || { echo "make format needs clang-format 14: on Debian 12 the package clang-format-14." >&2; exit 1; }
    echo "1..1"
    echo "ok 1 - $name # SKIP no clang-format 14"
    exit 0
fi

# Generated, and not C in the end: the PTX.
sources() { find include probe collectors report tui samples mk tests -name '*.[ch]' -print0 | sort -z; }

if [ "${1:-}" = --rewrite ]; then
    sources | xargs -0 "$format" -i
    exit
fi
bad=$(sources | xargs -0 "$format" --dry-run 2>&1 | sed -nE 's/^([^:]+):([0-9]+):.*code should be clang-formatted.*/\1:\2/p' | sort -t: -u -k1,1)
echo "1..1"
if [ -z "$bad" ]; then echo "ok 1 - $name"; exit 0; fi
echo "not ok 1 - $name"
sed 's/^/# /; s/$/: run make format/' <<<"$bad"
exit 1
