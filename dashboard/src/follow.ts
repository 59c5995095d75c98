/** Follows a query's events until the query ends, and reconnects when servers restart. Does not use the page. */
import { EventParser, type ServerEvent } from "./sse";

export type FollowLink = "connecting" | "open" | "lost" | "unauthorized" | "unknown" | "busy" | "ended";

export interface Follower {
  event(event: ServerEvent): void;
  link(link: FollowLink, retryMs: number): void;
}

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 5_000;

/** Resolves once the query has ended or is unknown, or `signal` is aborted. */
export async function follow(url: string, token: () => string, follower: Follower, signal: AbortSignal): Promise<void> {
  let lastId = "";
  let retryMs = FIRST_RETRY_MS;
  follower.link("connecting", 0);
  while (!signal.aborted) {
    const parser = new EventParser((event) => {
      lastId = event.id || lastId;
      retryMs = FIRST_RETRY_MS;
      follower.event(event);
    });
    const outcome = await attempt(url, headers(token(), lastId), parser, follower, signal);
    if (signal.aborted) return;
    if (lastId === "end" || outcome === "ended") return follower.link("ended", 0);
    follower.link(outcome, retryMs);
    if (outcome === "unknown") return;
    await pause(retryMs, signal);
    retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
  }
}

function headers(token: string, lastId: string): Record<string, string> {
  const all: Record<string, string> = { Accept: "text/event-stream" };
  if (token !== "") all.Authorization = `Bearer ${token}`;
  if (lastId !== "") all["Last-Event-ID"] = lastId;
  return all;
}

async function attempt(
  url: string,
  headers: Record<string, string>,
  parser: EventParser,
  follower: Follower,
  signal: AbortSignal,
): Promise<FollowLink> {
  try {
    const response = await fetch(url, { headers, signal, cache: "no-store" });
    if (response.status === 204) return "ended";
    if (response.status === 401) return "unauthorized";
    if (response.status === 404) return "unknown";
    if (response.status === 429) return "busy";
    if (!response.ok || response.body === null) return "lost";
    follower.link("open", 0);
    const text = response.body.pipeThrough(new TextDecoderStream());
    const reader = text.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return "lost";
      parser.push(value);
    }
  } catch {
    return "lost";
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
