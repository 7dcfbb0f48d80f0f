#!/bin/bash
# The HTML report in a real browser: on a phone and on a desk nothing is wider than the screen, cut off, or to be scrolled for, with all tables
# unfolded; what can be copied is selected whole; light and dark differ, and it prints.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
command -v chromium >/dev/null || { skip "the page in a browser" "chromium is not installed"; done_testing; }

run timeout 60 "$PP" run --synthetic n=400,size=320x240,read=2ms --step-ms 3 --workers 3 --batch-size 8 --steps 400 --inject read-errors=0.02,fails=9 -o "$T/run.sqlite" --quiet
check "a run was recorded" test -s "$T/run.sqlite"
run "$PP" report "$T/run.sqlite" -o "$T/run.html"
like "it has a line to paste, or says what to do" "$(cat "$T/run.html")" '<pre class="paste"><code>|<div class="next"><h2>.'
# The page runs no script, and forbids any; a copy that may tells the frame around it what it finds. In a frame, for a window has a least width.
told() { sed '/Content-Security-Policy/d; s#</body>#<script>addEventListener("load", () => { const w = document.documentElement.clientWidth;\
document.querySelectorAll("details").forEach(d => d.open = true);\
const short = e => e.outerHTML.slice(0, 90).replace(/[^a-z0-9=._-]+/gi, " ");\
const outside = [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > w + 0.5 || e.getBoundingClientRect().left < -0.5).map(short).join();\
const cut = [...document.querySelectorAll("body *")].filter(e => e.clientWidth \&\& e.scrollWidth > e.clientWidth + 1 \&\& !e.closest("svg")).map(short).join();\
const all = [...document.querySelectorAll("pre.paste")].filter(e => getComputedStyle(e).userSelect != "all").length;\
parent.postMessage([w, document.documentElement.scrollWidth, outside, cut, all, getComputedStyle(document.body).backgroundColor].join(";"), "*") })</script></body>#' "$1" >"$2"; }
told "$T/run.html" "$T/told.html"
browser() { timeout 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$T/profile" "$@" 2>/dev/null; }
seen() { # WIDTH SCHEME (0: dark, 1: light)
    echo "<script>onmessage = e => document.body.setAttribute('data-seen', e.data)</script><iframe width=$1 height=900 style='border:0' src=told.html></iframe>" >"$T/frame.html"
    browser --window-size=1400,1000 --blink-settings=preferredColorScheme="$2" --virtual-time-budget=3000 --dump-dom "file://$T/frame.html" | grep -o 'data-seen="[^"]*"' | cut -d'"' -f2
}
# Two runs as one page, likewise.
run timeout 60 "$PP" run --synthetic n=400,size=320x240,read=2ms --step-ms 3 --workers 3 --batch-size 8 --steps 400 -o "$T/other.sqlite" --quiet
run "$PP" compare "$T/run.sqlite" "$T/other.sqlite" -o "$T/diff.html"
check "two runs were drawn" grep -q 'Where the time of a sample goes' "$T/diff.html"
told "$T/diff.html" "$T/told.html"
for width in 390 1280; do
    like "two runs, $width px: nothing is wider or cut off" "$(seen $width 1)" "^$width;$width;;;0;rgb"
done
told "$T/run.html" "$T/told.html"
for width in 390 1280; do
    light=$(seen $width 1) dark=$(seen $width 0)
    like "$width px: nothing is wider or cut off (frame; page; elements outside; cut off; not copied whole; background)" "$light" "^$width;$width;;;0;rgb"
    like "$width px: dark is dark" "$dark" 'rgb\(2[0-9], 2[0-9], 2[0-9]\)'
    like "$width px: light is light" "$light" 'rgb\(25[0-9], 25[0-9], 25[0-9]\)'
done
# The probe sees what is cut off: a page whose tables do not fold on a phone fails.
sed 's/max-width:560px/max-width:1px/' "$T/run.html" >"$T/broken.html"
told "$T/broken.html" "$T/told.html"
holds "a page with cut tables is found out" "$(seen 390 1 | cut -d';' -f4 | wc -c) > 5"
told "$T/run.html" "$T/told.html"
browser --print-to-pdf="$T/run.pdf" "file://$T/run.html" >/dev/null
like "it prints" "$(head -c 5 "$T/run.pdf" 2>/dev/null)" '^%PDF-'
done_testing
