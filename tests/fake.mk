# tests/fake.mk: NVIDIA's libraries without a GPU, behind the same names and symbols (tests/fake/). Included by the Makefile.

FAKES := $(addprefix $(B)/tests/fake/,libcuda.so.1 libcupti.so.13 libnvidia-ml.so.1 libnvjpeg.so.12 libnvjpeg.so.11 libnvjpeg.so.10)
helpers: $(FAKES)
# Found beside the test that opens them, by their soname.
$(filter $(addprefix $(B)/tests/unit/,probe/device/% probe/loader/% collectors/gpu/% report/gpu/%),$(UNIT)): | $(FAKES)

$(filter %/libnvjpeg.so.12 %/libnvjpeg.so.11 %/libnvjpeg.so.10,$(FAKES)): FAKE_LIBS := -ljpeg
$(filter %/libnvjpeg.so.11,$(FAKES)): FAKE_LIBS += -DFAKE_OLD
$(filter %/libnvjpeg.so.10,$(FAKES)): FAKE_LIBS += -DFAKE_WHOLE
# Built without sanitizers, as a driver would be.
$(FAKES): $(wildcard tests/fake/*.[ch]) collectors/gpu/cupti_abi.h probe/device/cuda_driver.h probe/device/nvjpeg.h $(wildcard probe/device/*.cuh) | $(NEEDS)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(filter-out -fsanitize=%,$(CFLAGS)) -fPIC -fvisibility=hidden -shared -Wl,-soname,$(@F) -o $@ tests/fake/$(firstword $(subst ., ,$(@F))).c $(FAKE_LIBS) -lpthread

# The checked-in PTX, made again by nvcc where there is one.
NVCC ?= $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
.PHONY: ptx
ptx:
	$(Q)test -n '$(NVCC)' || { echo 'make ptx needs nvcc (NVCC=/path/to/nvcc)'; exit 1; }
	$(Q)mkdir -p build && bash probe/device/ptx.sh '$(NVCC)' >build/kernel.ptx && mv build/kernel.ptx probe/device/kernel.ptx
