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
    by_status = collections.Counter(row["status"] for row in rows.values())
    print(f"{len(rows)} harnesses: " + ", ".join(f"{n} {status}" for status, n in by_status.most_common()))
    causes = collections.Counter((r["status"], r["group"], r["detail"][:100]) for r in rows.values() if r["status"] != "agrees")
    for (status, group, detail), n in sorted(causes.items(), key=lambda c: (c[0][0], -c[1])):
        print(f"{n:5} {status:12} {group}: {detail}")


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
    report(read(args.log)[0])


main()
