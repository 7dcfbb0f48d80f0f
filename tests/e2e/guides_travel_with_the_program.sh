#!/bin/bash
# The guides are on every machine that pipeprobe is on: pipeprobe help TOPIC prints them, offline, from where an installation puts them. Every topic of
# the list is a page and every page of the guide is a topic; lines fit; no sentence of the program points into a source tree.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

topics=$("$PP" help | sed -n '/^Guides/,/^$/p' | sed '1s/.*TOPIC.://' | tr -d ' \n' | tr ',' '\n' | sed 's,^guide/,,')
is "the topics are the pages of the guide" "$(sort <<<"$topics" | paste -sd' ')" "$(cd docs/guide && ls *.md | sed 's/\.md$//' | sort | paste -sd' ')"
for topic in $topics; do
    name=$topic
    [ "$topic" != metrics ] || name=guide/metrics
    run "$PP" help "$name"
    is "help $name begins with the page's title" "$rc $(sed -n 2p "$OUT")" "0 $(sed -n '1s/^# //p' "docs/guide/$topic.md")"
    is "help $name: no marks, and paragraphs within 80 columns" "$(grep -v '^    ' "$OUT" | grep -E '\]\(|\*\*|^#|^\||^!' | head -n 3; grep -v '^    ' "$OUT" | grep -vE '`[^ ]{60,}|https?://' | awk 'length > 80' | head -n 3)" ""
done
run "$PP" help exit-codes
is "a page of the reference is one too" "$rc $(sed -n 2p "$OUT")" "0 Exit codes"
refuses "a topic spelled wrong" 2 "did you mean many-ranks" "$PP" help many-rank
refuses "a file elsewhere is none" 2 "unknown command" "$PP" help ../../README

# As installed, with nothing of the source tree near.
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s install-pages DESTDIR="$T/stage" PREFIX=/usr
mkdir -p "$T/stage/usr/bin" && cp "$PP" "$T/stage/usr/bin/"
run "$T/stage/usr/bin/pipeprobe" help many-ranks
is "the installed program has the page" "$rc $(sed -n 2p "$OUT")" "0 A job of many ranks"
rm -r "$T/stage/usr/share"
refuses "a program alone says what it lacks" 4 "the guides are not installed with this program" "$T/stage/usr/bin/pipeprobe" help many-ranks

# What people read names commands, not files that only a source tree has.
is "no path of the source tree in what is printed" "$(grep -rnE '"[^"]*docs/(guide|reference|results|internals)/' probe collectors report tui --include='*.[ch]' --include='*.def' --include='*.py' | head -n 3)" ""
named=$(grep -rohE 'pipeprobe help [a-z][a-z/-]*' probe collectors report tui --include='*.[ch]' --include='*.def' --include='*.py' | awk '{ print $3 }' | sort -u)
check "pages are named" test "$(wc -w <<<"$named")" -ge 3
for name in $named; do check "help $name" "$PP" help "$name"; done
done_testing
