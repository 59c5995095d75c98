/**
 * Measures tasks of a page's main thread from Chromium's trace, in elapsed time and in processor time. Other programs
 * on the machine affect processor time less.
 */
import type { Browser, Page } from "playwright-core";

export interface Task {
  cpuMs: number;
  wallMs: number;
}

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  dur?: number;
  tdur?: number;
}

const MARK = "the thread of the page";

/** Runs a function, and returns the tasks that the page's main thread executed meanwhile. */
export async function tasksDuring(browser: Browser, page: Page, done: () => Promise<void>): Promise<Task[]> {
  await browser.startTracing(page, { categories: ["toplevel", "blink.user_timing"] });
  await done();
  // The browser has other pages as well, so a mark identifies this page's thread.
  await page.evaluate((mark) => void performance.mark(mark), MARK);
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  const mark = traceEvents.find(({ name }) => name === MARK);
  if (mark === undefined) throw new Error("the trace does not identify the page's thread");
  const tasks = traceEvents.filter(({ name, ph, pid, tid, tdur }) => ph === "X" && /RunTask$/.test(name) && pid === mark.pid && tid === mark.tid && tdur !== undefined);
  if (tasks.length === 0) throw new Error("the trace has no task of the page");
  return tasks.map(({ dur, tdur }) => ({ cpuMs: tdur! / 1000, wallMs: dur! / 1000 }));
}

/** Returns the maximum processor time of any task. */
export function maxCpuMs(tasks: Task[]): number {
  return Math.max(...tasks.map(({ cpuMs }) => cpuMs));
}

export function longest(tasks: Task[]): string {
  const wallMs = Math.max(...tasks.map((task) => task.wallMs));
  const over = tasks.filter((task) => task.wallMs >= 50).length;
  return `${tasks.length} tasks, the longest ${Math.round(maxCpuMs(tasks))} ms of processor time, ${Math.round(wallMs)} ms of wall-clock time; ${over} of at least 50 ms of wall-clock time`;
}
