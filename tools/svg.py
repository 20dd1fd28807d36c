"""Charts as SVG, for the pages: a few lines over a common axis, or bars. No dependency; colours read on white and on dark pages."""

import math

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 212, 44, 40
COLOURS = ["#8a8f98", "#2f6fd0", "#1f8a5b", "#b3541e"]
TEXT = "#24292f"


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def picture(title, parts, height=HEIGHT):
    style = f'font-family="system-ui, sans-serif" font-size="13" fill="{TEXT}"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" {style}>',
        f"<title>{escaped(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#ffffff" stroke="#d0d7de"/>',
        f'<text x="16" y="24" font-weight="600">{escaped(title)}</text>', *parts, "</svg>", ""])  # fmt: skip


def text(x, y, said, anchor="start", **more):
    extra = "".join(f' {k.replace("_", "-")}="{v}"' for k, v in more.items())
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escaped(said)}</text>'


def ticks(most):
    step = 10 ** math.floor(math.log10(most))
    step = next(s for s in (step / 5, step / 2, step, 2 * step, 5 * step) if most / s <= 5)
    return [i * step for i in range(int(most / step) + 1)]


def frame(labels, y_of):
    parts = []
    for value, label in labels:
        y = y_of(value)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e8ec"/>')
        parts.append(text(LEFT - 8, y + 4, label, "end", fill="#57606a"))
    return parts


def spread(wanted, gap=18):
    """Heights of labels, near those wanted, none over another."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed, last = list(wanted), -math.inf
    for i in order:
        placed[i] = last = max(wanted[i], last + gap)
    return placed


def steps(title, series, unit, under):
    """Staircases: series of (label, values), each over the whole width; a label stands beside its highest value."""
    most = max(max(values) for _, values in series) * 1.05
    y_of = lambda v: HEIGHT - BOTTOM - v / most * (HEIGHT - TOP - BOTTOM)
    parts = frame([(v, f"{v:g}") for v in ticks(most)], y_of)
    heights = spread([y_of(max(values)) + 4 for _, values in series])
    for (label, values), colour, at in zip(series, COLOURS, heights):
        width = (WIDTH - LEFT - RIGHT) / len(values)
        line = "".join(f"H{LEFT + i * width:.1f}V{y_of(v):.1f}" for i, v in enumerate(values))
        line = f"M{LEFT},{y_of(0):.1f}{line}H{WIDTH - RIGHT:.1f}V{y_of(0):.1f}"
        parts.append(f'<path d="{line}Z" fill="{colour}" fill-opacity="0.22" stroke="{colour}" stroke-width="1.5"/>')
        peak = y_of(max(values))
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT + 8}" y1="{peak:.1f}" y2="{peak:.1f}" stroke="{colour}" stroke-dasharray="4 3"/>')
        parts.append(text(WIDTH - RIGHT + 12, at, label, fill=colour, font_weight=600))
    parts.append(text(LEFT - 8, TOP - 4, unit, "end", fill="#57606a"))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, under, "middle", fill="#57606a"))
    return picture(title, parts)


def curves(title, series, under, logarithmic=False):
    """Lines through points: series of (label, [(x, y)])."""
    scale = math.log10 if logarithmic else lambda v: v
    values = [scale(y) for _, points in series for _, y in points]
    low, high = (math.floor(min(values)), math.ceil(max(values))) if logarithmic else (0, max(values) * 1.05)
    last = max(x for _, points in series for x, _ in points)
    y_of = lambda v: HEIGHT - BOTTOM - (scale(v) - low) / (high - low) * (HEIGHT - TOP - BOTTOM) if v else HEIGHT - BOTTOM
    x_of = lambda v: LEFT + v / last * (WIDTH - LEFT - RIGHT)
    marks = [(10.0**e, f"{10.0**e:g}") for e in range(low, high + 1)] if logarithmic else [(v, f"{v:g}") for v in ticks(high)]
    parts = frame(marks, y_of)
    heights = spread([y_of(points[-1][1]) + 4 for _, points in series])
    for (label, points), colour, at in zip(series, COLOURS[1:], heights):
        line = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="3" fill="{colour}"/>' for x, y in points]
        parts.append(text(WIDTH - RIGHT + 12, at, label, fill=colour, font_weight=600))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, under.format(f"{last:g}"), "middle", fill="#57606a"))
    return picture(title, parts)


def bars(title, rows, written):
    """Horizontal bars: rows of (label, value)."""
    most, height = max(v for _, v in rows), 44 + 32 * len(rows)
    parts = []
    for i, (label, value) in enumerate(rows):
        y, width = 40 + 32 * i, value / most * (WIDTH - 310)
        parts.append(text(188, y + 15, label, "end"))
        parts.append(f'<rect x="198" y="{y}" width="{width:.1f}" height="20" rx="2" fill="{COLOURS[0 if label == "by operation" else 1]}"/>')
        parts.append(text(206 + width, y + 15, written(value)))
    return picture(title, parts, height)
