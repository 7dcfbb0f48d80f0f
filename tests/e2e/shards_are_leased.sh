#!/bin/bash
# idle
# run --lease: ranks that come and go share the shards of an epoch. Without accidents each sample is used once; a rank that is killed costs none.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

SHARDS=12 N=240
"$MAKE_DATASET" "$T/d" --n $N --tar $SHARDS --size 64x48 --threads 1 >/dev/null || fail "make_dataset" <<<"see above"
DATA="$T/d/shard-{000000..000011}.tar"

rank() { # NAME LEASES [OPTIONS]: in the background
    local name=$1 dir=$2
    shift 2
    "$PP" run "$DATA" --stream --lease "$dir" --shuffle-buffer 30 --batch-size 10 --workers 1 --transform rrc:32 --device host -q \
        -o "$T/$name.sqlite" "$@" >"$T/$name.out" 2>"$T/$name.err" </dev/null &
}
# "epoch sample" of each sample that the trainer took, from the recording of a rank, whole or killed.
used() {
    "$PP" export "$T/$1.sqlite" --to csv -o "$T/$1.csv" --force -q >/dev/null 2>&1 || return 1
    awk -F, 'BEGIN { n = 0 } NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["phase"] == "step" && $at["unfinished"] == 0 { stepped[$at["batch"]] = 1 }
        $at["phase"] == "decode" { batch[n] = $at["batch"]; text[n++] = $at["epoch"] " " $at["sample"] }
        END { for (i = 0; i < n; i++) if (batch[i] in stepped) print text[i] }' "$T/$1.csv"
}
leases() { ls "$1"/epoch-*/ 2>/dev/null | grep -c '^[0-9]*\.[0-9]*$'; }
until_leases() { # DIR NUMBER PID: at most a minute, and while that rank is there
    for _ in $(seq 1200); do
        [ "$(leases "$1")" -lt "$2" ] || return 0
        kill -0 "$3" 2>/dev/null || { cat "$T"/*.err; return 1; }
        sleep 0.05
    done
    return 1
}

# ---- nobody dies; a rank joins later ----
rank a "$T/l1" --epochs 3 --step sleep:20ms --lease-expiry 60s --rank 0 --world-size 2
first=$!
check "the first rank leases" until_leases "$T/l1" 1 $first
rank b "$T/l1" --epochs 3 --step sleep:60ms --lease-expiry 60s --rank 1 --world-size 2
second=$!
wait $first; codes=$?
wait $second; codes="$codes $?"
like "both ranks end well" "$codes" '^[03] [03]$'
{ used a; used b; } | sort >"$T/used"
is "every sample of 3 epochs is used" "$(sort -u "$T/used" | wc -l)" $((3 * N))
is "and none twice" "$(uniq -d <"$T/used" | wc -l)" 0
is "each shard is leased once per epoch" "$(leases "$T/l1")" $((3 * SHARDS))
is "and done" "$(ls "$T/l1"/epoch-*/*.done | wc -l)" $((3 * SHARDS))
check "the rank that joined has samples" test "$(used b | wc -l)" -gt 0
run "$PP" ranks "$T/a.sqlite" "$T/b.sqlite" --audit --json
is "the audit says so too" "$rc $(json "$OUT" '$.kind') $(json "$OUT" '$.whole_epochs') $(json "$OUT" '$.used') $(json "$OUT" '$.scale')" "0 clean 3 $((3 * N)) 1"
is "and of each epoch that all shards were read" "$(json "$OUT" '$.epochs[0].shards') $(json "$OUT" '$.epochs[2].shards_left')" "$SHARDS 0"
run "$PP" ranks "$T/a.sqlite" --audit --json
is "with a rank missing nothing is claimed" "$rc $(json "$OUT" '$.kind')" "3 inconclusive"
run "$PP" report "$T/a.sqlite" --json
finding=$(sqlite3 :memory: "SELECT json_extract(value, '$.sentence') FROM json_each(CAST(readfile('$OUT') AS TEXT), '$.findings') WHERE json_extract(value, '$.kind') = 'lease-waits'")
like "the report has the leases and their waits" "$finding" 'shards? leased; the shard reader waited .* of the run'
like "and how good its shuffle was" "$(sqlite3 :memory: "SELECT json_extract(value, '$.sentence') FROM json_each(CAST(readfile('$OUT') AS TEXT), '$.findings') WHERE json_extract(value, '$.kind') = 'stream-shuffle'")" \
    'in a batch of 10,.* others are of a sample.s own shard.* \(at most 30\)'
is "waits are spans" "$(sql "$T/a.sqlite" "SELECT count(*) > 0 FROM span JOIN phase ON phase.id = span.phase WHERE phase.name = 'lease'")" 1
is "a sample's number tells its shard" "$(cut -d' ' -f2 "$T/used" | awk '{ print int($1 / 4294967296) }' | sort -nu | wc -l)" $SHARDS
refuses "a directory in which all is done" 2 "all shards of epochs 0 to 2 are done" "$PP" run "$DATA" --stream --lease "$T/l1" --epochs 3 -q -o "$T/x.sqlite"
check "and no file is left" test ! -e "$T/x.sqlite"

# ---- one is killed in the middle of its shards ----
rank c "$T/l2" --epochs 1 --step sleep:40ms --lease-expiry 2s --rank 0 --world-size 2
victim=$!
check "the victim leases" until_leases "$T/l2" 3 $victim
rank d "$T/l2" --epochs 1 --step sleep:10ms --lease-expiry 2s --rank 1 --world-size 2
third=$!
kill -9 $victim
wait $victim 2>/dev/null
wait $third
like "the other rank ends well" "$?" '^[03]$'
{ used c; used d; } | sort >"$T/used"
is "no sample is lost" "$(sort -u "$T/used" | wc -l)" $N
# two shards of 20, twice the buffer of 30, and what is in batches and on its way to them
repeats=$(($(wc -l <"$T/used") - N))
check "at most the bound is repeated ($repeats)" test "$repeats" -ge 0 -a "$repeats" -le $((40 + 60 + 70))
is "a stolen lease is a note" "$(sql "$T/d.sqlite" "SELECT count(*) > 0 FROM error WHERE kind = 'warning' AND reason LIKE 'shard % is read again: %'")" 1
check "and counted" test "$(sql "$T/d.sqlite" "SELECT CAST(value AS INTEGER) FROM meta WHERE section = 'result' AND key = 'leases_stolen'")" -gt 0

run "$PP" ranks "$T/c.sqlite" "$T/d.sqlite" --audit --json
is "the audit finds no sample lost, and no repeat without a stolen lease" "$rc $(json "$OUT" '$.kind') $(json "$OUT" '$.epochs[0].repeated') $(json "$OUT" '$.epochs[0].shards_left')" "0 clean 0 0"
if [ "$repeats" -gt 0 ]; then
    like "the repeats are named with the rank and the stolen lease" "$(json "$OUT" '$.causes[0].name') $(json "$OUT" '$.causes[0].sentence')" \
        '^taken-over Rank 1 used [0-9]+ samples? again: shard [0-9]+ of epoch 0, which [A-Za-z0-9-]+\.[0-9]+ had'
else
    like "no other repeat is named" "$(json "$OUT" '$.causes[0].name')" '^(taken-over)?$' # the batch in the victim's last step counts as used
fi

# ---- one that is interrupted gives back ----
rank e "$T/l3" --epochs 1 --step sleep:40ms
first=$!
check "a rank leases" until_leases "$T/l3" 2 $first
kill -INT $first
wait $first
rank f "$T/l3" --epochs 1 --step sleep:1ms
second=$!
wait $second
like "a rank that comes later ends well" "$?" '^[03]$'
{ used e; used f; } | sort >"$T/used"
is "no sample is lost to an interrupt" "$(sort -u "$T/used" | wc -l)" $N

# ---- ranks started by one command; what does not fit ----
run "$PP" run "$DATA" --stream --lease "$T/l4" --ranks 2 --epochs 1 --workers 1 --batch-size 10 --transform rrc:32 --device host -q -o "$T/r.sqlite"
like "--ranks takes leases" "$rc" '^[03]$'
is "of all shards" "$(ls "$T/l4"/epoch-00000/*.done | wc -l)" $SHARDS
refuses "another seed" 2 "job with --seed 0, and this run has 7" "$PP" run "$DATA" --stream --lease "$T/l4" --seed 7 --epochs 2 -q -o "$T/x.sqlite"
refuses "other shards" 2 "leases of 12 shards, and this run has 11" "$PP" run "$T/d/shard-{000000..000010}.tar" --stream --lease "$T/l4" --epochs 2 -q -o "$T/x.sqlite"
refuses "without --stream" 2 "give --stream" "$PP" run "$DATA" --lease "$T/l5" -q -o "$T/x.sqlite"
refuses "--drop-last" 2 "leaves samples out" "$PP" run "$DATA" --stream --lease "$T/l5" --drop-last -q -o "$T/x.sqlite"
refuses "a file system that takes no directory" 4 "name a directory that can be written|failed" "$PP" run "$DATA" --stream --lease /sys/pipeprobe-leases -q -o "$T/x.sqlite"
mkdir "$T/l6" "$T/elsewhere" && ln -s "$T/elsewhere" "$T/l6/ranks"
refuses "a link in place of its ranks" 2 "its 'ranks' is no directory" "$PP" run "$DATA" --stream --lease "$T/l6" -q -o "$T/x.sqlite"
mkdir "$T/l7" && echo "notes on a job" >"$T/l7/job"
refuses "a job of something else" 2 "its file 'job' is not pipeprobe's" "$PP" run "$DATA" --stream --lease "$T/l7" -q -o "$T/x.sqlite"
is "nothing was made there" "$(ls "$T/elsewhere" "$T/l7" | grep -v : | paste -sd' ')" " job"
refuses "a directory of something else" 2 "is no lease directory" "$PP" run "$DATA" --stream --lease "$T/d" -q -o "$T/x.sqlite"
check "nothing was made in it" test ! -e "$T/d/ranks"
done_testing
