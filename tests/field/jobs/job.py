"""What the field jobs share: their arguments, a place for their data, and the clock that prints their rate.

    job = Job()
    path = job.data("rows.csv", make)         # made once, by a run with --prepare
    for epoch in job.epochs():
        for x in loader:
            step(x)
            if job.took(len(x)): break        # the time is over

The rate counts from the first batch, so imports and the first start of workers are no part of it; whole epochs are counted where there were three."""
import argparse
import os
import sys
import time


class Job:
    def __init__(self):
        ap = argparse.ArgumentParser()
        ap.add_argument("--fix", action="store_true", help="with the change that the report was resolved by")
        ap.add_argument("--knob", default="", help="with another change, to see that it gains less")
        ap.add_argument("--seconds", type=float, default=8.0)
        ap.add_argument("--dir", default="field-data", help="where data are")
        ap.add_argument("--url", default="", help="the server of tests/field/serve.py")
        ap.add_argument("--prepare", action="store_true", help="make the data and end")
        a = ap.parse_args()
        self.fix, self.knob, self.seconds, self.dir, self.url, self.preparing = a.fix, a.knob, a.seconds, a.dir, a.url, a.prepare
        self.last = None
        self.samples = self.end = 0
        self.marks, self.fresh = [], True  # (time, samples) at the first batch of each epoch

    def data(self, name, make):
        """DIR/NAME; make(path) writes it in a run with --prepare."""
        path = os.path.join(self.dir, name)
        if self.preparing and not os.path.exists(path):
            os.makedirs(self.dir, exist_ok=True)
            part = os.path.join(self.dir, "part-" + name)
            make(part)
            os.rename(part, path)
        return path

    def epochs(self):
        """Epoch numbers until the time is over; prints the rate at the end."""
        if self.preparing:
            sys.exit(0)
        epoch = 0
        while self.last is None or self.last < self.end:
            self.fresh = True
            yield epoch
            epoch += 1
        end = self.marks[-1] if len(self.marks) > 3 else (self.last, self.samples)
        print(f"rate {end[1] / (end[0] - self.marks[0][0]):.2f} samples/s", flush=True)

    def took(self, samples):
        """One batch was used. True once the time is over."""
        self.last = time.perf_counter()
        if not self.marks:
            self.end = self.last + self.seconds
        else:
            self.samples += samples
        if self.fresh:
            self.marks.append((self.last, self.samples))
            self.fresh = False
        return self.last >= self.end
