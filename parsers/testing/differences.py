"""Compares a parser with recorded truth. Tables in docs/reference list the known differences: each difference must have
a row with its reason, and each row must still have a difference."""

import collections
import fnmatch
import sys

import oracle


def cell(value):
    """Formats a cell: replaces unprintable characters with "?", escapes "|", and shortens long values."""
    text = "".join(c if c.isprintable() and c != "\ufffd" else "?" for c in str(value)).replace("|", "\\|").strip()
    return text if len(text) <= 60 else text[:57] + "..."


def rows_of(capture, truth, ours, source="tshark"):
    """Returns rows (capture, side, the item's cells, times) for items that one list has more often than the other; an
    item is a tuple. `source` names the truth."""
    shown = lambda items: collections.Counter(tuple(map(cell, item)) for item in items)
    truth, ours = shown(truth), shown(ours)
    return [(capture, who, *item, str(times)) for who, more, fewer in ((source, truth, ours), ("ours", ours, truth))
            for item, times in sorted((more - fewer).items())]


def known(table, columns):
    """Returns the rows with this number of columns in the tables of a document, mapped to their reasons. Their first
    cell is in backquotes."""
    rows = {}
    for line in table.read_text(encoding="utf-8").splitlines():
        cells = [c.strip().strip("`") for c in line.replace("\\|", "\0").strip("|").split("|")]
        cells = [c.replace("\0", "\\|") for c in cells]
        if line.startswith("| `") and len(cells) == columns:
            rows[tuple(cells[:-1])] = cells[-1]
    return rows


def markdown(difference):
    """Formats a difference as a row of its table, without a reason."""
    return "| `" + difference[0] + "` | " + " | ".join(difference[1:]) + " | |"


def unexplained(differing, rows):
    """Returns error lines: differences without a row, rows with a wrong count, and rows without a reason. Cells of a row may
    be patterns (*); the row's count is then the sum over all matches."""
    wrong, left = [], {row: int(row[-1]) for row in rows}
    for difference in differing:
        row = next((r for r in rows if difference[:-1] == r[:-1]), None)
        row = row or next((r for r in rows if all(map(fnmatch.fnmatchcase, difference[:-1], r[:-1]))), None)
        if row is None:
            wrong.append("not in the table: " + markdown(difference))
        else:
            left[row] -= int(difference[-1])
    wrong += [f"in the table, but with a different count: {' | '.join(row)}" for row, times in left.items() if times != 0]
    wrong += [f"without a reason: {' | '.join(row)}" for row, reason in rows.items() if not reason]
    return wrong


def faults_of(differing, rows):
    """Prints what unexplained() finds, and returns the number of errors. With --print, prints the differences as rows of
    the table and ends the program."""
    if "--print" in sys.argv:
        print("\n".join(map(markdown, differing)))
        sys.exit(0)
    wrong = unexplained(differing, rows)
    for line in wrong:
        print(line)
    print(f"{len(differing)} differences, {len(rows)} rows in the table")
    return len(wrong)


def compare(parser, table, expected, seen, captures=oracle.captures_to_compare, check=lambda name, capture, tuples: []):
    """Compares a parser's tuples with each capture's truth. Returns the test's exit status.

    `expected` returns the items in the truth's records, `seen` those in the tuples; `table` is the result of known().
    `captures(folder, parser, table)` selects the captures; `check` returns the error lines of an additional
    comparison."""
    folder, monitor = oracle.captures_or_skip(), oracle.monitor_or_skip()
    differing, wrong, compared, items = [], [], 0, 0
    for name, capture, records in captures(folder, parser, table):
        tuples = oracle.tuples_if_readable(monitor, parser, capture)
        if tuples is None:
            continue
        truth = list(expected(records))
        differing += rows_of(name, truth, seen(tuples))
        wrong += check(name, capture, tuples)
        compared += 1
        items += len(truth)
    for line in wrong:
        print(line)
    print(f"{parser}: {compared} captures, {items} items of the truth")
    return 1 if faults_of(differing, table) or wrong or items == 0 else 0
