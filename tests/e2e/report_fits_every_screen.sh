#!/bin/bash
# The HTML report in a real browser: nothing is wider than a phone or a desk, light and dark differ, and it prints.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
command -v chromium >/dev/null || { skip "the page in a browser" "chromium is not installed"; done_testing; }

run timeout 60 "$PP" run --synthetic n=400,size=320x240,read=2ms --step-ms 3 --workers 3 --batch-size 8 --steps 80 --inject read-errors=0.02,fails=9 -o "$T/run.sqlite" --quiet
check "a run was recorded" test -s "$T/run.sqlite"
run "$PP" report "$T/run.sqlite" -o "$T/run.html"
# The page runs no script, and forbids any; a copy that may tells the frame around it what it finds. In a frame, for a window has a least width.
sed '/Content-Security-Policy/d; s#</body>#<script>addEventListener("load", () => { const w = document.documentElement.clientWidth;\
const outside = [...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll") \&\& e.getBoundingClientRect().right > w).map(e => e.outerHTML.slice(0, 90).replace(/"/g, "")).join();\
parent.postMessage([w, document.documentElement.scrollWidth, outside, getComputedStyle(document.body).backgroundColor].join(";"), "*") })</script></body>#' "$T/run.html" >"$T/told.html"
browser() { timeout 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$T/profile" "$@" 2>/dev/null; }
seen() { # WIDTH SCHEME (0: dark, 1: light)
    echo "<script>onmessage = e => document.body.setAttribute('data-seen', e.data)</script><iframe width=$1 height=900 style='border:0' src=told.html></iframe>" >"$T/frame.html"
    browser --window-size=1400,1000 --blink-settings=preferredColorScheme="$2" --virtual-time-budget=3000 --dump-dom "file://$T/frame.html" | grep -o 'data-seen="[^"]*"' | cut -d'"' -f2
}
for width in 390 1280; do
    light=$(seen $width 1) dark=$(seen $width 0)
    like "$width px: nothing is wider (frame; page; elements outside; background)" "$light" "^$width;$width;;rgb"
    like "$width px: dark is dark" "$dark" 'rgb\(2[0-9], 2[0-9], 2[0-9]\)'
    like "$width px: light is light" "$light" 'rgb\(25[0-9], 25[0-9], 25[0-9]\)'
done
browser --print-to-pdf="$T/run.pdf" "file://$T/run.html" >/dev/null
like "it prints" "$(head -c 5 "$T/run.pdf" 2>/dev/null)" '^%PDF-'
done_testing
