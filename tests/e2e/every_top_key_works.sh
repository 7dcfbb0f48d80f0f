#!/bin/bash
# idle
# Every key of the table in docs/guide/dashboard.md (test_dash_keys: it equals the program's), by its own name and its aliases, in a real terminal: what it shows.
. "$(dirname "$0")/../lib.sh"
. tests/tmux.sh
need_pipeprobe
need_tmux
LONG=$PWD/$BUILD/tests/tools/long_recording
need_built helpers "$LONG"

# key -> what to type before it, and what is on the screen after it. "^" in the regex is a line's beginning.
declare -A before=() then=()
shows() { before[$1]=$2 then[$1]=$3; }
shows '?' o '^q +quit'
shows o g '^overview  '
shows g o '^stages  '
shows w o '^workers  '
shows b o '^batch  '
shows c o '^lines  '
shows e o '^errors  '
shows v o '^events  '
shows i o '^environment  '
shows W o '^what-if  '
shows + W0L '^step +1 +1.2 '
shows - W0L '^step +1 +0.8 '
shows 0 W0L+ '^step +1 +factor'
shows n o '^stages  '
shows x og '^overview  '
shows k wHjj '^pp-worker-1 ─'
shows j wH '^pp-worker-1 ─'
shows K wL '^pp-worker-0 ─'
shows J wH '^pp-worker-7 ─'
shows H wL '^pp-worker-0 ─'
shows L wH '^pp-worker-7 ─'
shows z oH '^workers  '
shows p of '^ PAUSED '
shows '[' f '^ PAUSED -0:01'
shows ']' 'f[[' '^ PAUSED -0:01'
shows '{' of 'no earlier stall|^ PAUSED'
shows '}' of 'no later stall|^ PAUSED'
shows '<' '>' 'replay speed 1x'
shows '>' '<' 'replay speed 1x'
shows ':' of '^go to: _'
shows f '[' '^ ENDED finished'
shows t o 'over 15 s'
shows s o '^Workers by samples/s'
shows S o '\^samples/s'
shows / o '^search: _'
shows N o 'is not found in this view'
shows '\' o '^filter: _'
shows d o 'wrote pipeprobe-top-'
shows r o '^overview  '
declare -A tmux_name=([PgUp]=PPage [PgDn]=NPage [Esc]=Escape [Ctrl-L]=C-l)

press() { # a key by the name that the table gives it
    case $1 in
    ?) type "$1" ;;
    *) keys "${tmux_name[$1]:-$1}" ;;
    esac
}

"$LONG" "$T/run.sqlite" 200000 || exit 1
start_terminal 100 34
shell "cd $T && $PP top run.sqlite"
wait_for "it starts" '^ ENDED finished'

# "no such worker" is what N looks for later
type '/no such worker'
keys Enter
names=$(sed -n '/^## Keys/,/^## Small/s/^| `\(.*\)`\(.*\) | .* |$/\1\2/p' docs/guide/dashboard.md)
holds "the page has a table of keys" "$(wc -l <<<"$names") > 30"
while IFS= read -r row; do
    key=${row:0:1}
    aliases=${row:1}
    [ "$key" = q ] && continue
    if [ -z "${then[$key]:-}" ]; then
        fail "key $key is tested" < <(echo "docs/guide/dashboard.md has it, this test does not")
        continue
    fi
    for name in "$key" ${aliases//, / }; do
        [ "$name" = wheel ] && continue # with --mouse: test_dash_keys
        type "${before[$key]}"
        sleep 0.2 # what was there before is gone from the screen
        press "$name"
        wait_for "$name" "${then[$key]}" 10
        case $key in
        '?' | : | / | '\') keys Escape ;;
        t) type tttt ;; # around, back to five seconds
        S) type S ;;
        esac
    done
done <<<"$names"
check "d wrote both files" bash -c "ls $T/pipeprobe-top-*.txt $T/pipeprobe-top-*.json"

# Ctrl-L takes away what another program wrote
printf '\033[3;1HGARBAGE' >"$(tm display-message -p -t top '#{pane_tty}')"
wait_for "another program writes into the screen" GARBAGE
keys C-l
gone=1
for _ in $(seq 50); do sleep 0.1; screen | grep -q GARBAGE || { gone=0; break; }; done
is "Ctrl-L draws anew" "$gone" 0

# down to one cell and up again, view by view
for view in o g w b c e v i W '?'; do
    type "$view"
    for size in 40x10 10x3 1x1 3x40 200x50 80x24; do tm resize-window -t top -x "${size%x*}" -y "${size#*x}"; sleep 0.05; done
    [ "$view" = '?' ] && keys Escape
done
type o
wait_for "it is still there" '^overview  '
tm resize-window -t top -x 100 -y 34
type q
restored "q"
done_testing
