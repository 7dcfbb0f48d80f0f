#!/bin/sh
# --sampler torch and sequential give exactly what the installed PyTorch's DistributedSampler gives, over a grid of requests.
# usage: tests/e2e/sampler_torch.sh [BUILD_DIR]      exit 77: PyTorch is not installed
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build/release}
script=tests/e2e/sampler_torch.py
python=/usr/bin/python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! $python -c 'import torch.utils.data.distributed' 2>/dev/null; then
    echo "SKIP sampler_torch: no PyTorch for $python (Debian: python3-torch)"
    exit 77
fi
$python $script requests >"$work/requests"
$python $script expect <"$work/requests" >"$work/want"
"$build/tests/tools/order_digest" <"$work/requests" >"$work/got"
diff "$work/want" "$work/got" >"$work/diff" || { head -20 "$work/diff" >&2; exit 1; }
$python $script plan "$build/pipeprobe"
echo "ok sampler_torch: $(wc -l <"$work/want") orders equal DistributedSampler's, PyTorch $($python -c 'import torch; print(torch.__version__)')"
