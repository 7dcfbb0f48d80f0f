/* dataset_rate SPEC [FEATURE]: opens a data set and reads every sample once, in order, in one thread.
 * Samples, bytes and the CPU time of this process on stdout. For formats.py, which puts the formats' own
 * packages beside it. */
#include "probe/base/clock.h"
#include "probe/dataset/dataset.h"
#include "probe/dataset/options.h"

#include <stdio.h>
#include <time.h>

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    struct pp_dataset_options o = {0};
    struct pp_dataset *d = NULL;
    struct pp_sample s = {0};
    struct pp_err err = {0};
    uint64_t bytes = 0, n = 0;
    double began = cpu_s();
    o.feature = argc > 2 ? argv[2] : NULL;
    pp_status st = pp_dataset_open(&(struct pp_dataset_opts){.spec = argc > 1 ? argv[1] : "", .options = &o},
                                   &d, &err);
    for (; st == PP_OK && n < pp_dataset_len(d); n++) {
        st = pp_dataset_read(d, n, &s, &err);
        bytes += s.size;
    }
    if (st == PP_OK)
        printf("%llu %llu %.9f\n", (unsigned long long)n, (unsigned long long)bytes, cpu_s() - began);
    else
        fprintf(stderr, "dataset_rate: %s\n", err.text);
    pp_sample_free(&s);
    pp_dataset_close(d);
    return st != PP_OK;
}
