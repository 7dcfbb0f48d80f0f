#include "tests/support/fixing_page.h"

#include "report/verdict/verdict_rules.h"

#include <stdio.h>
#include <string.h>

/* In the order of the page. A rule with a new label needs a row here. */
static const struct {
    const char *l1, *l2, *symptom;
} symptoms[] = {
    {"loader", "under-parallel",
     "GPU utilisation is low, CPUs are idle, and each worker process is near 100 %. More `num_workers` helps."},
    {"loader", "in-trainer",
     "`num_workers=0`: the training process is at 100 % of one CPU, and the GPU idles while it loads."},
    {"loader", "oversubscribed",
     "The load average is far above the number of CPUs; throughput falls when `num_workers` grows."},
    {"loader", "pin-memory",
     "The thread `pt_data_pin` is at 100 % of a CPU, and more workers change nothing."},
    {"loader", "unpickle",
     "Batches of many small tensors; workers are idle, `in_order=False` and a larger `prefetch_factor` change nothing."},
    {"loader", "blocked", "Workers and CPUs are idle, and the disk is too."},
    {"loader", "prefetch",
     "Throughput is good on average, with pauses in which all workers wait for the disk."},
    {"loader", "straggler-sample",
     "One wait in some tens of batches is very long; the data set has a few very large images or records."},
    {"loader", "straggler-worker",
     "Waits come every W batches, W = `num_workers`, and always from the same worker."},
    {"loader", "lock",
     "More workers change nothing and CPUs are idle: threads hold the GIL, or share one file handle or a lock."},
    {"loader", "errors",
     "The log is full of warnings about files; some batches take as long as the retries."},
    {"loader", "lease-wait",
     "Fast ranks stand still at the end of every epoch, until the slowest has read its last shard."},
    {"loader", "epoch-drain", "The job stands still at the start of every epoch, then runs well."},
    {"loader", "warm-up", "Minutes pass before the first batch."},
    {"loader", NULL, "Workers are blocked, or wait for each other, without using a CPU or the disk."},

    {"storage", "latency",
     "Workers sleep in `read`, the disk is not busy. Network storage, object storage or a spinning disk."},
    {"storage", "bandwidth", "The disk or the network link is at its limit; more workers gain nothing."},
    {"storage", "iops-limit",
     "Small files on a cloud volume or in a container: reads per second stop at a round number, and none of them is slow by itself."},
    {"storage", "page-cache",
     "In a container with a memory limit: every epoch reads from the disk again, although the machine has memory to spare."},
    {"storage", "metadata", "Millions of small files; `open` and `stat` take longer than reading."},
    {"storage", "cold-cache", "The first epoch is slow and the later ones are fast."},
    {"storage", "major-faults",
     "`np.memmap` or mapped tokens on slow storage: workers are in state D, `vmstat` shows page-ins."},
    {"storage", "latency-tail", "Most reads are fast; a few take hundreds of times as long."},
    {"storage", "straggler-shard", "Some batches are always slow: one mount, one server, one shard."},
    {"storage", "in-flight",
     "A bucket or web server answers after tens of milliseconds; network, disk and CPUs are nearly idle."},
    {"storage", "small-objects",
     "A bucket with millions of small objects, read one by one, or with shards of a few megabytes."},
    {"storage", "stream-bandwidth",
     "Large objects: each connection is at its limit, and the network of the machine is not."},
    {"storage", "throttled", "The store answers 503 SlowDown or 429; the log is full of retries."},
    {"storage", "hot-prefix", "503 SlowDown, but for one directory of the bucket alone."},
    {"storage", "connections",
     "`ss -t` shows connections in TIME-WAIT by the thousand; the store is far away or speaks TLS."},
    {"storage", "dns", "Requests by IP address are fast, and by name slow."},
    {"storage", "slow-host", "One gateway or node of the store is slow; some workers are slow for minutes."},
    {"storage", "phase-change", "The job was fast for minutes or hours and then became slow."},
    {"storage", NULL,
     "Workers spend the stall in `read`, and the recording has too little for the kind of slowness."},

    {"transform", "cpu-saturated",
     "All CPUs are near 100 % in this job; `num_workers` is already at the number of CPUs."},
    {"transform", "cpu-contended", "CPUs are busy, a large part of it with other jobs of the machine."},
    {"transform", "cgroup-throttled",
     "In a container: `cpu.stat` counts throttled periods while the machine has idle CPUs."},
    {"transform", "augment", "All CPUs are busy, and the augmentations take longer than the decoding."},
    {"transform", "collate",
     "Large tensors: `torch.stack` and copies of the `collate_fn` are at the top of the profile."},
    {"transform", "gpu-decode",
     "Images are decoded on the GPU; workers wait for free slots, and the GPU waits for batches."},

    {"sync", "pageable", "`.to(device)` takes long and uses a CPU; `pin_memory` is not set."},
    {"sync", "serial-copy", "Copies and kernels take turns on the timeline."},
    {"sync", "h2d-bandwidth", "The PCIe link is at its limit: float32 images, large batches."},
    {"sync", "implicit-sync",
     "`.item()`, `.cpu()` or `print(loss)` in every step; the GPU idles between steps."},
    {"sync", "small-batch", "Many small kernels: GPU utilisation is low although data is there."},
    {"sync", "rank-straggler", "DDP: all ranks are as slow as one of them."},
    {"sync", "rank-imbalance", "DDP: `all_reduce` waits long, each time for another rank."},
    {"sync", NULL, "The trainer waits for copies or for other ranks, and the recording does not tell which."},
    {NULL, NULL, "Copies or device syncs take part of the stall, and GPU activity was not recorded."},
};

static int same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

const char *fixing_page_symptom(const char *l1, const char *l2)
{
    for (size_t i = 0; i < sizeof(symptoms) / sizeof(*symptoms); i++)
        if (same(symptoms[i].l1, l1) && same(symptoms[i].l2, l2))
            return symptoms[i].symptom;
    return NULL;
}

static int same_words(const struct pp_remedy *a, const struct pp_remedy *b)
{
    return same(a->pytorch, b->pytorch) && same(a->webdataset, b->webdataset) && same(a->dali, b->dali);
}

static void put_fix(FILE *out, const struct pp_remedy *r)
{
    const struct {
        const char *in, *words;
    } rows[] = {{"PyTorch", r->pytorch},
                {"WebDataset", r->webdataset},
                {"DALI", r->dali},
                {"pipeprobe run", r->pipeprobe}};
    fprintf(out, "- Do: %s\n", r->sentence);
    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++)
        if (rows[k].words)
            fprintf(out, "  - %s: %s\n", rows[k].in, rows[k].words);
    if (r->line)
        fprintf(out, "  - To paste: `%s`\n", r->line);
}

/* The remedies of all rules of that label, each change once. */
static void put_fixes(FILE *out, const char *l1, const char *l2)
{
    const struct {
        const struct pp_rule *rules;
        size_t n;
    } blocks[] = {{pp_cause_rules_replay, pp_cause_rules_replay_n},
                  {pp_cause_rules_shares, pp_cause_rules_shares_n},
                  {pp_outside_rules, pp_outside_rules_n},
                  {pp_trace_rules, pp_trace_rules_n}};
    const struct pp_remedy *told[16];
    size_t n = 0;
    for (size_t b = 0; b < sizeof(blocks) / sizeof(*blocks); b++)
        for (size_t i = 0; i < blocks[b].n; i++) {
            const struct pp_rule *rule = &blocks[b].rules[i];
            const struct pp_remedy *r = &pp_remedies[rule->remedy];
            size_t k = 0;
            if (!same(rule->l1, l1) || !same(rule->l2, l2))
                continue;
            while (k < n && !same_words(told[k], r))
                k++;
            if (k == n && n < sizeof(told) / sizeof(*told)) {
                told[n++] = r;
                put_fix(out, r);
            }
        }
}

char *fixing_page(void)
{
    char *page = NULL;
    size_t size;
    FILE *out = open_memstream(&page, &size);
    const char *class = "";
    if (!out)
        return NULL;
    fputs(
        "# Fixing a stall\n\n"
        "<!-- Generated from report/verdict/ and tests/support/fixing_page.c by `make golden`; edit those, not this page. -->\n\n"
        "Symptom, verdict, fix. A report gives the line with this recording's numbers and the gain to expect; here is the same change in each\n"
        "program. {name} stands for a value of the run. What each verdict rests on: [verdicts](../reference/verdicts.md); words:\n"
        "[glossary](../reference/glossary.md). To try a fix before writing it: [what-if and proof](whatif-and-prove.md).\n",
        out);
    for (size_t i = 0; i < sizeof(symptoms) / sizeof(*symptoms); i++) {
        const char *l1 = symptoms[i].l1 ? symptoms[i].l1 : "not measured", *l2 = symptoms[i].l2;
        if (strcmp(class, l1) != 0)
            fprintf(out, "\n## %s\n", l1);
        class = l1;
        fprintf(out, "\n### %s%s%s\n\n%s\n\n", l1, l2 ? " / " : ", no cause named", l2 ? l2 : "",
                symptoms[i].symptom);
        put_fixes(out, symptoms[i].l1, symptoms[i].l2);
    }
    if (fclose(out) != 0)
        return NULL;
    return page;
}
