#!/bin/bash
# tests/newest_torch.sh: the newest PyTorch of PyPI with torchdata and torchvision into build/venvs/torch (5.5 GB, 2 minutes), for the slice of
# tests/frameworks.sh that is in `make test`. Nothing is done where that, or the environment of make test-frameworks, is there. Exit code 1 and one sentence:
# it cannot be had.
set -u
cd "$(dirname "$0")/.." || exit 1
VENVS=${VENVS:-build/venvs} NEED_KIB=8000000
dir=$VENVS/torch
[ -e "$dir/complete" ] || [ -e "$VENVS/newest/complete" ] && exit 0
mkdir -p "$VENVS" || exit 1
if [ "$(df --output=avail "$VENVS" | tail -n 1)" -lt $NEED_KIB ]; then
    echo "newest_torch: less than 8 GB are free in $VENVS" >&2
    exit 1
fi
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
rm -rf "$dir"
echo "PyTorch from PyPI into $dir"
if ! { python3 -m venv "$dir" && timeout 900 "$dir/bin/pip" install -q --no-cache-dir --retries 1 torch torchdata torchvision; } >"$log" 2>&1; then
    echo "newest_torch: $(tail -n 1 "$log" | cut -c1-200)" >&2
    rm -rf "$dir"
    exit 1
fi
touch "$dir/complete"
