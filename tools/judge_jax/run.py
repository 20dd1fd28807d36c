"""Runs all of JAX's primitive harnesses on Neap, in processes of a few hundred, and says what differs (tools/README.md).

    python tools/judge_jax/run.py log.jsonl [--again] [--chunk 400] [--limit 60]

It goes on where an earlier run of the same log ended: remove the log to begin again. A process that dies or hangs costs the
harness it was at, which is a "crash"."""

import argparse
import collections
import json
import os
import subprocess
import sys

from exceptions import reason

HERE = os.path.dirname(os.path.abspath(__file__))


def read(log):
    """Returns (rows by number, the number that was begun last and did not end)."""
    rows, begun = {}, None
    if os.path.exists(log):
        with open(log) as lines:
            for line in lines:
                row = json.loads(line)
                if "begins" in row:
                    begun = row
                else:
                    rows[row["i"]], begun = row, None
    return rows, begun


def judge(log, numbers, limit):
    """Judges these harnesses, with another process after each that dies."""
    while numbers:
        command = [sys.executable, os.path.join(HERE, "judge.py"), log, str(limit), ",".join(map(str, numbers))]
        try:
            died = subprocess.run(command, timeout=len(numbers) * 20 + 300).returncode
        except subprocess.TimeoutExpired:
            died = "hangs"
        rows, begun = read(log)
        if died == 0:
            return
        if begun is None:
            sys.exit(f"judge.py ended with {died} before it began")
        row = {"i": begun["i"], "group": "", "name": begun["begins"], "status": "crash", "detail": f"exit {died}"}
        with open(log, "a") as out:
            out.write(json.dumps(row) + "\n")
        numbers = [i for i in numbers if i > begun["i"]]


def report(rows):
    """Prints counts, exceptions, then everything else that did not agree by cause. Returns how many those are."""
    status = {i: "exception" if row["status"] != "agrees" and reason(row["group"], row["name"]) else row["status"]
              for i, row in rows.items()}  # fmt: skip
    print(f"{len(rows)} harnesses: " + ", ".join(f"{n} {s}" for s, n in collections.Counter(status.values()).most_common()))
    reasons = collections.Counter(reason(rows[i]["group"], rows[i]["name"]) for i, s in status.items() if s == "exception")
    for why, n in reasons.most_common():
        print(f"{n:5} exception    {why}")
    causes = collections.Counter((s, rows[i]["group"], rows[i]["detail"][:200]) for i, s in status.items())
    for (s, group, detail), n in sorted(causes.items(), key=lambda c: (c[0][0], -c[1])):
        if s not in ("agrees", "exception"):
            print(f"{n:5} {s:12} {group}: {detail}")
    return sum(s not in ("agrees", "exception", "jax refuses") for s in status.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log")
    parser.add_argument("--chunk", type=int, default=400)
    parser.add_argument("--limit", type=int, default=60, help="seconds for one harness")
    parser.add_argument("--count", type=int, default=7526)
    parser.add_argument("--again", action="store_true", help="judge again what did not agree")
    args = parser.parse_args()
    if args.again:
        rows = read(args.log)[0]
        with open(args.log, "w") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows.values() if row["status"] == "agrees")
    for begin in range(0, args.count, args.chunk):
        end = min(begin + args.chunk, args.count)
        done = read(args.log)[0]
        missing = [i for i in range(begin, end) if i not in done]
        if missing:
            judge(args.log, missing, args.limit)
    sys.exit(report(read(args.log)[0]) > 0)


main()
