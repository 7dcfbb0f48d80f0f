#include "tests/support/made_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include <cmocka.h>

enum { PID = 25738, OTHER = 25740 };

struct out {
    FILE *f;
    const struct made_trace *t;
    int any;
};

static double zero_us(const struct made_trace *t)
{
    return t->style == TRACE_2021 ? 1616683286123456.0 : 5000000.125;
}

static void begin(struct out *o, const char *name, const char *cat, int tid, double at_us, double dur_us)
{
    const char *quote = o->t->style == TRACE_2021 ? "\"" : "";
    fprintf(
        o->f,
        "%s\n  {\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %s%d%s, \"tid\": %s%d%s, \"ts\": %.3f, \"dur\": %.3f",
        o->any++ ? "," : "", cat, name, quote, PID, quote, quote, tid, quote, zero_us(o->t) + at_us, dur_us);
}

static void put(struct out *o, const char *name, const char *cat, int tid, double at_us, double dur_us)
{
    begin(o, name, cat, tid, at_us, dur_us);
    fputs(", \"args\": {\"External id\": 7}}", o->f);
}

static void put_header(struct out *o)
{
    const struct made_trace *t = o->t;
    fputs("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA V100\"}],\n",
          o->f);
    if (t->world_size)
        fprintf(
            o->f,
            "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, \"world_size\": %d, \"pg_config\": [{\"ranks\": [0, 1]}]},\n",
            t->rank, t->world_size);
    if (t->style >= TRACE_2024)
        fprintf(
            o->f,
            "  \"host_name\": \"node1\",\n  \"displayTimeUnit\": \"%s\",\n  \"baseTimeNanoseconds\": 1727743122000000000,\n",
            t->style == TRACE_NS ? "ns" : "ms");
    fputs("  \"traceEvents\": [", o->f);
    fprintf(
        o->f,
        "\n  {\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %d, \"tid\": \"%d\", \"args\": {\"name\": \"thread %d (python)\"}}",
        PID, PID, PID);
    o->any = 1;
}

static void put_gpu(struct out *o, int i, double at)
{
    begin(o, "cudaMemcpyAsync", o->t->style == TRACE_2021 ? "Runtime" : "cuda_runtime", PID, at + 10, 5);
    fprintf(o->f, ", \"args\": {\"cbid\": 41, \"correlation\": %d}}", 2 * i + 1);
    begin(o, "Memcpy HtoD (Pageable -> Device)", o->t->style == TRACE_2021 ? "Memcpy" : "gpu_memcpy", 7,
          at + 12, 200);
    fprintf(o->f, ", \"args\": {\"stream\": 7, \"correlation\": %d, \"bytes\": 602112, \"device\": 0}}",
            2 * i + 1);
    begin(o, "cudaLaunchKernel", o->t->style == TRACE_2021 ? "Runtime" : "cuda_runtime", PID, at + 30, 5);
    fprintf(o->f, ", \"args\": {\"correlation\": %d}}", 2 * i + 2);
    begin(o, "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>",
          o->t->style == TRACE_2021 ? "Kernel" : "kernel", 7, at + 220,
          o->t->kernel_us > 0 ? o->t->kernel_us : 1000);
    fprintf(o->f, ", \"args\": {\"stream\": 7, \"correlation\": %d, \"device\": 0}}", 2 * i + 2);
}

/* Its end is that of the step; of gloo's two, on threads of their own, the second is inside of the first. */
static void put_collectives(struct out *o, double end)
{
    double us = o->t->collective_us;
    if (o->t->nccl) {
        begin(o, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "kernel", 20, end - us - 100, us);
        fputs(", \"args\": {\"stream\": 20, \"device\": 0}}", o->f);
        return;
    }
    put(o, "gloo:all_reduce", "user_annotation", OTHER + 1, end - us - 100, us);
    put(o, "gloo:all_reduce", "user_annotation", OTHER + 2, end - us / 2 - 100, us / 2);
}

static void put_step(struct out *o, int i)
{
    const struct made_trace *t = o->t;
    const char *annotation = t->style == TRACE_2021 ? "Operator" : "user_annotation";
    double at = i * t->step_us, wait = t->wait_us[i % t->n_waits];
    char step[40];
    snprintf(step, sizeof(step), "ProfilerStep#%d", i + 3);
    if (!t->no_fetches)
        put(o,
            t->annotated        ? "## data_load ##"
            : t->single_process ? "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
                                : "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
            t->annotated ? "user_annotation" : annotation, t->other_thread ? OTHER : PID, at + 100, wait);
    for (int k = 0; k < t->operators; k++)
        put(o, "aten::conv2d", t->style == TRACE_2021 ? "Operator" : "cpu_op", PID, at + 110 + wait + k, 0.5);
    put(o, "Optimizer.step#SGD.step", annotation, PID, at + t->step_us - 60, 50);
    if (t->gpu)
        put_gpu(o, i, at + wait + 200);
    if (t->collective_us > 0)
        put_collectives(o, at + t->step_us);
    if (t->no_steps)
        return;
    put(o, step, annotation, PID, at, t->step_us - 1);
    if (t->style == TRACE_2022)
        put(o, step, "gpu_user_annotation", 7, at + 20, t->step_us - 30);
}

char *made_trace_text(const struct made_trace *t, size_t *size)
{
    char *text = NULL;
    struct out o = {open_memstream(&text, size), t, 0};
    assert_non_null(o.f);
    put_header(&o);
    put(&o, "PyTorch Profiler (0)", "Trace", 1, 0, t->steps * t->step_us);
    for (int i = 0; i < t->steps; i++)
        put_step(&o, i);
    fputs(
        ",\n  {\"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\", \"pid\": \"\", \"tid\": \"\", \"ts\": 1}",
        o.f);
    fputs("\n  ],\n  \"traceName\": \"./log/x.pt.trace.json\"\n}\n", o.f);
    assert_int_equal(fclose(o.f), 0);
    return text;
}

void made_trace_put(const char *path, const char *text, size_t size, int zipped)
{
    if (zipped) {
        gzFile z = gzopen(path, "wb1");
        assert_non_null(z);
        assert_int_equal(gzwrite(z, text, (unsigned)size), (int)size);
        assert_int_equal(gzclose(z), Z_OK);
        return;
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

void made_trace_write(const char *path, const struct made_trace *t, int zipped)
{
    size_t size;
    char *text = made_trace_text(t, &size);
    made_trace_put(path, text, size, zipped);
    free(text);
}
