/** Runs the repository's programs as a user would; each test ends the programs that it started. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export const ROOT = resolve(import.meta.dirname ?? __dirname, "../..");
export const CHROMIUM = "/usr/bin/chromium";

/** Maximum wait for anything in these tests, chosen for a busy machine. */
export const TIMEOUT_MS = 90_000;

/** The CDS archive that the end-to-end tests create. It may be missing, since it only speeds up startup. */
const ARCHIVE = join(ROOT, "control-plane/target/e2e.jsa");
const JAVA_OPTIONS =
  "-XX:TieredStopAtLevel=1 -Xlog:cds=off -Xlog:cds+dynamic=off" + (existsSync(ARCHIVE) ? ` -XX:SharedArchiveFile=${ARCHIVE}` : "");

export class Program {
  private readonly output: string;
  private readonly process: ChildProcess;

  constructor(folder: string, name: string, command: string, ...parameters: string[]) {
    this.output = join(folder, `${name}-${Math.random().toString(36).slice(2)}.log`);
    const out = openSync(this.output, "w");
    this.process = spawn(command, parameters, { cwd: ROOT, stdio: ["ignore", out, out], env: { ...process.env, TAPLINE_JAVA_OPTS: JAVA_OPTIONS } });
  }

  get log(): string {
    return readFileSync(this.output, "utf8");
  }

  get runs(): boolean {
    return this.process.exitCode === null && this.process.signalCode === null;
  }

  /** Ends the program and waits for its exit. */
  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (!this.runs) return;
    const ended = new Promise((done) => this.process.once("exit", done));
    this.process.kill(signal);
    await ended;
  }
}

export function run(command: string, ...parameters: string[]): string {
  return execFileSync(command, parameters, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

export function folder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), "tapline-dashboard-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export function freePort(): Promise<number> {
  return new Promise((done, failed) => {
    const server = createServer();
    server.once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => done(port));
    });
  });
}

/** Waits until a condition is neither false nor undefined, and returns its value. An exception counts as false. */
export async function until<T>(awaited: string, condition: () => Promise<T | false | undefined>): Promise<T> {
  const end = Date.now() + TIMEOUT_MS;
  let lastError: unknown = "it never became true";
  while (Date.now() < end) {
    try {
      const value = await condition();
      if (value !== false && value !== undefined) return value;
    } catch (error) {
      lastError = error;
    }
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`waited ${TIMEOUT_MS / 1000} s for: ${awaited} (${String(lastError)})`);
}
