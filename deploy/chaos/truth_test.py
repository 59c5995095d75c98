#!/usr/bin/env python3
"""Tests which counts chaos.py accepts and which it reports as mistakes."""
import unittest

from truth import SECOND_NS, Client, Request, Window, losses, missing, too_much, within


def window(second, urls, **completeness):
    counts = urls if isinstance(urls, dict) else dict.fromkeys(urls, 1)
    return Window(second * SECOND_NS, (second + 1) * SECOND_NS, counts, completeness)


def requests(**times):
    return {f"/{name}": Request(f"/{name}", "web-1", begin, end) for name, (begin, end) in times.items()}


class TruthTest(unittest.TestCase):
    ANSWERED = requests(a=(10.1, 10.2), b=(10.9, 11.1), c=(12.5, 12.6))

    def what(self, windows):
        return [(mistake.url, mistake.what) for mistake in too_much(windows, self.ANSWERED, lambda url: url in ("/a", "/b", "/c", "/open"))]

    def test_all_in_their_windows(self):
        for second in (10, 11):
            whole = [window(10, ["/a"]), window(12, ["/c"])]
            whole.append(window(second, ["/b"])) if second == 11 else whole[0].counts.update({"/b": 1})
            self.assertEqual(self.what(whole), [])
            self.assertEqual(missing(whole, self.ANSWERED), [])

    def test_an_excess_is_wrong(self):
        self.assertEqual(self.what([window(10, {"/a": 2})]), [("/a", "counted 2 times")])
        self.assertEqual(self.what([window(10, ["/b"]), window(11, ["/b"])]), [("/b", "counted 2 times")])
        self.assertEqual(self.what([window(10, ["/x"])]), [("/x", "counted, but never requested")])
        self.assertEqual(self.what([window(12, ["/a"])]), [("/a", "counted in a window in which it was not in progress")])
        self.assertEqual(self.what([window(10, ["/a"]), window(10, ["/b"])]), [("", "the window was emitted 2 times")])

    def test_an_unanswered_request_may_be_counted_once(self):
        self.assertEqual(self.what([window(10, ["/open"])]), [])
        self.assertEqual(self.what([window(10, ["/open"]), window(11, ["/open"])]), [("/open", "counted 2 times")])

    def test_a_request_without_an_answer_is_counted_late_and_reported(self):
        late = window(60, ["/a"])._replace(partial=["/a"])
        self.assertEqual(self.what([late]), [])
        self.assertEqual(self.what([window(60, ["/a"])]), [("/a", "counted in a window in which it was not in progress")])
        self.assertEqual(self.what([window(9, ["/a"])._replace(partial=["/a"])]), [("/a", "counted in a window in which it was not in progress")])
        self.assertEqual(self.what([window(10, ["/a"]), late]), [("/a", "counted 2 times")])
        answered = requests(a=(10.1, 10.2))
        self.assertEqual([reported for _, reported in missing([window(10, []), late], answered)], [{}])
        self.assertEqual([reported for _, reported in missing([window(10, [], dropped={"kernel_missed": 5}), late], answered)], [{"kernel_missed": 5}])

    def test_one_sided_transactions_and_shopper_requests_have_no_number(self):
        self.assertEqual(self.what([window(10, {"": 3, "/shop/a": 7})]), [])

    def test_missing_requests_must_be_reported_by_their_window(self):
        faults = missing([window(10, ["/a"]), window(11, ["/b"])], self.ANSWERED)
        self.assertEqual([(request.url, reported) for request, reported in faults], [("/c", {})])
        faults = missing([window(10, ["/a"], dropped={"monitor_replaced": 1}), window(11, ["/b"])], self.ANSWERED)
        self.assertEqual(faults[0][1], {})
        faults = missing([window(10, ["/a"]), window(11, ["/b"]), window(12, [], dropped={"monitor_replaced": 1})], self.ANSWERED)
        self.assertEqual(faults[0][1], {"monitor_replaced": 1})
        faults = missing([window(12, [], silent=["monitor-1"])], requests(c=(12.5, 12.6)))
        self.assertEqual(faults[0][1], {"silent": 1})

    def test_losses_explain_no_more_than_their_number(self):
        answered = requests(a=(10.1, 10.2), b=(10.3, 10.4), c=(10.5, 10.6))
        faults = missing([window(10, [], dropped={"queue_full": 2})], answered)
        self.assertEqual([bool(reported) for _, reported in faults], [True, True, False])

    def test_copies_that_a_switch_never_sent_are_reported_once_known(self):
        answered = requests(a=(10.1, 10.2), b=(10.3, 10.4), c=(60.5, 60.6))
        faults = missing([window(10, []), window(15, [], dropped={"mirror_lost": 9}), window(60, [])], answered)
        self.assertEqual([reported for _, reported in faults], [{"mirror_lost": 9}, {"mirror_lost": 9}, {}])
        faults = missing([window(15, [], dropped={"queue_full": 9})], answered)
        self.assertEqual([reported for _, reported in faults], [{}, {}, {}])

    def test_losses(self):
        self.assertEqual(losses({"dropped": {"late": 0}, "silent": []}), {})

    def test_within(self):
        self.assertEqual(set(within(self.ANSWERED, 10.5, 12)), {"/b"})

    def test_client_records_the_answers(self):
        client = Client.__new__(Client)
        client.name, client.web, client.answered, client.begun = "chaos-web-1", "web-1", {}, -1
        for line in ("0 begins", "0 10.5 10.6 200", "1 begins", "1 10.7 18.7 000", "2 begins"):
            client.note(line.split())
        self.assertEqual(set(client.answered), {"/chaos-web-1/0"})
        self.assertEqual([client.sent(f"/chaos-web-1/{number}") for number in (1, 2, 3, 4, "x")], [True, True, True, False, False])


if __name__ == "__main__":
    unittest.main()
