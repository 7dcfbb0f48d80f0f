#!/bin/bash
# quick
# What parses strangers' files is built to fail closed: position-independent, no lazy binding, read-only relocations, stack protector, checked libc calls.
. "$(dirname "$0")/../lib.sh"
need_built all "$PP"
command -v readelf >/dev/null || skip_all "readelf is not installed"
case $BUILD in */release) ;; *) skip_all "sanitizers watch instead in $BUILD" ;; esac

dynamic_symbols() { readelf -W --dyn-syms "$1"; }
for file in pipeprobe libpipeprobe_inject.so libpipeprobe.so.0; do
    path=$BUILD/$file
    need_built all "$path"
    like "$file: position-independent" "$(readelf -Wh "$path")" "Type: +DYN"
    like "$file: all symbols bound at the start" "$(readelf -Wd "$path")" "BIND_NOW|FLAGS_1.*NOW"
    like "$file: relocations are read-only afterwards" "$(readelf -Wl "$path")" "GNU_RELRO"
    like "$file: the stack is not executable" "$(readelf -Wl "$path" | grep GNU_STACK)" "RW +0x"
    like "$file: stack protector" "$(dynamic_symbols "$path")" "__stack_chk_fail"
done
holds "pipeprobe: libc's checked calls" "$(dynamic_symbols "$PP" | grep -c '__[a-z]*_chk') >= 5"
like "pipeprobe: an executable" "$(readelf -Wd "$PP")" "FLAGS_1.*PIE"
done_testing
