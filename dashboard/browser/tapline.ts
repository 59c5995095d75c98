/** A `tapline server` on a link, a MultiLog node, and a browser that opens the dashboard. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { CHROMIUM, folder, freePort, TIMEOUT_MS, Program, ROOT, run, until } from "./programs";
import { WebLink } from "./web-link";

const CHROMIUM_FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

export class Tapline {
  readonly link = new WebLink();
  readonly folder = folder();
  private node: Program | undefined;
  private server: Program | undefined;
  private agent: Program | undefined;
  /** Token for the tests' own requests, if the server requires one. */
  private token = "";
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

  /** Starts a server that monitors the link, unless options name another source. */
  async startServer(...source: string[]): Promise<void> {
    const sourceOptions = source.length > 0 ? source : ["--interface", this.link.networkInterface];
    const server = new Program(this.folder.path, "server", join(ROOT, "bin/tapline"), "server", "--port", String(this.port), "--multilog", `web=127.0.0.1:${this.nodePort}`, ...sourceOptions);
    this.server = server;
    await until("the server is ready", async () => {
      if (!server.runs) throw new Error(server.log);
      return (await fetch(`${this.url}/readyz`)).ok;
    });
  }

  /** Starts another MultiLog node. Returns the options with which a server uses it. */
  async startNode(name: string, networkInterface: string): Promise<{ options: string[]; end: () => Promise<void> }> {
    const address = `127.0.0.1:${await freePort()}`;
    const node = new Program(this.folder.path, name, join(ROOT, "build/bin/tapline-multilog"), "--node", name, "--listen", address, "--interface", networkInterface);
    return { options: ["--multilog", `${name}=${address}`], end: () => node.end() };
  }

  private get tokens(): string {
    return join(this.folder.path, "tokens.yaml");
  }

  /** Creates a token and makes it the only valid one, as if all earlier tokens had expired. */
  replaceToken(): string {
    const file = join(this.folder.path, "new-tokens.yaml");
    const output = run(join(ROOT, "bin/tapline"), "token", "--tokens", file, "--tenant", "operators", "--role", "admin");
    renameSync(file, this.tokens);
    this.token = output.trim().split("\n").at(-1)!.trim();
    return this.token;
  }

  /**
   * Starts the agent of the client's host and a server that requires a token. The server also controls the link's
   * network, as described in the inventory. Returns the token.
   */
  async startServerWithAgent(): Promise<string> {
    const agents = `127.0.0.1:${await freePort()}`;
    const inventory = join(this.folder.path, "network.yaml");
    writeFileSync(inventory, this.link.inventory);
    const token = this.replaceToken();
    await this.startServer("--agents", agents, "--inventory", inventory, "--openflow-port", "0", "--tokens", this.tokens);
    const sizes = ["--hugepages", "never", "--memory-mib", "64", "--max-connections", "16384"];
    this.agent = new Program(this.folder.path, "agent", join(ROOT, "build/bin/tapline-agent"), "--name", "client", "--interface", this.link.networkInterface, "--control-plane", agents, ...sizes);
    await until("the agent is up", async () => (await this.json("/api/v1/nodes")).agents[0].state === "up");
    return token;
  }

  /** Kills the server as the kernel would, without an orderly shutdown. */
  async killServer(): Promise<void> {
    await this.server?.end("SIGKILL");
  }

  async json(path: string, body?: object): Promise<any> {
    const headers: Record<string, string> = this.token === "" ? {} : { Authorization: `Bearer ${this.token}` };
    if (body) headers["Content-Type"] = "application/json";
    const response = await fetch(this.url + path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  async close(): Promise<void> {
    // The server ends first, so that the agent can still deliver the last results of the server's queries.
    await this.server?.end();
    await this.agent?.end();
    await this.node?.end();
    await this.link.close();
    this.folder.remove();
  }
}

export async function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: CHROMIUM_FLAGS, timeout: TIMEOUT_MS });
}

/** Opens a tab that collects all errors of the page and all violations of its content security policy. */
export async function openTab(context: BrowserContext): Promise<{ page: Page; errors: string[] }> {
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    // Ignores failed requests, which the browser reports as errors and some tests cause on purpose.
    if (message.type() === "error" && !/Failed to load resource|net::ERR_/.test(message.text())) errors.push(message.text());
  });
  return { page, errors };
}
