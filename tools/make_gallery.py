#!/usr/bin/env python3
"""Makes docs/gallery.md, the examples with what they print, and the pictures of the pages in docs/pictures.

make_gallery.py BIN: runs every example of BIN (build/release/bin; results are the same bits in every preset) in an empty folder
with the digits beside it, and draws from what it printed and from a plan that it dumped. With --check only says whether every
example is on the page.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import svg

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE, PICTURES = ROOT / "docs/gallery.md", ROOT / "docs/pictures"
DATA = ["digits_images.npy", "digits_labels.npy"]
GROUPS = {
    "Memory": ["budget", "gather_grad"],
    "Finance": ["black_scholes", "sampling"],
    "Learning": ["transformer", "mlp", "digits_cnn", "word_embeddings", "logistic_regression"],
    "Simulation and control": ["pendulum", "heat_cg", "controller", "rollout", "batched_jacobian"],
    "Statistics": ["hmc", "kalman_bfgs"],
    "Images": ["image_pipeline"],
    "Transforms": ["curvature", "custom", "how_it_works"],
}
BUDGET = 6_000_000  # of the picture of plans: below what the training step takes, above the least that it can
MIB = 2**20


def lived(plan):
    return [step["bytes_live"] / MIB for step in plan["steps"]]


def picture_of_plans(bin_, folder):
    """A training step of the example transformer: by operation, planned, and under a budget."""
    plans = {path: json.loads(path.read_text()) for path in (folder / "dump").glob("*.plan.json")}
    path = max(plans, key=lambda p: plans[p]["peak_bytes"])
    plan = plans[path]
    tight = folder / "tight.json"
    graph = path.with_name(path.name.replace(".plan.json", ".graph.txt"))
    subprocess.run([bin_ / "neap-plan", "plan", graph, "--budget", str(BUDGET), "--json", tight], check=True, stdout=subprocess.DEVNULL)
    tight = json.loads(tight.read_text())
    mib = lambda p: f"{p['peak_bytes'] / MIB:.2f} MiB"
    series = [(f"by operation: {mib(plan['naive'])}", lived(plan["naive"])), (f"planned: {mib(plan)}", lived(plan)),
              (f"budget of 6 MB: {mib(tight)}", lived(tight))]  # fmt: skip
    return svg.steps("A training step of a small transformer: bytes alive", series, "MiB",
                     f"first to last step ({len(series[0][1])}, {len(series[1][1])} and {len(series[2][1])} of them)")  # fmt: skip


def points(text, pattern):
    return [(float(x), float(y)) for x, y in re.findall(pattern, text)]


def pictures(printed, bin_, folder):
    """{file: SVG}, of what the examples printed."""
    budgets = [(f"budget {b}", int(n)) for b, n in re.findall(r"^([\d.]+ \wiB): peak (\d+)", printed["budget"], re.M)]
    least = int(re.search(r"finds is .*\((\d+) bytes\)", printed["budget"])[1])
    gib = dict(re.findall(r"^(peak|naive)\s+([\d.]+) GiB", printed["gather_grad"], re.M))
    loss = r"step (\d+) loss ([\d.]+)"
    return {
        "plan.svg": picture_of_plans(bin_, folder),
        "budget.svg": svg.bars("Attention, 16 heads of 16384 x 64 in bf16: peaks under budgets",
                               [*budgets, ("the least that there is", least)], lambda v: f"{v / MIB:.1f} MiB"),
        "gather_grad.svg": svg.bars("Gradient of a gather by 2^33 rows of i16 indices: peaks",
                                    [("by operation", float(gib["naive"])), ("planned", float(gib["peak"])), ("the indices alone", 48.0)],
                                    lambda v: f"{v:.2f} GiB"),
        "learning.svg": svg.curves("Loss while learning", [(n, points(printed[n], loss)) for n in ("transformer", "mlp", "digits_cnn")],
                                   "step 0 to {}"),
        "pendulum.svg": svg.curves("Swinging a pendulum upright: cost", [("cost", points(printed["pendulum"], r"after +(\d+) steps cost ([\d.]+)"))],
                                   "step 0 to {}", logarithmic=True),
    }  # fmt: skip


SHOWN = {"budget": "budget.svg", "gather_grad": "gather_grad.svg", "transformer": "plan.svg", "mlp": "learning.svg", "pendulum": "pendulum.svg"}
CAPTIONS = {
    "plan.svg": "Bytes alive during one training step, by step of the plan: operation by operation, as planned, and under a budget.",
    "budget.svg": "Peaks of the plans under each budget.",
    "gather_grad.svg": "Peaks of the gradient, and the indices that it reads.",
    "learning.svg": "Losses of the transformer, the multilayer perceptron and the convolutional network.",
    "pendulum.svg": "Cost after each 200 steps of gradient descent.",
}


def opening(name):
    lines = []
    for line in (ROOT / f"examples/{name}.cpp").read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    return " ".join(lines)


def page(printed):
    out = ["# Gallery", "",
           "The programs of [`examples/`](../examples) and what they print. Each checks its own answer; the tests run them. Made by",
           "`tools/make_gallery.py` from their output."]  # fmt: skip
    for group, names in GROUPS.items():
        out += ["", f"## {group}"]
        for name in names:
            out += ["", f"### {name}", "", f"{opening(name)} [Source](../examples/{name}.cpp), "
                    f"{len((ROOT / f'examples/{name}.cpp').read_text().splitlines())} lines."]  # fmt: skip
            if picture := SHOWN.get(name):
                out += ["", f"![{CAPTIONS[picture]}](pictures/{picture})"]
            out += ["", "```text", *(line.rstrip() for line in printed[name].rstrip("\n").split("\n")), "```"]
    return "\n".join(out) + "\n"


def main(arguments):
    examples = {path.stem for path in (ROOT / "examples").glob("*.cpp")}
    listed = {name for names in GROUPS.values() for name in names}
    if arguments == ["--check"]:
        said = PAGE.read_text()
        missing = sorted((examples ^ listed) | {name for name in listed if f"\n### {name}\n" not in said})
        missing += [name for name in CAPTIONS if not (PICTURES / name).is_file()]
        for name in missing:
            print(f"docs/gallery.md: {name}: is no example, or not on the page; see tools/make_gallery.py")
        return 1 if missing else 0
    if len(arguments) != 1 or not (bin_ := pathlib.Path(arguments[0]).resolve()).is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    printed = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file in DATA:
            shutil.copy(ROOT / "tests/data" / file, folder)
        for name in sorted(listed):
            environment = {"NEAP_DUMP": str(folder / "dump")} if name == "transformer" else {}
            done = subprocess.run([bin_ / name], cwd=folder, env=environment, capture_output=True, text=True)
            if done.returncode:
                print(f"{name}: exit code {done.returncode}\n{done.stdout}{done.stderr}", file=sys.stderr)
                return 1
            printed[name] = done.stdout
            print(f"{name}: {len(done.stdout.splitlines())} lines")
        drawn = pictures(printed, bin_, folder)
    PICTURES.mkdir(exist_ok=True)
    for name, text in drawn.items():
        (PICTURES / name).write_text(text)
    PAGE.write_text(page(printed))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
