#include "report/audit/audit.h"

#include "probe/base/text.h"

/* ---- fields ---- */

static const char *const kinds[] = {
#define CAUSE(...)
#define OR(...)
#define CONCLUSION(sym, code, ...) code,
#define NOTE(...)
#include "report/rules/audit.def"
#undef CAUSE
#undef OR
#undef CONCLUSION
#undef NOTE
    NULL};
#define F(member, unit, text, ...) PP_FIELD_AT(ROW, #member, member, unit, text, __VA_ARGS__)

#define ROW struct pp_audit_cause
static const struct pp_field cause_fields[] = {
    F(name, NONE, "of the finding: same-order, left-out, ...", .flags = PP_FIELD_ALWAYS),
    F(sentence, NONE, "the same in words"),
    F(fix, NONE, "what to do; null: nothing"),
    PP_FLAG_AT(ROW, "by_design", by_design, "the sampler does this on purpose: no finding"),
    F(ranks, NONE, "numbers of the ranks concerned: 0, 3-7; null: all or none in particular"),
    F(epochs, COUNT, "epochs with it"),
    F(first_epoch, COUNT, "the first of them"),
    F(samples, COUNT, "uses too many, or samples left out; null: none"),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_audit_epoch
static const struct pp_field epoch_fields[] = {
    F(epoch, COUNT, "its number"),
    PP_FLAG_AT(ROW, "whole", whole, "all ranks of the job have it from its start to its end"),
    F(ranks, COUNT, "ranks with a sample in it"),
    F(used, COUNT, "uses of samples, all ranks together"),
    F(distinct, COUNT, "different samples among them"),
    F(repeated, COUNT, "uses too many, without padding; null: with replacement"),
    F(padding, COUNT, "uses too many, by design: all ranks have as many"),
    F(taken_over, COUNT, "uses too many, by design: of leases taken over from a rank that died or left"),
    F(shards, COUNT, "leased shards with a use in it; null: there are no leases"),
    F(shards_left, COUNT, "leased shards without one; null: not a whole epoch, or no leases"),
    F(left_out, COUNT, "samples that no rank used, without dropped ones; null: not whole"),
    F(dropped, COUNT, "samples left out so that all batches are full; null: not a whole epoch"),
    F(least_used, COUNT, "uses of the rank with fewest; null: not a whole epoch"),
    F(most_used, COUNT, "uses of the rank with most; null: not a whole epoch"),
    PP_FIELDS_END,
};
#undef ROW

#define ROW struct pp_audit_example
static const struct pp_field example_fields[] = {
    F(sample, COUNT, "its number in the data set"),
    F(epoch, COUNT, "in which"),
    F(uses, COUNT, "how often it was used; 0: left out"),
    F(where, NONE, "ranks and their batches of the epoch, from 0"),
    PP_FIELDS_END,
};
#undef ROW

PP_VALUE_OF(schema, void, pp_value_text("pipeprobe.audit/1"))

#define ROW struct pp_audit
const struct pp_field pp_audit_fields[] = {
    PP_FIELD_MADE("schema", TEXT, schema, "name and version of this document", .flags = PP_FIELD_ALWAYS),
    PP_FIELD_AT(ROW, "kind", kind_name, NONE,
                "clean: each sample was used once per epoch, but for what the sampler does by design",
                .values = kinds, .flags = PP_FIELD_ALWAYS),
    F(sentence, NONE, "the same in words"),
    F(note, NONE, "what limits it"),
    F(ranks, COUNT, "ranks with a recording here"),
    F(world_size, COUNT, "ranks of the job"),
    F(missing_ranks, COUNT, "ranks of the job without a recording here"),
    F(samples, COUNT, "of the data set; null: not recorded"),
    F(used, COUNT, "uses of samples in all epochs"),
    F(whole_epochs, COUNT, "epochs that all ranks have from start to end"),
    F(scale, NUMBER, "1: counts are exact; else each counted sample stands for so many"),
    {"causes", PP_FIELD_ROWS, PP_ROWS_AT(ROW, causes, n_causes), .fields = cause_fields,
     .help = "what was found, and what is by design"},
    {"epochs", PP_FIELD_ROWS, PP_ROWS_AT(ROW, epochs, n_epochs), .fields = epoch_fields, .help = "by number"},
    {"examples", PP_FIELD_ROWS, PP_ROWS_IN(ROW, examples, n_examples), .fields = example_fields,
     .help = "samples that were used too often, or not at all"},
    PP_FIELDS_END,
};
#undef ROW

/* ---- text ---- */

enum { CELL = 32, SHOWN = 8 };

static int is_plain(const struct pp_audit_epoch *e)
{
    return e->whole && !(e->repeated > 0) && !(e->left_out > 0);
}

void pp_audit_text(const struct pp_audit *a, int all, FILE *out)
{
    char ranks[CELL], epochs[CELL], n[CELL];
    fprintf(out, "%s of %.0f, %s", pp_text_counted(ranks, CELL, a->ranks, "rank", "ranks"), a->world_size,
            pp_text_counted(epochs, CELL, (double)a->n_epochs, "epoch", "epochs"));
    if (!isnan(a->samples))
        fprintf(out, ", data set of %s", pp_text_counted(n, CELL, a->samples, "sample", "samples"));
    fprintf(out, "%s\n\n", a->scale > 1 ? " (estimates)" : "");
    /* Those with a finding first come first; without any, the first epochs. */
    size_t faulty = 0, shown = 0;
    for (size_t i = 0; i < a->n_epochs; i++)
        faulty += !is_plain(&a->epochs[i]);
    if (a->n_epochs)
        fprintf(out, "%6s %15s %15s %12s %12s %9s %9s\n", "epoch", "used", "different", "repeated",
                "left out", "padding", "dropped");
    for (size_t i = 0; i < a->n_epochs && (all || shown < SHOWN); i++) {
        const struct pp_audit_epoch *e = &a->epochs[i];
        if (!all && faulty && is_plain(e))
            continue;
        char cell[6][CELL];
        const double value[] = {e->used, e->distinct, e->repeated, e->left_out, e->padding, e->dropped};
        for (size_t k = 0; k < 6; k++)
            pp_text_count(cell[k], CELL, value[k]);
        fprintf(out, "%6.0f %15s %15s %12s %12s %9s %9s%s\n", e->epoch, cell[0], cell[1], cell[2], cell[3],
                cell[4], cell[5], e->whole ? "" : "  not whole");
        shown++;
    }
    if (shown < a->n_epochs)
        fprintf(out, "       ... and %zu more (--all)\n", a->n_epochs - shown);
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
