/** A virtual link with a web server at its other end, in a network namespace, that logs what it is asked for. */
import { createServer, get } from "node:http";
import { Program, run, until } from "./programs";

const PORT = 8080;

/** Why there can be no such link here; empty if there can. */
export function obstacle(): string {
  if (process.getuid?.() !== 0) return "network namespaces need root";
  const name = `tlprobe${process.pid}`;
  try {
    run("ip", "netns", "add", name);
    run("ip", "netns", "del", name);
    return "";
  } catch {
    return "no network namespaces here";
  }
}

export class WebLink {
  private readonly name = `td${process.pid}`;
  private readonly prefix = `198.${18 + (process.pid % 2)}.${Math.floor(Math.random() * 256)}`;
  private web: Program | undefined;

  /** The client's end. */
  get networkInterface(): string {
    return `${this.name}a`;
  }

  get address(): string {
    return `${this.prefix}.2`;
  }

  get place(): string {
    return `${this.address}:${PORT}`;
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
    await until("the web server answers", async () => (await this.ask("/ready"), true));
  }

  /** One request on a connection of its own; resolves once it is answered and closed. */
  ask(path: string): Promise<void> {
    return new Promise((done, failed) => {
      get({ host: this.address, port: PORT, path, agent: false }, (answer) => answer.resume().once("close", () => done())).once("error", failed);
    });
  }

  async askTimes(wanted: Record<string, number>): Promise<void> {
    const left = Object.entries(wanted);
    for (let turn = 0; left.some(([, count]) => turn < count); turn++) {
      for (const [path, count] of left) if (turn < count) await this.ask(path);
    }
  }

  /** How often the server says it was asked for each path that begins so. */
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
      // It was never made.
    }
  }
}

/** Stands before a server and asks for a token, which the test can change, as if it had expired. */
export async function tokenGate(upstream: string): Promise<{ url: string; accept: (token: string) => void; close: () => void }> {
  let accepted = "";
  const { request } = await import("node:http");
  const gate = createServer((from, to) => {
    if (from.url!.startsWith("/api/") && from.headers.authorization !== `Bearer ${accepted}`) {
      const problem = { type: "urn:tapline:problem:unauthorized", title: "A token is needed", status: 401, detail: "no valid token", instance: from.url };
      to.writeHead(401, { "Content-Type": "application/problem+json", "WWW-Authenticate": "Bearer" }).end(JSON.stringify(problem));
      return;
    }
    const onward = request(upstream + from.url, { method: from.method, headers: from.headers }, (answer) => {
      to.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(to);
    });
    onward.once("error", () => to.destroy());
    from.pipe(onward);
  });
  await new Promise<void>((done) => gate.listen(0, "127.0.0.1", done));
  const { port } = gate.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    accept: (token) => {
      accepted = token;
      gate.closeAllConnections();
    },
    close: () => (gate.closeAllConnections(), gate.close()),
  };
}
