#!/bin/bash
# The generator: the same seed gives the same bytes on any number of threads, as folders and as shards, with the promised weight and mix.
. "$(dirname "$0")/../lib.sh"
[ -x "$MAKE_DATASET" ] || { echo "not ok 1 - make_dataset is built"; exit 1; }

digest() { (cd "$1" && find . -type f -perm -400 | sort | xargs cat | sha256sum); }

run "$MAKE_DATASET" "$T/a" --n 200 --threads 1 --odd
summary=$(cat "$OUT")
is "it succeeds" "$rc" 0
"$MAKE_DATASET" "$T/b" --n 200 --threads 3 --odd >/dev/null
is "the same bytes with three threads" "$(digest "$T/b")" "$(digest "$T/a")"
"$MAKE_DATASET" "$T/c" --n 200 --seed 2 --odd >/dev/null
check "other bytes with another seed" test "$(digest "$T/c")" != "$(digest "$T/a")"
is "200 images in 10 classes" "$(find "$T/a" -name 'img_*.jpg' | wc -l) in $(find "$T/a" -mindepth 1 -type d | wc -l)" "200 in 10"
like "mean size" "$summary" "mean 4[5-9][0-9]x(3[89]|4[0-2])[0-9]"
bits=$(sed -E 's/.* ([0-9.]+) bits per pixel.*/\1/' <<<"$summary")
holds "about 4 bits per pixel" "$bits > 3.5 && $bits < 4.7"
like "three quarters are 4:2:0" "$summary" "15[0-4] 4:2:0"
for kind in 4:4:4 4:2:2 progressive grey CMYK EXIF-rotated; do like "there is $kind" "$summary" "[1-9][0-9]* $kind"; done
for odd in truncated empty png 1x1 bitflip text unreadable; do check "odd_$odd" test -f "$T/a/class_000/odd_$odd.jpg"; done
check "odd_dangling" test -L "$T/a/class_000/odd_dangling.jpg"

"$MAKE_DATASET" "$T/shards" --n 200 --tar 3 >/dev/null
mkdir "$T/unpacked"
for shard in "$T"/shards/shard-00000[0-2].tar; do tar -xf "$shard" -C "$T/unpacked"; done
is "shards hold every image and label" "$(find "$T/unpacked" -name '*.jpg' | wc -l) $(find "$T/unpacked" -name '*.cls' | wc -l)" "200 200"
check "and the same images" cmp "$T/unpacked/000123.jpg" "$T/a/class_003/img_000123.jpg"
is "and the same labels" "$(cat "$T/unpacked/000123.cls")" 3

"$MAKE_DATASET" "$T/skewed" --n 32 --size 60x50 --skewed >/dev/null
ratio=$(find "$T/skewed" -name '*.jpg' -printf '%s\n' | sort -n | awk '{v[NR] = $1} END {print v[NR] / v[int(NR / 2)]}')
holds "--skewed: the largest file dwarfs the median" "$ratio > 20"

"$MAKE_DATASET" --tokens "$T/tokens.bin" --n 1000
"$MAKE_DATASET" --tokens "$T/tokens.npy" --n 1000
is "1000 tokens of two bytes" "$(stat -c %s "$T/tokens.bin")" 2000
is ".npy has a header of 128 bytes" "$(stat -c %s "$T/tokens.npy")" 2128
check "and the same tokens" cmp <(tail -c 2000 "$T/tokens.npy") "$T/tokens.bin"

refuses "no directory given" 2 "OUT_DIR" "$MAKE_DATASET"
refuses "no number" 2 "many" "$MAKE_DATASET" "$T/x" --n many
refuses "an impossible place" 2 "/proc/nowhere" "$MAKE_DATASET" /proc/nowhere/set
done_testing
