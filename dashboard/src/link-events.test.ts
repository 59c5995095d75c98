import { describe, expect, it } from "vitest";
import { flowsOf } from "./link-events";
import type { LinkEvent, LinkEventFlow } from "./types";

function flow(port: number, rate?: number): LinkEventFlow {
  return { src_ip: "10.0.0.1", src_port: port, dst_ip: "fd00::2", dst_port: 80, protocol: "tcp", bits_per_second: rate };
}

function event(flows: LinkEventFlow[] | undefined, leftOut?: number): LinkEvent {
  return { switch: "leaf1", time_ns: 1, flows, flows_left_out: leftOut };
}

describe("flowsOf", () => {
  it("shows the largest flows and counts the others", () => {
    const lines = flowsOf(event([flow(1, 4e9), flow(2, 3e6), flow(3), flow(4, 1)], 9));
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/^10\.0\.0\.1:1 to \[fd00::2\]:80, tcp: 4(\.0+)? Gb\/s$/);
    expect(lines[2]).toBe("10.0.0.1:3 to [fd00::2]:80, tcp: -");
    expect(lines[3]).toBe("and 10 more");
  });

  it("shows no lines for events without flows", () => {
    expect(flowsOf(event(undefined))).toEqual([]);
    expect(flowsOf(event([flow(1, 1)], 0))).toHaveLength(1);
  });
});
