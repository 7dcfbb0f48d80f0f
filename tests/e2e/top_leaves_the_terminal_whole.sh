#!/bin/bash
# idle
# The dashboard in a real terminal (tmux): its main keys on a run that goes on (all of them: every_top_key_works.sh), resizing, the ends a run can come to, and the terminal as it was after each.
. "$(dirname "$0")/../lib.sh"
. tests/tmux.sh
need_pipeprobe
need_tmux

start_run() { # FILE OPTIONS...
    local file=$1
    shift
    "$PP" run "$T/images" --workers 2 --batch-size 8 --step-ms 20 -o "$file" --force "$@" >/dev/null 2>&1 </dev/null &
    pid=$!
    for _ in $(seq 100); do [ -s "$file" ] && break; sleep 0.1; done
    sleep 2 # a commit with spans
}
end_run() { kill -9 "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; pid=; }

"$MAKE_DATASET" "$T/images" --n 64 --size 160x120 >/dev/null
start_terminal 100 30

# ---- a run that goes on ----
start_run "$T/run.sqlite" --duration 300
shell "$PP top $T/run.sqlite"
wait_for "it starts live" 'LIVE 0:'
wait_for "with a verdict on the first line" 'BOUND|STARVED|input-bound'
wait_for "the pipeline" '^decode .*/s'
wait_for "the workers" '^pp-worker-1 '
for view in g:stages w:workers b:batch e:errors v:events i:environment W:what-if o:overview; do
    type "${view%%:*}"
    wait_for "key ${view%%:*} shows ${view#*:}" "^${view#*:}  "
done
keys Tab
wait_for "Tab is the next view" '^stages  '
keys Escape
wait_for "Esc goes back" '^overview  '
type W
wait_for "W predicts" 'recorded: [0-9.,]+ samples/s' 20
type +
wait_for "+ turns a knob, and the throughput follows" 'samples/s \(80 % interval' 20
type 0
wait_for "0 turns it back" 'recorded: [0-9.,]+ samples/s'
type o
type '?'
wait_for "? lists the keys" '^q +quit'
type '?'
wait_for "and once more leaves them" '^overview  '
keys F1
wait_for "F1 does too" '^q +quit'
keys Escape
wait_for "Esc leaves the help" '^overview  '
type p
wait_for "p pauses" 'PAUSED'
type p
wait_for "and goes on live" 'LIVE 0:'
type '['
wait_for "[ steps back" 'PAUSED'
type f
wait_for "f follows again" 'LIVE 0:'
type ':'
wait_for ": asks for a time" '^go to: _'
type 1
keys Enter
wait_for "and goes there" 'PAUSED.* 0:0[12] '
keys Space
wait_for "from there it is a replay" 'REPLAY 1x'
type '>'
wait_for "> is faster" 'REPLAY 2x|speed 2x'
type f
type '\'
wait_for "\\ asks for a filter" '^filter: _'
type worker-0
keys Enter
wait_for "and filters" 'Workers by name: 1 '
type '\'
for _ in 1 2 3 4 5 6 7 8; do keys BSpace; done
keys Enter
wait_for "an empty filter shows all" 'Workers by name: 2'
type s
wait_for "s sorts" 'Workers by samples/s'
type S
wait_for "S turns the order" '\^samples/s'
type '/'
type worker-1
keys Enter
wait_for "/ searches" '^overview  '
type t
wait_for "t changes the window" 'over 15 s'
type d
wait_for "d writes the screen to files" 'wrote pipeprobe-top-'
check "they are there" bash -c "ls pipeprobe-top-*.txt pipeprobe-top-*.json"
check "and the numbers are JSON" json_valid "$(ls pipeprobe-top-*.json | head -n 1)"
rm -f pipeprobe-top-*.txt pipeprobe-top-*.json
for key in h l k j K J H L z x '{' '}' '<' ',' '.' I N n r f o; do type "$key"; done
for key in Up Down Left Right PPage NPage Home End C-l Enter; do keys "$key"; done
type fo
wait_for "all other keys leave it going" 'LIVE 0:'
for size in 80x24 40x10; do
    tm resize-window -t top -x "${size%x*}" -y "${size#*x}"
    wait_for "at $size there is a view" '^Pipeline'
    holds "at $size nothing is wider" "$(screen | wc -L) <= ${size%x*}"
done
tm resize-window -t top -x 30 -y 6
wait_for "below it says what it needs" 'too small: 30x6'
tm resize-window -t top -x 1 -y 1
sleep 0.5
tm resize-window -t top -x 120 -y 40
wait_for "and comes back" '^Pipeline'
tm resize-window -t top -x 100 -y 30
keys C-z
wait_for "Ctrl-Z stops it" 'Stopped'
restored "stopped"
shell fg
wait_for "fg goes on" 'LIVE 0:'
type q
restored "q"

# ---- ends ----
shell "clear; $PP top $T/run.sqlite; echo code \$?"
wait_for "again" 'LIVE 0:'
keys C-c
wait_for "Ctrl-C ends it with 130" '^code 130'
restored "Ctrl-C"
shell "clear; $PP top $T/run.sqlite & sleep 3; kill -TERM \$!; fg; echo code \$?"
sleep 4
restored "SIGTERM in the background"
shell "clear; bash -c '(sleep 3; kill -TERM \$\$) & exec $PP top $T/run.sqlite'; echo code \$?" # \$\$ is what the shell becomes
wait_for "SIGTERM ends it with 130" '^code 130'
restored "SIGTERM"
shell "clear; $PP top $T/run.sqlite"
wait_for "before the kill" 'LIVE 0:'
end_run
wait_for "a killed run is told" 'ENDED killed' 20
wait_for "its last frame stays" '^decode .*/s'
type q
restored "killed run"

start_run "$T/short.sqlite" --duration 6
shell "clear; $PP top $T/short.sqlite"
wait_for "a short run is live" 'LIVE 0:'
wait_for "and then finished" 'ENDED finished' 20
wait "$pid"
pid=
is "being watched, it still leaves one ordinary file" "$(ls "$T"/short.sqlite* | wc -l)" 1
wait_for "with its last frame" '^decode .*/s'
rm -f "$T/short.sqlite"
wait_for "a deleted file is told" 'file deleted'
wait_for "and the frame stays" '^decode .*/s'
type q
restored "deleted file"

# ---- terminals that can do less ----
shell "clear; LC_ALL=C $PP top $T/run.sqlite"
wait_for "in the C locale there is a screen" '^Pipeline'
is "of plain ASCII" "$(screen | LC_ALL=C grep -c '[^ -~]')" 0
type q
restored "C locale"
shell "clear; NO_COLOR=1 $PP top $T/run.sqlite"
wait_for "with NO_COLOR" '^Pipeline'
is "there is no colour" "$(tm capture-pane -t top -p -e | grep -Ec $'\033\\[[0-9;]*3[0-8]')" 0
type q
restored "NO_COLOR"
for term in dumb no-such-terminal; do
    shell "clear; TERM=$term $PP top $T/run.sqlite"
    wait_for "TERM=$term: a sentence" 'unknown TERM|no full-screen mode'
    wait_for "TERM=$term: and a line" 'ENDED killed .*samples/s'
    restored "TERM=$term"
done

# ---- run --top ----
shell "clear; $PP run $T/images --top --workers 2 --batch-size 8 --step-ms 20 --duration 8 -o $T/own.sqlite; echo code \$?"
wait_for "run --top shows the run" 'LIVE 0:0.*own.sqlite'
wait_for "until it has ended" 'ENDED finished' 20
type q
wait_for "then comes the report" '^code 0'
restored "run --top"
shell "clear; $PP run $T/images --top --workers 2 --batch-size 8 --step-ms 20 --duration 60 -o $T/left.sqlite; echo code \$?"
wait_for "run --top again" 'LIVE 0:0.*left.sqlite'
keys C-c
wait_for "Ctrl-C ends the run and its display" '^code 130' 20
restored "run --top, Ctrl-C"
shell "clear; $PP run $T/images --top --workers 2 --batch-size 8 --step-ms 20 --duration 12 -o $T/on.sqlite; echo code \$?"
wait_for "run --top once more" 'LIVE 0:0.*on.sqlite'
type q
wait_for "q says that the run goes on, and how to see it again" 'the run goes on; pipeprobe top '
wait_for "and the progress line follows" 'samples/s  [0-9.]+ m?s left'
wait_for "then the report" 'code 0' 30
refuses "run --top without a terminal" 2 "needs a terminal" "$PP" run "$T/images" --top --duration 1 -o "$T/no.sqlite"

# ---- without a terminal ----
run "$PP" top "$T/run.sqlite"
is "not a terminal: lines, exit code" "$rc" 0
like "not a terminal: the last one" "$(tail -n 1 "$OUT")" 'ENDED killed .*samples/s.*(BOUND|STARVED|input-bound|INCONCLUSIVE)'
check "not a terminal: no escape sequences" bash -c "! grep -q $'\033' '$OUT'"
run "$PP" top "$T/run.sqlite" --once --text --size 80x24
is "--once --text: rows" "$(wc -l <"$OUT")" 24
like "--once --text: the frame" "$(cat "$OUT")" '^Pipeline'
run "$PP" top "$T/run.sqlite" --once --json
check "--once --json is JSON" json_valid "$OUT"
is "--once --json: schema" "$(json "$OUT" '$.schema')" pipeprobe.top/1
holds "--once --json: two workers" "$(json "$OUT" '$.workers[1].samples_per_s') > 0"
run "$PP" top "$T/run.sqlite" --line --json
check "--line --json: a line of JSON" json_valid "$OUT"
is "--line --json: schema" "$(wc -l <"$OUT") $(json "$OUT" '$.schema')" "1 pipeprobe.top/1"
refuses "a file that is not there" 2 "does not exist|no such|cannot" "$PP" top "$T/nothing.sqlite"
refuses "no file given" 2 "no recording given" "$PP" top
refuses "two files" 2 "one recording" "$PP" top "$T/run.sqlite" "$T/run.sqlite"
echo "this is text" >"$T/text"
refuses "a file that is no recording" 4 "." "$PP" top "$T/text"
done_testing
