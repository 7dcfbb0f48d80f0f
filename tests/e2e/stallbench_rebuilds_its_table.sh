#!/bin/bash
# samples/stallbench: its table is rebuilt from the recordings and labels as docs/results/stallbench.md has it (after a change of the rules: make stallbench);
# the tool of the page's contract gets a column; the recordings are small and name no machine.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
command -v python3 >/dev/null || skip_all "python3 is not installed"
page=docs/results/stallbench.md bench="python3 samples/stallbench/stallbench.py --pipeprobe $PP"
sed -n '/^<!-- stallbench -->$/,/^<!-- end of stallbench -->$/p' $page | grep '^|' >"$T/said"
run $bench
is "the table is the page's" "$rc $(diff "$T/said" "$OUT" | grep '^[<>]')" "0 "
is "each label has its recording" "$(grep -c '"job"' samples/stallbench/labels.json)" "$(ls samples/stallbench/*.sqlite.gz | wc -l)"
sed -n 's/^    \(TITLE, .*\|def .*\|    .*\)$/\1/p' $page >"$T/spread.py"
run $bench --tool "$T/spread.py"
like "a tool by the contract has its column" "$rc $(head -n 1 "$OUT") $(tail -n 1 "$OUT")" "^0 .*step spread: waits, cause.*\*\*right\*\*.* [0-9]+ of [0-9]+, 0 of [0-9]+ \|$"
holds "all of it has 20 MB at most" "$(du -sk samples/stallbench | cut -f1) <= 20000"
# A label decides the score: with the contrary in it, nobody is right who was.
mkdir "$T/other" && cp samples/stallbench/*.gz "$T/other" && sed 's/"waits": true/"waits": X/; s/"waits": false/"waits": true/; s/"waits": X/"waits": false/' samples/stallbench/labels.json >"$T/other/labels.json"
run $bench --recordings "$T/other"
check "other labels give another table" test "$(grep -c 'right, right' "$OUT")" -lt "$(grep -c 'right, right' "$T/said")"
for f in samples/stallbench/*.gz; do gzip -dc "$f" | strings -n 6; done >"$T/strings"
is "no host or home is named" "$(grep -cE "^$(hostname)$|/home/|/root/|/var/tmp" "$T/strings")" 0
done_testing
