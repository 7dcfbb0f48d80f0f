#include "report/replay/ops.h"

#include "probe/base/err.h"
#include "probe/base/opts.h"
#include "probe/base/text.h"

#include <math.h>
#include <string.h>

enum { NAMED = 6, NAMES = 256 };
#define MOST_FREED 0.99 /* other processes keep a little of the CPUs */

static double part_of(double op, double all)
{
    return all > 0 ? fmin(op / all, 1) : 0;
}

void pp_op_scale(struct pp_knobs *k, const struct pp_costs *c, const struct pp_op *op, double factor)
{
    const struct pp_ops_loader *l = &c->ops.loaders[op->loader];
    double less = 1 - factor, n = l->n[op->of_batch], cpu = l->cpu[op->of_batch];
    if (!l->judged) {
        k->freed_cpus += less * l->cpus * part_of(op->cpu, l->cpu[0] + l->cpu[1]);
        return;
    }
    double on_cpu = 1 - less * part_of(op->cpu, cpu), blocked = 1 - less * part_of(op->n - op->cpu, n - cpu);
    *(op->of_batch ? &k->collate : &k->op_cpu) *= on_cpu;
    k->op_blocked *= op->of_batch ? 1 : blocked; /* what collating is blocked in is not replayed */
}

static pp_status refuse_name(const struct pp_costs *c, const char *name, size_t length, struct pp_err *err)
{
    char names[NAMES] = "";
    for (size_t i = 0; i < c->ops.n_ops && i < NAMED; i++)
        pp_text_add(names, sizeof(names), "%s%s", i ? ", " : "", c->ops.ops[i].word);
    return pp_fail(err, PP_E_USAGE, "there is no op '%.*s' in the recording; the largest are: %s",
                   (int)length, name, names);
}

pp_status pp_op_set(struct pp_knobs *k, const struct pp_costs *c, const char *text, struct pp_err *err)
{
    const char *colon = strrchr(text, ':');
    double factor;
    if (!c->ops.n_ops)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "op cannot be predicted: there are no Python stacks of workers in the recording");
    if (!colon || colon == text || pp_parse_double(colon + 1, &factor) != PP_OK || !(factor >= 0) ||
        factor > 1e3)
        return pp_fail(err, PP_E_USAGE, "'op=%s' is not valid; use op=NAME:FACTOR, a number from 0 on", text);
    const struct pp_op *op = pp_ops_find(&c->ops, text, (size_t)(colon - text));
    if (!op)
        return refuse_name(c, text, (size_t)(colon - text), err);
    pp_op_scale(k, c, op, factor);
    return PP_OK;
}

double pp_op_others_part(const struct pp_knobs *k, const struct pp_costs *c)
{
    double used = (c->outside_cpus >= 0 ? c->outside_cpus : 0) + c->helper_cpus;
    return used > 0 ? fmin(k->freed_cpus / used, MOST_FREED) : 0;
}
