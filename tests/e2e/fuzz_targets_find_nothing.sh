#!/bin/bash
# once
# A short run of every fuzz target under the sanitizers; `make fuzz FUZZ_SECONDS=3600` is the long one.
. "$(dirname "$0")/../lib.sh"

export TMPDIR=$T
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c) name=${name#fuzz_}
    target=build/address-undefined/tests/fuzz/fuzz_$name
    need_built "SAN=address,undefined helpers" "$target"
    run "$target" --seconds 3
    is "fuzz_$name survives 3 s" "$rc" 0
done
done_testing
