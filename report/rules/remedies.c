#include "report/rules/remedies.h"
#include "probe/base/std.h"
#include "report/rules/advice.h"

#define WORDS(run, torch, wds, nv) .pipeprobe = run, .pytorch = torch, .webdataset = wds, .dali = nv

/* ---- words that several rows share ---- */

#define HUNG \
    WORDS("`--on-error skip` passes over files that fail, not over reads that never return", \
          "`DataLoader(timeout=S)` ends the wait with an error; `py-spy dump -p PID` on the worker; " \
          "`multiprocessing_context=\"spawn\"` against locks held across fork", \
          "the same as in PyTorch; `handler=wds.warn_and_continue` for errors", "`perf trace -p PID`")

#define MORE_WORKERS \
    WORDS("`--workers N`", "`DataLoader(num_workers=N)`", \
          "`wds.WebLoader(dataset, num_workers=N)`, with at least N shards per rank", \
          "`@pipeline_def(num_threads=N)`; `py_num_workers=N` for " \
          "`fn.external_source(parallel=True)`")
#define FEWER_WORKERS \
    WORDS("`--workers auto`", \
          "a smaller `DataLoader(num_workers=)`; `torch.set_num_threads(1)` and `cv2.setNumThreads(0)` in " \
          "the workers", \
          "a smaller `wds.WebLoader(num_workers=)`", \
          "a smaller `num_threads` and `py_num_workers`; threads of all ranks on one host add up")
#define PREFETCH \
    WORDS("`--prefetch N`", "`DataLoader(prefetch_factor=N)`: batches per worker, 2 without it", \
          "`wds.WebLoader(prefetch_factor=N)`; `.shuffle(N)` buffers samples too", \
          "`@pipeline_def(prefetch_queue_depth=N)`; `prefetch_queue_depth=` of `fn.readers.*` for reads")
#define OUT_OF_ORDER \
    WORDS("`--out-of-order`, `--prefetch N`", "`DataLoader(in_order=False)` (PyTorch 2.6 or later)", \
          "`wds.WebLoader(in_order=False)` (PyTorch 2.6 or later)", \
          "batches always come in order: `prefetch_queue_depth=N` bridges slow ones")
#define PINNED \
    WORDS("leave out `--pageable`", \
          "`DataLoader(pin_memory=True)`, then `batch.to(device, non_blocking=True)`", \
          "`wds.WebLoader(pin_memory=True)`, then `batch.to(device, non_blocking=True)`", \
          "its buffers are page-locked already; feed `fn.external_source` pinned or device arrays")
#define OVERLAP \
    WORDS( \
        "`--copy-buffers 2`, `--h2d async`", \
        "`pin_memory=True`, `batch.to(device, non_blocking=True)` on a second `torch.cuda.Stream` for the " \
        "next batch during this step", \
        "the same as in PyTorch: `wds.WebLoader` gives host tensors", \
        "`exec_async=True, exec_pipelined=True` (the defaults) and `prefetch_queue_depth` of 2 or more")
#define COPY_LESS \
    WORDS("`--wire u8`, or `--dtype f16`", \
          "copy `uint8` and convert and normalise on the device: `x.to(device, non_blocking=True).half()`", \
          "keep `uint8` through `.batched(N)`, and normalise on the device", \
          "`fn.decoders.image(device=\"mixed\")` copies the encoded bytes; " \
          "`fn.crop_mirror_normalize(device=\"gpu\", dtype=types.FLOAT16)`")
#define NO_SYNC \
    WORDS("leave out `--sync-every-step`; a larger `--batch-size`", \
          "no `.item()`, `.cpu()`, `print(loss)` or `torch.cuda.synchronize()` in every step; log every N " \
          "steps", \
          "the same as in PyTorch", "the same in the training loop; the DALI iterators run ahead of it")
#define LESS_WORK \
    WORDS( \
        "a cheaper `--transform`; smaller images in DATASET", \
        "smaller samples made offline; `torchvision.io.decode_jpeg` or `torchvision.transforms.v2` on tensors; " \
        "augment on the device", \
        "write resized images with `wds.ShardWriter`; cheaper functions in `.map()`", \
        "`fn.decoders.image_random_crop(device=\"mixed\")`: decode on the GPU, only the part that is used")
#define CACHED \
    WORDS("DATASET on local storage, or packed into shards (`pipeprobe pack`)", \
          "copy the data to local NVMe before training; keep decoded samples in memory", \
          "`wds.WebDataset(urls, cache_dir=DIR)`", \
          "local copies of the files; `fn.decoders.image(device=\"mixed\", cache_size=MB)` keeps decoded " \
          "images")
#define READS \
    WORDS("`--workers N`, `--prefetch N`; shards of `pipeprobe pack` as DATASET", \
          "more `num_workers`, a larger `prefetch_factor`; several reads at a time in `__getitems__`", \
          "more shards and more `num_workers`; `cache_dir=DIR`", \
          "a larger `prefetch_queue_depth=` of `fn.readers.*`; `fn.readers.webdataset` reads packed shards")
#define OTHER_LOAD \
    WORDS("`taskset`, cpusets, or another machine; `pipeprobe top` shows the other load", \
          "pin the job (`taskset`, Slurm `--exclusive`, Kubernetes static CPU policy)", \
          "the same as in PyTorch", \
          "the same; `set_affinity=True` and `DALI_AFFINITY_MASK` place its threads")
#define QUOTA \
    WORDS("a larger `cpu.max`; a cheaper `--transform`", \
          "raise the container's CPU limit; `num_workers` no larger than it", "the same as in PyTorch", \
          "the same; `num_threads` no larger than the limit")
#define KEEP_WORKERS \
    WORDS("workers live for all epochs already", "`DataLoader(persistent_workers=True)`", \
          "`wds.WebLoader(persistent_workers=True)`; `.with_epoch(N)` on a repeating dataset", \
          "a pipeline lives for all epochs: `auto_reset=True` of its iterator, and do not build it again")
#define ONE_ITERATION \
    WORDS( \
        "batches of the next epoch are prefetched already", \
        "`RandomSampler(dataset, num_samples=EPOCHS * len(dataset))` draws every epoch whole, in one " \
        "iteration; on ranks a sampler that repeats `DistributedSampler`'s epochs. `len(loader)` is then that " \
        "of all epochs", \
        "`.repeat(EPOCHS)`, and one loop over all of it", \
        "a pipeline that is not reset between epochs: count batches instead of `StopIteration`")
#define AS_PINNED \
    WORDS(NULL, \
          "`batch.to(device, non_blocking=True).float()` in place of `batch.float().to(device)`; a batch " \
          "class of your own needs a `pin_memory()` method", \
          "the same as in PyTorch", NULL)
#define RANKS \
    WORDS("the slow rank's own recording: `pipeprobe report NAME.rankN.sqlite`", \
          "the slow rank's own recording; the same `num_workers`, CPUs and storage for every rank", \
          "`nodesplitter=wds.split_by_node` with as many shards, of equal size, for each rank", \
          "`shard_id=`, `num_shards=` of `fn.readers.*`: parts of equal size")
#define ERRORS \
    WORDS("`--retries`, `--retry-backoff-ms`; the files in table `error`", \
          "remove the files from the dataset's list; skip them in `__getitem__` instead of retrying", \
          "`wds.WebDataset(urls, handler=wds.warn_and_continue)`, and repair the shards", \
          "remove the files from `file_list=`; a reader stops at a file that it cannot read")

/* Lines to paste that are no argument of the DataLoader. */
#define COPY_LINE "batch = batch.to(device, non_blocking=True)  # on a second torch.cuda.Stream"
#define COPY_BYTES_LINE "x = x.to(device, non_blocking=True).half() / 255  # x is uint8"

#define PLAIN_JPEG \
    .sentence = \
        "Store the images as baseline JPEG (YCbCr, one scan, no EXIF rotation): progressive, grey, CMYK and rotated files and other formats are decoded on the CPU.", \
    WORDS("`jpegtran -copy none` rewrites a progressive file without loss", \
          "the same files for `torchvision.io.decode_jpeg(device=\"cuda\")`", NULL, \
          "the same files for `fn.decoders.image(device=\"mixed\")`")
#define DECODE_STEALS \
    .sentence = \
        "Decode with the GPU's JPEG engines, which leave its multiprocessors to the step; where it has none, decode a part on the CPU, and measure both.", \
    WORDS("`pipeprobe doctor`, row nvJPEG: the back end, and why it is no engine; `--decode cpu` for " \
          "comparison", \
          "`torchvision.io.decode_jpeg` on CPU tensors, for comparison", NULL, \
          "`fn.decoders.image(device=\"mixed\", hw_decoder_load=1.0)` on a GPU with engines")

/* ---- the table ---- */

const struct pp_remedy pp_remedies[PP_REMEDIES] = {
    [PP_REMEDY_MORE_WORKERS] = {"workers", "more workers",
                                "Use more workers (num_workers): one per CPU, more if they mostly wait.",
                                MORE_WORKERS, .set = "num_workers={to}"},
    [PP_REMEDY_FEWER_WORKERS] = {"fewer-workers", "fewer workers",
                                 "Use fewer workers (num_workers): at most one per usable CPU.",
                                 FEWER_WORKERS, .set = "num_workers={to}"},
    [PP_REMEDY_NO_WORKERS] = {"no-workers", "no workers: the training thread makes its batches",
                              "Leave out the workers (num_workers=0): here they cost more than they save.",
                              WORDS(NULL, "`DataLoader(num_workers=0)`", "`wds.WebLoader(num_workers=0)`",
                                    NULL),
                              .set = "num_workers=0"},
    [PP_REMEDY_HAND_LESS] =
        {.by = "no-workers",
         .sentence =
             "Leave out the workers (num_workers=0), or hand fewer bytes over: leave out of a sample what the step does not use, and keep images as uint8 until the device.",
         WORDS(
             NULL,
             "a sample without the parts that no step uses, neither made nor returned by `__getitem__`; `uint8` in place of `float32`",
             "the same in `.map()` and `.to_tuple()`", NULL)},
    [PP_REMEDY_INNER_LOADER] =
        {.by = "workers",
         .sentence =
             "Let the workers of the training loader (num_workers) make the samples; an IterableDataset can yield them one by one. Inside a worker, the inner loader must have num_workers=0.",
         WORDS(
             NULL,
             "`__iter__` with `yield` in place of a list that `__getitem__` fills and empties; `DataLoader(data, num_workers=N)`",
             "`.compose()` of the same generator, and `wds.WebLoader(num_workers=N)`", NULL)},
    [PP_REMEDY_PREFETCH] = {"prefetch", "a deeper prefetch",
                            "Deepen the prefetch (prefetch_factor): on average batches are made fast enough.",
                            PREFETCH, .set = "prefetch_factor={to}"},
    [PP_REMEDY_ASK_AHEAD] =
        {"ahead", "the next batch asked for before the step",
         "Ask for the next batch before the step, so that it is loaded while this one trains.",
         WORDS(
             NULL,
             "`ahead = [pool.submit(load, i) for i in next_batch]` before the step, `[f.result() for f in ahead]` behind it",
             NULL, NULL),
         .set = "prefetch=1"},
    [PP_REMEDY_OUT_OF_ORDER] =
        {"order", "batches in order of completion",
         "Deliver batches in order of completion (in_order=False), deepen the prefetch (prefetch_factor), or sort samples by size into buckets.",
         OUT_OF_ORDER, .set = "in_order=False", .by = "prefetch"},
    [PP_REMEDY_PINNED] = {"pinned", "page-locked batch memory",
                          "Use page-locked batch memory (pin_memory=True), and copy with non_blocking=True.",
                          PINNED, .set = "pin_memory=True"},
    [PP_REMEDY_COPY_AS_PINNED] =
        {NULL, NULL,
         "Copy the loader's tensors as they come (non_blocking=True), and convert them on the GPU.",
         AS_PINNED, .line = "x = x.to(device, non_blocking=True).float()"},
    [PP_REMEDY_COPY_BUFFERS] =
        {"buffers", "copies that overlap the steps",
         "Copy the next batch during the step, on a second stream with non_blocking=True.", OVERLAP,
         .line = COPY_LINE, .set = "copy-buffers=2"},
    [PP_REMEDY_NO_SYNC] =
        {"sync", "no device sync in every step",
         "Remove the device sync in every step (.item(), torch.cuda.synchronize()) and use larger batches.",
         NO_SYNC, .line = "if step % 100 == 0: print(loss.item())", .set = "sync=none"},
    [PP_REMEDY_COPY_LESS] =
        {"link",
         "half the bytes to copy: float16 (uint8, normalised on the device: a quarter), or a faster link",
         "Copy less: uint8, normalised on the device, or float16.", COPY_LESS, .line = COPY_BYTES_LINE,
         .options = "--dtype f16", .set = "copy=0.5", .by = "buffers"},
    [PP_REMEDY_CACHED] =
        {"storage", "no blocking reads: cached, staged or packed data",
         "Keep the data where reads do not block: a copy on local storage, a cache in memory, or packed shards.",
         CACHED, .set = "storage-latency=cached"},
    [PP_REMEDY_LESS_WORK] =
        {"work",
         "half the decode, transform and collate work: done once and offline, on smaller samples, or for a whole batch",
         "Make {owner} cheaper: do it once and offline, on smaller samples, or for a whole batch at a time; or add CPUs.",
         LESS_WORK, .amount = "decode=0.7", .set = "decode=0.5 transform=0.5 collate=0.5"},
    [PP_REMEDY_LESS_WORK_THREADS] =
        {.by = "work",
         .sentence =
             "Make samples cheaper: do the work once and offline, on smaller samples, or for a whole batch at a time; or add CPUs.",
         LESS_WORK},
    [PP_REMEDY_OP] =
        {"op", "half of one operation of the transforms: its work once, for a whole batch, or offline", NULL,
         WORDS(
             NULL,
             "what does not change between epochs made once, in a file or in `__init__`; a whole batch in one call, in `__getitems__` or the `collate_fn`",
             "the same, in `.map()` or behind `.batched(N)`", NULL),
         .amount = "op=NAME:0.5"},
    [PP_REMEDY_ERRORS] = {"errors", "no failing reads: fix or quarantine the files in table error",
                          "Fix or quarantine the failing files (listed in table error), or retry less often.",
                          ERRORS, .set = "retries=none"},
    [PP_REMEDY_LOCK] =
        {"lock", "no wait for a lock: processes instead of threads",
         "Make batches outside the lock: processes instead of threads, or a library that releases the interpreter lock (GIL).",
         WORDS(NULL,
               "`DataLoader(num_workers=N)`: processes; in threads only calls that release the GIL "
               "(torchvision.io, Pillow-SIMD, OpenCV)",
               "`wds.WebLoader(num_workers=N)`: processes",
               "decode with `fn.decoders.*`; Python code through `fn.external_source(parallel=True)` with "
               "`py_num_workers=N`"),
         .set = "lock=none"},
    [PP_REMEDY_HOLD_LESS] =
        {"own-lock", "no wait for the lock: each worker has its own of what it guards",
         "Hold the lock for less, or give each worker its own file, connection or cache, which needs no lock.",
         WORDS(
             NULL,
             "what the lock guards opened in `worker_init_fn`, one for each worker; read and decode outside of `with lock:`",
             "the same", NULL),
         .set = "lock=none"},
    [PP_REMEDY_OTHER_LOAD] = {"cpus", "exclusive CPUs: nothing else on them, or a larger quota",
                              "Move other processes off these CPUs before changing the loader.", OTHER_LOAD,
                              .set = "other-load=none"},
    [PP_REMEDY_AFFINITY] =
        {NULL, NULL,
         "Let {bound_processes} use all {offered_cpus} CPUs: look for what binds them, taskset, numactl or a launcher in the command, sched_setaffinity in the script, in worker_init_fn or in a library that is imported there.",
         WORDS(
             NULL,
             "`worker_init_fn=lambda i: os.sched_setaffinity(0, range(os.cpu_count()))` undoes what a library binds",
             "the same as in PyTorch", "`set_affinity=False` of the pipeline"),
         .looks_first = 1},
    [PP_REMEDY_SLOW_RANK] =
        {"slow-rank", "slow rank fixed, no waits for other ranks: see that rank's recording",
         "Fix the slow rank: see its recording for the cause. This rank's input is not the cause, and no change to it gains anything.",
         RANKS, .set = "collective=0"},
    [PP_REMEDY_SLOW_WORKER] =
        {"slow-worker", "slow worker as fast as the others: check its CPU and NUMA node",
         "Check that worker (table of workers): its CPU, its memory, its mount; in_order=False and a larger prefetch_factor hide a part of it.",
         WORDS("`--out-of-order`, `--prefetch N` until the worker is fixed",
               "what `worker_init_fn` gives that worker: its CPU affinity, its mount, its part of the data",
               "the shards of that worker: `workersplitter=wds.split_by_worker` gives each its own",
               "`DALI_AFFINITY_MASK`: a CPU on the far NUMA node; `set_affinity=True`"),
         .set = "slow-worker=even", .of_workers = 1},

    [PP_REMEDY_GPU_DECODE] =
        {"gpu-decode", "decode on the GPU (nvJPEG), rate published, not measured", NULL,
         WORDS("`--decode nvjpeg`",
               "`torchvision.io.decode_jpeg(list_of_bytes, device=\"cuda\")` in the training process, then "
               "`torchvision.transforms.v2` on the device; the DataLoader gives bytes",
               "`.to_tuple(\"jpg\", \"cls\")` without `.decode()`, then as in PyTorch",
               "`fn.decoders.image(device=\"mixed\")`"),
         .set = "decode=nvjpeg", .only_listed = 1},

    [PP_REMEDY_FEWER_WORKERS_AUTO] = {NULL, NULL, "Use fewer workers (num_workers): one per usable CPU.",
                                      FEWER_WORKERS, .by = "fewer-workers"},
    [PP_REMEDY_WORKER_THREADS] =
        {NULL, NULL,
         "Let each worker compute in one thread: cv2.setNumThreads(0) and torch.set_num_threads(1) in worker_init_fn, OMP_NUM_THREADS=1, one thread per decoder.",
         WORDS("nothing: its workers have one thread each",
               "`worker_init_fn=lambda i: (cv2.setNumThreads(0), torch.set_num_threads(1))`",
               "`worker_init_fn` of the loader; OMP_NUM_THREADS=1",
               "`num_threads=N`, at most one per usable CPU"),
         .by = "fewer-workers", .looks_first = 1},
    [PP_REMEDY_FEWER_WORKERS_LESS_WORK] =
        {NULL, NULL,
         "Use fewer workers (num_workers, at most one per usable CPU), or do less work per sample.",
         FEWER_WORKERS, .by = "fewer-workers work"},
    [PP_REMEDY_PREFETCH_OR_ORDER] =
        {NULL, NULL,
         "Deepen the prefetch (prefetch_factor), or try in_order=False: one slow sample delays the finished batches behind it.",
         OUT_OF_ORDER, .by = "order prefetch"},
    [PP_REMEDY_ASYNC_COPY] =
        {NULL, NULL,
         "Copy the next batch during the step: pinned memory, non_blocking=True, a second stream.", OVERLAP,
         .by = "buffers", .line = COPY_LINE},
    [PP_REMEDY_LESS_OR_OVERLAPPED] =
        {NULL, NULL, "Copy less (uint8), or overlap copies with steps (non_blocking=True, a second stream).",
         COPY_LESS, .by = "buffers link"},
    [PP_REMEDY_LARGER_BATCH] =
        {.by = "sync",
         .sentence =
             "Use larger batches, or queue several steps at a time (CUDA graphs, no sync after each step).",
         WORDS("a larger `--batch-size`",
               "a larger `batch_size`; `torch.compile(mode=\"reduce-overhead\")` or `torch.cuda.graph`",
               "a larger `.batched(N)`", "a larger `batch_size` of `@pipeline_def`")},
    [PP_REMEDY_CUPTI] = {NULL, NULL, "Install CUPTI for this run (pipeprobe help gpu) and record again.",
                         WORDS("pipeprobe help gpu: the CUPTI library beside the driver", NULL, NULL, NULL)},
    [PP_REMEDY_RECORD_LONGER] =
        {NULL, NULL,
         "Record longer, or again with one setting changed: the overlap of copies, the batch size.",
         WORDS("`--duration`, then `--copy-buffers 2` or a larger `--batch-size`", NULL, NULL, NULL)},
    [PP_REMEDY_EVEN_RANKS] =
        {NULL, NULL,
         "Balance the ranks' steps: samples of similar size in a batch, the same data rate for all; a deeper prefetch hides varying reads.",
         WORDS("`--prefetch N` on every rank",
               "a sampler that buckets samples by size; a larger `prefetch_factor`",
               "`.shuffle(N)` with a larger buffer; shards of equal size for every rank",
               "`random_shuffle=True` with a larger `initial_fill=`; `prefetch_queue_depth=N`")},
    [PP_REMEDY_RECORD_RANKS] =
        {NULL, NULL,
         "Look at all ranks (pipeprobe ranks FILES), or record them: the slow one hardly waits in its collective step, and its verdict names the cause.",
         WORDS("`--ranks N`", "`pipeprobe exec` around the command of every rank", "the same as in PyTorch",
               "the same as in PyTorch")},
    [PP_REMEDY_QUOTA] = {NULL, NULL,
                         "Raise the CPU quota of the control group (cpu.max), or do less work per sample.",
                         QUOTA, .by = "cpus"},
    [PP_REMEDY_OTHER_LOAD_OR_QUOTA] =
        {NULL, NULL,
         "Move other processes off these CPUs, or raise their limit (cgroup quota), before changing the loader.",
         OTHER_LOAD, .by = "cpus"},
    [PP_REMEDY_OTHER_LOAD_THEN_WORKERS] =
        {NULL, NULL,
         "Move other processes off these CPUs; then a worker for each usable CPU gains {g_cpus_workers}.",
         OTHER_LOAD, .by = "cpus"},
    [PP_REMEDY_SUBPROCESSES] =
        {.by = "cpus",
         .sentence = "Start fewer subprocesses beside the loader, or give them other CPUs.",
         WORDS("no other program below it",
               "smaller pools (`multiprocessing.Pool(N)`, joblib, "
               "`TORCHINDUCTOR_COMPILE_THREADS=N`); `taskset` before what the job starts",
               "the same as in PyTorch", "the same as in PyTorch")},
    [PP_REMEDY_SLOW_SHARD] =
        {.by = "storage",
         .sentence =
             "Move or repair that part (a mount, a server, a shard): the other parts are fast enough.",
         WORDS("move that part of DATASET", "move those files; `cache_dir` or a local copy hides it",
               "`cache_dir=DIR` for its shards, or write them again with `wds.ShardWriter`",
               "move those files of `file_root=` or `paths=`")},
    [PP_REMEDY_STORAGE_CHANGE] =
        {NULL, NULL,
         "Find what changed for the storage at that moment: another job, exhausted burst credits, a full cache.",
         CACHED, .by = "storage workers prefetch"},
    [PP_REMEDY_READ_TAIL] =
        {NULL, NULL,
         "Hedge or repeat slow reads, deepen the prefetch (prefetch_factor), or try in_order=False.",
         OUT_OF_ORDER, .by = "hedge order prefetch inflight workers storage"},
    [PP_REMEDY_MEMORY_LIMIT] =
        {NULL, NULL,
         "Raise the memory limit of the control group (memory.max) by {data_bytes}, so that the data stays in the page cache; or make the data smaller.",
         WORDS(
             "a larger `memory.max`; smaller images in DATASET",
             "raise the container's memory limit (`docker run --memory`, Kubernetes `resources.limits.memory`); fewer or leaner `num_workers` leave more for the cache; resize images offline",
             "the same as in PyTorch; `cache_dir=DIR` on a faster disk",
             "the same as in PyTorch; `dont_use_mmap=True` does not help: the limit counts both")},
    [PP_REMEDY_DISK_LIMIT] =
        {NULL, NULL,
         "Raise the limit of bytes per second (io.max rbps, the volume's throughput), or read fewer bytes: smaller images, a cache; more workers gain nothing.",
         WORDS(
             "a larger `rbps` in `io.max`; smaller images in DATASET",
             "raise the volume's throughput or the container's `io.max`; copy the data to local NVMe before training; resize images offline. More `num_workers` gain nothing",
             "`wds.WebDataset(urls, cache_dir=DIR)`; smaller images with `wds.ShardWriter`",
             "local copies of the files; `fn.decoders.image(device=\"mixed\", cache_size=MB)` keeps decoded images")},
    [PP_REMEDY_READS_LIMIT] =
        {NULL, NULL,
         "Pack the files into shards, so that one read brings many samples; or raise the limit of reads per second (io.max riops, the volume's IOPS). More workers gain nothing.",
         WORDS(
             "tar shards as DATASET; a larger `riops` in `io.max`",
             "one archive in place of a file per sample (LMDB, `webdataset`, `h5py` with large chunks); raise the volume's IOPS. More `num_workers` gain nothing",
             "`wds.ShardWriter(pattern, maxsize=)`: shards of 100 MB to 1 GB",
             "`fn.readers.webdataset`, `fn.readers.tfrecord` or `fn.readers.mxnet` over packed data")},
    [PP_REMEDY_FEWER_BYTES] =
        {NULL, NULL,
         "Read fewer bytes (smaller images, packed and compressed shards), cache them, or use a faster tier; more workers gain nothing.",
         CACHED, .by = "storage"},
    [PP_REMEDY_READ_AHEAD] =
        {.by = "storage workers",
         .sentence =
             "Read ahead (madvise WILLNEED over the next windows, larger windows), read into buffers with several reads in flight, or load the file into memory first (vmtouch, cat).",
         WORDS("`vmtouch -t FILE` before the run; a larger `--window`",
               "`np.memmap` with `mmap.madvise(MADV_WILLNEED)`, or `os.preadv` into buffers",
               "shards are read as streams: pack the tokens with `wds.ShardWriter`",
               "`dont_use_mmap=True` and `read_ahead=True` of `fn.readers.*`")},
    [PP_REMEDY_PACK] =
        {.by = "workers storage",
         .sentence = "Pack the files into shards; until then, more reads in flight (num_workers).",
         WORDS("tar shards as DATASET; `--workers N` until then",
               "an indexed archive, LMDB or `webdataset`; more `num_workers` until then",
               "`wds.ShardWriter(pattern, maxsize=)`: shards of 100 MB to 1 GB",
               "`fn.readers.webdataset`, `fn.readers.tfrecord` or `fn.readers.mxnet` over packed "
               "data")},
    [PP_REMEDY_WARM_CACHE] =
        {.by = "storage workers prefetch",
         .sentence =
             "Read the data once before training (vmtouch, cat), or stage it; more reads in flight (num_workers) until it is warm.",
         WORDS("`vmtouch -t DATASET` before the run; `--workers N`",
               "`vmtouch -t` or `cat` over the files before training; more `num_workers` in the first epoch",
               "`cache_dir=DIR` on local storage", "the same; `read_ahead=True` of `fn.readers.*`")},
    [PP_REMEDY_READS_IN_FLIGHT] =
        {NULL, NULL, "More reads in flight (num_workers, prefetch_factor), packed shards, or a cache.", READS,
         .by = "workers prefetch storage",
         .in_step = "More reads in flight (num_workers), packed shards, or a cache."},
    [PP_REMEDY_STORAGE] =
        {NULL, NULL,
         "For latency: more reads in flight (num_workers, prefetch_factor). For bandwidth: a faster tier, a cache or packed shards.",
         READS, .by = "workers prefetch storage",
         .in_step =
             "For latency: more reads in flight (num_workers). For bandwidth: a faster tier, a cache or packed shards."},
    [PP_REMEDY_COLLATE] =
        {.by = "work",
         .sentence = "Write samples directly into the batch, collate in parallel, or use smaller batches.",
         WORDS(
             "a smaller `--batch-size`",
             "a `collate_fn` that writes into one preallocated tensor; samples as tensors, not as PIL images",
             "`.batched(N, collation_fn=)` in the workers, not in the training process",
             "DALI writes samples into the batch; `fn.crop_mirror_normalize` in place of Python code")},
    [PP_REMEDY_AUGMENT] =
        {.by = "work",
         .sentence = "Make the transforms cheaper, or run them on the device.",
         WORDS("a cheaper `--transform`; `--wire u8` normalises on the device",
               "`torchvision.transforms.v2` on whole batches, on the device; images resized offline",
               "`.map()` only what needs the CPU; the rest on the device after `.batched(N)`",
               "operators with `device=\"gpu\"` behind `fn.decoders.image(device=\"mixed\")`")},
    [PP_REMEDY_SAMPLE_CODE] =
        {.by = "work",
         .sentence =
             "Find the expensive line of {sample_code}, and do its work once, for a whole batch, or offline.",
         WORDS(NULL, "`py-spy top --pid PID` on a worker names the line",
               "the same, of the functions in `.map()`", NULL)},
    [PP_REMEDY_SAMPLE_HELD] = {.by = "work",
                               .sentence = "{held_advice}",
                               WORDS(NULL, "`py-spy top --pid PID` on a worker names the line", NULL, NULL)},
    [PP_REMEDY_BY_BATCH] =
        {.by = "work",
         .sentence = PP_ADVICE_BY_BATCH,
         WORDS(
             NULL,
             "`DataLoader(data, sampler=BatchSampler(RandomSampler(data), N, False), batch_size=None)`: the "
             "data set gets the list of indices",
             "samples of `.batched(N)` in the shards", "`batch=True` of `fn.external_source`")},
    [PP_REMEDY_ONE_LOADER] =
        {.looks_first = 1,
         .sentence = "Make the loader once, and iterate it again for every pass.",
         WORDS(
             NULL,
             "one `DataLoader(..., persistent_workers=True)` for all passes, or `num_workers=0` where a pass is "
             "short",
             "one `wds.WebLoader` for all passes", "a pipeline is built once: `auto_reset=True`")},
    [PP_REMEDY_MAKE_ONCE] =
        {.by = "between",
         .sentence =
             "Make the data set and its DataLoader once, before the loop over epochs, and use them in each; save what a constructor reads as one array.",
         WORDS(
             NULL,
             "`DataLoader(data, ..., persistent_workers=True)` before the loop; `numpy.load(..., mmap_mode=\"r\")` "
             "of an index that is saved once",
             "one `wds.WebLoader` for all passes", "a pipeline is built once: `auto_reset=True`")},
    [PP_REMEDY_BETWEEN] =
        {.knob = "between",
         .offer = "the time between epochs left out",
         .sentence =
             "Do it once before the loop over epochs, or less often; or in a process of its own, while training goes on.",
         WORDS(NULL, "what is read or built again for each epoch moves before the loop", NULL, NULL)},
    [PP_REMEDY_ONE_ITERATOR] =
        {.looks_first = 1,
         .sentence = "Make the iterator once, and take every batch from it.",
         WORDS(
             NULL,
             "`for batch in loader:`, or `it = iter(loader)` before the loop and `next(it)` in it, in place of "
             "`next(iter(loader))`",
             "the same as in PyTorch", "the same: one iterator, `next(it)` in the loop")},
    [PP_REMEDY_WHAT_BLOCKS] =
        {.looks_first = 1,
         .sentence =
             "See where {owner} waits: py-spy dump -p PID of a worker. If it is a sleep or the network, more workers help; if it is a lock, they do not.",
         WORDS("`perf trace -p PID` on a worker", "`py-spy dump -p PID` on a worker: the line that blocks",
               "the same as in PyTorch", "`perf trace -p PID`; Python code moves into `fn` operators")},
    [PP_REMEDY_PIN_LESS] =
        {.by = "link",
         .sentence =
             "Give that thread less to copy: uint8 that the device normalises, one tensor in place of many small ones; or try pin_memory=False.",
         WORDS(NULL,
               "`uint8` tensors, normalised on the device; a `collate_fn` that makes one tensor of many; "
               "`DataLoader(pin_memory=False)`: workers' memory is then copied by the step",
               "keep `uint8` through `.batched(N)`; `wds.WebLoader(pin_memory=False)`", NULL)},
    [PP_REMEDY_SAMPLER] =
        {.knob = "sampler",
         .offer = "a sampler that draws next to nothing in the training thread",
         .set = "sampler=none",
         .sentence =
             "Draw the order more cheaply: from an index made once, block by block as batches need it, or once for several epochs; without a list of Python numbers.",
         WORDS(NULL,
               "a sampler whose `__iter__` draws blocks (`torch.searchsorted` in the cumulated weights) and "
               "yields from each; `replacement=True`; one order for all epochs",
               "`.shuffle(N)` of a buffer draws as it goes", NULL)},
    [PP_REMEDY_MORE_SHARDS] =
        {NULL, NULL,
         "Split the data into at least num_workers shards of like size, and give each worker its own; else use as many workers as there are shards.",
         WORDS(
             NULL,
             "`get_worker_info()` in `__iter__`: `shards[info.id::info.num_workers]`; `num_workers` at most the number of "
             "shards; Hugging Face `IterableDataset.reshard()` or more files",
             "more shards than workers; `workersplitter=wds.split_by_worker`", NULL),
         .looks_first = 1},
    [PP_REMEDY_READ_LESS] =
        {NULL, NULL,
         "Read what a sample needs and no more: save where each sample begins (byte offsets) and seek to it, or use a format with an index or small chunks.",
         WORDS(
             NULL,
             "offsets of lines or records in one array and `file.seek()`; Parquet row groups, Arrow, HDF5 chunks of a sample; "
             "no scan of the file in `__getitem__`",
             "samples in the order in which the shards have them", NULL)},
    [PP_REMEDY_CLONE] =
        {NULL, NULL,
         "Copy what a sample keeps of a larger tensor with clone(), so that the rest of it is not handed over.",
         WORDS(
             NULL,
             "`x[a:b].clone()` in `__getitem__`, before it is returned; `torch.stack` in the `collate_fn` copies too",
             "the same in `.map()`", NULL),
         .looks_first = 1},
    [PP_REMEDY_SHM] =
        {NULL, NULL,
         "Give the container a larger one, or keep fewer batches there: fewer workers, a smaller prefetch_factor, smaller batches.",
         WORDS(
             NULL,
             "`docker run --shm-size=8g` or `--ipc=host`, in Kubernetes an `emptyDir` of medium Memory at /dev/shm; a smaller `prefetch_factor`",
             "the same as in PyTorch", NULL),
         .of_workers = 1},
    [PP_REMEDY_PICKLE_LESS] =
        {.by = "persistent-workers",
         .sentence =
             "Keep the workers across epochs (persistent_workers=True in PyTorch), and make the data set a smaller object: arrays or a file that each worker maps, in place of Python objects.",
         KEEP_WORKERS,
         .of_workers = 1},
    [PP_REMEDY_UNPICKLE_LESS] =
        {.knob = "unpickle",
         .offer = "one tensor per batch in place of many small ones",
         .amount = "unpickle=0.5",
         .set = "unpickle=one-tensor",
         .sentence =
             "Send fewer tensors per batch: one in place of many small ones; or larger batches. With a GPU, pin_memory=True has a thread of its own take them.",
         WORDS(NULL,
               "a `collate_fn` that makes one tensor of many; a larger `batch_size`; on a GPU "
               "`DataLoader(pin_memory=True)`",
               "one tensor in place of many before `.batched(N)`; on a GPU `wds.WebLoader(pin_memory=True)`",
               NULL)},
    [PP_REMEDY_DECODE_ELSEWHERE] =
        {.sentence =
             "Decode less on the GPU: let idle CPUs do it, store images at the size that training needs, or use a GPU with more JPEG engines.",
         WORDS(
             "`--decode cpu` where CPUs are idle; `--copy-buffers 4`: more batches under way",
             "`torchvision.io.decode_jpeg` on CPU tensors where CPUs are idle; larger lists of images per call on the GPU",
             NULL,
             "`fn.decoders.image(device=\"mixed\", hw_decoder_load=...)` divides the images between engines and CUDA")},
    [PP_REMEDY_ERRORS_FIRST] =
        {NULL, NULL,
         "Fix or take out the files that fail (see Errors), then record again: with failing reads a run cannot be replayed.",
         ERRORS},
    [PP_REMEDY_KEEP_WORKERS_PREFETCH] =
        {NULL, NULL,
         "Keep the workers across epochs (persistent_workers=True in PyTorch), and prefetch across the boundary.",
         KEEP_WORKERS, .set = "persistent_workers=True", .by = "persistent-workers"},
    [PP_REMEDY_START_ONCE] =
        {NULL, NULL,
         "Start the workers once for all epochs (persistent_workers=True in PyTorch), and save the index of the dataset.",
         KEEP_WORKERS, .set = "persistent_workers=True"},
    [PP_REMEDY_KEEP_WORKERS] = {"persistent-workers", "workers that stay for all epochs",
                                "Keep the workers across epochs (persistent_workers=True in PyTorch).",
                                KEEP_WORKERS, .set = "persistent_workers=True", .of_workers = 1},
/* of findings and of the audit */
#include "report/rules/remedies_findings.def"
};

int pp_remedy_is_done_by(const struct pp_remedy *remedy, const char *knob)
{
    size_t n = strlen(knob);
    if (remedy->knob && strcmp(remedy->knob, knob) == 0)
        return 1;
    for (const char *p = remedy->by; p && *p; p += strcspn(p, " "), p += strspn(p, " "))
        if (strncmp(p, knob, n) == 0 && (p[n] == ' ' || !p[n]))
            return 1;
    return 0;
}
