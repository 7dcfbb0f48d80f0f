#!/bin/bash
# tests/bench/diagnosis.sh: the diagnosis against labelled runs, every figure of docs/results/accuracy.md's tables from one command.
#
#   HALF=held-out   which seeds: tune (odd), report (even), held-out (20 to 24), any      SEEDS=5   how many of them
#   BUDGET=0        minutes; 0: the whole plan, about 50 with TRUTH=1                      ONLY=a,b  these scenarios
#   TRUTH=1         turns every knob of every scenario for real, once: labels, efficacy, predictions; 0: verdicts alone
set -eu
cd "$(dirname "$0")/../.."
B=${BUILD:-build/release}
PP=${PP:-$B/pipeprobe}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -d .git ] || [ -f .git ]; then commit=$(git describe --always --dirty 2>/dev/null || true); fi
echo "$(date -u '+%F %H:%M UTC'), pipeprobe ${commit:-of no repository}, Linux $(uname -r), $(nproc) CPUs ($(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)), load $(cut -d' ' -f1-3 /proc/loadavg)"
truth=
[ "${TRUTH:-1}" = 0 ] || truth=--truth
PP="$PP" "$B/tests/lab/lab" --full $truth --half "${HALF:-held-out}" --seeds "${SEEDS:-5}" --budget "${BUDGET:-0}" ${ONLY:+--only "$ONLY"}

# What ten minutes of a run with eight workers record: 1.56 million samples, 24,334 batches.
"$B/tests/tools/long_recording" "$work/long.sqlite" 4800000
TIMEFORMAT='analysis of 4.8 million spans (10 m 08 s of eight workers): %R s, %U s of CPU'
time "$PP" report "$work/long.sqlite" >"$work/report" || [ $? -eq 3 ]
