#!/bin/bash
# Whatever stands in front of it, the job is called by its script: a table of wrappers, each with a script that records nothing, for the sentence about that
# names the subject. Those that are not installed are stood in for by a script that runs the rest of its words.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
PYTHON=${PYTHON:-/usr/bin/python3}
mkdir "$T/bin" && cd "$T" || exit 1
echo 'print("ran")' >train.py
ln -s "$PYTHON" bin/python3
# NAME: how many words of its own it has before the command.
stand_in() { printf '#!/bin/sh\nshift %d\nexec "$@"\n' "$2" >"bin/$1" && chmod +x "bin/$1"; }
stand_in uv 1
stand_in poetry 1
stand_in accelerate 1
stand_in numactl 1
export PATH=$T/bin:$PATH

while IFS='|' read -r subject words; do
    run timeout 60 bash -c "'$PP' exec -- $words"
    is "$words: ran, and is the job $subject" "$rc $(head -n 1 "$OUT") $(grep -oE 'the job [^ ]+( -c)?' "$ERR" | head -n 1)" "0 ran the job $subject"
done <<'WRAPPERS'
train.py|python3 train.py
train.py|timeout 60 python3 train.py --epochs 1
train.py|timeout --signal INT 60 python3 train.py
train.py|nice -n 5 python3 train.py
train.py|env A=1 B=2 python3 train.py
train.py|flock lock python3 train.py
train.py|bash -c "python3 train.py --x 1"
train.py|bash -c "cd . && python3 train.py"
train.py|sh -c "exec python3 -u train.py"
train.py|uv run python3 train.py
train.py|poetry run python3 train.py
train.py|accelerate launch python3 train.py
train.py|numactl --cpunodebind=0 python3 train.py
train.py|stdbuf -oL python3 train.py
train.py|setsid -w python3 train.py
train|python3 -m train
python3 -c|python3 -c 'print("ran")'
WRAPPERS
refuses "a page is no name of a recording" 125 "page.html is no name of a recording: record with -o run.sqlite, then pipeprobe report run.sqlite -o page.html" "$PP" exec -o page.html -- python3 train.py
is "and nothing ran" "$(grep -c ran "$OUT")" 0
is "the summary comes through a pipe that ends with the job" "$("$PP" exec -- python3 train.py 2>&1 | tail -n 1 | grep -c 'the job train.py')" 1
is "nothing is left" "$(ls -d pipeprobe-* 2>/dev/null)" ""
done_testing
