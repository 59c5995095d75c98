/** A virtual link to a network namespace, in which a web server logs its requests. */
import { createServer, get, request } from "node:http";
import { Program, run, until } from "./programs";

const PORT = 8080;

/** Returns the reason why this machine can't have such a link; empty if the machine can. */
export function obstacle(): string {
  if (process.getuid?.() !== 0) return "network namespaces need root";
  const name = `tlprobe${process.pid}`;
  try {
    run("ip", "netns", "add", name);
    run("ip", "netns", "del", name);
    return "";
  } catch {
    return "network namespaces are not available";
  }
}

export class WebLink {
  private readonly name = `td${process.pid}`;
  private readonly prefix = `198.${18 + (process.pid % 2)}.${Math.floor(Math.random() * 256)}`;
  private web: Program | undefined;

  /** Name of the interface at the client's end. */
  get networkInterface(): string {
    return `${this.name}a`;
  }

  get address(): string {
    return `${this.prefix}.2`;
  }

  get place(): string {
    return `${this.address}:${PORT}`;
  }

  /** Returns an inventory in which the link's two hosts are connected to the same switch. */
  get inventory(): string {
    return `hosts: {client: ${this.prefix}.1, web: ${this.address}}
network:
  switches: {leaf: [client, web], spine: []}
  links: [[leaf, spine]]
  openflow:
    datapaths: {leaf: 1, spine: 2}
`;
  }

  async open(folder: string): Promise<void> {
    const ip = (line: string) => run("ip", ...line.split(" "));
    ip(`netns add ${this.name}`);
    ip(`link add ${this.networkInterface} type veth peer name web netns ${this.name}`);
    ip(`addr add ${this.prefix}.1/24 dev ${this.networkInterface}`);
    ip(`link set ${this.networkInterface} up`);
    ip(`-n ${this.name} addr add ${this.address}/24 dev web`);
    ip(`-n ${this.name} link set web up`);
    this.web = new Program(folder, "web", "ip", "netns", "exec", this.name, "python3", "-u", "-m", "http.server", String(PORT), "--bind", this.address, "--directory", "/proc/self/task");
    await until("the web server answers", async () => (await this.load("/ready"), true));
  }

  /** Sends a request on a new connection; resolves once the response is complete and the connection is closed. */
  load(path: string): Promise<void> {
    return new Promise((done, failed) => {
      get({ host: this.address, port: PORT, path, agent: false }, (answer) => answer.resume().once("close", () => done())).once("error", failed);
    });
  }

  async requestRepeatedly(wanted: Record<string, number>): Promise<void> {
    const left = Object.entries(wanted);
    for (let turn = 0; left.some(([, count]) => turn < count); turn++) {
      for (const [path, count] of left) if (turn < count) await this.load(path);
    }
  }

  /** Returns the number of logged requests for each path with this prefix. */
  logged(prefix: string): Map<string, number> {
    const counts = new Map<string, number>();
    for (const [, path] of (this.web?.log ?? "").matchAll(/"GET (\S+) HTTP/g)) {
      if (path.startsWith(prefix)) counts.set(path, (counts.get(path) ?? 0) + 1);
    }
    return counts;
  }

  async close(): Promise<void> {
    await this.web?.end("SIGKILL");
    try {
      run("ip", "netns", "del", this.name);
    } catch {
      // The namespace was never created.
    }
  }
}

/** Starts a reverse proxy like nginx: it answers 502 if the server does not respond. */
export async function gateway(upstream: string): Promise<{ url: string; close: () => void }> {
  const gate = createServer((incoming, outgoing) => {
    const onward = request(upstream + incoming.url, { method: incoming.method, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.once("aborted", () => outgoing.destroy()).pipe(outgoing);
    });
    onward.once("error", () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502, { "Content-Type": "text/html" }).end("<h1>502 Bad Gateway</h1>")));
    incoming.pipe(onward);
  });
  await new Promise<void>((done) => gate.listen(0, "127.0.0.1", done));
  const { port } = gate.address() as { port: number };
  return { url: `http://127.0.0.1:${port}`, close: () => (gate.closeAllConnections(), gate.close()) };
}
