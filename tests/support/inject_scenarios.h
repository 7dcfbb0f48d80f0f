/* What a program annotated with NVTX does, scenario by scenario. Each runs in a process of its own
 * (inject_fixture.h), into which the library under test is loaded the way NVIDIA's header loads it; what must
 * hold inside of it is checked there, and ends it with 1. */
#pragma once

/* 0 when it was done, 2 when there is none of that name; ends the process with 1 when a promise is broken. */
int inject_run_scenario(const char *name);
