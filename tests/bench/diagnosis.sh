#!/bin/bash
# The diagnosis against labelled runs: every scenario, three severities, SEEDS seeds that no threshold was looked at with (20 and up). About
# 5 minutes a seed. TRUTH=1: turns every knob for real too, once (about 12 minutes), which shows that the labels are causal and predictions hold.
set -eu
cd "$(dirname "$0")/../.."
PP=${PP:-build/release/pipeprobe}
echo "$(date -u +%F), $(nproc) CPUs ($(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)), load $(cut -d' ' -f1-3 /proc/loadavg)"
[ "${TRUTH:-0}" = 0 ] || "$PP" selftest --truth --first-seed 20
"$PP" selftest --full --first-seed 20 --seeds "${SEEDS:-5}"
