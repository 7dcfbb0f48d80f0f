/* report/replay/agents.h: threads in simulated time, for the replay (replay.h). An agent sleeps until a known
 * moment, wants CPU time, or rests.
 *
 * CPU time is served by processor sharing: all who want some advance at the same rate, which depends on how
 * many they are. So an agent is done when the service that one thread gets, summed up since the beginning,
 * has grown by what it wanted; that sum is its key in one heap, the moment of waking the key of sleepers in
 * another (virtual time; Demers, Keshav, Shenker, "Analysis and simulation of a fair queueing algorithm",
 * SIGCOMM 1989). An event costs O(log n), however many sleep or run.
 *
 * No I/O, no clock, no randomness. What ends at the same moment ends in the order of agents. Times in ns. */
#ifndef PP_REPORT_REPLAY_AGENTS_H
#define PP_REPORT_REPLAY_AGENTS_H

#include <stddef.h>

/* The CPUs, and who wants them beside us: see pp_replay_setup. */
struct pp_cpus {
    double ours, machine, others, groups, left;
};
/* Of each of n runnable threads of ours, 0..1. */
double pp_cpus_rate(const struct pp_cpus *cpus, double threads);

struct pp_moment {
    double at;
    int who;
};

struct pp_agents {
    double now;
    double service; /* CPU ns that an agent has had that wanted them from the beginning */
    struct pp_moment *sleeping, *running; /* heaps */
    size_t n_sleeping, n_running;
    double *rate; /* pp_cpus_rate of each n, with none beside */
    struct pp_cpus cpus;
    double beside; /* threads without an agent that want CPUs as long as the one that they help runs */
    double cpu_used, running_time; /* of all agents: served, and from asking to being served */
};

/* For agents 0..n-1, all at rest at time 0. 0: no memory. Free with pp_agents_free in any case. */
int pp_agents_init(struct pp_agents *a, int n, const struct pp_cpus *cpus);
void pp_agents_free(struct pp_agents *a);
/* Of an agent at rest. A moment that has passed, or no CPU time, ends at once: at the next pp_agents_next. */
void pp_agents_sleep(struct pp_agents *a, int who, double until);
void pp_agents_run(struct pp_agents *a, int who, double cpu_ns);
/* Lets time pass until the next agent is done, which rests then; -1: all rest. */
int pp_agents_next(struct pp_agents *a);

#endif
