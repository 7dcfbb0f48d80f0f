#!/bin/bash
# --sampler torch and sequential give exactly what the installed PyTorch's DistributedSampler gives, over a grid of requests.
. "$(dirname "$0")/../lib.sh"

python=/usr/bin/python3
script=tests/e2e/sampler_equals_pytorch.py
imports "$python" torch.utils.data.distributed || skip_all "PyTorch is not installed for $python (python3-torch)"
need_pipeprobe

$python $script requests >"$T/requests"
run bash -c "$python $script expect <'$T/requests' >'$T/want'"
is "DistributedSampler answers the grid" "$(wc -l <"$T/want")" "$(wc -l <"$T/requests")"
run bash -c "'$BUILD/tests/tools/order_digest' <'$T/requests' >'$T/got'"
check "$(wc -l <"$T/requests") orders are the same" diff "$T/want" "$T/got"
check "the recorded orders are still PyTorch's" diff <($python $script golden) tests/golden/sampler_torch.txt
check "pipeprobe plan prints DistributedSampler's order" $python $script plan "$PP"
done_testing
