#!/bin/bash
# run --ranks meets in a directory that no other user can enter or foretell, and leaves nothing of it.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

dir=/dev/shm
[ -w $dir ] || dir=${TMPDIR:-/tmp}
before=$(ls -d $dir/pipeprobe-ranks-* 2>/dev/null)
"$PP" run --synthetic n=64,size=32x32 --ranks 2 --workers 1 --batch-size 8 --duration 2s -o "$T/r.sqlite" >"$OUT" 2>"$ERR" </dev/null &
pid=$!
found=
for _ in $(seq 200); do
    for d in $dir/pipeprobe-ranks-*; do
        [ -d "$d" ] && [ -e "$d/ranks" ] && ! grep -qxF "$d" <<<"$before" && tr '\0' ' ' <"/proc/$(pgrep -P $pid | head -n 1)/cmdline" 2>/dev/null | grep -qF "$d" && found=$d
    done
    [ -z "$found" ] || break
    sleep 0.01
done
check "there is a directory of this run" test -n "$found"
is "it is its owner's alone" "$(stat -c %a "$found" 2>/dev/null)" 700
check "and its name does not follow from the process" bash -c "! grep -q -- '-$pid\$' <<<'$found'"
wait $pid
rc=$?
check "the ranks ran" test $rc -eq 0 -o $rc -eq 3
is "nothing is left" "$(ls -d "$found" 2>/dev/null)" ""

ln -s "$T/planted" "$T/link"
refuses "a link where the ranks are to meet" 2 "symbolic link" "$PP" run --synthetic n=64,size=32x32 --rank 0 --world-size 2 --collective "$T/link" --steps 2 --force -o "$T/x.sqlite"
check "and nothing was made behind it" test ! -e "$T/planted"
done_testing
