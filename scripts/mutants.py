"""Takes each guard of tests/mutants.tsv out of a copy of the tree and runs the model against that.

usage: scripts/mutants [--all | WORD...]

Runs those guards that tests/MUTANTS.md has no result for, or that survived, or whose text has changed since; with --all every
one, with WORDs those whose names hold one of them. A guard's mutant is caught by the model (its quick form from
a fixed seed), else by the model's long form within two minutes, else by the protocol's other tests; else it has
survived, and tests/mutants.tsv must say why that is right ("equivalent: ..." in its last column).
Writes tests/MUTANTS.md. Ends with 1 when a mutant survived without a reason, and with 2 when a guard's text is
not in its file exactly once.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time

LIST, RESULTS = "tests/mutants.tsv", "tests/MUTANTS.md"
COPY = "target/mutants"
MODEL = ["cargo", "test", "--offline", "--quiet", "--package", "watchalert-tests", "--test", "model"]
SCHEMA = "shared/sql/0001_outbox.sql"
OTHERS = ["outbox", "gates", "folding", "silences", "clocks", "journal", "strangers", "enqueue", "parts",
          "posts", "invariants", "migrations", "failover"]
# Cases of the quick form all pass from here, and the same ones are run for each.
SEED = "1"
LONG = 120


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    words = sys.argv[1:]
    if words and words[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    guards = read_guards()
    wrong = [guard["guard"] for guard in guards if text(guard["file"]).count(guard["text"]) != 1]
    if wrong:
        print("not in its file exactly once:", *wrong, sep="\n  ", file=sys.stderr)
        return 2
    results = {} if words == ["--all"] else read_results()
    chosen = [guard for guard in guards if is_chosen(guard, words, results)]
    copy_tree()
    if chosen and build(MODEL) != 0:
        sys.exit("the tree does not build as it is")
    if chosen and (why := run(MODEL, 300)):
        sys.exit(f"the model does not hold as it is: {why}")
    # What the model catches is soon known; what it does not is put to all the other tests, which takes longer.
    for judge in (by_model, by_others):
        missed = []
        for number, guard in enumerate(chosen, 1):
            began = time.monotonic()
            result = judge(guard)
            print(f"{number} of {len(chosen)}: {guard['guard']}: {result} ({time.monotonic() - began:.0f} s)", flush=True)
            if result is None:
                missed.append(guard)
            else:
                results[guard["guard"]] = (mark(guard), result)
                write_results(guards, results)
        chosen = missed
    left = [guard["guard"] for guard in guards if results.get(guard["guard"], ("", ""))[1] == "survived"]
    if left:
        print("survived without a reason:", *left, sep="\n  ", file=sys.stderr)
    return 1 if left else 0


def read_guards():
    lines = text(LIST).splitlines()
    names = lines[0].split("\t")
    plain = lambda field: field.encode().decode("unicode_escape").encode("latin-1").decode() if "\\" in field else field
    return [dict(zip(names, [plain(field) for field in line.split("\t")])) for line in lines[1:]]


def mark(guard):
    """Changes when what is taken out does, or what stands in its place."""
    return hashlib.sha256((guard["text"] + "\0" + guard["instead"]).encode()).hexdigest()[:8]


def is_chosen(guard, words, results):
    if words and words != ["--all"]:
        return any(word in guard["guard"] for word in words)
    last, result = results.get(guard["guard"], ("", ""))
    return last != mark(guard) or result == "survived"


def read_results():
    results = {}
    if os.path.exists(RESULTS):
        for line in text(RESULTS).splitlines():
            fields = [field.strip() for field in line.strip("|").split("|")]
            if len(fields) == 4 and len(fields[3].strip("`")) == 8:
                results[fields[0]] = (fields[3].strip("`"), fields[2])
    return results


def write_results(guards, results):
    known = [(guard, *results[guard["guard"]]) for guard in guards if guard["guard"] in results]
    count = lambda begin: sum(result.startswith(begin) for _, _, result in known)
    lines = [
        "# What notices when a guard of the outbox protocol is missing",
        "",
        "Written by `scripts/mutants` from `tests/mutants.tsv`, which says what was taken out and what stood in its place.",
        "",
        f"{len(known)} of {len(guards)} guards: {count('the model')} caught by the model, {count('other tests')} by other tests alone, "
        f"{count('equivalent')} make no difference, {count('survived')} survived.",
        "",
        "| guard | file | caught by | mark |",
        "|---|---|---|---|",
    ]
    for guard, marked, result in known:
        lines.append(f"| {guard['guard']} | `{guard['file']}` | {result} | `{marked}` |")
    with open(RESULTS, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def copy_tree():
    """What is committed and what is not, without what is built; times are kept, so that little is built again."""
    os.makedirs(COPY, exist_ok=True)
    files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")
    for name in filter(os.path.isfile, files):
        there = os.path.join(COPY, name)
        os.makedirs(os.path.dirname(there), exist_ok=True)
        if not os.path.exists(there):
            shutil.copy2(name, there)
        elif text(there, "rb") != text(name, "rb"):
            # With a new time: what a run that was ended left there may have been built.
            shutil.copyfile(name, there)
    for folder in ("deps", "build", ".fingerprint"):
        built, there = os.path.join("target/debug", folder), os.path.join(COPY, "target/debug", folder)
        if os.path.isdir(built) and not os.path.isdir(there):
            # Other crates are as they are there: nobody writes into them.
            shutil.copytree(built, there, symlinks=True, copy_function=os.link)


def by_model(guard):
    """`None`: its quick form does not notice."""
    if guard["file"] == SCHEMA:
        # The model breaks the schema of its own files, and needs no other build.
        path = os.path.abspath(os.path.join(COPY, "mutant"))
        with open(path, "w", encoding="utf-8") as file:
            file.write(guard["text"] + "\n====\n" + guard["instead"])
        caught = run(MODEL, 300, WATCHALERT_SCHEMA_MUTANT=path)
    else:
        with Broken(guard):
            if build(MODEL) != 0:
                return "does not build"
            caught = run(MODEL, 300)
    return f"the model: {caught}" if caught else guard.get("reason") or None


def by_others(guard):
    command = MODEL[:6] + [option for test in OTHERS for option in ("--test", test)]
    with Broken(guard):
        if build(command) != 0:
            return "does not build"
        if run([*command, "--no-fail-fast"], 900):
            return "other tests"
        caught = run(MODEL, LONG, WATCHALERT_LONG="1")
    return f"the model's long form: {caught}" if caught else "survived"


class Broken:
    """The copy without the guard, for a while."""

    def __init__(self, guard):
        self.guard, self.path = guard, os.path.join(COPY, guard["file"])
        self.whole = text(self.path)

    def __enter__(self):
        self.put(self.whole.replace(self.guard["text"], self.guard["instead"]))

    def __exit__(self, *_):
        self.put(self.whole)

    def put(self, content):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(content)


def build(command):
    done = subprocess.run([*command, "--no-run"], cwd=COPY, env=environment(),
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    return done.returncode


def run(command, seconds, **more):
    """In a word what failed; empty when nothing did, as far as there was time."""
    # With a group of its own: what cargo has started ends with it.
    with subprocess.Popen(command, cwd=COPY, env={**environment(), **more}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True) as running:
        try:
            output, _ = running.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            return "" if "WATCHALERT_LONG" in more else "it hangs"
    return "" if running.returncode == 0 else said(output.decode(errors="replace"))


def said(output):
    lines = output.splitlines()
    for place, line in enumerate(lines):
        if line.startswith(("step ", "in the end:")):
            what = line.split(",")[0] if line.startswith("step") else "in the end"
            why = lines[place + 1] if place + 1 < len(lines) else ""
            return re.sub(r'"/[^"]*/', '"', f"{what}, {why}").replace("|", "/")[:80].strip()
    return "it fails"


def environment():
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WATCHALERT_")}
    kept.pop("CARGO_TARGET_DIR", None)
    return {**kept, "CARGO_INCREMENTAL": "1", "WATCHALERT_SEED": SEED, "RUST_BACKTRACE": "0",
            "PROPTEST_MAX_SHRINK_ITERS": "0"}


def text(path, mode="r"):
    with open(path, mode, **({} if "b" in mode else {"encoding": "utf-8"})) as file:
        return file.read()


sys.exit(main())
