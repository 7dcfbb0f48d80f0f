#!/bin/bash
# tests/bench/gpu_decode.sh: JPEG decoded on the GPU: pipeprobe with each of nvJPEG's back ends beside NVIDIA DALI on the same files, samples per second, and
# --decode cpu below them. ROUNDS (default 3) epochs of IMAGES (default 4000) files each; PYTHON is one with DALI (default build/venvs/dali, made from PyPI where
# there is a device). Without a usable CUDA device a sentence says that nothing was run; exit code 77.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/release} ROUNDS=${ROUNDS:-3} IMAGES=${IMAGES:-4000} VENVS=${VENVS:-$PWD/build/venvs} BATCH=${BATCH:-64}
PP=$PWD/$B/pipeprobe
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT

"$PP" doctor >"$T/doctor" 2>&1
if ! grep -Eq '^yes +CUDA driver' "$T/doctor"; then
    echo "not run: no usable CUDA device ($(sed -n '/CUDA driver/,/^\(yes\|no\|?\) *CUDA kernels/p' "$T/doctor" | grep -v 'CUDA kernels' | tr -s '\n ' ' ' | sed 's/^no CUDA driver //; s/: copies use .*//'))"
    exit 77
fi
echo "pipeprobe bench-gpu, $(date -u +%Y-%m-%d), $(uname -n)"
grep -E '^(yes|no) +(CUDA driver|nvJPEG)' "$T/doctor"
"$B/samples/make_dataset" "$T/images" --n "$IMAGES" --size 500x375 --classes 10 >/dev/null || exit 1
cat "$T"/images/*/* >/dev/null # both read from the page cache

row() { printf '%-34s %12s samples/s\n' "$1" "$2"; }
not_run() { printf '%-34s not run: %s\n' "$1" "$2"; }
# The steady state of ROUNDS epochs behind a warm one.
pipeprobe() { # NAME ARGUMENTS...
    local name=$1
    shift
    if "$PP" run "$T/images" --epochs $((ROUNDS + 1)) --batch-size "$BATCH" --device cuda --copy-buffers 4 --seed 1 --json --quiet --force -o "$T/run.sqlite" "$@" >"$T/run.json" 2>"$T/run.err" || [ $? -eq 3 ]; then
        row "$name" "$(sed -n 's/^ *"samples_per_s": *\([0-9]*\).*/\1/p' "$T/run.json" | head -n 1)"
    else not_run "$name" "$(tail -n 1 "$T/run.err")"; fi
}
dali() { # NAME DEVICE
    if "$python" tests/bench/peer_dali.py "$T/images" --device "$2" --threads "$(nproc)" --batch-size "$BATCH" --epochs "$ROUNDS" >"$T/dali" 2>"$T/dali.err"; then
        row "$1" "$(sed -n 's/.*"warm_up": false.*"samples_per_s": \([0-9]*\).*/\1/p' "$T/dali" | sort -n | sed -n "$(((ROUNDS + 1) / 2))p")"
    else not_run "$1" "exit code $?; $(cat "$T/dali" "$T/dali.err" | tail -n 1 | cut -c1-200)"; fi
}

python=${PYTHON:-$VENVS/dali/bin/python}
if [ ! -x "$python" ]; then
    { /usr/bin/python3 -m venv "$VENVS/dali" && "$VENVS/dali/bin/pip" -q install nvidia-dali-cuda120 numpy; } >"$T/pip" 2>&1 || echo "# DALI cannot be installed: $(tail -n 1 "$T/pip")"
fi

for backend in hardware hardware-device gpu-hybrid hybrid; do
    pipeprobe "pipeprobe, $backend" --decode nvjpeg --nvjpeg-backend $backend
done
dali "DALI, mixed" gpu
pipeprobe "pipeprobe, --decode cpu" --decode cpu
dali "DALI, cpu" cpu
