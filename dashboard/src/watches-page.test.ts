import { describe, expect, it } from "vitest";
import { type Alert, type Watch } from "./types";
import { alertDoubt, alertValue, watchState } from "./watches-page";

const WATCH: Watch = { id: "watch_1", filter: "", aggregate: "COUNT", group_by: [], when: "", window_ns: 1e9, every_ns: 1e6, severity: "info", nodes: [] };

describe("the state of a watch", () => {
  it("is active while all hosts evaluate it", () => {
    expect(watchState({ ...WATCH, evaluation: [{ node: "h1", evaluates: true, not_evaluated_ns: 0 }] })).toBe("active");
  });

  it("shows the time in which a host did not evaluate it", () => {
    const evaluation = [
      { node: "h1", evaluates: true, not_evaluated_ns: 6e9 },
      { node: "h2", evaluates: false, unknown_since_ns: 1_700_000_000e9 },
    ];
    expect(watchState({ ...WATCH, evaluation })).toBe("6 s not evaluated on h1; unknown on h2 since 22:13:20");
  });

  it("gives the reason why the watch ended", () => {
    expect(watchState({ ...WATCH, reason: "its token was revoked, or has expired" })).toBe("ended: its token was revoked, or has expired");
  });
});

describe("an alert of a watch", () => {
  const ALERT: Alert = { number: 1, id: "a", watch: "watch_1", node: "m1", severity: "info", window_start_ns: 0, window_end_ns: 1, key: {} };

  it("shows bounds if the value is unknown", () => {
    expect(alertValue({ ...ALERT, value: 7, low: 7, high: 7 })).toBe("7");
    expect(alertValue({ ...ALERT, low: 5, high: 9 })).toBe("5 to 9");
    expect(alertValue({ ...ALERT, low: 5 })).toBe("at least 5");
    expect(alertValue({ ...ALERT, high: 9 })).toBe("at most 9");
    expect(alertValue(ALERT)).toBe("-");
  });

  it("says why it may be wrong", () => {
    expect(alertDoubt(ALERT)).toBe("");
    expect(alertDoubt({ ...ALERT, certain: true, incomplete: false, lost_packets: 0 })).toBe("");
    expect(alertDoubt({ ...ALERT, certain: false, incomplete: true, lost_packets: 3 })).toBe("uncertain, window incomplete, up to 3 packets lost");
  });
});
