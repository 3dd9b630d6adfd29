"""Draws what a soak has sampled, and says whether the programs' memory stayed flat: else it ends with 1.

usage: scripts/soak.py PRINTED PICTURE
"""

import re
import sys

# Of each sample, after its second: what it is, and its colour.
SERIES = [
    ("sender, MiB resident", "#1b6ca8", 1024),
    ("receiver, MiB resident", "#c0392b", 1024),
    ("database, MiB", "#27ae60", 1024),
    ("write-ahead log, MiB", "#8e44ad", 1024),
    ("rows that wait", "#d35400", 1),
    ("s from acceptance to delivery, the middle one", "#2c3e50", 1000),
    ("s from acceptance to delivery, the slowest", "#7f8c8d", 1000),
]
# The programs, and by how much more the last third may have: caches fill, and blocks of memory are kept.
PROGRAMS, MORE = (1, 2), (1.25, 2 * 1024)
WIDTH, HEIGHT, LEFT, GAP = 900, 110, 60, 36


def main():
    printed, picture = sys.argv[1:]
    with open(printed, encoding="utf-8") as text:
        samples = [[float(word) for word in words.split()] for words in re.findall(r"^proof sample (.*)", text.read(), re.M)]
    if len(samples) < 3:
        print("too few samples for a picture")
        return
    with open(picture, "w", encoding="utf-8") as out:
        out.write(draw(samples))
    print(f"drawn: {picture}")
    third, grown = len(samples) // 3, []
    for number, (name, _, unit) in enumerate(SERIES, 1):
        first, last = mean(samples[:third], number) / unit, mean(samples[-third:], number) / unit
        line = f"{name}: {first:.2f} in the first third, {last:.2f} in the last"
        print(f"proof {line}")
        with open(printed, "a", encoding="utf-8") as text:
            text.write(f"proof {line}\n")
        if number in PROGRAMS and last > first * MORE[0] + MORE[1] / unit:
            grown.append(name)
    if grown:
        sys.exit(f"not flat: {', '.join(grown)}")


def mean(samples, number):
    # A process that was just started, or killed, has no memory yet.
    values = [sample[number] for sample in samples if number > 2 or sample[number] > 0]
    return sum(values) / max(len(values), 1)


def draw(samples):
    end = samples[-1][0]
    parts = []
    for row, (name, colour, unit) in enumerate(SERIES):
        top = row * (HEIGHT + GAP) + GAP
        values = [sample[row + 1] / unit for sample in samples]
        most = max(max(values), 1e-9)
        points = " ".join(
            f"{LEFT + sample[0] / end * WIDTH:.1f},{top + HEIGHT - value / most * HEIGHT:.1f}"
            for sample, value in zip(samples, values)
        )
        parts.append(
            f'<text x="{LEFT}" y="{top - 8}">{name}</text>'
            f'<text x="{LEFT - 6}" y="{top + 10}" text-anchor="end">{most:.3g}</text>'
            f'<text x="{LEFT - 6}" y="{top + HEIGHT}" text-anchor="end">0</text>'
            f'<rect x="{LEFT}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#ccc"/>'
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.2"/>'
        )
    height = len(SERIES) * (HEIGHT + GAP) + GAP
    foot = f'<text x="{LEFT + WIDTH}" y="{height - 12}" text-anchor="end">{end / 60:.1f} minutes</text>'
    style = "<style>text { font: 13px sans-serif; fill: #333 }</style>"
    size = f'width="{LEFT + WIDTH + 20}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{style}<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}{foot}</svg>\n'


if __name__ == "__main__":
    main()
