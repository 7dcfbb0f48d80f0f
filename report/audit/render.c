#include "probe/base/text.h"
#include "report/audit/audit.h"

#include <math.h>

enum { CELL = 32, SHOWN = 8 };

int pp_audit_json(const struct pp_audit *a, FILE *out)
{
    return pp_fields_json(pp_audit_fields, a, out);
}

static int is_plain(const struct pp_audit_epoch *e)
{
    return e->whole && !(e->repeated > 0) && !(e->left_out > 0);
}

static void put_epoch(const struct pp_audit_epoch *e, FILE *out)
{
    char cell[6][CELL];
    const double value[] = {e->used, e->distinct, e->repeated, e->left_out, e->padding, e->dropped};
    for (size_t i = 0; i < 6; i++)
        pp_text_count(cell[i], CELL, value[i]);
    fprintf(out, "%6.0f %15s %15s %12s %12s %9s %9s%s\n", e->epoch, cell[0], cell[1], cell[2], cell[3],
            cell[4], cell[5], e->whole ? "" : "  not whole");
}

/* Those with a finding first come first; without any, the first epochs. */
static void put_epochs(const struct pp_audit *a, int all, FILE *out)
{
    size_t faulty = 0, shown = 0;
    for (size_t i = 0; i < a->n_epochs; i++)
        faulty += !is_plain(&a->epochs[i]);
    fprintf(out, "%6s %15s %15s %12s %12s %9s %9s\n", "epoch", "used", "different", "repeated", "left out",
            "padding", "dropped");
    for (size_t i = 0; i < a->n_epochs && (all || shown < SHOWN); i++)
        if (all || !faulty || !is_plain(&a->epochs[i])) {
            put_epoch(&a->epochs[i], out);
            shown++;
        }
    if (shown < a->n_epochs)
        fprintf(out, "       ... and %zu more (--all)\n", a->n_epochs - shown);
}

void pp_audit_text(const struct pp_audit *a, int all, FILE *out)
{
    char ranks[CELL], epochs[CELL], n[CELL];
    fprintf(out, "%s of %.0f, %s", pp_text_counted(ranks, CELL, a->ranks, "rank", "ranks"), a->world_size,
            pp_text_counted(epochs, CELL, (double)a->n_epochs, "epoch", "epochs"));
    if (!isnan(a->samples))
        fprintf(out, ", data set of %s", pp_text_counted(n, CELL, a->samples, "sample", "samples"));
    fprintf(out, "%s\n\n", a->scale > 1 ? " (estimates)" : "");
    if (a->n_epochs)
        put_epochs(a, all, out);
    fprintf(out, "\n%s\n", a->sentence);
    for (size_t i = 0; i < a->n_causes; i++) {
        const struct pp_audit_cause *c = &a->causes[i];
        fprintf(out, "%-15s %s\n", c->name, c->sentence);
        if (c->fix)
            fprintf(out, "%-15s %s\n", "", c->fix);
    }
    for (size_t i = 0; i < a->n_examples; i++) {
        const struct pp_audit_example *e = &a->examples[i];
        double shard = a->leased ? floor(e->sample / PP_AUDIT_SHARD) : NAN;
        fprintf(out, "%-15s sample %.0f", "example",
                a->leased ? e->sample - shard * PP_AUDIT_SHARD : e->sample);
        if (a->leased)
            fprintf(out, " of shard %.0f", shard);
        fprintf(out, ", epoch %.0f: %s\n", e->epoch, e->uses > 0 ? e->where : "used by no rank");
    }
    if (a->note)
        fprintf(out, "%-15s %s\n", "note", a->note);
}
