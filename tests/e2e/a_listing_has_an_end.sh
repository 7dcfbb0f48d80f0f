#!/bin/bash
# A bucket whose listing goes on for ever, with new names under new tokens: `run` ends at 1 GiB of names, with the reason.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../remote.sh"
need_pipeprobe
need_remote
python3 tests/e2e/answers_have_an_end.py "$T/port" &
server=$!
trap 'kill $server 2>/dev/null; cleanup' EXIT
for _ in $(seq 100); do [ -s "$T/port" ] && break; sleep 0.1; done
URL=http://127.0.0.1:$(cat "$T/port")

run env AWS_ENDPOINT_URL="$URL" AWS_ACCESS_KEY_ID=k AWS_SECRET_ACCESS_KEY=s timeout 280 "$PP" run s3://bucket/p/ --duration 1s --workers 1 --remote-timeout 5 --force -o "$T/run.sqlite"
like "a listing ends" "$rc $(cat "$ERR")" "^4 .*cannot list s3://bucket/p.*: the listings hold more than 1 GiB of names"
done_testing
