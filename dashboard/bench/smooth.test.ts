/**
 * How smooth the page is with 20 queries of 10,000 groups each: a real server reads a capture of 10,000 connections 20 times, one
 * after the other; a tab has the list open meanwhile, then each query, sorts, filters and scrolls. Reported: tasks that held the page up for 50 ms and more.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folder, freePort, Program, ROOT, until } from "../browser/programs";
import { openBrowser, openTab } from "../browser/tapline";

const QUERIES = 20;
const GROUPS = 10_000;
const SECONDS = 1;
const BEGIN_S = 1_795_204_800;

/** A packet of each connection, from a port of its own: the embedded Redis has no room for many such windows of 20 queries. */
function capture(): Buffer {
  const header = Buffer.alloc(24);
  [[0xa1b2c3d4, 0], [0x00040002, 4], [65_535, 16], [1, 20]].forEach(([value, at]) => header.writeUInt32LE(value, at));
  const packets: Buffer[] = [header];
  for (let second = 0; second < SECONDS; second++) {
    for (let flow = 0; flow < GROUPS; flow++) packets.push(packet(BEGIN_S + second, Math.floor((flow / GROUPS) * 1e6), flow));
  }
  return Buffer.concat(packets);
}

function packet(seconds: number, micros: number, flow: number): Buffer {
  const bytes = 54 + (flow % 900);
  const record = Buffer.alloc(16 + bytes);
  [seconds, micros, bytes, bytes].forEach((value, at) => record.writeUInt32LE(value, at * 4));
  record.writeUInt16BE(0x0800, 28);
  const ip = 30;
  record.writeUInt16BE(0x4500, ip);
  record.writeUInt16BE(bytes - 14, ip + 2);
  record.writeUInt16BE(0x4006, ip + 8);
  record.writeUInt32BE(0x0a000001, ip + 12);
  record.writeUInt32BE(0x0a000002, ip + 16);
  record.writeUInt16BE(10_000 + flow, ip + 20);
  record.writeUInt16BE(80, ip + 22);
  record.writeUInt16BE(0x5018, ip + 32);
  return record;
}

const QUERY = "PARSE tcp_pkt_size TO *:80 SAMPLE * PROCESS (group-sum: group=src_port, by=bytes, w=1s, s=1s)";

/** Runs the query to its end. */
async function finished(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/v1/queries`, { method: "POST", headers: { "Content-Type": "text/plain" }, body: QUERY });
  const { id } = (await answer.json()) as { id: string };
  await until(`${id} has ended`, async () => ((await state(url, id)).ended_ns as number) > 0);
  const query = await state(url, id);
  if (query.state !== "finished") throw new Error(`${id} ${query.state}: ${query.error}`);
  return id;
}

async function state(url: string, id: string): Promise<Record<string, unknown>> {
  return (await fetch(`${url}/api/v1/queries/${id}`)).json() as Promise<Record<string, unknown>>;
}

test(`${QUERIES} queries of ${GROUPS} groups`, async () => {
  const { path, remove } = folder();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  writeFileSync(join(path, "many.pcap"), capture());
  const server = new Program(path, "server", join(ROOT, "bin/tapline"), "server", "--port", String(port), "--pcap", join(path, "many.pcap"));
  const browser = await openBrowser();
  try {
    await until("the server is ready", async () => (await fetch(`${url}/readyz`)).ok);
    const { page, errors } = await openTab(await browser.newContext({ viewport: { width: 1280, height: 900 } }));
    await page.addInitScript(() => {
      const tasks: number[] = ((window as any).longTasks = []);
      new PerformanceObserver((list) => list.getEntries().forEach(({ duration }) => tasks.push(Math.round(duration)))).observe({ type: "longtask" });
    });
    await page.goto(url);
    await page.locator(".tree").waitFor();
    const loading = await page.evaluate(() => (window as any).longTasks.splice(0) as number[]);
    const ids: string[] = [];
    while (ids.length < QUERIES) ids.push(await finished(url));
    await until("the list shows all", async () => (await page.locator(".queries [data-state=finished]").count()) === QUERIES);
    const listing = await page.evaluate(() => (window as any).longTasks.splice(0) as number[]);
    for (const id of ids) {
      await page.evaluate((hash) => (location.hash = hash), `#/queries/${id}`);
      const card = page.locator("[data-processor='0']");
      await card.getByText("10,000 groups").waitFor();
      await card.getByRole("button", { name: "sum" }).click();
      await card.locator("tbody tr").first().getByText("953 B").waitFor();
      for (let turn = 1; turn <= 10; turn++) await card.locator(".scroll").evaluate((box, top) => (box.scrollTop = top), turn * 30_000);
      await card.getByRole("searchbox").fill("1999");
      await card.getByText("11 of 10,000 groups").waitFor();
    }
    const using = await page.evaluate(() => (window as any).longTasks.splice(0) as number[]);
    const report = (tasks: number[]) => `${tasks.length} tasks of 50 ms and more, the longest ${Math.max(0, ...tasks)} ms`;
    console.log(`opening the page: ${report(loading)}\nlist of ${QUERIES}: ${report(listing)}\nusing ${QUERIES} with ${GROUPS} groups: ${report(using)}`);
    expect(errors).toEqual([]);
  } finally {
    await browser.close();
    await server.end();
    remove();
  }
});
