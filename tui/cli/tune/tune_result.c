#include "tui/cli/tune/tune.h"
#include "collectors/store/amend.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "report/stats/order.h"

#define WORTH_SAYING 0.03
#define DRIFT_WORTH_SAYING 0.05

/* ---- adding up ---- */

pp_status tune_sum_up(struct tune_session *s, struct pp_err *err)
{
    struct tune_sample *all = calloc((size_t)s->candidates + 1, sizeof(*all));
    double most = WORTH_SAYING;
    s->best = -1;
    if (all) {
        all[0] = s->base;
        for (int i = 0; i < s->candidates; i++)
            all[i + 1] = s->candidate[i].sample;
        s->spread = tune_spread(all, (size_t)s->candidates + 1, &s->freedom);
    }
    free(all);
    for (int i = 0; i < s->candidates; i++) {
        struct tune_candidate *c = &s->candidate[i];
        c->measured = tune_gain_of(&s->base, &c->sample, s->spread, s->freedom);
        if (c->measured.low > 0 && c->measured.gain > most) {
            most = c->measured.gain;
            s->best = i;
        }
    }
    struct pp_proof_row rows[TUNE_CANDIDATES_MAX];
    char value[TUNE_CANDIDATES_MAX][TUNE_TEXT];
    size_t n = 0;
    for (int i = 0; i < s->candidates; i++) {
        const struct tune_candidate *c = &s->candidate[i];
        double base = s->baseline.rate;
        if (!c->sample.n || isnan(c->predicted.gain))
            continue;
        /* "num_workers" to "8"; several arguments are the DataLoader's. */
        int key = -1, changed = 0;
        for (int k = 0; k < PP_KNOBS_TUNED; k++)
            if (c->set.value[k] >= 0)
                key = k, changed++;
        if (changed == 1)
            tune_value(key, c->set.value[key], value[n], TUNE_TEXT);
        else
            snprintf(value[n], TUNE_TEXT, "%s", c->words);
        struct pp_proof_row *row = &rows[n];
        *row = (struct pp_proof_row){.kind = "fix",
                                     .change = changed == 1 ? pp_knob_rows[key].name : "DataLoader",
                                     .value = value[n],
                                     .base = base,
                                     .predicted = base * (1 + c->predicted.gain),
                                     .predicted_low = base * (1 + c->predicted.low),
                                     .predicted_high = base * (1 + c->predicted.high),
                                     .measured = tune_median(&c->sample),
                                     .rounds = c->sample.n,
                                     .ballast_cpus = NAN,
                                     .recording = c->recording};
        tune_range(&c->sample, &row->measured_low, &row->measured_high);
        n++;
    }
    return n ? pp_proof_write(s->baseline.path, rows, n, err) : PP_OK;
}

/* ---- words ---- */

char *tune_percent(const struct tune_gain *g, char *text, size_t size)
{
    if (isnan(g->gain))
        snprintf(text, size, "not known");
    else
        pp_text_gain(text, size, g->gain, g->low, g->high);
    return text;
}

/* "DataLoader(..., num_workers=8)", with what the job sets besides. */
static char *line_of(const struct tune_session *s, const struct tune_candidate *c, char text[2 * TUNE_TEXT])
{
    struct tune_set set = c->set;
    char arguments[TUNE_TEXT];
    for (int k = 0; k < PP_KNOBS_TUNED; k++)
        if (set.value[k] < 0 && s->loader->value[k] != pp_knob_rows[k].usual)
            set.value[k] = s->loader->value[k];
    snprintf(text, 2 * TUNE_TEXT, "DataLoader(..., %s)", tune_set_text(&set, TUNE_ARGUMENTS, arguments));
    return text;
}

char *tune_loader_text(const struct tune_session *s, char *text, size_t size)
{
    static const char *const ordinals[] = {"first", "second", "third"}, *const ends[] = {"st", "nd", "rd"};
    const struct tune_loader *l = s->loader;
    char samples[48] = "", place[16], batch[48] = "";
    char *plain = pp_text_plain(l->dataset);
    if (l->samples > 0)
        snprintf(samples, sizeof(samples), " of %.0f samples", l->samples);
    if (l->batch > 0)
        snprintf(batch, sizeof(batch), "batch_size=%ld, ", l->batch);
    /* "first", "second", "third", "4th" */
    unsigned made = l->made + 1, last = made % 100 / 10 == 1 ? 0 : made % 10;
    if (made <= 3)
        snprintf(place, sizeof(place), "%s", ordinals[made - 1]);
    else
        snprintf(place, sizeof(place), "%u%s", made, last >= 1 && last <= 3 ? ends[last - 1] : "th");
    int n = snprintf(text, size, "%s%s, %s, %snum_workers=%d", plain ? plain : "?", samples, l->order, batch,
                     l->value[PP_KNOB_NUM_WORKERS]);
    if (n > 0 && (size_t)n < size && s->baseline.loaders.made > 1)
        snprintf(text + n, size - (size_t)n,
                 l->count > 1 ? " (made %s of %zu, and %u more like it)" : " (made %s of %zu)", place,
                 s->baseline.loaders.made, l->count - 1);
    free(plain);
    return text;
}

/* ---- text ---- */

static void print_candidate(const struct tune_candidate *c, FILE *out)
{
    char measured[64], predicted[64], rate[32];
    fprintf(out, "  %s: ", c->words);
    if (!c->sample.n)
        fprintf(out, "predicted %s, not measured: %s\n",
                tune_percent(&c->predicted, predicted, sizeof(predicted)), c->why);
    else
        fprintf(out, "measured %s, predicted %s; %s samples/s\n",
                tune_percent(&c->measured, measured, sizeof(measured)),
                tune_percent(&c->predicted, predicted, sizeof(predicted)),
                pp_text_rate(rate, sizeof(rate), tune_median(&c->sample)));
    if (c->sample.n && c->why[0])
        fprintf(out, "    %zu run%s measured; another was not: %s\n", c->sample.n,
                c->sample.n == 1 ? "" : "s", c->why);
    if (c->left[0])
        fprintf(out, "    not applied: %s\n", c->left);
}

void tune_print(const struct tune_session *s, FILE *out)
{
    char text[512], line[2 * TUNE_TEXT];
    char *dir = pp_text_plain(s->job.dir);
    fprintf(out, "Loader:    %s\n", tune_loader_text(s, text, sizeof(text)));
    /* How far equal runs were apart. */
    char rate[32], least_text[32], most_text[32];
    double least, most;
    tune_range(&s->base, &least, &most);
    fprintf(out, "Baseline:  %s samples/s", pp_text_rate(rate, sizeof(rate), tune_median(&s->base)));
    if (s->base.n > 1)
        fprintf(out, " (%zu runs, %s to %s)", s->base.n, pp_text_rate(least_text, sizeof(least_text), least),
                pp_text_rate(most_text, sizeof(most_text), most));
    else
        fputs(s->candidates ? " (one run: the noise between runs is not known)" : " (one run)", out);
    fputc('\n', out);
    double drift = most / least - 1;
    if (s->base.n > 1 && drift > DRIFT_WORTH_SAYING)
        fprintf(
            out,
            "           The same job differed by %.0f %% from run to run. Use an idle machine, --repeats or a "
            "longer --proof-duration.\n",
            100 * drift);
    if (s->candidates)
        fprintf(
            out,
            "Measured against the baseline, with the DataLoader's arguments changed (80 %% intervals):\n");
    for (int i = 0; i < s->candidates; i++)
        print_candidate(&s->candidate[i], out);
    if (!s->candidates && s->asked) {
        fputs("Nothing to prove: no change that was asked for can be made to this DataLoader.\n", out);
    } else if (!s->candidates && s->is_other) {
        fputs(
            "Nothing to prove: the predictions are about the DataLoader that the job waits for, not about this "
            "one; give changes of it with --try.\n",
            out);
    } else if (!s->candidates) { /* what there is to gain is in no argument: what the report says */
        fprintf(out, "Nothing to prove: %s.\nVerdict:   %s\n",
                s->left_out[0] ? s->left_out : "no argument of this DataLoader is predicted to gain 3 %",
                s->verdict);
        if (s->advice[0])
            fprintf(out, "Do:        %s\n", s->advice);
        if (s->advice_gain[0])
            fprintf(out, "Gain:      %s\n", s->advice_gain);
    } else if (s->best < 0) {
        fputs("Paste:     nothing: no change gains 3 % beyond the noise\n", out);
    } else {
        fprintf(out, "Paste:     %s\n", line_of(s, &s->candidate[s->best], line));
    }
    fprintf(out, "Files:     %s\n", dir ? dir : "?");
    free(dir);
}

void tune_print_md(const struct tune_session *s, FILE *out)
{
    char measured[64], predicted[64], rate[32], line[2 * TUNE_TEXT];
    fprintf(out,
            "**pipeprobe tune**\n\n| arguments | samples/s | measured | predicted |\n|---|--:|--:|--:|\n"
            "| as they are | %s | | |\n",
            pp_text_rate(rate, sizeof(rate), tune_median(&s->base)));
    for (int i = 0; i < s->candidates; i++) {
        const struct tune_candidate *c = &s->candidate[i];
        fprintf(out, "| `%s` | %s | %s | %s |\n", c->words,
                pp_text_rate(rate, sizeof(rate), c->sample.n ? tune_median(&c->sample) : NAN),
                tune_percent(&c->measured, measured, sizeof(measured)),
                tune_percent(&c->predicted, predicted, sizeof(predicted)));
    }
    if (s->best >= 0)
        fprintf(out, "\nPaste: `%s`\n", line_of(s, &s->candidate[s->best], line));
    else
        fputs("\nNo argument of the DataLoader gains 3 % beyond the noise.\n", out);
}

/* ---- JSON ---- */

void tune_put_gain(struct pp_json *j, const char *key, const struct tune_gain *g)
{
    pp_json_put_object(j, key);
    pp_json_put_num(j, "gain", g->gain);
    pp_json_put_num(j, "low", g->low);
    pp_json_put_num(j, "high", g->high);
    pp_json_object_end(j);
}

static void put_rates(struct pp_json *j, const struct tune_sample *s)
{
    pp_json_put_num(j, "samples_per_s", s->n ? tune_median(s) : NAN);
    pp_json_put_array(j, "runs_samples_per_s");
    for (size_t i = 0; i < s->n; i++)
        pp_json_num(j, s->rate[i]);
    pp_json_array_end(j);
}

static void put_set(struct pp_json *j, const char *key, const int value[PP_KNOBS_TUNED])
{
    pp_json_put_object(j, key);
    for (int k = 0; k < PP_KNOBS_TUNED; k++) {
        if (value[k] < 0)
            continue;
        pp_json_key(j, pp_knob_rows[k].name);
        if (pp_knob_rows[k].kind == PP_KNOB_SWITCH)
            pp_json_bool(j, value[k]);
        else
            pp_json_int(j, value[k]);
    }
    pp_json_object_end(j);
}

void tune_print_json(const struct tune_session *s, FILE *out)
{
    struct pp_json j;
    char line[2 * TUNE_TEXT];
    pp_json_begin(&j, out, 2);
    pp_json_object(&j);
    pp_json_put_str(&j, "schema", "pipeprobe.tune/1");
    pp_json_put_str(&j, "directory", s->job.dir);
    pp_json_put_str(&j, "verdict", s->verdict);
    pp_json_put_str(&j, "next_step", s->advice[0] ? s->advice : NULL);
    pp_json_put_str(&j, "next_step_gain", s->advice_gain[0] ? s->advice_gain : NULL);
    pp_json_put_str(&j, "left_out", s->left_out[0] ? s->left_out : NULL);
    pp_json_put_object(&j, "loader");
    pp_json_put_int(&j, "made", s->loader->made + 1);
    pp_json_put_uint(&j, "loaders_made", s->baseline.loaders.made);
    pp_json_put_str(&j, "dataset", s->loader->dataset);
    pp_json_put_num(&j, "batch_size", s->loader->batch > 0 ? (double)s->loader->batch : NAN);
    put_set(&j, "arguments", s->loader->value);
    pp_json_object_end(&j);
    pp_json_put_object(&j, "baseline");
    put_rates(&j, &s->base);
    pp_json_put_str(&j, "recording", s->baseline.path);
    pp_json_put_num(&j, "relative_spread", s->spread);
    pp_json_object_end(&j);
    pp_json_put_array(&j, "candidates");
    for (int i = 0; i < s->candidates; i++) {
        const struct tune_candidate *c = &s->candidate[i];
        pp_json_object(&j);
        put_set(&j, "set", c->set.value);
        tune_put_gain(&j, "predicted", &c->predicted);
        tune_put_gain(&j, "measured", &c->measured);
        put_rates(&j, &c->sample);
        pp_json_put_str(&j, "not_measured", c->why[0] ? c->why : NULL);
        pp_json_put_str(&j, "not_applied", c->left[0] ? c->left : NULL);
        pp_json_put_str(&j, "recording", c->recording[0] ? c->recording : NULL);
        pp_json_object_end(&j);
    }
    pp_json_array_end(&j);
    pp_json_put_str(&j, "python", s->best >= 0 ? line_of(s, &s->candidate[s->best], line) : NULL);
    pp_json_object_end(&j);
    pp_json_end(&j);
}

/* Student's t and the normal distribution, quantile 0.9: two-sided 80 %. Abramowitz and Stegun, table 26.10.
 */
static const double t90[] = {NAN,   3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415,
                             1.397, 1.383, 1.372, 1.363, 1.356, 1.350, 1.345, 1.341};
enum { T_ROWS = sizeof(t90) / sizeof(*t90) };
static const double z90 = 1.2816;

static double mean_log(const struct tune_sample *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        sum += log(s->rate[i]);
    return s->n ? sum / (double)s->n : NAN;
}

double tune_spread(const struct tune_sample *samples, size_t n, size_t *freedom)
{
    double squares = 0;
    *freedom = 0;
    for (size_t i = 0; i < n; i++) {
        double mean = mean_log(&samples[i]);
        for (size_t k = 0; k < samples[i].n; k++)
            squares += pow(log(samples[i].rate[k]) - mean, 2);
        *freedom += samples[i].n ? samples[i].n - 1 : 0;
    }
    return *freedom ? sqrt(squares / (double)*freedom) : NAN;
}

struct tune_gain tune_gain_of(const struct tune_sample *base, const struct tune_sample *changed,
                              double spread, size_t freedom)
{
    struct tune_gain g = {NAN, NAN, NAN};
    if (!base->n || !changed->n)
        return g;
    double estimate = mean_log(changed) - mean_log(base);
    double between = freedom ? (freedom < T_ROWS ? t90[freedom] : z90) * spread *
                                   sqrt(1.0 / (double)base->n + 1.0 / (double)changed->n)
                             : 0;
    double within = 0; /* the variance of both means, as far as the runs know it themselves */
    for (int side = 0; side < 2; side++) {
        const struct tune_sample *s = side ? changed : base;
        double sum = 0;
        for (size_t i = 0; i < s->n; i++)
            sum += isnan(s->noise[i]) ? 0 : s->noise[i] * s->noise[i];
        within += sum / (double)(s->n * s->n);
    }
    double half = fmax(between, z90 * sqrt(within));
    g.gain = exp(estimate) - 1;
    if (half > 0) {
        g.low = exp(estimate - half) - 1;
        g.high = exp(estimate + half) - 1;
    }
    return g;
}

double tune_median(const struct tune_sample *s)
{
    return pp_stats_median(s->rate, s->n);
}

void tune_range(const struct tune_sample *s, double *least, double *most)
{
    *least = *most = NAN;
    for (size_t i = 0; i < s->n && s->n > 1; i++) {
        *least = isnan(*least) || s->rate[i] < *least ? s->rate[i] : *least;
        *most = isnan(*most) || s->rate[i] > *most ? s->rate[i] : *most;
    }
}
