#!/bin/bash
# make install puts binary, headers and licence where it is told; make uninstall takes all of it away.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

quiet_make() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s DIST="$T/dist" "$@"; }
run quiet_make install DESTDIR="$T/stage" PREFIX=/usr
is "install" "$rc" 0
run "$T/stage/usr/bin/pipeprobe" --version
is "the installed binary runs" "$rc" 0
for f in include/pipeprobe/span.h include/pipeprobe/phases.def share/doc/pipeprobe/LICENSE share/doc/pipeprobe/docs/guide/gpu.md; do check "$f" test -s "$T/stage/usr/$f"; done
echo '#include <pipeprobe/phase.h>
#include <pipeprobe/span.h>
#include <pipeprobe/status.h>
int main(void) { return sizeof(struct pp_span) == 64 && PP_PHASE_STEP ? PP_OK : 1; }' >"$T/user.c"
check "a user's program compiles with the installed headers" "${CC:-cc}" -Wall -Wextra -Werror -I"$T/stage/usr/include" -o "$T/user" "$T/user.c"
check "and runs" "$T/user"
# Away from the source tree, where nothing else can be found.
cd "$T" || exit 1
run "$T/stage/usr/bin/pipeprobe" selftest --only slow-link --seconds 2
is "selftest needs nothing but the binary" "$rc" 0
like "and judges what it made" "$(cat "$OUT")" "^right +slow-link +expected sync/h2d-bandwidth +found sync/"
cd "$OLDPWD" || exit 1
run quiet_make uninstall DESTDIR="$T/stage" PREFIX=/usr
is "uninstall leaves no file" "$(find "$T/stage" -type f)" ""
done_testing
