"""Plans and tradeoffs as notebooks show them."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence

from ._neap import Plan, Tradeoff, format_bytes

# A frame's page is light or dark as the frame is, which is as the notebook is, where it says so (JupyterLab, VS Code).
_THEMES = (
    "<style>.neap-plan{color-scheme:light dark;width:100%;height:36em;border:1px solid #8888;resize:vertical}"
    "[data-jp-theme-light=true] .neap-plan,.vscode-light .neap-plan{color-scheme:light}"
    "[data-jp-theme-light=false] .neap-plan,.vscode-dark .neap-plan{color-scheme:dark}</style>"
)


def _plan_html(plan: Plan) -> str:
    page = html.escape(plan.to_html(), quote=True)
    return f'{_THEMES}<iframe class="neap-plan" srcdoc="{page}" title="plan"></iframe>'


Plan._repr_html_ = _plan_html


class Tradeoffs(Sequence):
    """What budgets cost: plans of ever lower peaks. A notebook draws them."""

    def __init__(self, points: Sequence[Tradeoff]):
        self._points = list(points)

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, i):
        return Tradeoffs(self._points[i]) if isinstance(i, slice) else self._points[i]

    def __repr__(self) -> str:
        return "\n".join(f"{format_bytes(p.peak_bytes):>12}  {p.predicted_seconds * 1e3:10.4g} ms  {p.how}" for p in self)

    def _repr_html_(self) -> str:
        return _curve(self._points)


_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 680, 330, 72, 52, 40, 32


def _curve(points: list[Tradeoff]) -> str:
    """Draws predicted time over peak, a point a plan, as one SVG whose text has the colour of the text around it."""
    if not points:
        return "<p>no plans</p>"
    peaks = [p.peak_bytes for p in points]
    times = [max(p.predicted_seconds, 1e-12) for p in points]
    unit = 1024 ** max(0, min(6, (max(peaks).bit_length() - 1) // 10))
    name = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][round(math.log(unit, 1024))]
    logarithmic = max(times) > 8 * min(times)
    across = _axis(min(peaks) / unit, max(peaks) / unit, False, _LEFT, _WIDTH - _RIGHT)
    up = _axis(min(times), max(times), logarithmic, _HEIGHT - _BOTTOM, _TOP)

    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" xmlns="http://www.w3.org/2000/svg" role="img" '
             'aria-label="predicted time over peak" font-family="system-ui, sans-serif" font-size="12" fill="currentColor" '
             'style="max-width:100%;height:auto">']  # fmt: skip
    for value, x in across[1]:
        parts.append(f'<path d="M{x:.1f} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="currentColor" stroke-opacity=".12"/>')
        parts.append(_text(x, _HEIGHT - _BOTTOM + 18, f"{value:g} {name}", "middle"))
    for value, y in up[1]:
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="currentColor" stroke-opacity=".12"/>')
        parts.append(_text(_LEFT - 8, y + 4, _time(value), "end"))
    parts.append(f'<path d="M{_LEFT} {_TOP}V{_HEIGHT - _BOTTOM}H{_WIDTH - _RIGHT}" fill="none" stroke="currentColor" stroke-opacity=".5"/>')
    parts.append(_text(12, 18, "predicted time" + (", logarithmic" if logarithmic else ""), "start"))
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 12, "peak", "middle"))

    places = [(across[0](b / unit), up[0](t)) for b, t in zip(peaks, times, strict=True)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#3d8bb5" stroke-width="1.5"/>')
    for p, t, (x, y) in zip(points, times, places, strict=True):
        tip = html.escape(f"{format_bytes(p.peak_bytes)}, {_time(t)}: {p.how}")
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#3d8bb5"><title>{tip}</title></circle>')
    ends = [("usual", 0)] if len(points) == 1 else [("usual", 0), ("lowest", -1)]
    for said, i in ends:
        (x, y), label = places[i], f"{said}: {format_bytes(peaks[i])}, {_time(times[i])}"
        right = x < (_LEFT + _WIDTH - _RIGHT) / 2
        parts.append(_text(x + (10 if right else 4), y + (4 if right else -10), label, "start" if right else "end", 1, 600))
    return "".join(parts) + "</svg>"


def _text(x: float, y: float, said: str, anchor: str, opacity: float = 0.75, weight: int = 400) -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill-opacity="{opacity}" font-weight="{weight}">'
            f"{html.escape(said)}</text>")  # fmt: skip


def _time(seconds: float) -> str:
    if seconds == 0:
        return "0"
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{float(f'{seconds / unit:.3g}'):g} {name}"
    return f"{float(f'{seconds * 1e9:.3g}'):g} ns"


def _axis(low: float, high: float, logarithmic: bool, start: float, end: float) -> tuple[Callable[[float], float], list]:
    """Returns where values lie, and marks at round values as (value, place). An axis of values that are near each other
    does not begin at 0."""
    if logarithmic:
        scale, pad = math.log, 0.06 * math.log(high / low)
        first, last = math.log(low) - pad, math.log(high) + pad
        decades = range(math.floor(first / math.log(10)) - 1, math.ceil(last / math.log(10)) + 1)
        marks = [m * 10.0**e for e in decades for m in (1, 2, 5)]
        if last - first > math.log(1e4):
            marks = [10.0**e for e in decades]
    else:
        scale, spread = float, high - low
        pad = 0.08 * (spread or high or 1.0)
        first, last = (0.0 if low - pad < 0.4 * high else low - pad), high + pad
        step = 10.0 ** math.floor(math.log10(last - first))
        step = next(s for s in (step / 5, step / 2, step, 2 * step) if (last - first) / s <= 7)
        marks = [float(f"{i * step:.9g}") for i in range(math.ceil(first / step), math.floor(last / step) + 1)]

    def place(value: float) -> float:
        return start + (end - start) * (scale(value) - first) / (last - first)

    return place, [(m, place(m)) for m in marks if first <= scale(m) <= last]
