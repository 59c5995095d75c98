/**
 * Parses server-sent events (WHATWG HTML, section 9.2) from the chunks of a fetch stream, so that requests can carry a
 * token.
 */

export interface ServerEvent {
  name: string;
  id: string;
  data: string;
}

export class EventParser {
  private rest = "";
  private name = "";
  private data: string[] = [];
  private lastId = "";

  constructor(private readonly deliver: (event: ServerEvent) => void) {}

  /** Returns the ID of the last event; a new request resumes after it. */
  get id(): string {
    return this.lastId;
  }

  /** Takes the next chunk of text, which may end anywhere except within a character. */
  push(text: string): void {
    this.rest += text;
    let begin = 0;
    for (;;) {
      const end = this.lineEnd(begin);
      if (end < 0) break;
      this.line(this.rest.slice(begin, end));
      begin = this.rest[end] === "\r" && this.rest[end + 1] === "\n" ? end + 2 : end + 1;
    }
    this.rest = this.rest.slice(begin);
  }

  /** Returns the end of the line; -1 if it is unknown, since a \r at the end of a chunk may be half of a line end. */
  private lineEnd(begin: number): number {
    const feed = this.rest.indexOf("\n", begin);
    const back = this.rest.indexOf("\r", begin);
    if (back < 0 || (feed >= 0 && feed < back)) return feed;
    return back === this.rest.length - 1 ? -1 : back;
  }

  private line(line: string): void {
    if (line === "") {
      if (this.data.length > 0) this.deliver({ name: this.name || "message", id: this.lastId, data: this.data.join("\n") });
      this.name = "";
      this.data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") this.name = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id" && !value.includes("\0")) this.lastId = value;
  }
}
