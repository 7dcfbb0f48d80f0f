#!/bin/bash
# quick
# What `pipeprobe tune` changes in a job's DataLoaders: only the arguments that this torch has and this loader takes. Needs Python, and no torch.
. "$(dirname "$0")/../lib.sh"
PYTHON=${PYTHON:-/usr/bin/python3}
command -v "$PYTHON" >/dev/null || skip_all "$PYTHON is not there"
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 8))' || skip_all "$PYTHON is older than 3.8"
run timeout 60 "$PYTHON" -B tests/e2e/override_keeps_to_the_rules.py "$PWD/collectors/attach/python" "$T/log"
while IFS= read -r line; do
    case $line in
    "ok - "*) pass "${line#ok - }" ;;
    "not ok - "*) fail "${line#not ok - }" < <(grep -A2 -F -- "$line" "$OUT") ;;
    esac
done <"$OUT"
is "it went through" "$rc $(cat "$ERR")" "0 "
done_testing
