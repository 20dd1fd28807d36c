"""Plans and tradeoffs as notebooks show them."""

from __future__ import annotations

import html
from collections.abc import Sequence

from ._neap import Plan, Tradeoff, format_bytes


def _plan_html(plan: Plan) -> str:
    page = html.escape(plan.to_html(), quote=True)
    return f'<iframe srcdoc="{page}" style="width:100%;height:36em;border:1px solid #ccc" title="plan"></iframe>'


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


def _curve(points: list[Tradeoff]) -> str:
    """Draws predicted time over peak, a point a plan, as one SVG."""
    if not points:
        return "<p>no plans</p>"
    width, height, left, bottom, top, right = 640, 320, 80, 48, 16, 24
    most_bytes = max(p.peak_bytes for p in points) or 1
    most_time = max(p.predicted_seconds for p in points) or 1e-9

    def place(p: Tradeoff) -> tuple[float, float]:
        x = left + (width - left - right) * p.peak_bytes / most_bytes
        return x, height - bottom - (height - bottom - top) * p.predicted_seconds / most_time

    parts = [f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" xmlns="http://www.w3.org/2000/svg" '
             'font-family="sans-serif" font-size="12" style="background:#fff">']  # fmt: skip
    parts.append(f'<path d="M{left} {top}V{height - bottom}H{width - right}" fill="none" stroke="#888"/>')
    for share in (0, 0.25, 0.5, 0.75, 1):
        x, y = left + (width - left - right) * share, height - bottom - (height - bottom - top) * share
        bytes_ = format_bytes(int(most_bytes * share))
        parts.append(f'<text x="{x:.1f}" y="{height - bottom + 18}" text-anchor="middle" fill="#444">{bytes_}</text>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#444">{most_time * share * 1e3:.3g} ms</text>')
    places = [place(p) for p in points]
    parts.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}" fill="none" stroke="#46708a"/>')
    for p, (x, y) in zip(points, places, strict=True):
        tip = html.escape(f"{format_bytes(p.peak_bytes)}, {p.predicted_seconds * 1e3:.4g} ms: {p.how}")
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#46708a"><title>{tip}</title></circle>')
    parts.append(f'<text x="{(left + width) / 2}" y="{height - 8}" text-anchor="middle" fill="#444">peak</text></svg>')
    return "".join(parts)
