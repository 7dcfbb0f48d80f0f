#!/bin/bash
# --like: local data read with the times that another storage is assumed to have: the same batches, the label in every report, and the verdict of that storage.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../remote.sh"
need_pipeprobe

"$MAKE_DATASET" "$T/data" --n 60 --size 120x90 >/dev/null
LOCAL=$(digest "$T/data" --epochs 1 --workers 2)
like "there is a digest" "$LOCAL" '^[0-9a-f]{8,}$'
for kind in s3 s3-express nfs lustre aistore; do
    is "$kind: the same bytes" "$(digest "$T/data" --epochs 1 --workers 4 --like $kind)" "$LOCAL"
    is "$kind: a modelled request per sample" "$(sql "$T/run.sqlite" 'SELECT count(*) FROM request WHERE flags = 8 AND sample IS NOT NULL')" 60
    is "$kind: at no address" "$(sql "$T/run.sqlite" 'SELECT DISTINCT address FROM v_request')" "model:$kind"
    like "$kind: it is an assumption" "$(sql "$T/run.sqlite" "SELECT value FROM meta WHERE section = 'chosen' AND key = 'like'")" 'assumption.*no measurement.*first byte'
done
holds "s3 takes longer than s3-express to the first byte" "$(digest "$T/data" --epochs 2 --workers 4 --like s3 >/dev/null
    sql "$T/run.sqlite" 'SELECT avg(first_byte_ns) FROM request') > 2 * $(digest "$T/data" --epochs 2 --workers 4 --like s3-express >/dev/null
    sql "$T/run.sqlite" 'SELECT avg(first_byte_ns) FROM request')"

# Below a cache: what one run kept, another finds, as of a real store.
for words in "the first run asks for each sample" "a second run finds all in the cache"; do
    is "$words: the same bytes" "$(digest "$T/data" --epochs 1 --workers 4 --like nfs --cache "$T/cache" --cache-bytes 8MiB)" "$LOCAL"
done
is "and makes no request" "$(sql "$T/run.sqlite" 'SELECT count(*) FROM request WHERE sample IS NOT NULL')" 0

run timeout 60 "$PP" run "$T/data" --like s3 --workers 2 --batch-size 4 --step-ms 4 --duration 4 --json --force -o "$T/run.sqlite"
check "the run ends well" test "$rc" -eq 0 -o "$rc" -eq 3
cp "$OUT" "$T/report.json"
is "its verdict is that of a store with latency" "$(json "$T/report.json" '$.verdict.l1')/$(json "$T/report.json" '$.verdict.l2')" storage/in-flight
like "with what is needed and used" "$(json "$T/report.json" '$.verdict.sentence')" 'needed; .* used'
for format in text md html json; do
    run "$PP" report "$T/run.sqlite" --format $format
    like "$format says that it is an assumption" "$(tr '\n' ' ' <"$OUT")" '(--like|&#45;&#45;like|`--like) *s3 assumes'
done
run "$PP" whatif "$T/run.sqlite" --set inflight=8 --json
holds "more in flight is predicted to gain" "$(json "$OUT" '$.predictions[0].gain') > 1"
refuses "a kind that is none" 2 "s3" "$PP" run "$T/data" --like s4 --no-record
done_testing
