# mk/without.mk: make WITHOUT="cache leases": the program without these subjects. Their sources are left out, and mk/without.c says so where
# somebody asks for one. A later make without WITHOUT has them again. Unit tests are of the whole program.
WITHOUT ?=
LEFT_OUT_cache := probe/storage/cache/%
LEFT_OUT_columns := probe/columns/% probe/dataset/dataset_columns.c
LEFT_OUT_gpu-decode := probe/device/cuda_decode.c probe/device/nvjpeg.c
LEFT_OUT_leases := probe/ranks/lease.c probe/ranks/lease_dir.c
LEFT_OUT_mds := probe/dataset/dataset_mds.c probe/dataset/mds_shards.c
LEFT_OUT_samplers := probe/sampler/sampler_strata.c probe/sampler/sampler_weights.c
LEFT_OUT_tokens := probe/dataset/dataset_tokens.c

SUBJECTS := $(patsubst LEFT_OUT_%,%,$(filter LEFT_OUT_%,$(.VARIABLES)))
$(foreach name,$(filter-out $(SUBJECTS),$(WITHOUT)),$(error WITHOUT=$(name): there is $(sort $(SUBJECTS))))
LEFT_OUT += $(foreach name,$(WITHOUT),$(LEFT_OUT_$(name)))
STUBS := $(if $(WITHOUT),$(B)/mk/without.o)
$(B)/mk/without.o: CPPFLAGS += $(addprefix -DWITHOUT_,$(subst -,_,$(WITHOUT)))
