# tests/remote.sh: what scripts share that read data over HTTP: the fault server (tests/tools/fault_server.py) of a directory. Source it after lib.sh.
PYTHON=$(command -v /usr/bin/python3 || command -v python3)
need_remote() {
    [ -n "$PYTHON" ] || skip_all "python3 is not installed"
    run "$PP" doctor --json
    [ "$(sql :memory: "SELECT json_extract(value, '\$.ok') FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.checks') WHERE json_extract(value, '\$.name') = 'remote data'")" = 1 ] ||
        skip_all "built without libcurl, or libcurl.so.4 is not installed"
    unset $(compgen -e AWS_) CURL_CA_BUNDLE SSL_CERT_FILE http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
    export AWS_EC2_METADATA_DISABLED=true HOME=$T/home no_proxy=127.0.0.1,localhost
    mkdir -p "$HOME"
}

servers=()
# Sets $PORT.
serve() { # DIR ARGUMENTS...
    local file=$T/port.${#servers[@]}
    "$PYTHON" tests/tools/fault_server.py "$@" --port-file "$file" >"$T/server.${#servers[@]}" 2>&1 </dev/null &
    servers+=($!)
    local i
    for ((i = 0; i < 600; i++)); do
        [ ! -s "$file" ] || break
        sleep 0.05
    done
    PORT=$(cat "$file") || { fail "the fault server starts" <"$T/server.$((${#servers[@]} - 1))"; done_testing; }
}
# The host name store.test, for what is started from here on, has the addresses 127.0.0.1 and 127.0.0.2.
two_addresses() {
    export RESOLVE=store.test=127.0.0.1,127.0.0.2 LD_PRELOAD=$PWD/$BUILD/tests/tools/libresolve.so no_proxy=$no_proxy,store.test
}
cleanup() {
    [ ${#servers[@]} -eq 0 ] || kill "${servers[@]}" 2>/dev/null
    wait 2>/dev/null
    rm -rf "$T"
}

ask() { # PATH: what the server says
    exec 9<>"/dev/tcp/127.0.0.1/$PORT" && printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&9 && sed '1,/^\r*$/d' <&9
    exec 9>&-
}
set_faults() { ask "/_set?$1" >/dev/null; }
counted() { # NAME: 0 when it was never counted
    ask /_counts >"$T/counts"
    local n
    n=$(json "$T/counts" "\$.$1")
    echo "${n:-0}"
}

digest() { # RUN-ARGUMENTS...
    run timeout 120 "$PP" run "$@" --digest --batch-size 8 --transform rrc:32,hflip --step none --force -o "$T/run.sqlite"
    grep -i digest "$OUT" "$ERR" | grep -oE '[0-9a-f]{8,}' | tail -n 1
}
