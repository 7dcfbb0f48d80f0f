#!/bin/bash
# idle
# Data over https, and metrics to MLflow and OTLP servers: a certificate that is not to be trusted and a proxy that is none are one sentence, which names them.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../remote.sh"
need_pipeprobe
need_remote
command -v openssl >/dev/null || skip_all "openssl is not installed"
unset no_proxy NO_PROXY SSL_CERT_DIR
for name in $(compgen -e OTEL_) $(compgen -e MLFLOW_); do unset "$name"; done

made() { # NAME DAYS SUBJECT-ALTERNATIVE-NAME
    printf 'subjectAltName=%s\n' "$3" >"$T/ext" && openssl req -new -newkey rsa:2048 -nodes -subj "/CN=$1" -keyout "$T/$1.key" -out "$T/csr" &&
        openssl x509 -req -in "$T/csr" -signkey "$T/$1.key" -days "$2" -extfile "$T/ext" -out "$T/$1.pem"
}
{ made good 2 IP:127.0.0.1 && made other 2 DNS:other.example && made old -1 IP:127.0.0.1; } >"$T/openssl" 2>&1 || skip_all "openssl makes no such certificates: $(tail -n 1 "$T/openssl")"
"$MAKE_DATASET" "$T/shards" --n 20 --size 64x48 --tar 1 >/dev/null && mv "$T/shards/shard-000000.tar" "$T/a.tar"
"$PYTHON" tests/e2e/certificates_and_proxies_say_why.py "$T" good other old 2>"$T/server.err" &
servers+=($!)
for ((i = 0; i < 600; i++)); do [ -s "$T/ports" ] && break; sleep 0.1; done
. "$T/ports" || { fail "the servers start" <"$T/server.err"; done_testing; }
tls=https://127.0.0.1:$good

reads() { # NAME REGEX URL VARIABLE=VALUE...
    local name=$1 want=$2 url=$3
    shift 3
    run env "$@" timeout 60 "$PP" run "$url" --duration 1s --workers 1 --remote-timeout 1 --no-record
    like "$name" "$rc $(tail -n 1 "$ERR")" "$want"
    is "$name: and no password" "$(grep -c s3cr3t "$ERR" "$OUT" | tr '\n' ' ')" "$ERR:0 $OUT:0 "
}
not_trusted="^4 .*a.tar: the certificate of its host is not to be trusted"
reads "a certificate of its own" "$not_trusted .*: install the authority that signed it, or name its file in SSL_CERT_FILE" "$tls/a.tar" X=
reads "where another variable comes first" "$not_trusted .*SSL_CERT_FILE \(CURL_CA_BUNDLE and AWS_CA_BUNDLE come before it\)" "$tls/a.tar" SSL_CERT_FILE="$T/good.pem" CURL_CA_BUNDLE="$T/other.pem"
reads "expired" "$not_trusted .*(expired|not to be trusted).*: its owner has to renew it, or the clock" "https://127.0.0.1:$old/a.tar" SSL_CERT_FILE="$T/old.pem"
reads "of another host" "$not_trusted .*127.0.0.1.*: use a name that the certificate has" "https://127.0.0.1:$other/a.tar" SSL_CERT_FILE="$T/other.pem"
reads "a server without TLS" "^4 .*there is no TLS connection .*: where its host speaks plain HTTP, write http://" "https://127.0.0.1:$plain/a.tar" X=
reads "from https to http" "^4 .*redirects from https to http, which is not followed" "$tls/down/a.tar" SSL_CERT_FILE="$T/good.pem"

proxy() { echo "http://me:s3cr3t@127.0.0.1:${!1}"; }
reads "proxy: it wants a password" "^4 .*a.tar: 407: the proxy wants a user and a password" "http://127.0.0.1:$plain/a.tar" http_proxy="$(proxy wants_password)"
reads "proxy, https: it wants a password" "^4 .*the proxy gave no connection to its host, but answered 407: the proxy wants a user" "$tls/a.tar" https_proxy="$(proxy wants_password)"
reads "proxy, https: it forbids" "^4 .*the proxy gave no .* answered 403: check https_proxy, or name the host in no_proxy" "$tls/a.tar" HTTPS_PROXY="$(proxy forbids)"
reads "proxy: garbage" "^4 .*what answers there does not speak HTTP, by way of the proxy in http_proxy" "http://127.0.0.1:$plain/a.tar" http_proxy="$(proxy garbage)"
reads "proxy, https: garbage" "^4 .*by way of the proxy in all_proxy" "$tls/a.tar" all_proxy="$(proxy garbage)"
reads "proxy: it closes" "^4 .*the connection was cut, by way of the proxy in http_proxy" "http://127.0.0.1:$plain/a.tar" http_proxy="$(proxy closes)"
reads "proxy, https: silent" "^4 .*less than 1 KiB/s.*, by way of the proxy in https_proxy" "$tls/a.tar" https_proxy="$(proxy silent)"
reads "proxy: nobody there" "^4 .*its host accepts no connection, by way of the proxy in http_proxy unless no_proxy names the host" "http://127.0.0.1:$plain/a.tar" http_proxy=http://127.0.0.1:1
reads "a server that speaks no HTTP is no wrong URL" "^4 .*what answers there does not speak HTTP$" "http://127.0.0.1:$garbage/a.tar" X=
run env https_proxy=http://127.0.0.1:1 no_proxy=127.0.0.1 SSL_CERT_FILE="$T/good.pem" timeout 60 "$PP" run "$tls/a.tar" --steps 3 --batch-size 4 --workers 1 --no-record
holds "no_proxy and SSL_CERT_FILE: it is read" "$rc == 0 || $rc == 3"

# ---- what is sent: the run's own status, and the reason at the end
run "$PP" run --synthetic n=200,size=32x32 --steps 20 --batch-size 4 --workers 1 --force -o "$T/run.sqlite"
sends() { # NAME REGEX URL VARIABLE=VALUE...
    local name=$1 want=$2 url=$3 sink
    shift 3
    for sink in otlp mlflow; do
        env "$@" timeout 60 "$PP" metrics "$T/run.sqlite" --metrics-interval 1s --$sink "$url" >"$T/$sink.$name" 2>&1 &
        sending+=($!)
        wanted+=("$sink.$name|$want")
    done
}
sending=() wanted=()
sends expired "is not to be trusted .*its owner has to renew it" "https://127.0.0.1:$old" SSL_CERT_FILE="$T/old.pem"
sends host "is not to be trusted .*use a name that the certificate has" "https://127.0.0.1:$other" SSL_CERT_FILE="$T/other.pem"
sends http-407 "answered 407: the proxy wants a user and a password" "http://127.0.0.1:$plain" http_proxy="$(proxy wants_password)"
sends https-407 "the proxy gave no connection to its host, but answered 407" "$tls" https_proxy="$(proxy wants_password)"
sends garbage "does not speak HTTP, by way of the proxy in http_proxy" "http://127.0.0.1:$plain" http_proxy="$(proxy garbage)"
sends silent "did not answer" "$tls" https_proxy="$(proxy silent)"
wait "${sending[@]}"
for row in "${wanted[@]}"; do
    like "${row%%|*}: why nothing was sent" "$(tail -n 1 "$T/${row%%|*}")" "texts were lost: .*${row#*|}"
done
is "and no password" "$(cat "$T"/otlp.* "$T"/mlflow.* | grep -c s3cr3t)" 0
done_testing
