/* dash/interrupt.h: SIGINT, SIGTERM and SIGHUP end a view and do not end the process by themselves. One
 * process, one thread. */
#ifndef PP_DASH_INTERRUPT_H
#define PP_DASH_INTERRUPT_H

#include <pipeprobe/status.h>

/* From now on; forgets one that came before. Waiting for a key ends when one comes. */
void pp_interrupt_catch(void);
int pp_interrupt_signal(void); /* 0: none came */
/* PP_OK, or PP_E_INTERRUPTED with a sentence. */
pp_status pp_interrupt_status(struct pp_err *err);

#endif
