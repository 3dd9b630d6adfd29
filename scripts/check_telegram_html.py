#!/usr/bin/env python3
"""Parses each message of a file of samples with TDLib's own HTML parser and compares what it sees
with what we meant: see scripts/check-telegram-html. One JSON object a line: html, text, links."""

import json
import sys

import tdjson


def call(request):
    return json.loads(tdjson.td_execute(json.dumps(request).encode()))


def parsed(html):
    mode = {"@type": "textParseModeHTML"}
    return call({"@type": "parseTextEntities", "text": html, "parse_mode": mode})


def fault(sample, answer):
    """What is wrong with a message, or None."""
    if answer["@type"] == "error":
        return f"refused: {answer['message']}"
    text = answer["text"]
    if text.split() != sample["text"].split():
        return f"other words: {text!r}"
    if len(text) > 4096 or len(text.encode("utf-16-le")) // 2 > 4096:
        return f"too long: {len(text)} code points"
    kinds = [entity["type"] for entity in answer["entities"]]
    if len(kinds) > 100:
        return f"{len(kinds)} entities"
    links = sorted(kind["url"] for kind in kinds if kind["@type"] == "textEntityTypeTextUrl")
    meant = sorted(link for link in sample["links"] if link)
    if len(links) != len(meant):
        return f"{len(meant)} links became {len(links)}: {meant}"
    if len(kinds) != len(sample["links"]):
        return f"{len(sample['links'])} entities became {len(kinds)}"
    return None


def main(path):
    call({"@type": "setLogVerbosityLevel", "new_verbosity_level": 0})
    # A parser that takes everything would prove nothing.
    assert parsed("<b>a")["@type"] == "error" and parsed("(< 10%)")["@type"] == "error"
    messages = faults = entities = longest = 0
    with open(path, encoding="utf-8") as samples:
        for line in samples:
            sample = json.loads(line)
            answer = parsed(sample["html"])
            messages += 1
            entities += len(answer.get("entities", []))
            longest = max(longest, len(answer.get("text", "")))
            what = fault(sample, answer)
            if what:
                faults += 1
                if faults <= 10:
                    print(f"message {messages}: {what}\n  {sample['html'][:300]!r}")
    print(
        f"proof TDLib took {messages - faults} of {messages} messages, "
        f"{entities} entities, the longest of {longest} code points"
    )
    return 0 if messages >= 10_000 and not faults else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
