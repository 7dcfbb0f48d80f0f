# tests/tmux.sh: a terminal for end-to-end tests: tmux with a shell in it, keys typed, the screen waited for, and whether it was left as it was found.
# Source it after lib.sh. A server of its own, ended with the test.
socket=pp-$$
need_tmux() { command -v tmux >/dev/null || skip_all "tmux is not installed"; }
tm() { tmux -L "$socket" -f /dev/null "$@" 2>/dev/null; }
cleanup() { tm kill-server; [ -z "${pid:-}" ] || kill -9 "$pid" 2>/dev/null; rm -rf "$T"; }

screen() { tm capture-pane -t top -p; }
keys() { tm send-keys -t top "$@"; }
type() { tm send-keys -t top -l -- "$@"; }
last_run() { screen; }
wait_for() { # NAME REGEX [SECONDS]
    local i
    for i in $(seq $((10 * ${3:-15}))); do
        if screen | grep -Eq -- "$2"; then pass "$1"; return 0; fi
        sleep 0.1
    done
    fail "$1" < <(echo "'$2' did not come; the screen:"; screen)
    return 1
}
shell() { type "$1"; keys Enter; }
# The shell's own terminal settings, and whether tmux is on its first screen with a cursor.
settled=0
settle() { # FILE
    settled=$((settled + 1))
    shell "clear; stty -g >$T/$1; echo settled $settled"
    wait_for "the shell answers ($1)" "^settled $settled\$"
}
restored() { # NAME
    local modes
    settle after
    modes=$(tm display-message -p -t top '#{alternate_on} #{cursor_flag} #{mouse_any_flag}')
    is "$1: the terminal is as it was" "$(cat "$T/after") $modes" "$(cat "$T/before") 0 1 0"
}
start_terminal() { # COLUMNS ROWS
    unset NO_COLOR
    tm new-session -d -s top -x "$1" -y "$2" "env PS1='$ ' bash --norc --noprofile"
    tm set-option -g default-terminal screen-256color
    settle before
}
