#!/bin/bash
# tests/moto.sh [VENV]: buckets of moto's S3 server (PyPI), which is another implementation than our fault server: keys put by boto3, listings in its pages, profiles,
# and the same batches as from local files. Makes VENV (build/venvs/moto) when it is not there. No part of make test: it needs PyPI. Prints TAP.
. "$(dirname "$0")/lib.sh"
. tests/remote.sh
need_pipeprobe
need_remote
venv=${1:-build/venvs/moto}
if ! [ -x "$venv/bin/moto_server" ]; then
    mkdir -p "$(dirname "$venv")"
    { "$PYTHON" -m venv "$venv" && "$venv/bin/pip" install -q 'moto[server,s3]' boto3; } >"$T/pip" 2>&1 || skip_all "moto cannot be installed from PyPI: $(tail -n 1 "$T/pip")"
fi

port=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$venv/bin/moto_server" -H 127.0.0.1 -p "$port" >"$T/moto" 2>&1 </dev/null &
servers+=($!)
PORT=$port
for ((i = 0; i < 600; i++)); do
    ! (exec 9<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    sleep 0.1
done
export AWS_ENDPOINT_URL=http://127.0.0.1:$port AWS_ACCESS_KEY_ID=testing AWS_SECRET_ACCESS_KEY=testing AWS_REGION=us-east-1

"$MAKE_DATASET" "$T/shards" --n 64 --size 120x90 --tar 2 >/dev/null
"$MAKE_DATASET" "$T/images" --n 1100 --size 24x18 --classes 1 >/dev/null
"$venv/bin/python" - "$T" <<'PYTHON'
import boto3, os, sys
s3 = boto3.client("s3")
s3.create_bucket(Bucket="train")
for top, name in (("shards", "shards"), ("images", "odd names+=é")):
    for base, _, files in os.walk(os.path.join(sys.argv[1], top)):
        for f in files:
            path = os.path.join(base, f)
            s3.upload_file(path, "train", name + "/" + os.path.relpath(path, os.path.join(sys.argv[1], top)))
PYTHON
is "shards of a bucket" "$(digest 's3://train/shards/shard-{000000..000001}.tar' --epochs 1)" "$(digest "$T/shards/shard-{000000..000001}.tar" --epochs 1)"
is "a pattern" "$(digest 's3://train/shards/*.tar' --epochs 1)" "$(digest "$T/shards" --epochs 1)"
is "streamed" "$(digest s3://train/shards/ --epochs 1 --stream)" "$(digest "$T/shards" --epochs 1 --stream)"
is "a folder of more than one page" "$(digest 's3://train/odd names+=é/' --epochs 1)" "$(digest "$T/images" --epochs 1)"
like "digests are there" "$(digest s3://train/shards/ --epochs 1)" '^[0-9a-f]{8,}$'
refuses "no such bucket" 2 "NoSuchBucket" "$PP" run s3://nowhere/x/ --no-record
refuses "no such key" 2 "404 Not Found" "$PP" run s3://train/shards/none.tar --no-record
done_testing
