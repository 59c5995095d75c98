/** A page of the dashboard: its content, and its reactions to events while it is open. */
export interface Page {
  readonly title: string;
  readonly element: HTMLElement;
  /** Called when the server responds again, or accepts the token. */
  recovered?(): void;
  /** Called when colours have changed. */
  redraw?(): void;
  close(): void;
}

/** Calls a function periodically, one call at a time, while the page is visible. Returns a function that ends this. */
export function every(ms: number, task: () => Promise<unknown>): () => void {
  let closed = false;
  let timer: ReturnType<typeof setTimeout>;
  const turn = async () => {
    if (!document.hidden) await task().catch(() => undefined);
    if (!closed) timer = setTimeout(turn, ms);
  };
  void turn();
  return () => {
    closed = true;
    clearTimeout(timer);
  };
}
