#!/bin/bash
# pipeprobe resume-test on recordings of pipeprobe run, and on their digests: a loader that is stopped and resumed right, and wrong ones, of one rank and of two.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
cd "$T" || exit 1

# pipeprobe's own loader, stopped and resumed twice; not resumed; in another order; and with an epoch twice.
"$MAKE_DATASET" "$T/images" --n 203 --size 64x48 --classes 7 >/dev/null
own() { # NAME WORKERS OPTION...
    timeout 60 "$PP" run "$T/images" --sampler torch --batch-size 8 --transform rrc:16 --quiet --workers "$2" -o "$T/$1.sqlite" --seed 11 "${@:3}" >/dev/null 2>"$ERR"
}
own whole 2 --epochs 3
own killed 2 --steps 33 --save-state "$T/state1"
own second 3 --steps 7 --resume "$T/state1" --save-state "$T/state2"
own third 1 --epochs 3 --resume "$T/state2"
own anew 2 --epochs 3
own again 2 --epochs 3 --resume "$T/state1"
run "$PP" resume-test "$T"/{whole,killed,second,third}.sqlite
like "run --save-state and --resume" "$rc $(cat "$OUT")" "^0 Exact: behind batch 40 the resumed run has the 38 batches that the uninterrupted one has, 1 epoch behind"
run "$PP" resume-test "$T"/{whole,killed,anew}.sqlite
like "run without --resume" "$rc $(cat "$OUT")" "^3 It cannot be told: the resumed run loaded no checkpoint"
run "$PP" resume-test "$T"/{whole,killed,second,again}.sqlite
like "run with an older state" "$rc $(cat "$OUT")" "^1 Not exact: from batch 40 on .* 56 samples were used too often"
said=
for chunk in $(python3 -c 'import sqlite3; print(*(row[0] for row in sqlite3.connect("third.sqlite").execute("SELECT id FROM chunk")))'); do
    cp third.sqlite damaged.sqlite
    python3 -c "import sqlite3; db = sqlite3.connect('damaged.sqlite'); db.execute('UPDATE chunk SET checksum = checksum + 1 WHERE id = $chunk'); db.commit()"
    run "$PP" resume-test "$T"/{whole,killed,second,damaged}.sqlite
    said+="$rc $(head -n 1 "$OUT")"$'\n'
done
holds "the recording has several chunks" "$(grep -c . <<<"$said") >= 3"
is "a damaged recording is not judged, whichever chunk it is" "$(sort -u <<<"$said" | grep .)" "3 It cannot be told: of a resumed run some of its spans were lost or are damaged."

# Digests, made where the ranks ran: the same judgement by hashes of batches.
of_ranks() { # NAME OPTION...: the last word ends in the rank
    mkdir "$T/ranks-$1"
    for rank in 0 1; do own "ranks-$1/$rank" 2 --epochs 3 --rank $rank --world-size 2 ${2:+"${@:2:$(($# - 2))}" "${!#}$rank"}; done
    run "$PP" merge "$T/ranks-$1" -o "$T/$1.digest"
}
of_ranks whole
of_ranks killed --steps 16 --save-state "$T/state-"
of_ranks second --resume "$T/state-"
of_ranks early --steps 9 --save-state "$T/early-"
of_ranks other --resume "$T/early-"
run "$PP" resume-test "$T"/ranks-{whole,killed,second}
of_recordings=$(cat "$OUT")
like "two ranks are exact" "$rc $of_recordings" "^0 Exact: behind batch 16 the resumed run has"
run "$PP" resume-test "$T"/{whole,killed,second}.digest
is "and by their digests" "$rc $(cat "$OUT")" "0 $of_recordings"
run "$PP" resume-test "$T"/ranks-{whole,killed,other}
of_recordings=$(head -n 1 "$OUT" | sed 's/\. [0-9]* samples.*/./')
run "$PP" resume-test "$T"/{whole,killed,other}.digest
like "ranks with an older state" "$rc $of_recordings" "^1 Not exact: from batch 16 on \(epoch 1, batch [0-9]+\), rank 0 has other samples"
is "and by their digests, which count no samples" "$rc $(head -n 1 "$OUT")" "1 $of_recordings"
cp damaged.sqlite ranks-killed/1
python3 -c 'import sqlite3; db = sqlite3.connect("ranks-killed/1"); db.execute("INSERT OR REPLACE INTO meta VALUES(\"rank\", \"rank\", 1, NULL)"); db.commit()'
run "$PP" merge ranks-killed/1 -o unknown.digest
refuses "a digest without hashes says why" 2 "no hashes of the batches of rank 1: its samples are not known, or its batches are too many.*Name the recordings" "$PP" resume-test "$T"/{whole,unknown,second}.digest
refuses "digests beside recordings" 2 "is a digest and .* a recording: name digests of all runs" "$PP" resume-test "$T"/ranks-whole "$T"/{killed,second}.digest
done_testing
