#include "probe/ranks/identity.h"

enum { SIGNS = 3, NAMES = 3 };

/* A launcher: it is the one if all of sign are set, and rank and world size are numbers. Of several names the
 * first that is set counts. */
struct launcher {
    const char *name;
    const char *sign[SIGNS];
    const char *rank;
    const char *world_size[NAMES], *local_rank[NAMES], *local_size[NAMES], *node[NAMES];
    const char *job[2]; /* joined by a dot where both are set */
    const char *attempt;
    int of_many; /* also set where one process runs and there are no ranks */
};

#define OF_TORCH \
    .rank = "RANK", .world_size = {"WORLD_SIZE"}, .local_rank = {"LOCAL_RANK"}, \
    .local_size = {"LOCAL_WORLD_SIZE", "LOCAL_SIZE"}, .node = {"GROUP_RANK", "NODE_RANK", "CROSS_RANK"}, \
    .attempt = "TORCHELASTIC_RESTART_COUNT"
#define OF_PMI \
    .rank = "PMI_RANK", .world_size = {"PMI_SIZE"}, \
    .local_rank = {"MPI_LOCALRANKID", "PALS_LOCAL_RANKID", "SLURM_LOCALID"}, \
    .local_size = {"MPI_LOCALNRANKS"}, .node = {"SLURM_NODEID"}

/* clang-format off */
static const struct launcher launchers[] = {
    {.name = "accelerate", .sign = {"ACCELERATE_MIXED_PRECISION"}, OF_TORCH, .job = {"TORCHELASTIC_RUN_ID"}},
    {.name = "torchrun", .sign = {"TORCHELASTIC_RUN_ID"}, OF_TORCH, .job = {"TORCHELASTIC_RUN_ID"}},
    {.name = "Ray", .sign = {"RAY_JOB_ID"}, OF_TORCH, .job = {"RAY_JOB_ID"}},
    {.name = "deepspeed", .sign = {"CROSS_RANK", "LOCAL_SIZE"}, OF_TORCH},
    {.name = "RANK and WORLD_SIZE", OF_TORCH},
    {.name = "Open MPI", .rank = "OMPI_COMM_WORLD_RANK", .world_size = {"OMPI_COMM_WORLD_SIZE"},
     .local_rank = {"OMPI_COMM_WORLD_LOCAL_RANK"}, .local_size = {"OMPI_COMM_WORLD_LOCAL_SIZE"},
     .node = {"SLURM_NODEID"}, .job = {"PMIX_NAMESPACE"}},
    {.name = "PMIx", .rank = "PMIX_RANK", .world_size = {"PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
     .local_rank = {"PALS_LOCAL_RANKID", "SLURM_LOCALID"}, .node = {"SLURM_NODEID"}, .job = {"PMIX_NAMESPACE"}},
    {.name = "Intel MPI", .sign = {"I_MPI_HYDRA_UUID"}, OF_PMI, .job = {"I_MPI_HYDRA_UUID"}},
    {.name = "MPICH", .sign = {"MPI_LOCALRANKID"}, OF_PMI},
    {.name = "PMI", OF_PMI},
    {.name = "MVAPICH", .rank = "MV2_COMM_WORLD_RANK", .world_size = {"MV2_COMM_WORLD_SIZE"},
     .local_rank = {"MV2_COMM_WORLD_LOCAL_RANK"}, .local_size = {"MV2_COMM_WORLD_LOCAL_SIZE"}},
    {.name = "jsrun", .rank = "JSM_NAMESPACE_RANK", .world_size = {"JSM_NAMESPACE_SIZE"},
     .local_rank = {"JSM_NAMESPACE_LOCAL_RANK"}, .job = {"LSB_JOBID"}},
    /* Of a step, that is srun: a batch script has these variables too, and is one process. */
    {.name = "SLURM", .sign = {"SLURM_STEP_ID"}, .rank = "SLURM_PROCID",
     .world_size = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, .local_rank = {"SLURM_LOCALID"},
     .node = {"SLURM_NODEID"}, .job = {"SLURM_JOB_ID", "SLURM_STEP_ID"}, .attempt = "SLURM_RESTART_COUNT",
     .of_many = 1},
};
/* clang-format on */
enum { LAUNCHERS = sizeof(launchers) / sizeof(launchers[0]) };

/* The job of a launcher that names none: that of the machines' scheduler. */
static const char *const schedulers[][2] = {{"SLURM_JOB_ID", "SLURM_STEP_ID"}, {"LSB_JOBID"}, {"PBS_JOBID"}};

struct variables {
    pp_variable_fn *get; /* NULL: of this process */
    void *ctx;
};

static const char *value_of(const struct variables *v, const char *name)
{
    const char *value = !name ? NULL : v->get ? v->get(v->ctx, name) : getenv(name);
    return value && *value ? value : NULL;
}

/* -1: not set, or no number from 0 on. */
static int64_t number_of(const struct variables *v, const char *name)
{
    const char *text = value_of(v, name);
    char *end = NULL;
    errno = 0;
    long long n = text && *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : -1;
    return end && !*end && !errno && n <= INT32_MAX ? n : -1;
}

static int64_t first_number(const struct variables *v, const char *const *names)
{
    int64_t n = -1;
    for (int i = 0; i < NAMES && names[i] && n < 0; i++)
        n = number_of(v, names[i]);
    return n;
}

/* torchrun says "none" where it was given no --rdzv-id. */
static int take_job(const struct variables *v, const char *const *names, struct pp_identity *out)
{
    const char *job = value_of(v, names[0]);
    if (!job || strcmp(job, "none") == 0)
        return 0;
    snprintf(out->job, sizeof(out->job), "%s", job);
    size_t n = strlen(out->job);
    const char *part = value_of(v, names[1]);
    if (part)
        snprintf(out->job + n, sizeof(out->job) - n, ".%s", part);
    return 1;
}

int pp_identity_read_from(pp_variable_fn *get, void *ctx, struct pp_identity *out)
{
    struct variables v = {get, ctx};
    for (const struct launcher *l = launchers; l < launchers + LAUNCHERS; l++) {
        int signs = 0;
        while (signs < SIGNS && l->sign[signs] && value_of(&v, l->sign[signs]))
            signs++;
        if (signs < SIGNS && l->sign[signs])
            continue;
        int64_t rank = number_of(&v, l->rank), world = first_number(&v, l->world_size);
        if (rank < 0 || rank >= world || (l->of_many && world < 2))
            continue;
        *out = (struct pp_identity){.launcher = l->name,
                                    .rank = rank,
                                    .world_size = world,
                                    .local_rank = first_number(&v, l->local_rank),
                                    .local_size = first_number(&v, l->local_size),
                                    .node = first_number(&v, l->node),
                                    .attempt = number_of(&v, l->attempt)};
        int named = take_job(&v, l->job, out);
        for (size_t i = 0; i < sizeof(schedulers) / sizeof(schedulers[0]) && !named; i++)
            named = take_job(&v, schedulers[i], out);
        return 1;
    }
    *out = pp_identity_of(NULL, -1, -1);
    return 0;
}

int pp_identity_read(struct pp_identity *out)
{
    return pp_identity_read_from(NULL, NULL, out);
}

const char *pp_identity_launcher(size_t i, const char **variable)
{
    *variable = i < LAUNCHERS ? launchers[i].rank : NULL;
    return i < LAUNCHERS ? launchers[i].name : NULL;
}
