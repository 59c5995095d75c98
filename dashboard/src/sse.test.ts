import { expect, test } from "vitest";
import { EventParser, type ServerEvent } from "./sse";

const STREAM =
  ': connected\n\nevent: state\ndata: {"state":"running"}\n\nevent: window\nid: 17-0\ndata: {"rows":["ü"]}\n\n' +
  ": still here\n\nevent: state\r\nid: end\r\ndata: a\r\ndata:b\r\n\r\n";

function parsed(pieces: string[]): { events: ServerEvent[]; id: string } {
  const events: ServerEvent[] = [];
  const parser = new EventParser((event) => events.push(event));
  pieces.forEach((piece) => parser.push(piece));
  return { events, id: parser.id };
}

const WHOLE = parsed([STREAM]);

test("events have names, IDs and lines of data", () => {
  expect(WHOLE.events).toEqual([
    { name: "state", id: "", data: '{"state":"running"}' },
    { name: "window", id: "17-0", data: '{"rows":["ü"]}' },
    { name: "state", id: "end", data: "a\nb" },
  ]);
  expect(WHOLE.id).toBe("end");
});

test("a stream split at any position gives the same events", () => {
  for (let cut = 0; cut <= STREAM.length; cut++) {
    expect(parsed([STREAM.slice(0, cut), STREAM.slice(cut)])).toEqual(WHOLE);
  }
  expect(parsed([...STREAM])).toEqual(WHOLE);
});

test("an event without its empty line is not delivered", () => {
  expect(parsed(["event: window\nid: 3-0\ndata: x\n"]).events).toEqual([]);
});
