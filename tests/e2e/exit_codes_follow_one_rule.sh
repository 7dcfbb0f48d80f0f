#!/bin/bash
# quick
# 2: wrong command line: an option, an argument, a path that does not exist or is of the wrong kind (a directory for a file, a
# file for a directory). 4: not measured for another reason: contents, permissions, devices, I/O.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
cd "$T" || exit 1
"$MAKE_DATASET" images --n 8 --size 32x32 --classes 2 >/dev/null
"$MAKE_DATASET" shards --n 8 --size 32x32 --tar 2 >/dev/null
"$PP" run images --steps 3 -b 2 -w 1 --quiet -o run.sqlite >/dev/null
head -c 5000 run.sqlite >cut.sqlite
head -c 5000 /dev/urandom >noise.sqlite
sqlite3 foreign.sqlite 'CREATE TABLE t(x)'
mkdir empty && : >zero.sqlite && : >zero.npy
printf PAR1 >x.parquet && mkdir foreign && printf PAR1 >foreign/x.parquet
head -c 3000 /dev/urandom >noise.tar
[ "$(uname -m)" = x86_64 ] && nvidia-smi >/dev/null 2>&1 && gpu=1 || gpu=0

while IFS='|' read -r code words; do
    case $words in '' | '#'*) continue ;; *cuda*) [ $gpu = 0 ] || continue ;; esac
    # shellcheck disable=SC2086
    run timeout 60 "$PP" $words
    is "$code: pipeprobe $words" "$rc" "$code"
    is "one sentence: pipeprobe $words" "$(grep -c . "$ERR")" 1
done <<'ROWS'
# wrong command line
2|rnu
2|--nosuch
2|run
2|run images shards -o o.sqlite
2|run images --workers many -o o.sqlite
2|run images --workers -o o.sqlite
2|run images --worker 2 -o o.sqlite
2|run images --inject nosuch=1 -o o.sqlite
2|run images --transform blur:3 -o o.sqlite
2|run images --rank 3 --world-size 2 -o o.sqlite
2|run nowhere -o o.sqlite
2|run shards/shard-{000000..000009}.tar -o o.sqlite
2|run images/class_000/img_000000.jpg -o o.sqlite
2|run gs://bucket/images -o o.sqlite
2|run images -o run.sqlite
2|run images -o empty
2|run images -o absent/o.sqlite
2|run images -o run.sqlite/o.sqlite
2|run images --resume absent.state -o o.sqlite
2|run images --weights absent.txt --sampler weighted -o o.sqlite
2|plan nowhere
2|plan
2|report run.sqlite absent.sqlite
2|report absent.sqlite
2|report images
2|report run.sqlite --format pdf
2|report run.sqlite -o r.pdf
2|report run.sqlite -o empty
2|report run.sqlite -o absent/r.html
2|tune
2|tune images
2|tune -- true
2|tune --yes -o images -- true
2|tune --yes --try nosuch=1 -- true
2|whatif absent.sqlite
2|whatif images
2|whatif run.sqlite --set nosuch=1
2|export run.sqlite --to nosuch
2|export absent.sqlite --to csv
2|export images --to csv
2|export run.sqlite --to csv -o absent/x.csv
2|top absent.sqlite --once
2|top 99999999 --once
2|top run.sqlite --at never --once
2|compare run.sqlite
2|compare run.sqlite absent.sqlite
2|compare run.sqlite empty
2|compare run.sqlite no-such-*.sqlite
2|compare run.sqlite run.sqlite --threshold lots
2|history add absent.sqlite
2|history show --db absent.db
2|ci
2|ci baseline save
2|ci baseline show -b absent.json
2|ci run -- images
2|doctor python3 extra
2|attach
2|attach run.sqlite
2|attach 99999999
2|selftest --only nosuch
2|help nosuch
# it could be, and could not be measured
4|run empty -o o.sqlite
4|run foreign -o o.sqlite
4|run x.parquet -o o.sqlite
4|run noise.tar -o o.sqlite
4|run zero.npy -o o.sqlite
4|run images --device cuda -o o.sqlite
4|run images --step cuda --step-ms 1 -o o.sqlite
4|report cut.sqlite
4|report noise.sqlite
4|report zero.sqlite
4|report foreign.sqlite
4|whatif noise.sqlite
4|export noise.sqlite --to csv -o x.csv
4|top noise.sqlite --once
4|top foreign.sqlite --once
4|compare run.sqlite noise.sqlite
4|history add noise.sqlite
4|ci baseline show -b noise.sqlite
4|report run.sqlite -o /dev/full
4|export run.sqlite --to csv -o /dev/full
ROWS

# Where nothing may be written or read: as another user when we are root, who may do everything.
as_user=()
[ "$(id -u)" -ne 0 ] || as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod 755 . && cp "$PP" pipeprobe && cp run.sqlite secret.sqlite && chmod 000 secret.sqlite && cp -r images locked && chmod 000 locked
if "${as_user[@]}" test -x ./pipeprobe 2>/dev/null; then
    for words in "report secret.sqlite" "run locked -o /tmp/pp-never.sqlite" "run images --steps 1 -o images/o.sqlite" "report run.sqlite -o images/r.html"; do
        # shellcheck disable=SC2086
        refuses "access: pipeprobe $words" 4 "denied" "${as_user[@]}" "$T/pipeprobe" $words
    done
else
    skip "what access denies" "cannot become another user here"
fi
chmod 755 locked
done_testing
