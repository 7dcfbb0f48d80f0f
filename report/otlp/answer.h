/* otlp/answer.h: what a server of OTLP answers: ExportMetricsServiceResponse or ExportTraceServiceResponse
 * with a 2xx, google.rpc.Status with others; as protocol buffers or as JSON. A stranger's bytes: anything may
 * be there, and what is no answer reads as an empty one. */
#ifndef PP_REPORT_OTLP_ANSWER_H
#define PP_REPORT_OTLP_ANSWER_H

#include <stddef.h>
#include <stdint.h>

struct pp_otlp_answer {
    uint64_t rejected; /* spans or points that the server did not take (partial_success) */
    char message[161]; /* its words, plain; "": none */
};

/* sent: how many things were; more cannot be rejected. */
void pp_otlp_answer_read(const char *body, size_t n, uint64_t sent, struct pp_otlp_answer *out);
/* The words of a refusal. */
void pp_otlp_refusal_read(const char *body, size_t n, struct pp_otlp_answer *out);

#endif
