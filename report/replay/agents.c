#include "report/replay/agents.h"

#include <math.h>
#include <stdlib.h>

double pp_cpus_rate(const struct pp_cpus *cpus, size_t n)
{
    double threads = (double)n;
    double fair = cpus->machine / (threads * (1 + cpus->groups) + cpus->others);
    return fmin(fmin(1, cpus->ours / threads), fmax(fair, cpus->left / threads));
}

/* ---- a heap, the earliest on top ---- */

static int earlier(const struct pp_moment *x, const struct pp_moment *y)
{
    return x->at < y->at || (x->at == y->at && x->who < y->who);
}

static void push(struct pp_moment *heap, size_t *n, struct pp_moment m)
{
    size_t i = (*n)++;
    for (; i > 0 && earlier(&m, &heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = m;
}

static int pop(struct pp_moment *heap, size_t *n)
{
    int who = heap[0].who;
    struct pp_moment last = heap[--*n];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < *n) {
        child += child + 1 < *n && earlier(&heap[child + 1], &heap[child]);
        if (!earlier(&heap[child], &last))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    return who;
}

/* ---- agents ---- */

int pp_agents_init(struct pp_agents *a, int n, const struct pp_cpus *cpus)
{
    *a = (struct pp_agents){.cpus = *cpus,
                            .sleeping = calloc((size_t)n, sizeof(*a->sleeping)),
                            .running = calloc((size_t)n, sizeof(*a->running))};
    return a->sleeping && a->running;
}

void pp_agents_free(struct pp_agents *a)
{
    free(a->sleeping);
    free(a->running);
    a->sleeping = a->running = NULL;
}

void pp_agents_sleep(struct pp_agents *a, int who, double until)
{
    push(a->sleeping, &a->n_sleeping, (struct pp_moment){until, who});
}

void pp_agents_run(struct pp_agents *a, int who, double cpu_ns)
{
    push(a->running, &a->n_running, (struct pp_moment){a->service + fmax(cpu_ns, 0), who});
}

static void pass(struct pp_agents *a, double ns, double rate)
{
    double running = (double)a->n_running;
    a->now += ns;
    a->service += ns * rate;
    a->running_time += ns * running;
    a->cpu_used += ns * rate * running;
}

int pp_agents_next(struct pp_agents *a)
{
    double rate = a->n_running ? pp_cpus_rate(&a->cpus, a->n_running) : 1;
    double sleep_ns = a->n_sleeping ? fmax(a->sleeping[0].at - a->now, 0) : INFINITY;
    double run_ns = a->n_running ? fmax(a->running[0].at - a->service, 0) / rate : INFINITY;
    if (isinf(sleep_ns) && isinf(run_ns))
        return -1;
    pass(a, fmin(sleep_ns, run_ns), rate);
    return sleep_ns < run_ns ? pop(a->sleeping, &a->n_sleeping) : pop(a->running, &a->n_running);
}
