/* Which rank a process is, from the variables of each launcher: a row per environment. */
#include "probe/ranks/identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* "NAME=value NAME=value ..." */
static const char *look_up(void *ctx, const char *name)
{
    static char value[256];
    size_t n = strlen(name);
    for (const char *at = ctx; *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strncmp(at, name, n) == 0 && at[n] == '=') {
            snprintf(value, sizeof(value), "%.*s", (int)strcspn(at + n + 1, " "), at + n + 1);
            return value;
        }
    return NULL;
}

#define TORCH "RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 GROUP_RANK=1 "
#define STEP "SLURM_JOB_ID=77 SLURM_STEP_ID=2 SLURM_STEP_NUM_TASKS=16 SLURM_LOCALID=3 SLURM_NODEID=2 "

static const struct row {
    const char *environment, *launcher; /* NULL: none */
    int64_t rank, world_size, local_rank, local_size, node, attempt;
    const char *job;
} rows[] = {
    {"", NULL, -1, -1, -1, -1, -1, -1, ""},
    {TORCH "TORCHELASTIC_RUN_ID=a1b2 TORCHELASTIC_RESTART_COUNT=2", "torchrun", 5, 8, 1, 4, 1, 2, "a1b2"},
    {TORCH "TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=0", "torchrun", 5, 8, 1, 4, 1, 0, ""},
    /* torchrun inside of srun, one task per node: SLURM_PROCID is the node */
    {STEP TORCH "TORCHELASTIC_RUN_ID=none SLURM_PROCID=1 SLURM_NTASKS=2", "torchrun", 5, 8, 1, 4, 1, -1,
     "77.2"},
    {TORCH "TORCHELASTIC_RUN_ID=x ACCELERATE_MIXED_PRECISION=no", "accelerate", 5, 8, 1, 4, 1, -1, "x"},
    {"RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 NODE_RANK=0 RAY_JOB_ID=01000000", "Ray", 1, 2, 1, 2,
     0, -1, "01000000"},
    {"RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_SIZE=2 CROSS_RANK=1 CROSS_SIZE=2", "deepspeed", 3, 4, 1, 2, 1,
     -1, ""},
    {"RANK=0 WORLD_SIZE=1", "RANK and WORLD_SIZE", 0, 1, -1, -1, -1, -1, ""},
    {"RANK=2 WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2", "RANK and WORLD_SIZE", 2, 4, -1, -1,
     -1, -1, ""},
    {"OMPI_COMM_WORLD_RANK=7 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=3 OMPI_COMM_WORLD_LOCAL_SIZE=4 "
     "PMIX_RANK=7 PMIX_NAMESPACE=prterun-host-99@1",
     "Open MPI", 7, 8, 3, 4, -1, -1, "prterun-host-99@1"},
    {"PMI_RANK=6 PMI_SIZE=8 MPI_LOCALRANKID=2 MPI_LOCALNRANKS=4 PMI_HOSTNAME=h", "MPICH", 6, 8, 2, 4, -1, -1,
     ""},
    {"PMI_RANK=6 PMI_SIZE=8 MPI_LOCALRANKID=2 MPI_LOCALNRANKS=4 I_MPI_HYDRA_UUID=ab-cd", "Intel MPI", 6, 8, 2,
     4, -1, -1, "ab-cd"},
    {"PMIX_RANK=4 PMI_SIZE=6 PALS_LOCAL_RANKID=0", "PMIx", 4, 6, 0, -1, -1, -1, ""},
    {"PMI_RANK=4 PMI_SIZE=6 PALS_LOCAL_RANKID=0", "PMI", 4, 6, 0, -1, -1, -1, ""},
    {"MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=2 MV2_COMM_WORLD_LOCAL_RANK=1 MV2_COMM_WORLD_LOCAL_SIZE=2",
     "MVAPICH", 1, 2, 1, 2, -1, -1, ""},
    {"JSM_NAMESPACE_RANK=9 JSM_NAMESPACE_SIZE=12 JSM_NAMESPACE_LOCAL_RANK=3 LSB_JOBID=4711", "jsrun", 9, 12,
     3, -1, -1, -1, "4711"},
    {STEP "SLURM_PROCID=11 SLURM_NTASKS=16 SLURM_NTASKS_PER_NODE=4(x2) SLURM_RESTART_COUNT=1", "SLURM", 11,
     16, 3, -1, 2, 1, "77.2"},
    {"SLURM_JOB_ID=77 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_NTASKS=2", "SLURM", 1, 2, -1, -1, -1, -1, "77.0"},
    /* a batch script, and a step of one task: no ranks */
    {"SLURM_JOB_ID=77 SLURM_PROCID=0 SLURM_NTASKS=16 SLURM_LOCALID=0", NULL, -1, -1, -1, -1, -1, -1, ""},
    {"SLURM_JOB_ID=77 SLURM_STEP_ID=1 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=16", NULL, -1, -1,
     -1, -1, -1, -1, ""},
    {"SLURM_JOB_ID=77 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=1", NULL, -1, -1, -1, -1, -1, -1, ""},
    /* what is no rank */
    {"RANK=4 WORLD_SIZE=4", NULL, -1, -1, -1, -1, -1, -1, ""},
    {"RANK=-1 WORLD_SIZE=4", NULL, -1, -1, -1, -1, -1, -1, ""},
    {"RANK=one WORLD_SIZE=4", NULL, -1, -1, -1, -1, -1, -1, ""},
    {"RANK=1x WORLD_SIZE=4", NULL, -1, -1, -1, -1, -1, -1, ""},
    {"RANK=99999999999999999999 WORLD_SIZE=99999999999999999999", NULL, -1, -1, -1, -1, -1, -1, ""},
    {"RANK=1", NULL, -1, -1, -1, -1, -1, -1, ""},
    {"RANK= WORLD_SIZE=", NULL, -1, -1, -1, -1, -1, -1, ""},
    {"RANK=x WORLD_SIZE=2 PMI_RANK=1 PMI_SIZE=2", "PMI", 1, 2, -1, -1, -1, -1, ""},
};

static void test_environments(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *r = &rows[i];
        struct pp_identity id;
        int known = pp_identity_read_from(look_up, (void *)r->environment, &id);
        if (known != (r->launcher != NULL) || (known && strcmp(id.launcher, r->launcher) != 0) ||
            id.rank != r->rank || id.world_size != r->world_size || id.local_rank != r->local_rank ||
            id.local_size != r->local_size || id.node != r->node || id.attempt != r->attempt ||
            strcmp(id.job, r->job) != 0)
            fail_msg("%s: %s rank %lld of %lld, local %lld of %lld, node %lld, attempt %lld, job %s",
                     r->environment, known ? id.launcher : "none", (long long)id.rank,
                     (long long)id.world_size, (long long)id.local_rank, (long long)id.local_size,
                     (long long)id.node, (long long)id.attempt, id.job);
    }
}

/* Every row of the table is some environment's. */
static void test_every_launcher_is_tested(void **state)
{
    const char *name, *variable;
    (void)state;
    for (size_t i = 0; (name = pp_identity_launcher(i, &variable)); i++) {
        int seen = 0;
        for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
            seen |= rows[k].launcher && strcmp(rows[k].launcher, name) == 0;
        if (!seen || !variable)
            fail_msg("no environment of %s is tested", name);
    }
}

static void test_a_long_job_is_cut(void **state)
{
    char environment[512];
    struct pp_identity id;
    (void)state;
    snprintf(environment, sizeof(environment), "RANK=0 WORLD_SIZE=2 TORCHELASTIC_RUN_ID=%0200d", 1);
    assert_true(pp_identity_read_from(look_up, environment, &id));
    assert_int_equal(strlen(id.job), sizeof(id.job) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environments),
        cmocka_unit_test(test_every_launcher_is_tested),
        cmocka_unit_test(test_a_long_job_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
