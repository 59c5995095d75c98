"""Tables of known differences in docs/reference: each difference must be a row with its reason, and every row must
still differ."""

import collections
import fnmatch


def cell(value):
    """One cell: long values are shortened, Markdown's special characters are escaped."""
    text = "".join(c if c.isprintable() and c != "\ufffd" else "?" for c in str(value)).replace("|", "\\|")
    return text if len(text) <= 60 else text[:57] + "..."


def rows_of(capture, truth, ours):
    """Rows (capture, who has it, the item's cells, times) of items that only one of two lists has; an item is a
    tuple."""
    shown = lambda items: collections.Counter(tuple(map(cell, item)) for item in items)
    truth, ours = shown(truth), shown(ours)
    return [(capture, who, *item, str(times)) for who, more, fewer in (("tshark", truth, ours), ("ours", ours, truth))
            for item, times in sorted((more - fewer).items())]


def known(table, columns):
    """Rows of a documented table with this number of columns, without the reason -> reason. Its first column is in
    backquotes."""
    rows = {}
    for line in table.read_text(encoding="utf-8").splitlines():
        cells = [c.strip().strip("`") for c in line.replace("\\|", "\0").strip("|").split("|")]
        cells = [c.replace("\0", "\\|") for c in cells]
        if line.startswith("| `") and len(cells) == columns:
            rows[tuple(cells[:-1])] = cells[-1]
    return rows


def unexplained(found, rows):
    """Error lines: differences without a row, rows that do not differ that often, rows without a reason. Each cell of a
    row may be a pattern (*); its times are the sum over all that match."""
    wrong, left = [], {row: int(row[-1]) for row in rows}
    for difference in found:
        row = next((r for r in rows if all(map(fnmatch.fnmatchcase, difference[:-1], r[:-1]))), None)
        if row is None:
            wrong.append("not in the table: | `" + difference[0] + "` | " + " | ".join(difference[1:]) + " | |")
        else:
            left[row] -= int(difference[-1])
    wrong += [f"in the table, but not that often: {' | '.join(row)}" for row, times in left.items() if times != 0]
    wrong += [f"without a reason: {' | '.join(row)}" for row, reason in rows.items() if not reason]
    return wrong
