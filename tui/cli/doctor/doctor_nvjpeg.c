#include "tui/cli/doctor/doctor_nvjpeg.h"

#include "probe/device/nvjpeg.h"
#include "tui/cli/doctor/doctor_checks.h"

#include <stdio.h>

#define USUAL_BATCH 256 /* of a training on one GPU; small batches are decoded otherwise without engines */

void pp_look_nvjpeg(struct pp_finding *f)
{
    struct pp_nvjpeg_found n;
    struct pp_err err;
    if (pp_nvjpeg_look(USUAL_BATCH, &n, &err) != PP_OK) {
        f->answer = PP_NO;
        snprintf(f->value, sizeof(f->value), "%.239s", err.text);
        return;
    }
    const struct pp_nvjpeg_choice *c = &n.choice;
    f->answer = PP_YES;
    if (c->engines)
        snprintf(f->value, sizeof(f->value), "nvJPEG %d.%d, %u engine%s of %u core%s, back end %s",
                 n.version / 1000, n.version % 1000, c->engines, c->engines == 1 ? "" : "s", c->cores,
                 c->cores == 1 ? "" : "s", pp_nvjpeg_backend_name(c->backend));
    else
        snprintf(f->value, sizeof(f->value), "nvJPEG %d.%d, back end %s: %.160s", n.version / 1000,
                 n.version % 1000, pp_nvjpeg_backend_name(c->backend), c->passed_over);
}
