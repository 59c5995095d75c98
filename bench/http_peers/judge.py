"""Compares pairs with the server's log: a pair is right if the log has the same status for its URL. Each URL counts
once."""
import json


def read_log(path):
    with open(path) as file:
        return {row["url"]: row["status"] for row in map(json.loads, file)}


def judge(pairs, log):
    """Returns the numbers of right and wrong pairs (URL, status). A second pair with the same URL is wrong."""
    right = {url for url, status in pairs if log.get(url) == status}
    return len(right), len(pairs) - len(right)
