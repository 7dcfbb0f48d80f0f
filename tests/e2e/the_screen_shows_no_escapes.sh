#!/bin/bash
# The dashboard in a real terminal (tmux) on a recording whose file names, thread names, messages and settings carry terminal commands: what it writes to the terminal holds none of
# them, in any view, nor do the lines of `run` and `top --line` when they go to a terminal.
. "$(dirname "$0")/../lib.sh"
. tests/tmux.sh
need_pipeprobe
need_tmux

# A title, a colour, a bell, the clipboard, the other screen, an answer that is typed back, C1 forms of them, and characters that reorder or hide.
PAYLOAD=$'X\e]0;OWNED\a\e[31;1m\e]52;c;T1dORUQ=\a\e[?47l\e[6n\ec\x0e\u009b31m\u009d0;OWNED\u009c\u202eY\u2066\u200b\ufeff\u2028Z'
mkdir -p "$T/images/a"
for i in 1 2 3; do echo "no picture" >"$T/images/a/$i$PAYLOAD.jpg"; done
"$MAKE_DATASET" "$T/images/b" --n 24 --size 60x40 --classes 1 >/dev/null

# Fails when the bytes that a program sent hold one of them; its own commands to the terminal are others.
sent() { # FILE
    ! LC_ALL=C grep -aqE $'OWNED\a|T1dORUQ=\a|\e\\]0;|\e\\]52;|\e\\[\\?47l|\e\\[6n|\ec|\xc2[\x80-\x9f]|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf' "$1"
}
for piece in $'\e]0;OWNED\a' $'\u009b31m' $'\u202e' $'\u2066' $'\ufeff'; do
    printf 'before %s after\n' "$piece" >"$T/piece"
    check "(the test sees a piece of it)" bash -c "! ( $(declare -f sent); sent '$T/piece' )"
done

start_terminal 120 40
tm set-option -g allow-rename on
record_terminal() { : >"$T/raw"; tm pipe-pane -t top "cat >>'$T/raw'"; }
shell "unset NO_COLOR; PS1='\$ '"
title=$(tm display-message -p -t top '#{pane_title}')

# ---- a run and its lines ----
record_terminal
shell "clear; '$PP' run '$T/images' --epochs 4 --batch-size 4 --workers 1 --step-ms 20 -o '$T/run.sqlite'; echo code \$?"
wait_for "the run ends" '^code [03]' 60
check "run sends none of it" sent "$T/raw"

sql "$T/run.sqlite" "UPDATE thread SET name = substr(name, 1, 9) || char(27) || ']0;OWNED' || char(7, 155) || '31m' || char(8238, 8294, 65279);
    UPDATE meta SET value = value || char(27) || ']0;OWNED' || char(7, 27) || '[6n' || char(155, 8238, 8203, 8294) WHERE typeof(value) = 'text' AND section IN ('config', 'environment', 'result');
    UPDATE meta SET value = 'train.py' || char(27) || ']0;OWNED' || char(7, 8238) WHERE key = 'command_line';
    UPDATE error SET reason = reason || char(27) || ']52;c;T1dORUQ=' || char(7, 8238);
    INSERT INTO loss VALUES('spans', 7, 'lost' || char(27) || ']0;OWNED' || char(7, 8238));"
cp "$T/run.sqlite" "$T/"$'r\e]0;OWNED\a\u202e.sqlite'
for file in "$T/run.sqlite" "$T/r"*OWNED*.sqlite; do
    run "$PP" top "$file" --once --size 120x40
    is "there is a frame" "$rc" 0
done

# ---- the dashboard, each view, its prompts and lists ----
watch() { # NAME FILE
    record_terminal
    ln -sf "$2" "$T/link"
    shell "clear; '$PP' top \"\$(readlink '$T/link')\"; echo code \$?"
    wait_for "$1: there is a screen" '^Pipeline' 30
    for view in g:stages w:workers b:batch e:errors v:events i:environment W:what-if o:overview; do
        type "${view%%:*}"
        wait_for "$1: view ${view#*:}" "^${view#*:}  "
        for key in j j k Down PPage NPage End Home; do keys "$key"; done
        check "$1: view ${view#*:} sends none of it" sent "$T/raw"
    done
    type e
    keys Enter # the details of an error
    type '?'
    keys Escape
    type '/'
    type "X"
    keys Enter
    type q
    wait_for "$1: it ends" '^code 0'
    check "$1: all that it sent holds none of it" sent "$T/raw"
    holds "$1: (it sent a screen)" "$(wc -c <"$T/raw") > 4000"
    is "$1: the title is as it was" "$(tm display-message -p -t top '#{pane_title}')" "$title"
}
watch "top" "$T/run.sqlite"
watch "top of such a name" "$(ls "$T"/r*OWNED*.sqlite)"

record_terminal
shell "clear; '$PP' top '$T/run.sqlite' --line; echo code \$?"
wait_for "top --line ends" '^code 0' 30
check "top --line sends none of it" sent "$T/raw"
shell "clear; '$PP' report '$T/run.sqlite' --full --color always | tail -n 200; echo code \$?"
wait_for "report ends" '^code [03]' 30
check "report sends none of it" sent "$T/raw"
done_testing
