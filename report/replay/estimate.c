#include "report/replay/whatif.h"

#include "probe/base/err.h"

/* Share of the trainer's time that may go on waiting for data: a wait that no report would mention */
#define KEEPS_UP 0.02
enum { TRIES = 6, MOST_WORKERS = 256 };

/* The tightest of what bounds the throughput however many workers there are. */
static void find_most(const struct pp_demand *d, struct pp_estimate *out)
{
    const struct {
        const char *name;
        double per_s;
    } bound[] = {
        {"the CPUs", d->setup.cpus * 1e9 / d->cpu_ns},
        {"the copies to the device", d->copy_ns > 0 ? out->batch_size * 1e9 / d->copy_ns : INFINITY},
        {"the storage's bandwidth", d->setup.storage_bytes_per_s > 0 && d->bytes > 0
                                        ? d->setup.storage_bytes_per_s / d->bytes
                                        : INFINITY},
        {"the storage's reads per second", d->setup.storage_reads_per_s > 0 && d->reads > 0
                                               ? d->setup.storage_reads_per_s / d->reads
                                               : INFINITY},
        {"the GPU's JPEG decoder", d->on_device > 0 ? d->setup.decoder_per_s / d->on_device : INFINITY},
        {"a lock that the workers share", d->serial_ns > 0 ? 1e9 / d->serial_ns : INFINITY},
        {"the one reader of the stream", d->reader_ns > 0 ? 1e9 / d->reader_ns : INFINITY},
    };
    out->most_per_s = INFINITY;
    for (size_t i = 0; i < sizeof(bound) / sizeof(*bound); i++)
        if (bound[i].per_s < out->most_per_s) {
            out->most_per_s = bound[i].per_s;
            out->most_of = bound[i].name;
        }
}

pp_status pp_estimate(const struct pp_costs *recorded, const struct pp_knobs *knobs, double step_ns,
                      struct pp_estimate *out, struct pp_err *err)
{
    /* the trainer is the step that was asked about, and what the recorded one did besides is no part of it */
    struct pp_costs own = *recorded, *c = &own;
    struct pp_knobs k = *knobs;
    struct pp_demand d;
    if (!(step_ns > 0) || !isfinite(step_ns))
        return pp_fail(err, PP_E_USAGE, "an estimate needs the length of a step, in ms and above 0");
    own.others_part = 0;
    own.trainer_rest_ns = own.fetch_cpu_ns = own.fetch_blocked_ns = own.gpu_busy_ns = 0;
    own.samples_per_s /= 1 - fmin(own.apart_ns * own.samples_per_s / own.batch_size / 1e9, 0.9);
    own.apart_ns = 0;
    if (own.drains) { /* nor is what it did between epochs */
        double epoch_ns = (double)own.epoch_samples * 1e9 / own.samples_per_s;
        own.drains = 0;
        own.base = NULL; /* those are replays of whole epochs */
        own.samples_per_s *= epoch_ns / fmax(epoch_ns - own.epoch_gap_ns, 0.1 * epoch_ns);
    }
    k.step_ns = step_ns;
    pp_whatif_demand(c, &k, &d);
    double batch = (double)d.setup.batch_size, rate = batch * 1e9 / step_ns;
    *out = (struct pp_estimate){
        .step_ns = step_ns,
        .batch_size = batch,
        .samples_per_s = rate,
        .bytes_per_s = rate * d.bytes,
        .read_bytes = d.bytes,
        .read_blocked_ns = d.read_blocked_ns,
        .cpu_ns = d.cpu_ns,
        .cores = rate * d.cpu_ns / 1e9,
        .usable_cores = d.setup.cpus,
        .reads_waiting = rate * d.read_blocked_ns / 1e9,
        .busy_workers = rate * d.worker_ns / 1e9,
        .copy_share = d.copy_ns / step_ns,
    };
    find_most(&d, out);
    /* As many workers as are busy on average would have to be busy all the time; more is found by trying. */
    pp_status st = PP_OK;
    double got, wait = 1, least = fmax(ceil(out->busy_workers - 1e-9), 1);
    if (out->most_per_s < rate || least > MOST_WORKERS)
        return PP_OK; /* no number of them will do */
    for (int i = 0; i < TRIES && wait > KEEPS_UP && st == PP_OK; i++) {
        k.workers = (int)(i < 3 ? least + i : ceil(least * (1 + 0.25 * (i - 1))));
        st = pp_whatif_rate(c, &k, &got, &wait, err);
    }
    out->workers = k.workers;
    return st == PP_OK ? pp_whatif(c, &k, &out->with_workers, err) : st;
}
