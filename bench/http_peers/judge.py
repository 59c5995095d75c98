"""Judges pairs by the server's log: a pair is right if the log has the same status for the same URL, each URL once."""
import json


def read_log(path):
    with open(path) as file:
        return {row["url"]: row["status"] for row in map(json.loads, file)}


def judge(pairs, log):
    """How many of the pairs (URL, status) are right and how many are wrong; a second pair of the same URL is wrong."""
    right = {url for url, status in pairs if log.get(url) == status}
    return len(right), len(pairs) - len(right)
