/** Sends requests to the server, and notifies listeners of the connection's state. */
import type { Problem } from "./types";

export type Link = "connecting" | "up" | "gone" | "unauthorized";

/** An error response: the server's problem document (RFC 9457), or a substitute for it. */
export class ProblemError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail || problem.title);
  }
}

/** Thrown if the server does not respond at all. */
export class NoResponse extends Error {
  constructor() {
    super("The server does not respond.");
  }
}

const TOKEN = "tapline.token";

/** Keeps the token as long as the tab is open, and sends it in a header, never in a URL. */
export class Api {
  link: Link = "connecting";
  private readonly listeners = new Set<(link: Link) => void>();

  onLink(listener: (link: Link) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  report(link: Link): void {
    if (link === this.link) return;
    this.link = link;
    for (const listener of [...this.listeners]) listener(link);
  }

  get token(): string {
    return sessionStorage.getItem(TOKEN) ?? "";
  }

  set token(token: string) {
    if (token === "") sessionStorage.removeItem(TOKEN);
    else sessionStorage.setItem(TOKEN, token);
  }

  get<T>(path: string): Promise<T> {
    return this.json<T>("GET", path);
  }

  post<T>(path: string, body: object, signal?: AbortSignal): Promise<T> {
    return this.json<T>("POST", path, body, signal);
  }

  delete(path: string): Promise<unknown> {
    return this.json("DELETE", path);
  }

  /**
   * Returns the response with times as strings, since numbers would lose digits. Times are members whose names end in
   * _ns and whose values have 16 digits or more.
   */
  async exact<T>(path: string, body: object): Promise<T> {
    const text = await (await this.request("POST", path, body)).text();
    return JSON.parse(withTimesAsText(text)) as T;
  }

  async file(path: string, body: object, mediaType: string): Promise<Blob> {
    return (await this.request("POST", path, body, undefined, mediaType)).blob();
  }

  private async json<T>(method: string, path: string, body?: object, signal?: AbortSignal): Promise<T> {
    const response = await this.request(method, path, body, signal);
    return (response.status === 204 ? undefined : await response.json()) as T;
  }

  private async request(
    method: string,
    path: string,
    body?: object,
    signal?: AbortSignal,
    accept = "application/json",
  ): Promise<Response> {
    const headers: Record<string, string> = { Accept: accept };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (this.token !== "") headers.Authorization = `Bearer ${this.token}`;
    let response: Response;
    try {
      response = await fetch(path, { method, headers, body: body && JSON.stringify(body), signal, cache: "no-store" });
    } catch (error) {
      if (signal?.aborted) throw error;
      this.report("gone");
      throw new NoResponse();
    }
    this.report(linkOf(response.status));
    if (!response.ok) throw new ProblemError(await problemOf(response));
    return response;
  }
}

/** Returns the state of the connection. A gateway's error for an unreachable server counts as no response. */
function linkOf(status: number): Link {
  if (status === 401) return "unauthorized";
  return status === 502 || status === 504 ? "gone" : "up";
}

async function problemOf(response: Response): Promise<Problem> {
  try {
    const problem = (await response.json()) as Problem;
    if (typeof problem.title === "string") return problem;
  } catch {
    // The body is not a problem document; a proxy may have answered.
  }
  return { type: "about:blank", title: response.statusText, status: response.status, detail: `The server answered ${response.status}.` };
}

/** Quotes times of 16 digits or more. Quotes within JSON strings are escaped, so the pattern matches only members. */
export function withTimesAsText(json: string): string {
  return json.replace(/("[a-z_]*_ns":)(\d{16,})/g, '$1"$2"');
}
