#include "report/verdict/labels.h"

#include "report/rules/audit_rules.h"
#include "report/rules/finding_rules.h"
#include "report/rules/ranks_rules.h"
#include "report/rules/looks_rules.h"
#include "report/rules/resume_rules.h"
#include "report/verdict/verdict_rules.h"

#include <string.h>

const struct pp_label pp_labels[] = {
    {"storage", NULL, "Workers wait for reads.",
     "Workers spend the stall in `read`, and the recording has too little for the kind of slowness."},
    {"transform", NULL, "The workers' CPU work uses the CPUs that the run can get.",
     "Threads of the loader compute while training waits, and how busy the CPUs are was not recorded."},
    {"loader", NULL,
     "The loader's own arrangement holds batches back: workers, queues, order, locks, start-up.",
     "Workers are blocked, or wait for each other, without using a CPU or the disk."},
    {"sync", NULL, "The trainer waits for copies, for the device, or for other ranks.",
     "The trainer waits for copies or for other ranks, and the recording does not tell which."},
    {"storage", "latency",
     "Each read takes long, independent of its size, and more reads at a time would be answered as quickly.",
     "Workers sleep in `read`, the disk is not busy. Network storage, object storage or a spinning disk."},
    {"storage", "bandwidth",
     "All reads share one link, and the link is full; or a limit of bytes per second is reached.",
     "The disk or the network link is at its limit; more workers gain nothing."},
    {"storage", "iops-limit",
     "Storage completes a limited number of reads per second, independent of their size: a volume's IOPS, a limit of the control group.",
     "Small files on a cloud volume or in a container: reads per second stop at a round number, and none of them is slow by itself."},
    {"storage", "page-cache",
     "The memory limit of the control group leaves no room to keep the data in the page cache: every epoch reads it again.",
     "In a container with a memory limit: every epoch reads from the disk again, although the machine has memory to spare."},
    {"storage", "metadata", "Files are so small that opening one costs more than its bytes.",
     "Millions of small files; `open` and `stat` take longer than reading."},
    {"storage", "cold-cache",
     "Reads miss the page cache because the data is read for the first time; all of it fits into memory.",
     "The first epoch is slow and the later ones are fast."},
    {"storage", "major-faults", "The data file is mapped, and page faults read it a few pages at a time.",
     "`np.memmap` or mapped tokens on slow storage: workers are in state D, `vmstat` shows page-ins."},
    {"storage", "latency-tail",
     "A few reads take many times as long as the others, and batches wait for them.",
     "Most reads are fast; a few take hundreds of times as long."},
    {"storage", "straggler-shard", "One part of the data is much slower to read than the other parts.",
     "Some batches are always slow: one mount, one server, one shard."},
    {"storage", "phase-change", "Storage became slower during the run.",
     "The job was fast for minutes or hours and then became slow."},
    {"storage", "in-flight",
     "Requests to a remote storage wait for their first byte, and fewer are in flight than that latency takes (Little's law).",
     "A bucket or web server answers after tens of milliseconds; network, disk and CPUs are nearly idle."},
    {"storage", "small-objects",
     "Objects are so small that the latency of a request is the cost, and no reasonable number of requests in flight makes up for it; or streamed shards are, of which each takes requests before its first sample.",
     "A bucket with millions of small objects, read one by one, or with shards of a few megabytes."},
    {"storage", "stream-bandwidth",
     "The bytes of a request take most of its time: a connection has a bandwidth of its own, and there are too few connections.",
     "Large objects: each connection is at its limit, and the network of the machine is not."},
    {"storage", "throttled", "The store refuses requests (429, 503), and they are made again after a wait.",
     "The store answers 503 SlowDown or 429; the log is full of retries."},
    {"storage", "hot-prefix", "Refusals hit one prefix of the keys, and not the others.",
     "503 SlowDown, but for one directory of the bucket alone."},
    {"storage", "connections", "Requests open connections that could have been kept.",
     "`ss -t` shows connections in TIME-WAIT by the thousand; the store is far away or speaks TLS."},
    {"storage", "two-requests",
     "Each object is asked for twice: how large it is (HEAD), and then for its bytes.",
     "The server's log has as many HEAD as GET; a client that opens objects like files, or `download_file`."},
    {"storage", "dns", "Looking up the host name takes a large part of the requests' time.",
     "Requests by IP address are fast, and by name slow."},
    {"storage", "slow-host", "One of several hosts behind the name answers more slowly than the others.",
     "One gateway or node of the store is slow; some workers are slow for minutes."},
    {"transform", "cpu-saturated", "Decoding and transforming use all CPUs that the run can get.",
     "All CPUs are near 100 % in this job; `num_workers` is already at the number of CPUs."},
    {"transform", "cpu-contended", "Other processes use the CPUs that the workers or the trainer need.",
     "CPUs are busy, a large part of it with other jobs of the machine."},
    {"transform", "affinity",
     "The job or its workers are bound to fewer CPUs than there are for them, and wait for those.",
     "One CPU is at 100 % and the others are idle; `taskset -p PID` of a worker shows a mask of one CPU."},
    {"transform", "cgroup-throttled", "A CPU quota of the control group stops the run's threads.",
     "In a container: `cpu.stat` counts throttled periods while the machine has idle CPUs."},
    {"transform", "augment", "The transforms are most of the CPU work.",
     "All CPUs are busy, and the augmentations take longer than the decoding."},
    {"transform", "getitem", "The data set's own code for a sample is most of the CPU work.",
     "All CPUs are busy with Python: `py-spy top` shows a line of `__getitem__`."},
    {"transform", "per-sample",
     "Samples are so small that calling Python for each of them is most of the work.",
     "Tables and arrays in memory: a million samples a second would fit, and the loader gives fifty thousand."},
    {"transform", "collate", "Putting samples together into batches is most of the CPU work.",
     "Large tensors: `torch.stack` and copies of the `collate_fn` are at the top of the profile."},
    {"transform", "gpu-decode",
     "JPEG is decoded on the GPU (`--decode`), and its decoder makes batches more slowly than the steps need them.",
     "Images are decoded on the GPU; workers wait for free slots, and the GPU waits for batches."},
    {"loader", "under-parallel", "All workers are busy while CPUs are idle: there are too few workers.",
     "GPU utilisation is low, CPUs are idle, and each worker process is near 100 %. More `num_workers` helps."},
    {"loader", "worker-overhead",
     "Workers cost more than they save: samples are cheap, and batches have to be handed over.",
     "Small tensors in memory: the job is faster with `num_workers=0`."},
    {"loader", "iterator-per-step", "Every step makes a new iterator of the loader for one batch.",
     "`next(iter(loader))` in the loop: workers start and end with every step."},
    {"loader", "oversubscribed",
     "There are so many workers that they take the CPUs from each other or from the trainer.",
     "The load average is far above the number of CPUs; throughput falls when `num_workers` grows."},
    {"loader", "worker-threads",
     "Each worker has threads of its own that compute (OpenCV, OpenMP, FFmpeg), together far more than there are CPUs.",
     "Many threads per worker in `top -H`, high system time, and a warning of PyTorch at the start about too many workers."},
    {"loader", "pin-memory", "One thread copies all batches into pinned memory, and is as fast as it can be.",
     "The thread `pt_data_pin` is at 100 % of a CPU, and more workers change nothing."},
    {"loader", "unpickle",
     "Batches are there, and the training thread needs most of its wait to unpickle them and to map their tensors.",
     "Batches of many small tensors; workers are idle, `in_order=False` and a larger `prefetch_factor` change nothing."},
    {"loader", "blocked", "Workers wait in their own code for something that is no timed read.",
     "Workers and CPUs are idle, and the disk is too."},
    {"loader", "prefetch",
     "Storage is fast enough on average; the prefetch is too shallow to bridge its pauses.",
     "Throughput is good on average, with pauses in which all workers wait for the disk."},
    {"loader", "errors", "Workers retry failed reads and wait between the attempts.",
     "The log is full of warnings about files; some batches take as long as the retries."},
    {"loader", "lock", "Workers wait for a lock that they share while they make batches.",
     "More workers change nothing and CPUs are idle: threads hold the GIL, or share one file handle or a lock."},
    {"loader", "straggler-sample",
     "A few samples cost many times as much CPU time as the others, and the batches behind them wait.",
     "One wait in some tens of batches is very long; the data set has a few very large images or records."},
    {"loader", "straggler-worker",
     "One worker is slower than the others for every sample, and batches wait for it.",
     "Waits come every W batches, W = `num_workers`, and always from the same worker."},
    {"loader", "lease-wait",
     "The shards that are left of an epoch are with other ranks (`run --lease`), and this one has none.",
     "Fast ranks stand still at the end of every epoch, until the slowest has read its last shard."},
    {"loader", "epoch-drain", "The pipeline runs empty at the end of each epoch and fills again in the next.",
     "The job stands still at the start of every epoch, then runs well."},
    {"loader", "between-epochs",
     "A data set, sampler or loader is made anew between two epochs, while no batch is made.",
     "The training process is at 100 % of a CPU, or reads, between the epochs; the GPU idles meanwhile."},
    {"loader", "no-shard",
     "Workers of an iterable data set have no part of the data, or have ended theirs, while others are busy.",
     "More `num_workers` change nothing: one file, or fewer shards than workers; some worker processes use no CPU."},
    {"loader", "view-of-storage",
     "Workers hand over whole storages, of which the batch's tensors are small views.",
     "Few frames or columns of a large tensor are kept; `/dev/shm` fills up, and workers wait while the trainer does."},
    {"loader", "sampler-draw",
     "The sampler draws the order of an epoch in the training thread, which waits for it before the first batch.",
     "A pause before every epoch that grows with the data set, while the workers are idle: weights, `randperm().tolist()`, sorting by length."},
    {"loader", "in-trainer",
     "The trainer's own thread makes the batches (`num_workers=0`), so nothing is prepared during a step.",
     "`num_workers=0`: the training process is at 100 % of one CPU, and the GPU idles while it loads."},
    {"loader", "warm-up", "A large part of the run passes before its first batch.",
     "Minutes pass before the first batch."},
    {"sync", "pageable", "Batches are copied from pageable memory, so a CPU moves the bytes.",
     "`.to(device)` takes long and uses a CPU; `pin_memory` is not set."},
    {"sync", "serial-copy", "Copies and steps take turns instead of overlapping.",
     "Copies and kernels take turns on the timeline."},
    {"sync", "h2d-bandwidth", "The link to the device has no more bandwidth to give.",
     "The PCIe link is at its limit: float32 images, large batches."},
    {"sync", "implicit-sync", "The trainer waits in every step until the device has caught up.",
     "`.item()`, `.cpu()` or `print(loss)` in every step; the GPU idles between steps."},
    {"sync", "small-batch", "Steps are so short that launching them takes a noticeable part of the time.",
     "Many small kernels: GPU utilisation is low although data is there."},
    {"sync", "rank-straggler", "One rank is the slowest in most steps, and all others wait for it.",
     "DDP: all ranks are as slow as one of them."},
    {"sync", "rank-imbalance", "In every step some rank is slow, but not always the same one.",
     "DDP: `all_reduce` waits long, each time for another rank."},
    {NULL, NULL,
     "Copies or device synchronisation may be the cause; what the GPU did is needed to tell, and does not decide.",
     "Copies or device syncs take part of the stall, and GPU activity was not recorded."},
};
const size_t pp_labels_n = sizeof(pp_labels) / sizeof(*pp_labels);

static int same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

const struct pp_label *pp_label_find(const char *l1, const char *l2)
{
    for (size_t i = 0; i < pp_labels_n; i++)
        if (same(pp_labels[i].l1, l1) && same(pp_labels[i].l2, l2))
            return &pp_labels[i];
    return NULL;
}

int pp_rule_is_of(const struct pp_rule *rules, size_t i, const char *l1, const char *l2)
{
    while (i > 0 && !rules[i].l1 && !rules[i].l2 && rules[0].meaning)
        i--;
    return same(rules[i].l1, l1) && same(rules[i].l2, l2);
}

const struct pp_rule_set *pp_rule_sets(size_t *n)
{
    static struct pp_rule_set sets[] = {
        {"replay", "by the GPU's own records, or by the replay", pp_metric_facts, PP_METRIC_COUNT,
         pp_cause_rules_replay, 0},
        {"shares", "by the phase that owns the stalls, and its shares of time", pp_metric_facts,
         PP_METRIC_COUNT, pp_cause_rules_shares, 0},
        {"threads",
         "by what the job's threads do in the stalls: where no span tells what makes the batches, or where spans say blocked and threads compute",
         pp_metric_facts, PP_METRIC_COUNT, pp_cause_rules_threads, 0},
        {"outside",
         "outside the steady state; asked when it is not input-bound, or when epoch boundaries take more than its waits",
         pp_metric_facts, PP_METRIC_COUNT, pp_outside_rules, 0},
        {"trace", "of a trace that another profiler wrote (`pipeprobe import`), in place of the others",
         pp_metric_facts, PP_METRIC_COUNT, pp_trace_rules, 0},
        {"finding", "besides the wait of the steady state; changes no verdict", pp_finding_facts,
         PP_FINDING_FACTS, pp_finding_rules, 0},
        {"audit", "of `pipeprobe ranks --audit`", pp_audit_facts, PP_AUDIT_FACT_COUNT, pp_audit_rules, 0},
        {"ranks", "of `pipeprobe ranks`", pp_ranks_facts, PP_RANKS_FACT_COUNT, pp_ranks_rules, 0},
        {"looks", "of a job that `pipeprobe attach` looks at from outside; the first that holds",
         pp_looks_facts, PP_LOOKS_FACT_COUNT, pp_looks_rules, 0},
        {"resume", "of `pipeprobe resume-test`", pp_resume_facts, PP_RESUME_FACT_COUNT, pp_resume_rules, 0},
    };
    const size_t counts[] = {pp_cause_rules_replay_n, pp_cause_rules_shares_n, pp_cause_rules_threads_n,
                             pp_outside_rules_n,      pp_trace_rules_n,        pp_finding_rules_n,
                             pp_audit_rules_n,        pp_ranks_rules_n,        pp_looks_rules_n,
                             pp_resume_rules_n};
    *n = sizeof(sets) / sizeof(*sets);
    for (size_t i = 0; i < *n; i++)
        sets[i].n_rules = counts[i];
    return sets;
}
