#!/bin/bash
# probe/device/ptx.sh NVCC: kernel.cu as PTX, on standard output: cuda.c takes the file in as it is.
#
# The header lines nvcc writes name its own version, which older drivers refuse. The instructions are those of PTX ISA 6.0 on
# sm_50, so that is what the text declares: drivers from CUDA 9.0 on translate it for whatever GPU they find. Hints for the optimiser
# (.pragma) are left out.
set -eu -o pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" -ptx -arch=compute_75 -o "$work/kernel.ptx" kernel.cu
version=$("$1" --version | sed -n 's/.*release [0-9.]*, V\([0-9.]*\).*/\1/p')
echo "// Made from kernel.cu by nvcc $version; see ptx.sh."
sed -E -e '/^[ \t]*\/\//d' -e '/^[ \t]*$/d' -e '/^[ \t]*\.pragma/d' -e 's/^\.version.*/.version 6.0/' -e 's/^\.target.*/.target sm_50/' -e 's/[ \t]+/ /g' -e 's/ $//' "$work/kernel.ptx"
