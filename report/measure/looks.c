#include "report/measure/looks.h"

#include "probe/base/err.h"
#include "probe/base/text.h"
#include "report/measure/ops_join.h"
#include "report/measure/stack_view.h"

#define Z95 1.96
#define BLOCK_NS UINT64_C(1000000000) /* waits come in bursts: looks of one second are one observation */

/* Of a frame, or of one that called it. */
enum mark { IN_LOADER = 1, IN_FETCH = 2, IN_READ = 4 };

static const struct {
    const char *file;
    enum mark mark;
} marks[] = {{"torch/utils/data/dataloader.py", IN_LOADER},
             {"torch/utils/data/_utils/fetch.py", IN_FETCH},
             {"/socket.py", IN_READ},
             {"/ssl.py", IN_READ},
             {"/http/client.py", IN_READ},
             {"/urllib3/response.py", IN_READ},
             {"/subprocess.py", IN_READ}};

struct judging {
    struct pp_looks *out;
    const struct pp_stacks *s;
    const struct pp_frame_view *v;
    const unsigned char *mark, *role;
    struct pp_ops_joined *joined;
    size_t threads;
    double work, on_cpu, in_read; /* looks */
};

/* A look at the making of a batch. */
static void take_work(struct judging *j, size_t i)
{
    const struct pp_stack_sample *x = &j->s->samples[i];
    j->joined[i].phase = PP_PHASE_TRANSFORM;
    j->joined[i].weight = 1;
    j->work++;
    j->on_cpu += x->state == 'R' || !x->state;
    j->in_read += x->state == 'D' || (x->state != 'R' && j->mark[x->frame] & IN_READ);
}

/* The trainer is the thread that is seen most in the loader; without one, the main thread. */
static void take_trainer(struct judging *j)
{
    struct pp_looks *out = j->out;
    double waits = 0, makes = 0, blocks = 0, sum = 0, sum2 = 0, n = 0, w = 0, most = 0;
    uint64_t block = 0;
    uint32_t trainer = 0;
    double *seen = calloc(j->threads + 1, sizeof(*seen));
    for (size_t i = 0; seen && i < j->s->n_samples; i++) {
        const struct pp_stack_sample *x = &j->s->samples[i];
        if (x->thread < j->threads && j->role[x->thread] != PP_LOOKS_WORKER)
            seen[x->thread] += (j->mark[x->frame] & (IN_LOADER | IN_FETCH)) != 0;
    }
    for (uint32_t t = 0; seen && t < j->threads; t++)
        if (j->role[t] != PP_LOOKS_WORKER && (seen[t] > most || (most == 0 && j->role[t] == PP_LOOKS_MAIN))) {
            trainer = t;
            most = seen[t];
        }
    free(seen);
    for (size_t i = 0; i < j->s->n_samples; i++) {
        const struct pp_stack_sample *x = &j->s->samples[i];
        if (x->thread != trainer)
            continue;
        int made = (j->mark[x->frame] & IN_FETCH) != 0, waited = made || j->mark[x->frame] & IN_LOADER;
        if (n > 0 && x->t_ns - block >= BLOCK_NS) {
            blocks++, sum += w / n, sum2 += w * w / n / n;
            n = w = 0;
        }
        block = n > 0 ? block : x->t_ns;
        n++, w += waited;
        out->looks++, waits += waited, makes += made;
        if (made)
            take_work(j, i);
        else
            j->joined[i].phase = waited ? PP_PHASE_DATA_WAIT : PP_PHASE_STEP;
    }
    if (n > 0)
        blocks++, sum += w / n, sum2 += w * w / n / n;
    out->wait = out->wait_low = out->wait_high = out->makes = NAN;
    if (out->looks > 0) {
        /* The 95 % interval: over seconds, and not less than what as many independent looks have. */
        double p = waits / out->looks, mean = sum / blocks,
               of_blocks = blocks > 1 ? sqrt(fmax(sum2 / blocks - mean * mean, 0) / (blocks - 1)) : 1,
               of_looks = sqrt((p * (1 - p) + 1 / out->looks) / out->looks),
               wide = Z95 * fmax(of_blocks, of_looks);
        out->wait = p;
        out->wait_low = fmax(p - wide, 0);
        out->wait_high = fmin(p + wide, 1);
        out->makes = makes / out->looks;
    }
}

pp_status pp_looks_judge(struct pp_looks *seen, const unsigned char *role, size_t threads, double window_s,
                         struct pp_err *err)
{
    struct pp_ops *ops = &seen->ops;
    const struct pp_stacks *s = &ops->stacks;
    /* A parent stands before its children. */
    unsigned char *mark = malloc(s->n_frames + 1);
    for (size_t i = 0; mark && i < s->n_frames; i++) {
        const struct pp_stack_frame *f = &s->frames[i];
        mark[i] = f->parent != PP_STACK_NONE ? mark[f->parent] : 0;
        for (size_t k = 0; k < sizeof(marks) / sizeof(*marks); k++)
            if (pp_text_ends_in(s->functions[f->function].file, marks[k].file))
                mark[i] |= (unsigned char)marks[k].mark;
    }
    struct judging j = {.out = seen, .s = s, .mark = mark, .role = role, .threads = threads};
    j.v = ops->view = pp_stack_view(s, &ops->arena);
    j.joined = calloc(s->n_samples + 1, sizeof(*j.joined));
    pp_status status = j.v && mark && j.joined ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory for stacks");
    for (size_t i = 0; status == PP_OK && i < s->n_samples; i++)
        j.joined[i].phase = PP_PHASE_NONE;
    if (status == PP_OK) {
        take_trainer(&j);
        double busy = 0;
        for (size_t i = 0; i < j.s->n_samples; i++) {
            const struct pp_stack_sample *x = &j.s->samples[i];
            if (x->thread >= j.threads || j.role[x->thread] != PP_LOOKS_WORKER)
                continue;
            j.out->workers_looks++;
            if (!(mark[x->frame] & IN_FETCH))
                continue;
            busy++;
            take_work(&j, i);
        }
        j.out->busy = j.out->workers_looks > 0 ? busy / j.out->workers_looks : NAN;
        seen->on_cpu = j.work > 0 ? j.on_cpu / j.work : NAN;
        seen->in_read = j.work > 0 ? j.in_read / j.work : NAN;
        ops->loaders[0] = (struct pp_ops_loader){.judged = 1};
        ops->n_loaders = 1;
        pp_ops_leave_out(ops, j.joined);
        status = pp_ops_group(ops, j.joined, window_s, "the job", err);
    }
    free(mark);
    free(j.joined);
    return status;
}
