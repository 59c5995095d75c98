/** Receives and keeps a query's windows in a worker, so that the page stays smooth regardless of their size. */
import { type FollowLink, follow } from "./follow";
import type { State, Window } from "./types";
import { ProcessorWindows, type Snapshot, type View } from "./windows";

export type ToWorker =
  | { type: "follow"; url: string; token: string }
  | { type: "token"; token: string }
  | { type: "view"; processor: number; view: View };

export type FromWorker =
  | { type: "link"; link: FollowLink; retryMs: number }
  | { type: "state"; state: State; error: string }
  | { type: "snapshot"; snapshot: Snapshot };

/** Interval between updates; users could not read more frequent ones. */
const UPDATE_MS = 200;

const processors = new Map<number, ProcessorWindows>();
const changed = new Set<number>();
let token = "";
let timer: ReturnType<typeof setTimeout> | undefined;

function post(message: FromWorker): void {
  self.postMessage(message);
}

function windows(processor: number): ProcessorWindows {
  let windows = processors.get(processor);
  if (windows === undefined) processors.set(processor, (windows = new ProcessorWindows()));
  return windows;
}

function update(): void {
  timer = undefined;
  for (const processor of changed) {
    const snapshot = windows(processor).snapshot();
    if (snapshot !== null) post({ type: "snapshot", snapshot });
  }
  changed.clear();
}

function start(url: string): void {
  void follow(
    url,
    () => token,
    {
      link: (link, retryMs) => post({ type: "link", link, retryMs }),
      event: ({ name, data }) => {
        if (name === "state") {
          const { state, error } = JSON.parse(data) as { state: State; error: string };
          update();
          post({ type: "state", state, error });
        } else if (name === "window") {
          const window = JSON.parse(data) as Window;
          windows(window.processor).add(window);
          changed.add(window.processor);
          timer ??= setTimeout(update, UPDATE_MS);
        }
      },
    },
    new AbortController().signal,
  );
}

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.type === "follow") {
    token = data.token;
    start(data.url);
  } else if (data.type === "token") {
    token = data.token;
  } else {
    windows(data.processor).look(data.view);
    changed.add(data.processor);
    update();
  }
};
