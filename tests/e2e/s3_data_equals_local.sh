#!/bin/bash
# Buckets give the batches of local files: requests signed as the server computes it itself, credentials from every place, listings in pages.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../remote.sh"
need_pipeprobe
need_remote

mkdir -p "$T/data/train"
"$MAKE_DATASET" "$T/data/train/shards" --n 64 --size 120x90 --tar 2 >/dev/null
"$MAKE_DATASET" "$T/data/train/images" --n 60 --size 120x90 --classes 3 >/dev/null
mv "$T/data/train/images" "$T/data/train/odd names+=é"
"$PP" pack "$T/data/train/odd names+=é" -o "$T/data/train/mds" --format mds --shard-size 20k >/dev/null
cp -r "$T/data/train" "$T/data/public-train"
ODD="odd names+=é"
serve "$T/data" --s3 AKIDTEST SECRET/TEST+KEY --region eu-west-1 --page 7
export AWS_ENDPOINT_URL=http://127.0.0.1:$PORT/ AWS_REGION=eu-west-1
keys=(env AWS_ACCESS_KEY_ID=AKIDTEST AWS_SECRET_ACCESS_KEY=SECRET/TEST+KEY)

SHARDS=$(digest "$T/data/train/shards/shard-{000000..000001}.tar" --epochs 1)
IMAGES=$(digest "$T/data/train/$ODD" --epochs 1)
like "there are digests" "$SHARDS $IMAGES" '^[0-9a-f]{8,} [0-9a-f]{8,}$'
with_keys() { (export AWS_ACCESS_KEY_ID=AKIDTEST AWS_SECRET_ACCESS_KEY=SECRET/TEST+KEY; "$@"); }

is "shards of a bucket" "$(with_keys digest 's3://train/shards/shard-{000000..000001}.tar' --epochs 1)" "$SHARDS"
is "a prefix of shards" "$(with_keys digest s3://train/shards/ --epochs 1)" "$SHARDS"
is "a prefix without its slash" "$(with_keys digest s3://train/shards --epochs 1)" "$SHARDS"
is "a pattern" "$(with_keys digest 's3://train/shards/shard-*.tar' --epochs 1)" "$SHARDS"
is "an image folder with odd names" "$(with_keys digest "s3://train/$ODD" --epochs 1)" "$IMAGES"
is "MDS shards of a bucket" "$(with_keys digest s3://train/mds/ --epochs 1)" "$(digest "$T/data/train/mds" --epochs 1)"
check "its listing came in pages" test "$(counted listings)" -gt 9
check "the server computed signatures" test "$(counted signatures)" -gt 100
is "and every one was right" "$(counted bad_signatures)" 0

# ---- faults, and a region that is another one ----

set_faults 'busy=3&cut=5'
is "busy and cut: the same bytes" "$(with_keys digest "s3://train/$ODD" --epochs 1)" "$IMAGES"
is "busy and cut: no sample is lost" "$(sql "$T/run.sqlite" 'SELECT count(*) FROM error')" 0
is "busy and cut: a retry for each" "$(sql "$T/run.sqlite" "SELECT count(*) FROM v_span WHERE phase = 'retry'")" "$(($(counted busy) + $(counted cut)))"
set_faults ''
is "a wrong region is put right" "$(AWS_REGION=us-west-2 with_keys digest s3://train/shards/ --epochs 1)" "$SHARDS"
check "by one refusal for each request that began before" test "$(counted status_400)" -le 20

# ---- credentials ----

mkdir -p "$HOME/.aws"
printf '[default]\naws_access_key_id = AKIDTEST\naws_secret_access_key = wrong\n[dev]\naws_access_key_id = AKIDTEST\naws_secret_access_key = SECRET/TEST+KEY\n' >"$HOME/.aws/credentials"
printf '[profile dev]\nregion = eu-west-1\n[profile sso]\nsso_session = corp\n' >"$HOME/.aws/config"
is "a profile" "$(AWS_PROFILE=dev digest s3://train/shards/ --epochs 1)" "$SHARDS"
refuses "a wrong secret" 4 "403 Forbidden, SignatureDoesNotMatch" "$PP" run s3://train/shards/ --no-record
refuses "a profile that is not there" 2 "AWS_PROFILE is nobody" env AWS_PROFILE=nobody "$PP" run s3://train/shards/ --no-record
refuses "a profile that wants a browser" 4 "sso_session.*export-credentials" env AWS_PROFILE=sso "$PP" run s3://train/shards/ --no-record
rm -r "$HOME/.aws"
refuses "no credentials" 4 "403 Forbidden.*no credentials were found" "$PP" run s3://train/shards/ --no-record
is "a public bucket wants none" "$(digest s3://public-train/shards/ --epochs 1)" "$SHARDS"
refuses "a key that is not known" 4 "InvalidAccessKeyId" env AWS_ACCESS_KEY_ID=nobody AWS_SECRET_ACCESS_KEY=x "$PP" run s3://train/shards/ --no-record
refuses "no bucket of this name" 2 "NoSuchBucket" "${keys[@]}" "$PP" run s3://nothing/shards/ --no-record
refuses "nothing below a prefix" 2 "no object has a name that begins so|NoSuchKey" "${keys[@]}" "$PP" run s3://train/nothing/ --no-record
refuses "an endpoint that is none" 2 "AWS_ENDPOINT_URL is no URL" env AWS_ENDPOINT_URL=host:9000 "$PP" run s3://train/shards/ --no-record

# ---- temporary keys: of a container, a web identity, an instance; they end in the middle ----

serve "$T/data" --s3 AKIDTEST SECRET/TEST+KEY --region eu-west-1 --uses 25
export AWS_ENDPOINT_URL=http://127.0.0.1:$PORT
is "a container's keys" "$(AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:$PORT/_credentials AWS_CONTAINER_AUTHORIZATION_TOKEN=let-me-in \
    digest "s3://train/$ODD" --epochs 1)" "$IMAGES"
check "they ended, and others were fetched" test "$(counted keys_given)" -gt 2
is "no sample is lost by it" "$(sql "$T/run.sqlite" 'SELECT count(*) FROM error')" 0
echo jwt-of-the-pod >"$T/jwt"
is "a web identity's keys" "$(AWS_WEB_IDENTITY_TOKEN_FILE=$T/jwt AWS_ROLE_ARN=arn:aws:iam::1:role/x AWS_ENDPOINT_URL_STS=http://127.0.0.1:$PORT/_sts \
    digest "s3://train/$ODD" --epochs 1)" "$IMAGES"
is "an instance's keys" "$(AWS_EC2_METADATA_DISABLED=false AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:$PORT digest s3://train/shards/ --epochs 1)" "$SHARDS"
refuses "a container that refuses" 4 "no credentials from the container" env AWS_CONTAINER_CREDENTIALS_FULL_URI="http://127.0.0.1:$PORT/_credentials" \
    "$PP" run s3://train/shards/ --no-record
is "every signature was right" "$(counted bad_signatures)" 0

# ---- secrets stay where they are ----

(AWS_ACCESS_KEY_ID=AKIDTEST AWS_SECRET_ACCESS_KEY=SECRET/TEST+KEY "$PP" run s3://train/shards/ --steps 2 --force -o "$T/run.sqlite" >"$T/said" 2>&1)
check "no secret in the recording or the messages" bash -c "! grep -aq 'SECRET/TEST' '$T/run.sqlite' '$T/said'"

# ---- many keys: page by page ----

keys=${MANY_KEYS:-100000}
list() { # KEYS: lists so many; prints the most memory that it took, in KiB
    "$PYTHON" -c 'import resource, subprocess, sys
subprocess.run(sys.argv[3:], stdout=open(sys.argv[1], "w"), stderr=open(sys.argv[2], "w"), stdin=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$OUT" "$ERR" timeout $((60 + $1 / 10000)) "$PP" run "s3://public-many-$1/d/" --no-record --steps 1
}
few=$(list 1000)
many=$(list "$keys")
like "$keys keys are listed" "$(cat "$OUT" "$ERR" | tr -d ,)" "$keys"
"$PYTHON" -c 'import pty, sys; pty.spawn(sys.argv[1:])' timeout $((60 + keys / 10000)) "$PP" run "s3://public-many-$keys/d/" --no-record --steps 1 >"$T/terminal" 2>&1 </dev/null
like "with progress" "$(tr '\r' '\n' <"$T/terminal")" "listing images: [0-9]"
holds "in bounded memory: $few and $many KiB" "$many - $few <= $keys * 64 / 1024 + 16384"
done_testing
