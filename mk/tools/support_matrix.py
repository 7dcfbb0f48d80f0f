#!/usr/bin/env python3
"""support_matrix.py TAP... [--page FILE]: the support matrix, from what `make test-frameworks` printed: a row for each job, with the phases that its recording
has, and a column for each interpreter: yes (exit status, output, order and every hook were right), NO, or - (it cannot run there). Behind it a row for each
loader of other frameworks, with what was made slow in its jobs; "in part" is a check that was left out. --page puts both between the marks of a page; what these runs did not have stays as the page
has it."""
import collections
import re
import sys

KINDS = ("transform", "storage", "bound")
TITLES = {"jobs": ["job", "its recording has"], "loaders": ["loader", "version"]}


def read(files, sees):
    """Of jobs and of loaders: by row and column, every result that was printed; and what the comments say."""
    said, versions = {"jobs": collections.defaultdict(list), "loaders": collections.defaultdict(list)}, {}
    for line in (line for file in files for line in open(file)):
        version = re.match(r"# (\S+): (.* [\w.+]+)$", line)
        result = re.match(r"(not )?ok \d+ - (\S+) ([a-z_0-9]+)(: [^#]*)?(?: # SKIP .*)?$", line)
        if version:
            versions[version[1]] = version[2]
        elif result and result[2] in versions:
            cell = ("in part" if result[4] else "-") if " # SKIP " in line else "NO" if result[1] else "yes"
            if result[3] in sees and versions[result[2]].startswith("Python "):
                said["jobs"][result[3], versions[result[2]]].append(cell)
            elif result[3] in KINDS:
                said["loaders"][result[2], result[3]].append(cell)
    return said, versions


def table_of(page, name):
    """The page's table: its columns, and its cells by row and column."""
    lines = page.split(f"<!-- {name} -->\n")[1].split(f"<!-- end of {name} -->")[0].strip().splitlines() if page else []
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return (rows[0] if rows else []), {(row[0], column): cell for row in rows[2:] for column, cell in zip(rows[0][1:], row[1:])}


def made(name, said, versions, page, sees):
    columns, cells = table_of(page, name)
    worst = {at: next(c for c in ("NO", "-", "in part", "yes") if c in found) for at, found in said[name].items()}
    cells.update(worst)
    rows = list(dict.fromkeys(row for row, _ in cells))
    if name == "jobs":
        rows.sort(key=list(sees).index)
        first, last = TITLES[name]
        between = list(dict.fromkeys([c for c in columns[1:] if c != last] + [c for _, c in worst]))
        between.sort(key=lambda c: [int(n) for n in re.findall(r"\d+", c)])
        cells.update({(row, last): sees[row].replace(" ", ", ") for row in rows})
        columns = [first] + between + [last]
    else:
        columns = TITLES[name] + ["slow " + kind if kind != "bound" else "slow step" for kind in KINDS]
        cells.update({(row, "slow step" if kind == "bound" else "slow " + kind): cell for (row, kind), cell in worst.items()})
        cells.update({(row, "version"): versions[row] for row, _ in worst})
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join([row] + [cells.get((row, c), "not run") for c in columns[1:]]) + " |" for row in rows]
    return "\n".join(lines) + "\n", "NO" in worst.values()


def main():
    argv = sys.argv[1:]
    path = argv[argv.index("--page") + 1] if "--page" in argv else None
    files = [a for a in argv if a not in ("--page", path)]
    with open("tests/frameworks.sh") as f:
        sees = dict(re.findall(r"^([a-z_0-9]+)\|([a-z_ ]+)$", f.read(), re.M))
    said, versions = read(files, sees)
    page = open(path).read() if path else ""
    failed = not any(said.values())
    for name in said:
        text, wrong = made(name, said, versions, page, sees)
        failed |= wrong
        print(text)
        if path:
            before, rest = page.split(f"<!-- {name} -->\n")
            page = before + f"<!-- {name} -->\n\n" + text + f"\n<!-- end of {name} -->\n" + rest.split(f"<!-- end of {name} -->\n")[1]
    if path:
        open(path, "w").write(page)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
