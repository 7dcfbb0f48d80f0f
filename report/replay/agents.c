#include "report/replay/replay_impl.h"

double pp_cpus_rate(const struct pp_cpus *cpus, double threads)
{
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
    *a = (struct pp_agents){.sleeping = calloc((size_t)n, sizeof(*a->sleeping)),
                            .running = calloc((size_t)n, sizeof(*a->running)),
                            .rate = calloc((size_t)n + 1, sizeof(*a->rate)),
                            .cpus = *cpus};
    for (int i = 0; a->rate && i <= n; i++)
        a->rate[i] = i ? pp_cpus_rate(cpus, (size_t)i) : 1;
    return a->sleeping && a->running && a->rate;
}

void pp_agents_free(struct pp_agents *a)
{
    free(a->sleeping);
    free(a->running);
    free(a->rate);
    *a = (struct pp_agents){0};
}

void pp_agents_sleep(struct pp_agents *a, int who, double until)
{
    push(a->sleeping, &a->n_sleeping, (struct pp_moment){until, who});
}

void pp_agents_run(struct pp_agents *a, int who, double cpu_ns)
{
    push(a->running, &a->n_running, (struct pp_moment){a->service + fmax(cpu_ns, 0), who});
}

int pp_agents_next(struct pp_agents *a)
{
    size_t n = a->n_running;
    double rate = n && a->beside > 0 ? pp_cpus_rate(&a->cpus, (double)n + a->beside) : a->rate[n], passed;
    double sleep_ns = a->n_sleeping ? a->sleeping[0].at - a->now : INFINITY;
    double run_ns = n ? (a->running[0].at - a->service) / rate : INFINITY;
    int wakes = (sleep_ns > 0 ? sleep_ns : 0) < (run_ns > 0 ? run_ns : 0);
    if (isinf(passed = wakes ? sleep_ns : run_ns))
        return -1;
    passed = passed > 0 ? passed : 0; /* a call of fmax costs a tenth of a replay */
    a->now += passed;
    a->service += passed * rate;
    a->running_time += passed * (double)n;
    a->cpu_used += passed * rate * (double)n;
    return wakes ? pop(a->sleeping, &a->n_sleeping) : pop(a->running, &a->n_running);
}
