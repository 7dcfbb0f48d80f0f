#!/bin/bash
# quick
# pipeprobe explain: every code without a recording, as text and as JSON; a code that is none gets the nearest one.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
run "$PP" explain
is "explain lists the codes" "$rc" 0
codes=$(cut -d' ' -f1 "$OUT")
is "with causes, findings and faults of the audit" "$(grep -cxE 'storage/latency|first-batch|ranks-alike' <<<"$codes")" 3
bad=
for code in $codes; do
    "$PP" explain "$code" >"$T/text" && head -1 "$T/text" | grep -q "^$code: ." || bad="$bad $code"
    "$PP" explain "$code" --json >"$T/$(tr / . <<<"$code").json" || bad="$bad $code"
done
is "each is explained" "$bad" ""
unknown=
lost=
for code in $codes; do
    "$PP" explain "$code" | grep -qE '<[?]>' && unknown="$unknown $code"
done
is "each value that an explanation names is called something" "$unknown" ""
for code in exact clean not-exact broken cannot-be-told; do
    "$PP" explain "$code" | grep -q '^Do:' && lost="$lost $code"
done
is "a rule that has no remedy advises nothing" "$lost" ""
is "nor as JSON" "$("$PP" explain exact --json | grep -c '"next_step": null')" 1
check "as JSON too" python3 -c '
import json, sys
for path in sys.argv[1:]:
    d = json.load(open(path))
    assert d["schema"] == "pipeprobe.explain/1" and len(d["codes"]) == 1 and d["codes"][0]["meaning"], path
' "$T"/*.json
run "$PP" explain latency
is "a level 2 alone is enough" "$rc" 0
check "its evidence has limits and their sources" grep -q '>= 40 %.*largest' "$OUT"
check "what refutes it" grep -q '^Refuted where' "$OUT"
check "and what to change in PyTorch" grep -q '^  PyTorch .*num_workers' "$OUT"
run "$PP" explain latancy
is "a code that is none: exit code 2" "$rc" 2
check "with the nearest one" grep -q 'did you mean latency' "$ERR"
done_testing
