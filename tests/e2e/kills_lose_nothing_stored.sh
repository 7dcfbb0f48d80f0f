#!/bin/bash
# idle
# 200 kills at random moments: every span that was acknowledged is in the file, none twice, and the file is sound.
. "$(dirname "$0")/../lib.sh"

test=$BUILD/tests/unit/collectors/store/test_store_recover
need_built unit "$test"
PP_TEST_KILLS=${PP_TEST_KILLS:-200} run timeout 250 "$test"
is "kills and recoveries" "$rc" 0
grep -h '^# .* kills' "$OUT" "$ERR" || true
done_testing
