"""Writes the tables of bench/peers, in Markdown, into a block of a page."""
import textwrap

from degrade import DEGRADATIONS

MEGABYTE = 1e6
WIDTH = 116
# CPU time without start-up is a difference, and the start-up's CPU time varies between runs. Any difference below this
# share of the start-up's time is noise.
NOISE = 0.5


def table(heads, rows):
    lines = ["| " + " | ".join(cells) + " |" for cells in (heads, *rows)]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]])


def cost_row(row, packets):
    """Formats a row of the cost table. Prints "-" if the CPU time is within the noise of the start-up."""
    is_known = row["cpu_s"] > NOISE * row["start_cpu_s"]
    times = f"{row['times_tcpdump']:.2f}" if is_known else "-"
    rate = f"{packets / row['cpu_s'] / 1e3:,.0f}" if is_known else "-"
    return [row["name"], times, rate, f"{row['start_cpu_s']:.2f}", f"{row['peak_bytes'] / MEGABYTE:,.0f}",
            row["prints"]]


def pair_row(row, results):
    def cell(name):
        if name not in row["pairs"]:
            return "-"
        pairs, captured = row["pairs"][name], results["captures"][name]["pairs_captured"]
        return f"{100 * pairs['right'] / captured:.2f} % ({pairs['wrong']:,})"
    return [row["name"], *map(cell, DEGRADATIONS)]


def http_page(results):
    """Returns both tables for the HTTP captures, with a description of the run."""
    packets = results["captures"]["clean"]["packets"]
    tools = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    versions = textwrap.fill(f"Versions: {tools}.", WIDTH, break_on_hyphens=False)
    costs = table(["Program", "CPU, times tcpdump", "Thousand packets/s", "Start-up, CPU s", "Peak memory, MB", "Prints"],
                  [cost_row(row, packets) for row in results["rows"]])
    pairs = table(["Program", *(name for name, _ in DEGRADATIONS.values())],
                  [["pairs with both heads captured", *(f"{results['captures'][name]['pairs_captured']:,}" for name in DEGRADATIONS)],
                   *(pair_row(row, results) for row in results["rows"] if row["pairs"])])
    return (f"`{results['command']}`, {results['date']}, {results['machine']}.\n\n"
            f"{packets:,} packets, {results['bytes'] / MEGABYTE:,.0f} MB, {results['requests']:,} requests. User and kernel CPU time\n"
            f"without start-up (\"-\" if start-up takes more than two thirds of the total), medians of {results['turns']} runs.\n\n{costs}\n\n"
            "Right pairs as a share of those whose two heads are in the capture, and the number of wrong ones in brackets. A program\n"
            f"that pairs nothing is left out.\n\n{pairs}\n\n{versions}\n")


def replace_block(path, name, text):
    """Replaces the text between the comments `begin NAME` and `end NAME` of a page."""
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->\n"
    with open(path) as file:
        page = file.read()
    before, rest = page.split(begin)
    _, after = rest.split(end)
    with open(path, "w") as file:
        file.write(before + begin + text + end + after)
