#!/usr/bin/env python3
"""support_matrix.py TAP... [--page FILE]: the support matrix, from what `make test-frameworks` printed: a row for each job, with the phases that its recording
has, and a column for each interpreter: yes (exit status, output, order and every hook were right), NO, or - (it cannot run there). --page puts it between
the marks of a page."""
import collections
import re
import sys

BEGIN, END = "<!-- support -->\n", "<!-- end of support -->\n"


def main():
    argv = sys.argv[1:]
    page = argv[argv.index("--page") + 1] if "--page" in argv else None
    files = [a for a in argv if a not in ("--page", page)]
    with open("tests/frameworks.sh") as f:
        sees = dict(re.findall(r"^([a-z_0-9]+)\|([a-z_ ]+)$", f.read(), re.M))
    cells, versions, jobs = collections.defaultdict(list), {}, []
    for file in files:
        with open(file) as f:
            for line in f:
                version = re.match(r"# (\S+): (Python .*)$", line)
                result = re.match(r"(not )?ok \d+ - (\S+) ([a-z_0-9]+)(: [^#]*)?(?: # SKIP .*)?$", line)
                if version:
                    versions[version[1]] = version[2]
                elif result and result[2] in versions and result[3] in sees:
                    cells[result[3], result[2]].append("-" if " # SKIP " in line else "NO" if result[1] else "yes")
                    jobs += [result[3]] if result[3] not in jobs else []
    lines = ["| job of tests/jobs/rows.py | " + " | ".join(versions.values()) + " | its recording has |", "|---|" + "---|" * len(versions) + "---|"]
    for job in sorted(jobs, key=list(sees).index):
        said = [next((c for c in ("NO", "-", "yes") if c in cells[job, who]), "not run") for who in versions]
        lines.append(f"| {job} | " + " | ".join(said) + f" | {sees[job].replace(' ', ', ')} |")
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if page:
        with open(page) as f:
            whole = f.read()
        before, rest = whole.split(BEGIN)
        with open(page, "w") as f:
            f.write(before + BEGIN + "\n" + text + "\n" + END + rest.split(END)[1])
    return 0 if jobs and "NO" not in "".join(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
