#!/bin/bash
# pipeprobe resume-test on jobs that are resumed right (tests/resume/right.py), killed, resumed and held against their uninterrupted runs: each is exact.
# PYTHON names the interpreter.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
RIGHT=$PWD/tests/resume/right.py
cd "$T" || exit 1

if [ ! -e "$OLDPWD/$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip_all "the extension is not built: no Python.h"; fi
if ! imports "$PYTHON" torch; then skip_all "$PYTHON has no torch"; fi

answer() { json "$OUT" "\$.kills[0].$1"; }
right() { # NAME OPTION...
    local name=$1
    shift
    run timeout 200 "$PP" resume-test --yes --json -o "$T/$name" --kill-at 32 "$@" -- "$PYTHON" "$RIGHT" "$name" --out {dir}
}

# An optimizer's step is all that is seen, for four batches each.
right no-backward-accumulation
is "no backward: what an optimizer's step is made of was trained on" "$rc $(json "$OUT" '$.kind') $((x=$(answer resumed_at | grep . || echo 1), x % 26 % 8))" "0 exact 0"
# A second loader: in each step, begun anew where it ends, for validation alone; all that is taken is taken without gradients; no step at all; a thread that saves.
for name in two-loaders cycle one-looked-at preloads nothing-seen thread-saves; do
    right "$name"
    is "$name is exact, from where it says" "$rc $(json "$OUT" '$.kind') $(grep -h '^begins' "$T/$name/k1/start2.log")" "0 exact begins behind $(answer resumed_at)"
done
done_testing
