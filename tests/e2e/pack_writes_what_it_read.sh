#!/bin/bash
# quick
# pipeprobe pack writes shards whose samples are those of the folder, byte for byte, refuses what is there already, and leaves nothing behind when it fails.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

"$MAKE_DATASET" "$T/images" --n 60 --size 48x32 --classes 3 >/dev/null
hashes() { # of the files of a folder, as "label hash", sorted
    local i=0 class
    for class in "$T/images"/*/; do
        sha256sum "$class"* | sed "s/^\([0-9a-f]*\) .*/$i \1/"
        i=$((i + 1))
    done | sort
}
unpacked() { # the same of tar shards
    local shard key
    mkdir -p "$T/out" && for shard in "$1"/*.tar; do tar -xf "$shard" -C "$T/out"; done
    for key in "$T/out"/*.cls; do echo "$(cat "$key") $(sha256sum <"${key%.cls}.jpg" | cut -d' ' -f1)"; done | sort
    rm -rf "$T/out"
}

run "$PP" pack "$T/images" -o "$T/tars/" --shard-size 20k
is "tar: exit code" "$rc" 0
like "tar: the result" "$(cat "$OUT")" "^60 samples \(.*\) in [0-9]+ shards in .*/tars; all of them were read back and are equal$"
holds "more than one shard" "$(find "$T/tars" -name '*.tar' | wc -l) > 2"
is "the images and their labels" "$(unpacked "$T/tars")" "$(hashes)"
is "and no other file" "$(find "$T/tars" ! -name 'shard-*.tar' -type f | wc -l)" 0
run "$PP" pack "$T/images" -o "$T/again" --shard-size 20k
check "the same again gives the same bytes" diff -r "$T/tars" "$T/again"
run "$PP" pack "$T/images" -o "$T/other" --shard-size 20k --seed 1
check "another seed, another order" bash -c "! diff -rq '$T/tars' '$T/other' >/dev/null"
run "$PP" pack "$T/images" -o "$T/mds" --format mds --no-shuffle --shard-size 20k
is "mds: exit code" "$rc" 0
check "mds: an index" grep -q '"format":"mds"' "$T/mds/index.json"
for set in tars mds; do
    run timeout 100 "$PP" run "$T/$set" --steps 5 --batch-size 4 --workers 1 --force -o "$T/out.sqlite"
    check "run reads $set" test "$rc" -eq 0 -o "$rc" -eq 3
    is "$set without errors" "$(sql "$T/out.sqlite" "SELECT count(*) FROM error WHERE kind <> 'warning'")" 0
done

refuses "what exists already" 2 "tars exists already" "$PP" pack "$T/images" -o "$T/tars"
refuses "no output" 2 "-o DST" "$PP" pack "$T/images"
refuses "no source" 2 "name the data set" "$PP" pack -o "$T/x"
head -c 9000 /dev/zero >"$T/tokens.bin"
refuses "tokens" 2 "holds no images" "$PP" pack "$T/tokens.bin" -o "$T/x"
refuses "a directory that cannot be made" 2 "cannot make a directory beside" "$PP" pack "$T/images" -o "$T/none/x"
: >"$T/images/class_000/empty.jpg" && echo "GIF89a" >"$T/images/class_001/gif.png"
run "$PP" pack "$T/images" -o "$T/x" --no-shuffle
like "a sample that cannot be packed" "$(cat "$ERR")" "empty.jpg.*nothing was left behind .--skip-errors"
holds "is a failure" "$rc != 0"
is "and nothing is left" "$(find "$T" -maxdepth 1 -name 'x*')" ""
run "$PP" pack "$T/images" -o "$T/x" --skip-errors
is "--skip-errors: exit code" "$rc" 0
like "--skip-errors: says so" "$(cat "$OUT")" "^2 samples left out"
is "the others are there" "$(unpacked "$T/x")" "$(hashes | grep -v -e "$(sha256sum <"$T/images/class_000/empty.jpg" | cut -d' ' -f1)" -e "$(sha256sum <"$T/images/class_001/gif.png" | cut -d' ' -f1)")"
done_testing
