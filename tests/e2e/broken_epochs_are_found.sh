#!/bin/bash
# Epochs gone wrong, made on purpose by a loader that links libpipeprobe, are findings; those that are fine, and what the recording does not hold, are not.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

export PIPEPROBE_COLLECTOR=$PP
finding() { # FILE KIND FIELD
    "$PP" report "$1" --json >"$T/report.json"
    sqlite3 :memory: "SELECT json_extract(value, '\$.$3') FROM json_each(CAST(readfile('$T/report.json') AS TEXT), '\$.findings') WHERE json_extract(value, '\$.kind') = '$2'"
}
states() { echo "$(finding "$1" epoch-order state) $(finding "$1" samples-repeated state) $(finding "$1" samples-skipped state)"; }
client() { run timeout 60 "$BUILD/tests/tools/epoch_client" "$T/$1.sqlite" "$1"; is "a loader of epochs: $1" "$rc" 0; }

client fine
is "nothing is found" "$(states "$T/fine.sqlite")" "not-found not-found not-found"
client forgotten
is "set_epoch forgotten is found, and nothing else" "$(states "$T/forgotten.sqlite")" "found not-found not-found"
like "epoch by epoch" "$(finding "$T/forgotten.sqlite" epoch-order sentence)" "epoch 1 repeats the shuffle order of epoch 0 \(40 batches the same\), 2 of 2 pairs"
for format in text md html; do
    like "$format names the remedy" "$("$PP" report "$T/forgotten.sqlite" --format "$format" | tr -d '\\' | tr -s ' \n' ' ')" "set_epoch\(epoch\)"
done
like "and CSV has the numbers" "$("$PP" report "$T/forgotten.sqlite" --format csv)" 'findings,"epoch-order",repeated_epochs,2'
first() { "$PP" report "$T/$1.sqlite" --format "$2" | tr -d '\\*' | tr -s ' \n' ' ' | grep -oE 'First(:|</strong>) [a-z0-9]+' | head -n 1; }
is "it is said first" "$(first forgotten text), $(first forgotten md), $(first forgotten html)" "First: epoch, First: epoch, First</strong> epoch"
is "where nothing is wrong nothing is said first" "$(first fine text)$(first fine md)$(first fine html)" ""
client sequential
is "reading by number is no finding" "$(states "$T/sequential.sqlite")" "not-found not-found not-found"
like "and is called so" "$(finding "$T/sequential.sqlite" epoch-order sentence)" "in index order, without a shuffle"
client again
is "samples read twice are found" "$(states "$T/again.sqlite")" "not-found found not-found"
like "with how many" "$(finding "$T/again.sqlite" samples-repeated sentence)" "15 of 1,440 visits .* in 3 epochs: sample [0-9]+ of epoch 0"
client left-out
is "samples left out are found" "$(states "$T/left-out.sqlite")" "not-found not-found found"
like "with how many" "$(finding "$T/left-out.sqlite" samples-skipped sentence)" "12 samples were left out of 1 epoch, .*: sample [0-9]+ of epoch 1"
client no-epochs
is "epochs that are not told are not guessed" "$(states "$T/no-epochs.sqlite")" "not-measured not-measured not-measured"

# our own loader: its epochs are whole and differ, with whatever policy
ours() { # NAME OPTION...
    local name=$1
    shift
    run "$PP" run --synthetic n=96,size=32x32 -b 8 -w 2 --epochs 3 --step-ms 1 --quiet -o "$T/$name.sqlite" "$@"
    is "pipeprobe run, $name" "$rc" "$rc" # too short a run for a verdict
    states "$T/$name.sqlite" >"$T/states"
}
ours random
is "random: nothing" "$(cat "$T/states")" "not-found not-found not-found"
ours ranks --world-size 5 --rank 1 --drop-last
is "one rank of five: nothing" "$(cat "$T/states")" "not-found not-found not-found"
ours torch --sampler torch --world-size 5 --out-of-order
is "torch, padded to the world: nothing" "$(cat "$T/states")" "not-found not-found not-found"
ours rollup --detail rollup
is "what is not kept is not measured" "$(cat "$T/states")" "not-measured not-measured not-measured"
check "a data set with damaged files" "$MAKE_DATASET" "$T/damaged" --n 60 --size 48x48 --odd
run "$PP" run "$T/damaged" -b 6 -w 2 --epochs 3 --step-ms 1 --on-error substitute --quiet -o "$T/substitute.sqlite"
is "substitutes for them are no repeats" "$(states "$T/substitute.sqlite")" "not-found not-found not-found"
done_testing
