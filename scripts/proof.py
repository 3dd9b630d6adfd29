"""Makes a section of tests/PROOF.md for each part of the proof that ran; the other sections stay as they are.

usage: scripts/proof.py state
       scripts/proof.py STATE PART=FILE=SECONDS...

STATE is what the first form has printed before anything was built: the commit, and whether there are changes.
FILE holds what the part printed. Called by the scripts whose commands tests/PROOF.md names; nobody else writes it.
"""

import os
import platform
import re
import subprocess
import sys
import time

PROOF = "tests/PROOF.md"
HEAD = """# Proof

Written by `scripts/prove --write` and the other commands named here, and nothing here is typed by hand. Each part names the command that
runs it again; a part whose check fails writes nothing. Accepted: acknowledged by a commit or an answer, once for each place it is owed to.
Lost: accepted, and neither delivered nor given up and told. A repeat is a copy beyond the first, and each is marked as a possible repeat;
its causes are the attempts of which the sender has noted no end: interrupted, it was ended between claim and commit; unknown, no answer came.
The programs are debug builds, which have the named points; those under systemd are the release that is packaged.
"""
# Commands of their own.
OTHERS = {"soak": "scripts/soak MINUTES", "systemd": "scripts/try-systemd --write"}
COLUMNS = ["what", "how often", "seed", "accepted", "delivered", "dead and told", "lost", "repeats", "their cause"]


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    if sys.argv[1:] == ["state"]:
        print(state())
        return
    sections = read_sections()
    for argument in sys.argv[2:]:
        part, path, seconds = argument.rsplit("=", 2)
        with open(path, encoding="utf-8") as printed:
            sections[part] = section(part, sys.argv[1], printed.read(), int(seconds))
    order = [line.split("PARTS=(")[1].rstrip(")\n").split() for line in open("scripts/prove") if "PARTS=(" in line][0]
    with open(PROOF, "w", encoding="utf-8") as proof:
        proof.write(HEAD)
        for part in sorted(sections, key=lambda part: order.index(part) if part in order else len(order)):
            proof.write(f"\n## {part}\n\n{sections[part]}\n")


def read_sections():
    if not os.path.exists(PROOF):
        return {}
    with open(PROOF, encoding="utf-8") as proof:
        parts = re.split(r"^## (\S+)\n", proof.read(), flags=re.M)
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2])}


def state():
    commit = git("log", "-1", "--format=%h")
    changed = git("status", "--porcelain", "--", ".", f":!{PROOF}", ":!tests/soak.svg")
    return commit + (" with changes" if changed else "")


def section(part, commit, printed, seconds):
    lines = [line for line in re.findall(r"^.*?proof (.*)", printed, re.M) if not line.startswith("sample ")]
    rows = [line for line in lines if line.startswith("| ")]
    others = [line for line in lines if not line.startswith("| ")]
    day = time.strftime("%Y-%m-%d", time.gmtime())
    command = OTHERS.get(part, f"scripts/prove {part}")
    passed = sum(map(int, re.findall(r"^test result: ok\. (\d+) passed", printed, re.M)))
    tests = f", {passed} {'test' if passed == 1 else 'tests'} passed" if passed else ""
    text = [f"`{command}`: {day}, commit {commit}, {os.cpu_count()} cores, Linux {kernel()}, {seconds} s{tests}."]
    if rows:
        text += ["", table(COLUMNS), table(["---"] * len(COLUMNS)), *rows]
    if others:
        text += ["", *[f"- {line}" for line in others]]
    return "\n".join(text)


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()


def kernel():
    return ".".join(platform.release().split(".")[:2])


def table(cells):
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
