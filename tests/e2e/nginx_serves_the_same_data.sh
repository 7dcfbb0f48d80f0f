#!/bin/bash
# Shards behind nginx, another server than our own, give the batches of local ones: ranges, connections that it closes, its limits of rate and of requests,
# passwords of ~/.netrc, redirects, TLS with HTTP/2 on offer, and a place where it ignores ranges.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../remote.sh"
need_pipeprobe
need_remote
PATH=$PATH:${VENVS:-$PWD/build/venvs}/servers/usr/sbin:/usr/sbin
command -v nginx >/dev/null || skip_all "nginx is not installed (Debian: nginx; make deps-test)"
command -v openssl >/dev/null || skip_all "openssl is not installed"

"$MAKE_DATASET" "$T/data" --n 60 --size 120x90 --tar 3 >/dev/null
shards=shard-{000000..000002}.tar
LOCAL=$(digest "$T/data/$shards" --epochs 1)
STREAM=$(digest "$T/data/$shards" --epochs 1 --stream)
like "there are digests" "$LOCAL $STREAM" '^[0-9a-f]{8,} [0-9a-f]{8,}$'
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$T/key.pem" -out "$T/cert.pem" -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 >"$T/openssl" 2>&1
printf 'joe:{PLAIN}let-me-in\n' >"$T/passwords"
printf 'machine 127.0.0.1 login joe password let-me-in\n' >"$HOME/.netrc"

start() { # sets $PORT and $TLS
    local i
    read -r PORT TLS < <("$PYTHON" -c 'import socket
s = [socket.socket() for _ in "ab"]
for x in s: x.bind(("127.0.0.1", 0))
print(*(x.getsockname()[1] for x in s))')
    cat >"$T/nginx.conf" <<CONF
daemon off;
master_process off;
pid $T/pid;
error_log $T/error.log;
events { worker_connections 256; }
http {
    log_format told '\$status|\$connection|\$server_protocol|\$http_range|\$http_if_match|\$uri';
    access_log $T/access.log told;
    client_body_temp_path $T/tmp; proxy_temp_path $T/tmp; fastcgi_temp_path $T/tmp; uwsgi_temp_path $T/tmp; scgi_temp_path $T/tmp;
    limit_req_zone \$binary_remote_addr zone=few:1m rate=20r/s;
    keepalive_requests 7;
    server {
        listen 127.0.0.1:$PORT;
        location / { root $T/data; }
        location /slow/ { alias $T/data/; limit_rate 300k; }
        location /few/ { alias $T/data/; limit_req zone=few burst=20 nodelay; limit_req_status 429; }
        location /private/ { alias $T/data/; auth_basic data; auth_basic_user_file $T/passwords; }
        location /whole/ { alias $T/data/; max_ranges 0; }
        location /moved/ { rewrite ^/moved/(.*)\$ /\$1 redirect; }
    }
    server {
        listen 127.0.0.1:$TLS ssl http2;
        ssl_certificate $T/cert.pem;
        ssl_certificate_key $T/key.pem;
        location / { root $T/data; }
    }
}
CONF
    nginx -p "$T" -e "$T/error.log" -c "$T/nginx.conf" >"$T/nginx" 2>&1 </dev/null &
    servers+=($!)
    for ((i = 0; i < 300; i++)); do
        ! (exec 9<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null || return 0
        kill -0 "${servers[-1]}" 2>/dev/null || return 1 # another program has the port by now
        sleep 0.1
    done
    return 1
}
start || start || start || { fail "nginx starts" < <(cat "$T/nginx" "$T/error.log"); done_testing; }
URL=http://127.0.0.1:$PORT
told() { awk -F'|' "$1 { n++ } END { print n + 0 }" "$T/access.log"; } # CONDITION: how many requests
forget() { : >"$T/access.log"; } # what the server appends to

is "shards by index" "$(digest "$URL/$shards" --epochs 1 --workers 3)" "$LOCAL"
is "a request per sample, with the ETag of its shard" "$(told '$1 == 206 && $5 != "-" && $4 !~ /^bytes=0-/')" "$(sql "$T/run.sqlite" 'SELECT count(*) FROM request WHERE sample IS NOT NULL AND status = 206')"
is "no sample is lost where the server closes connections" "$(sql "$T/run.sqlite" 'SELECT count(*) FROM error')" 0
check "it closed some" test "$(awk -F'|' '{ print $2 }' "$T/access.log" | sort -u | wc -l)" -gt 8
is "several in flight" "$(digest "$URL/$shards" --epochs 1 --workers 2 --inflight 4)" "$LOCAL"
forget
is "streamed" "$(digest "$URL/$shards" --epochs 1 --workers 2 --stream)" "$STREAM"
is "a look at each shard, and one request for all of it" "$(told 1) $(told '$4 == "bytes=0-0"') $(told '$1 == 206 && $4 == "bytes=0-4194303"')" "6 3 3"
is "at a limited rate" "$(digest "$URL/slow/$shards" --epochs 1 --workers 3)" "$LOCAL"
forget
is "beyond its limit of requests" "$(digest "$URL/few/$shards" --epochs 1 --workers 3 --retries 40)" "$LOCAL"
refused=$(told '$1 == 429')
check "it refused some" test "$refused" -gt 0
is "no sample is lost by that" "$(sql "$T/run.sqlite" 'SELECT count(*) FROM error')" 0
is "with the password of ~/.netrc" "$(digest "$URL/private/$shards" --epochs 1)" "$LOCAL"
check "which stands in no recording" bash -c "! grep -aq let-me-in '$T/run.sqlite'"
mv "$HOME/.netrc" "$HOME/netrc"
refuses "without it" 4 "401 Unauthorized.*credentials" "$PP" run "$URL/private/$shards" --no-record
is "redirects" "$(digest "$URL/moved/$shards" --epochs 1)" "$LOCAL"
is "a server that ignores ranges" "$(digest "$URL/whole/$shards" --epochs 1)" "$LOCAL"
is "the same, streamed" "$(digest "$URL/whole/$shards" --epochs 1 --stream)" "$STREAM"
forget
is "TLS" "$(SSL_CERT_FILE=$T/cert.pem digest "https://127.0.0.1:$TLS/$shards" --epochs 1)" "$LOCAL"
is "by HTTP/1.1, where many requests share no window" "$(awk -F'|' '{ print $3 }' "$T/access.log" | sort -u)" HTTP/1.1
refuses "what is not there" 2 "404 Not Found" "$PP" run "$URL/none.tar" --no-record
printf '' >"$T/data/nothing.tar"
refuses "an empty shard" 4 "nothing.tar.*0 bytes" "$PP" run "$URL/nothing.tar" --no-record
done_testing
