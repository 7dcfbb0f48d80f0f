#!/usr/bin/env python3
"""site.py OUT [--external]: the documentation as a site, from the same Markdown: OUT/source is laid out for mkdocs, OUT/site is what it makes. README.md is the
first page; files of the tree that pages link to lie below files/; each verdict and each command has a page beside the one that has all. Prints each link
that leads nowhere, and then ends with 1. Needs mkdocs. --external: the links to other hosts are asked for, too; which hosts do not answer is said."""

import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from html.parser import HTMLParser

OF_MANY = {"reference/verdicts.md": re.compile(" / |no cause named|^not measured"), "reference/commands.md": re.compile("^pipeprobe ")}
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
CONFIG = """site_name: pipeprobe
docs_dir: source
site_dir: site
theme: {name: mkdocs, highlightjs: false}
use_directory_urls: false
plugins: [search]
nav:
  - Start: index.md
%s"""


def stage(source):
    """All Markdown of docs/ and README.md below source."""
    pages = {"README.md": "index.md", "docs/README.md": "pages.md"}
    for folder, _, names in os.walk("docs"):
        for name in sorted(names):
            path = os.path.join(folder, name)
            pages.setdefault(path, os.path.relpath(path, "docs"))
    for path, to in pages.items():
        os.makedirs(os.path.dirname(os.path.join(source, to)), exist_ok=True)
        if not path.endswith(".md"):
            shutil.copy(path, os.path.join(source, to))
            continue

        def moved(m, path=path, to=to):
            target, mark = (m.group(2).split("#", 1) + [None])[:2]
            if not target or "://" in target or target.startswith("mailto:"):
                return m.group(0)
            there = os.path.normpath(os.path.join(os.path.dirname(path), target))
            at = pages.get(there) or (pages.get("docs/README.md") if there == "docs" else None)
            if at is None and os.path.isfile(there):
                at = os.path.join("files", there + (".txt" if there.endswith(".md") else ""))
                os.makedirs(os.path.dirname(os.path.join(source, at)), exist_ok=True)
                shutil.copy(there, os.path.join(source, at))
            if at is None:
                print("%s: nothing is at %s" % (path, target))
                failures.append(path)
                return m.group(0)
            return m.group(1) + os.path.relpath(at, os.path.dirname(to) or ".") + ("#" + mark if mark else "") + m.group(3)

        with open(path) as f:
            text = LINK.sub(moved, f.read())
        if to in OF_MANY:
            text = a_page_each(source, to, text)
        with open(os.path.join(source, to), "w") as f:
            f.write(text)


def a_page_each(source, to, text):
    """The sections of a page whose heading says what they are of, as pages; the page itself then names them."""
    folder, links = to[: -len(".md")], []
    os.makedirs(os.path.join(source, folder), exist_ok=True)
    parts = re.split(r"^(#{2,3} .*)$", text, flags=re.M)

    def below(m):
        target = m.group(2)
        return m.group(0) if "://" in target else m.group(1) + (("../" + os.path.basename(to)) if target[0] == "#" else "../") + target + m.group(3)

    for heading, body in zip(parts[1::2], parts[2::2]):
        title = heading.lstrip("# ")
        if not OF_MANY[to].search(title):
            continue
        name = re.sub(r"[^a-z0-9]+", "-", title.replace("pipeprobe ", "").lower()).strip("-")
        links.append("[%s](%s/%s.md)" % (title, os.path.basename(folder), name))
        with open(os.path.join(source, folder, name + ".md"), "w") as f:
            f.write("# %s\n%s\n[%s](../%s)\n" % (title, LINK.sub(below, body), parts[0].split("\n")[0].lstrip("# "), os.path.basename(to)))
    return text.replace("\n\n", "\n\nA page each: " + ", ".join(links) + ".\n\n", 1)


def nav():
    """The parts and pages of docs/README.md, in its order."""
    out = []
    with open("docs/README.md") as f:
        for line in f:
            if line.startswith("## "):
                out.append("  - %s:\n" % line[3:].strip().replace(": tasks", ""))
            elif out and line.startswith("| ["):
                for name, target in re.findall(r"\[([^\]]+)\]\(([^)#\s]+\.md)\)", line.split("|")[1]):
                    out.append("      - %s: %s\n" % (name, target))
    return "".join(out)


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def check(site):
    pages = {}
    for folder, _, names in os.walk(site):
        for name in names:
            if name.endswith(".html") and name != "404.html":
                path = os.path.join(folder, name)
                with open(path) as f:
                    pages[path] = Page(f.read())
    links = 0
    for path, page in sorted(pages.items()):
        for link in page.links:
            target, mark = (link.split("#", 1) + [""])[:2]
            if re.match(r"[a-z]+:|//", target):
                continue
            links += 1
            there = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            if not os.path.exists(there) or (mark and there in pages and mark not in pages[there].ids):
                print("%s: %s leads nowhere" % (os.path.relpath(path, site), link))
                failures.append(path)
    print("%d pages, %d links" % (len(pages), links))
    return {link.split("#", 1)[0] for page in pages.values() for link in page.links if re.match("https?:", link)}


def ask(links):
    """A host that answers has the page, or it is a link that leads nowhere; one that cannot be reached says nothing of its links."""
    silent = {}
    for link in sorted(links):
        host = link.split("/")[2]
        try:
            if host not in silent:
                urllib.request.urlopen(urllib.request.Request(link, headers={"User-Agent": "Mozilla/5.0"}), timeout=20).close()
        except urllib.error.HTTPError as e:
            if e.code in (404, 410):
                print("%s: its host answers %d" % (link, e.code))
                failures.append(link)
        except OSError as e:
            silent[host] = str(getattr(e, "reason", e))
    for host, why in silent.items():
        print("%s cannot be reached from here (%s): %d of its links not asked for" % (host, why, sum(link.split("/")[2] == host for link in links)))
    print("%d links to other hosts, of %d hosts; %d hosts not reached" % (len(links), len({link.split("/")[2] for link in links}), len(silent)))


failures = []
out = sys.argv[1]
shutil.rmtree(out, ignore_errors=True)
os.makedirs(out)
stage(os.path.join(out, "source"))
with open(os.path.join(out, "mkdocs.yml"), "w") as f:
    f.write(CONFIG % nav())
subprocess.run([sys.executable, "-m", "mkdocs", "build", "-q", "-f", os.path.join(out, "mkdocs.yml")], check=True)
others = check(os.path.join(out, "site"))
if "--external" in sys.argv[2:]:
    ask(others)
sys.exit(1 if failures else 0)
