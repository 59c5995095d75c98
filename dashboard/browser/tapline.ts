/** A `tapline server` on a link, with a MultiLog node beside it, and a browser that looks at it. */
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { CHROMIUM, folder, freePort, PATIENCE_MS, Program, ROOT, until } from "./programs";
import { WebLink } from "./web-link";

const CHROMIUM_FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

export class Tapline {
  readonly link = new WebLink();
  readonly folder = folder();
  private node: Program | undefined;
  private server: Program | undefined;
  private port = 0;
  private nodePort = 0;

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async open(): Promise<void> {
    this.port = await freePort();
    this.nodePort = await freePort();
    await this.link.open(this.folder.path);
    this.node = new Program(this.folder.path, "node", join(ROOT, "build/bin/tapline-multilog"), "--node", "web", "--listen", `127.0.0.1:${this.nodePort}`, "--interface", this.link.networkInterface);
    await this.startServer();
    await until("the node is up", async () => (await this.json("/api/v1/nodes")).nodes[0].state === "up");
  }

  async startServer(): Promise<void> {
    const server = new Program(this.folder.path, "server", join(ROOT, "bin/tapline"), "server", "--port", String(this.port), "--interface", this.link.networkInterface, "--multilog", `web=127.0.0.1:${this.nodePort}`);
    this.server = server;
    await until("the server is ready", async () => {
      if (!server.runs) throw new Error(server.log);
      return (await fetch(`${this.url}/readyz`)).ok;
    });
  }

  /** As the kernel would: nothing is taken down in order. */
  async killServer(): Promise<void> {
    await this.server?.end("SIGKILL");
  }

  async json(path: string, body?: object): Promise<any> {
    const init = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    const answer = await fetch(this.url + path, init);
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  async close(): Promise<void> {
    await this.server?.end();
    await this.node?.end();
    await this.link.close();
    this.folder.remove();
  }
}

export async function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: CHROMIUM_FLAGS, timeout: PATIENCE_MS });
}

/** A tab in which every error of the page, and every break of its content policy, is kept. */
export async function openTab(context: BrowserContext): Promise<{ page: Page; errors: string[] }> {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    // What the network refuses is what some tests are about: the browser notes each such request.
    if (message.type() === "error" && !/Failed to load resource|net::ERR_/.test(message.text())) errors.push(message.text());
  });
  return { page, errors };
}
