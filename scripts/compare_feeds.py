"""Compares what our reader and feedparser make of each file of a corpus: see compare-feeds.

The bar: where feedparser finds entries, we find as many, with the same titles and links. More is
no difference: an entry, a title or a link that only we find does not count against us.
"""

import html
import json
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import feedparser

BASE = "https://base.example/feeds/all.xml"
REAL_WORLD = ["feed-rs", "RSParser", "rss-parser", "miniflux", "security"]
OTHERS = ["feedparser", "rome"]
NOT_FEEDS = {".html", ".opml", ".json", ".md", ".txt", ".tsv", ""}


class Text(HTMLParser):
    """HTML to text, as plainly as possible."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.text = ""

    def handle_data(self, data):
        self.text += data


def dense(text):
    """Text without white space and invisible characters, which both sides set differently."""
    text = unicodedata.normalize("NFC", html.unescape(text))
    return re.sub(r"[\s\x00-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\ufeff\u202a-\u202e]+", "", text)


def plain(title):
    """What a person sees of a title that is HTML."""
    parser = Text()
    parser.feed(title)
    parser.close()
    return dense(parser.text)


def same_title(theirs, ours):
    """feedparser hands on HTML or text without saying which; ours is text."""
    theirs, ours = {dense(theirs or ""), plain(theirs or "")}, dense(ours)
    cut = ours.endswith("…") and any(text.startswith(ours[:-1]) for text in theirs)
    return "" in theirs or ours in theirs or cut


def address(link):
    """An address in the form in which two spellings of it are equal."""
    parts = urlsplit((link or "").strip())
    host = (parts.hostname or "").lower()
    try:
        host = host.encode("idna").decode()
    except UnicodeError:
        pass
    path = unquote(parts.path) or "/"
    return (parts.scheme.lower(), host, path, unquote(parts.query), unquote(parts.fragment))


def same_link(theirs, ours):
    if not (theirs or "").strip().lower().startswith(("http://", "https://")):
        return True  # Nothing that a phone could open.
    return address(theirs) == address(ours)


def differences(theirs, ours):
    """One word and one example for each way in which the two differ."""
    if not theirs:
        return
    if "error" in ours:
        yield "refused", ours["error"]
        return
    entries = ours["entries"]
    if len(entries) < len(theirs):
        yield "count", f"{len(theirs)} there, {len(entries)} here"
        return
    if len(entries) > len(theirs):
        return
    for entry, other in zip(entries, theirs):
        if not same_title(other.get("title"), entry["title"]):
            yield "title", f"{other.get('title')!r} there, {entry['title']!r} here"
            break
    for entry, other in zip(entries, theirs):
        if not same_link(other.get("link"), entry["link"]):
            yield "link", f"{other.get('link')!r} there, {entry['link']!r} here"
            break


def read_known(path):
    lines = Path(path).read_text().splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {(file, what): reason for file, what, reason in rows}


def main(feeds, dump, known_path):
    feeds = Path(feeds)
    folders = [(name, True) for name in REAL_WORLD] + [(name, False) for name in OTHERS]
    files = [
        (path, real)
        for name, real in folders
        for path in sorted((feeds / name).rglob("*"))
        if path.is_file() and path.suffix.lower() not in NOT_FEEDS
    ]
    run = subprocess.run(
        [dump, BASE], input="".join(f"{path}\n" for path, _ in files),
        capture_output=True, text=True, check=True,
    )
    ours = [json.loads(line) for line in run.stdout.splitlines()]
    known = read_known(known_path)
    compared, differing, unexplained = Counter(), Counter(), 0
    for (path, real), mine in zip(files, ours, strict=True):
        headers = {"content-location": BASE}
        theirs = feedparser.parse(path.read_bytes(), response_headers=headers).entries
        compared[real] += bool(theirs)
        name = str(path.relative_to(feeds))
        found = list(differences(theirs, mine))
        differing[real] += bool(found)
        for what, example in found:
            reason = known.pop((name, what), None)
            unexplained += reason is None
            print(f"{'known' if reason else 'NEW'}\t{what}\t{name}\t{reason or example}")
    for (name, what), _ in known.items():
        print(f"gone\t{what}\t{name}\tno longer differs: take it off the list")
    for real, label in [(True, "real-world"), (False, "made-up")]:
        share = 100 * differing[real] / max(1, compared[real])
        print(f"{label}: {compared[real]} files with entries, {differing[real]} differ ({share:.1f} %)")
    print(f"{unexplained} differences without a reason")
    return unexplained > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
