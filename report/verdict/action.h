/* report/verdict/action.h: the next step of a verdict as something to paste: the arguments of PyTorch's
 * DataLoader (or another line of the training loop) with the values that the best prediction for this
 * recording has, and the options of pipeprobe run where that was recorded. From the rows of remedies.h. */
#pragma once

#include "probe/base/arena.h"
#include "report/model/model.h"

/* A change that is predicted to gain less is not promised. */
#define PP_WORTH_SAYING 0.03
/* Its interval holds no loss: a gain to advise. */
int pp_action_is_sure(const struct pp_report_fix *f);
/* What the recording says of its set-up; NULL: nothing. */
const char *pp_action_config(const struct pp_report *r, const char *key);
/* Prose for a terminal: Markdown's marks of code are dropped. NULL of NULL. */
const char *pp_action_plain(const char *text, struct pp_arena *arena);
/* Fills the words of r->verdict.action, when the verdict and what is advised (report/build/parts.h) are
 * known. Of a recorded program that lacks the
 * ranges a verdict needs, the next step becomes to map them. Texts are allocated from arena. */
void pp_action_choose(struct pp_report *r, struct pp_arena *arena);
