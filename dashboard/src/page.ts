/** A page of the dashboard: what it shows, and what is to happen while it is open. */
export interface Page {
  readonly title: string;
  readonly element: HTMLElement;
  /** The server answers again, or takes the token now. */
  recovered?(): void;
  /** Colours changed. */
  redraw?(): void;
  close(): void;
}

/** Calls a function periodically, one call at a time, until closed; pauses while the page is hidden. */
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
