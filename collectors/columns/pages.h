/* collectors/columns/pages.h: what files of columns decoded for samples, once a second: the sums of
 * probe/columns/tally.h as counters pages_NAME_total. A recording whose data are no such files has none. One
 * collector (collectors/collector.h). */
#ifndef PP_COLLECTORS_COLUMNS_PAGES_H
#define PP_COLLECTORS_COLUMNS_PAGES_H

#include "collectors/collector.h"

extern const struct pp_collector pp_collector_pages;

#endif
