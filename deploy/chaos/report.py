"""Reports the effects of faults as Markdown tables and as JSON."""
import json
import os
import platform
import subprocess
import time


def seconds(value):
    return "—" if value is None else f"{value:.1f} s"


def missing_words(episode):
    if not episode.named:
        return "0"
    return f"{episode.named}, reported: " + ", ".join(f"`{reason}` {count}" for reason, count in sorted(episode.reported.items()))


def wrong_words(episode):
    more = len(episode.wrong) - 3
    return "; ".join(episode.wrong[:3]) + (f"; and {more} more" if more > 0 else "")


def row(episode):
    return (f"| {episode.target} | {episode.kind} | {seconds(episode.lasted_s)} | {seconds(episode.counted_after)} | {seconds(episode.oldest_s)} | "
            f"{seconds(episode.fresh_after)} | {seconds(episode.drilled_after)} | {seconds(episode.healthy_after)} | {episode.asked} | {missing_words(episode)} | {wrong_words(episode) or 'right'} |")


def progress(episode):
    words = [f"lasted {seconds(episode.lasted_s)}", f"counted again {seconds(episode.counted_after)}", f"oldest shown {seconds(episode.oldest_s)} after the fault",
             f"fresh {seconds(episode.fresh_after)}", f"headers {seconds(episode.drilled_after)}", f"healthy {seconds(episode.healthy_after)} after its end"]
    words += [f"exited on their own meanwhile: {', '.join(episode.ended)}"] if episode.ended else []
    return f"{episode}: " + ", ".join(words) + (f"; BROKEN: {wrong_words(episode)}" if episode.wrong else "")


HEAD = """| Containers | Fault | Lasted | Counted again | Oldest shown | Fresh again | Headers again | Healthy again | Requests | Missing | Results |
|---|---|---|---|---|---|---|---|---|---|---|"""


def machine():
    model = subprocess.run(["bash", "-c", "grep -m1 'model name' /proc/cpuinfo | cut -d: -f2"], capture_output=True, text=True).stdout.strip()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores of {model}, {memory:.0f} GB, Linux {platform.release()}"


def heading(size, totals):
    return (f"{time.strftime('%-d %B %Y', time.gmtime())}, the {size} cluster on {machine()}: {totals['requests']} requests answered, "
            f"{totals['windows']} windows, of which {totals['whole']} have all of their requests; {totals['reported']} requests are missing and reported as lost, "
            f"{totals['unreported']} are missing without a report, and {totals['more']} are counted incorrectly.")


def write(folder, size, episodes, totals):
    """Writes chaos.md and chaos.json. Returns the Markdown text."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join([heading(size, totals), "", HEAD, *map(row, episodes), ""])
    (folder / "chaos.md").write_text(text)
    whole = {"when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": machine(), "size": size, "totals": totals,
             "faults": [vars(episode) for episode in episodes]}
    (folder / "chaos.json").write_text(json.dumps(whole, indent=1) + "\n")
    return text


def keep_input(folder, answered, windows):
    """Writes read.json: the requests and windows behind the verdict, for diagnosis."""
    (folder / "read.json").write_text(json.dumps({"answered": list(answered.values()), "windows": windows}) + "\n")
