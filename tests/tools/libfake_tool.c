/* tests/tools/libfake_tool.so: a tool as another profiler would be: handles of its own, and it checks that it
 * gets back none but those. What it saw goes to the file of FAKE_TOOL_LOG: one number per kind of call, and
 * how many handles were not its own. */
#include "collectors/attach/inject/nvtx_abi.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_int pushes, pops, starts, ends, marks, strings, domains, wrong;
static int a_domain, a_string;

static void expect(const void *got, const void *want)
{
    wrong += got != want;
}

static int push_a(const char *text)
{
    (void)text;
    return 100 + pushes++;
}
static int pop(void)
{
    pops++;
    return 50;
}
static uint64_t start_a(const char *text)
{
    (void)text;
    return 7000 + (uint64_t)starts++;
}
static void end(uint64_t id)
{
    ends++;
    wrong += id < 7000 || id > 7999;
}
static void mark_a(const char *text)
{
    (void)text;
    marks++;
}
static void *domain_create(const char *name)
{
    (void)name;
    domains++;
    return &a_domain;
}
static void *register_string(void *domain, const char *text)
{
    (void)text;
    expect(domain, &a_domain);
    strings++;
    return &a_string;
}

static int domain_push(void *domain, const struct nvtx_attributes *a)
{
    expect(domain, &a_domain);
    if (a->message_type == NVTX_MESSAGE_REGISTERED)
        expect(a->message.registered, &a_string);
    return 200 + pushes++;
}

static int domain_pop(void *domain)
{
    expect(domain, &a_domain);
    pops++;
    return 60;
}

__attribute__((destructor)) static void write_log(void)
{
    const char *path = getenv("FAKE_TOOL_LOG");
    FILE *out = path ? fopen(path, "w") : NULL;
    if (!out)
        return;
    fprintf(out, "pushes %d pops %d starts %d ends %d marks %d domains %d strings %d wrong %d\n", pushes,
            pops, starts, ends, marks, domains, strings, wrong);
    fclose(out);
}

int InitializeInjectionNvtx2(nvtx_get_export_table *get_export_table);

/* It leaves slots alone that it has no use for, the wide-character ones among them. */
int InitializeInjectionNvtx2(nvtx_get_export_table *get_export_table)
{
    const struct nvtx_callbacks *c = get_export_table(NVTX_TABLE_CALLBACKS);
    nvtx_function ***core, ***core2;
    unsigned n, n2;
    if (getenv("FAKE_TOOL_REFUSES") || !c->get_module_functions(NVTX_MODULE_CORE, &core, &n) ||
        !c->get_module_functions(NVTX_MODULE_CORE2, &core2, &n2))
        return 0;
    *core[CORE_PUSH_A] = (nvtx_function *)push_a;
    *core[CORE_POP] = (nvtx_function *)pop;
    *core[CORE_START_A] = (nvtx_function *)start_a;
    *core[CORE_END] = (nvtx_function *)end;
    *core[CORE_MARK_A] = (nvtx_function *)mark_a;
    *core2[CORE2_DOMAIN_CREATE_A] = (nvtx_function *)domain_create;
    *core2[CORE2_REGISTER_STRING_A] = (nvtx_function *)register_string;
    *core2[CORE2_PUSH_EX] = (nvtx_function *)domain_push;
    *core2[CORE2_POP] = (nvtx_function *)domain_pop;
    return 1;
}
