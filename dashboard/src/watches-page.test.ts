import { describe, expect, it } from "vitest";
import { type Watch } from "./types";
import { watchState } from "./watches-page";

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
