/** Formats numbers, times and units for users. */

const SIZES = ["B", "kB", "MB", "GB", "TB", "PB"];

/** Formats a whole number with all its digits (1,234), and others with about three significant digits (12.3). */
export function number(value: number): string {
  if (!Number.isFinite(value)) return "-";
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
  return value.toLocaleString("en-US", { maximumFractionDigits: digits });
}

/** Formats a count with its noun: 1 node, 2 nodes. */
export function counted(count: number, one: string): string {
  return `${number(count)} ${one}${count === 1 ? "" : "s"}`;
}

/** Formats a duration given in nanoseconds: 850 ns, 1.23 ms, 12.3 s, 4 min 05 s. */
export function duration(ns: number): string {
  const size = Math.abs(ns);
  if (!Number.isFinite(ns)) return "-";
  if (size < 1e3) return `${number(ns)} ns`;
  if (size < 1e6) return `${number(ns / 1e3)} µs`;
  if (size < 1e9) return `${number(ns / 1e6)} ms`;
  if (size < 60e9) return `${number(Math.round(ns / 1e6) / 1e3)} s`;
  const seconds = Math.round(size / 1e9);
  const sign = ns < 0 ? "-" : "";
  if (seconds < 3600) return `${sign}${Math.floor(seconds / 60)} min ${pad(seconds % 60)} s`;
  return `${sign}${Math.floor(seconds / 3600)} h ${pad(Math.floor(seconds / 60) % 60)} min`;
}

function scaled(value: number, units: string[]): string {
  let step = 0;
  let rest = value;
  while (Math.abs(rest) >= 1000 && step < units.length - 1) {
    rest /= 1000;
    step++;
  }
  return `${number(step === 0 ? rest : Number(rest.toPrecision(3)))} ${units[step]}`;
}

export function bytes(value: number): string {
  return scaled(value, SIZES);
}

export function bitsPerSecond(value: number): string {
  return scaled(value, ["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"]);
}

/** Formats a value in a plan's unit. */
export function quantity(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined) return "-";
  if (unit === "ns") return duration(value);
  if (unit === "bytes") return bytes(value);
  if (unit === "count" || unit === "" || unit === "1") return number(value);
  return `${number(value)} ${unit}`;
}

function pad(value: number, digits = 2): string {
  return String(value).padStart(digits, "0");
}

/** Formats the time of day in UTC, as the terminal's tables do. */
export function clock(ns: number, milliseconds = false): string {
  if (!ns) return "-";
  const date = new Date(ns / 1e6);
  const text = `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}`;
  return milliseconds ? `${text}.${pad(date.getUTCMilliseconds(), 3)}` : text;
}

export function dateTime(ns: number): string {
  return ns ? `${new Date(ns / 1e6).toISOString().slice(0, 10)} ${clock(ns)}` : "-";
}

/** Formats the time of day with microseconds, from nanoseconds as a string. */
export function preciseClock(ns: string): string {
  const whole = BigInt(ns);
  const micros = Number((whole / 1000n) % 1_000_000n);
  return `${clock(Number(whole / 1_000_000_000n) * 1e9)}.${pad(micros, 6)}`;
}

export function percent(share: number): string {
  return `${number(Number((share * 100).toPrecision(3)))} %`;
}

/** Returns a group's name: its values in the order of its fields. */
export function keyText(key: Record<string, unknown>): string {
  const values = Object.values(key);
  return values.length === 0 ? "all" : values.map(keyPart).join("  ·  ");
}

function keyPart(value: unknown): string {
  if (value === null) return "-";
  return value === "" ? "(empty)" : String(value);
}

/** Formats a plan's duration, given in seconds ("0.010s"), with a suitable unit. */
export function planDuration(text: string | undefined): string {
  return text === undefined ? "" : duration(Number.parseFloat(text) * 1e9);
}
