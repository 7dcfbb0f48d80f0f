#include "report/resume/resume.h"

static const char *const kinds[] = {
#define CULPRIT(...)
#define OR(...)
#define CONCLUSION(sym, code, ...) code,
#include "report/rules/resume.def"
    NULL};
static const char *const confidences[] = {"facts", "pattern", NULL};
#define F(member, unit, text, ...) PP_FIELD_AT(ROW, #member, member, unit, text, __VA_ARGS__)

#define ROW struct pp_resume_answer
static const struct pp_field answer_fields[] = {
    F(name, NONE, "of the kill", .flags = PP_FIELD_ALWAYS),
    F(kill, NONE, "where the job was killed, and how; null: not known"),
    PP_FIELD_AT(ROW, "kind", kind_name, NONE,
                "exact: the resumed run goes on with the samples that it would have had", .values = kinds,
                .flags = PP_FIELD_ALWAYS),
    F(sentence, NONE, "the same in words"),
    F(resume, COUNT, "which start of the job it is about: 1 is the first resumed one"),
    F(killed_at, COUNT, "batches of the uninterrupted run that the start before had done"),
    F(resumed_at, COUNT, "batches of it that counted: those behind the checkpoint are done again"),
    F(compared, COUNT, "batches that the resumed and the uninterrupted run both have"),
    F(epochs_behind, COUNT, "epochs behind the resumed one among them"),
    PP_FLAG_AT(
        ROW, "older_checkpoint", older,
        "killed in or at once behind a save, or saved by another thread: it went on from an older state"),
    F(first, COUNT, "first batch of the uninterrupted run that differs, from 0; null: none"),
    F(first_epoch, COUNT, "its epoch"),
    F(first_in_epoch, COUNT, "its place in it"),
    F(rank, COUNT, "the rank on which it differs"),
    F(repeated, COUNT, "samples used more often than in the uninterrupted run, all ranks together"),
    F(left_out, COUNT, "samples used less often"),
    F(counted_to, COUNT,
      "behind so many batches of the uninterrupted run counting ends: with the last epoch that both have whole"),
    F(culprit, NONE, "why: restarted, sampler-epoch, ...; null: nothing differs"),
    F(culprit_sentence, NONE, "the same in words"),
    F(confidence, NONE, "facts: what the job's objects held says so; pattern: the samples alone do",
      .values = confidences),
    F(evidence, NONE, "these facts; null: none was recorded"),
    F(line, NONE, "FILE:LINE of the job at which the loader was iterated"),
    F(fix, NONE, "what to change"),
    PP_FIELDS_END,
};
#undef ROW

PP_VALUE_OF(schema, void, pp_value_text("pipeprobe.resume/1"))

#define ROW struct pp_resume
const struct pp_field pp_resume_fields[] = {
    PP_FIELD_MADE("schema", TEXT, schema, "name and version of this document", .flags = PP_FIELD_ALWAYS),
    PP_FIELD_AT(ROW, "kind", kind_name, NONE, "exact: every resume is", .values = kinds,
                .flags = PP_FIELD_ALWAYS),
    F(sentence, NONE, "the same in words, of the first resume that decides"),
    F(note, NONE, "what is not compared"),
    F(ranks, COUNT, "of the uninterrupted run"),
    F(exact, COUNT, "kills whose resumes are exact"),
    F(differing, COUNT, "kills after which samples differ"),
    F(untold, COUNT, "kills of which it cannot be told"),
    {"kills", PP_FIELD_ROWS, PP_ROWS_AT(ROW, answer, answers), .fields = answer_fields,
     .help = "in their order"},
    PP_FIELDS_END,
};
#undef ROW
