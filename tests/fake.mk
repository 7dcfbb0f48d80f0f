# tests/fake.mk: NVIDIA's libraries without a GPU, behind the same names and symbols (tests/fake/). Included by the Makefile.

FAKES := $(addprefix $(B)/tests/fake/,libcuda.so.1 libcupti.so.13 libnvidia-ml.so.1)
helpers: $(FAKES)
# Found beside the test that opens them, by their soname.
$(filter $(addprefix $(B)/tests/unit/,probe/device/% collectors/gpu/% report/gpu/%),$(UNIT)): | $(FAKES)

# Built without sanitizers, as a driver would be.
$(FAKES): $(wildcard tests/fake/*.[ch]) collectors/gpu/cupti_abi.h probe/device/cuda_driver.h probe/device/normalize.cuh
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(filter-out -fsanitize=%,$(CFLAGS)) -fPIC -fvisibility=hidden -shared -Wl,-soname,$(@F) -o $@ tests/fake/$(firstword $(subst ., ,$(@F))).c -lpthread

# The checked-in PTX, made again by nvcc where there is one.
NVCC ?= $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
.PHONY: ptx
ptx:
	$(Q)test -n '$(NVCC)' || { echo 'make ptx needs nvcc (NVCC=/path/to/nvcc)'; exit 1; }
	$(Q)mkdir -p build && bash probe/device/ptx.sh '$(NVCC)' >build/kernel.ptx.h && mv build/kernel.ptx.h probe/device/kernel.ptx.h
