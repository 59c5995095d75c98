"""One fault, from its start until results have recovered, and its effects."""
import subprocess
import threading
import time

from faults import LASTS_S, Fault

TIMEOUT_S = 180
CALM_S = 3
# Maximum usual lag. A one-second window is written once all monitors have reported the next second.
USUAL_LAG_S = 5


def within_s(seconds, condition):
    """Waits until condition() is true. Returns the seconds waited, or None if it was not true in time."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if condition():
            return time.monotonic() - began
        time.sleep(0.2)
    return None


class Episode:
    """The effects of a fault. Times are in seconds; None means that the event did not happen in time."""

    def __init__(self, target, kind):
        self.target, self.kind = target, kind
        self.struck = time.time()
        # The duration of the fault. A busy host may take long to end it.
        self.lasted_s = None
        # Seconds from the start of the fault until a request that began after it was counted.
        self.counted_after = None
        # Seconds from the end of the fault until all containers were healthy, until results were fresh, and until all
        # hosts returned headers.
        self.healthy_after = self.fresh_after = self.drilled_after = None
        self.oldest_s = 0.0
        self.asked = self.named = 0
        self.reported = {}
        # Containers that exited and were restarted, for example because they lost a service on which they depend.
        self.ended = []
        self.wrong = []

    def __str__(self):
        return f"{self.target} {self.kind}"

    def run(self, containers, watch):
        """Injects the fault and measures its effects. Records injection errors, so that other faults still run."""
        try:
            self.happen(containers, watch)
        except (RuntimeError, subprocess.SubprocessError) as error:
            self.wrong.append(f"the fault could not be injected as intended: {error}")

    def happen(self, containers, watch):
        fault = Fault(containers, self.target, self.kind)
        ended_before = len(watch.ended)
        began = containers.started_anew()
        try:
            fault.strike()
            self.struck = time.time()
            watch.oldest_s = 0.0
            self.await_counted(watch, LASTS_S[self.kind])
            time.sleep(max(0.0, self.struck + LASTS_S[self.kind] - time.time()))
        finally:
            fault.mend()
        self.recover(fault, watch)
        self.oldest_s = watch.oldest_s
        self.ended = [name for name, times in containers.started_anew().items() if times > began.get(name, 0)]
        self.wrong += [f"a query ended: {query.error}" for query in watch.ended[ended_before:]]

    def await_counted(self, watch, seconds):
        if self.counted_after is None and within_s(seconds, lambda: watch.counted_since(self.struck)) is not None:
            self.counted_after = time.time() - self.struck

    def recover(self, fault, watch):
        mended = time.time()
        self.lasted_s = mended - self.struck
        others = [threading.Thread(target=self.await_healthy, args=(fault,)), threading.Thread(target=self.await_headers, args=(watch, mended))]
        for thread in others:
            thread.start()
        self.await_counted(watch, TIMEOUT_S)
        if within_s(TIMEOUT_S, lambda: watch.counted_since(mended) and watch.lag_s() < USUAL_LAG_S) is not None:
            self.fresh_after = time.time() - mended
        for thread in others:
            thread.join()
        time.sleep(CALM_S)
        for symptom, seconds in {"new requests are not counted": self.counted_after, "containers are not healthy": self.healthy_after,
                              "results are not fresh": self.fresh_after, "hosts do not return headers": self.drilled_after}.items():
            self.wrong += [] if seconds is not None else [f"{symptom} again in time"]

    def await_headers(self, watch, mended):
        self.drilled_after = within_s(TIMEOUT_S, lambda: watch.drilled_since(mended))

    def await_healthy(self, fault):
        self.healthy_after = fault.recovered()
