import multiprocessing.pool, time


class Parallel:
    def __init__(self, n_jobs, backend, return_as):
        self._n_jobs = n_jobs

    def _retrieve(self):
        while any(not job.ready() for job in self._jobs):
            if self._jobs[0].ready():
                yield self._jobs.pop(0).get()
            else:
                time.sleep(0.01)

    def _get_outputs(self, tasks, pre_dispatch):
        with multiprocessing.pool.ThreadPool(self._n_jobs) as pool:
            self._jobs = [pool.apply_async(*task) for task in tasks]
            yield
            yield from self._retrieve()
        for job in self._jobs:
            yield job.get()

    def _get_sequential_output(self, tasks):
        yield
        for function, args in tasks:
            yield function(*args)

    def __call__(self, tasks):
        outputs = self._get_sequential_output(tasks) if self._n_jobs == 1 else self._get_outputs(tasks, "all")
        next(outputs)
        return outputs
