/** Tests the page of a queue in real Chromium, with a real server and a real node that read captures of a queue. */
import axe from "axe-core";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHROMIUM, folder, freePort, Program, ROOT, until } from "./programs";
import { openBrowser, openTab } from "./tapline";

const SCREENSHOTS = join(ROOT, process.env.TAPLINE_SCREENSHOTS ?? "build/dashboard-screenshots");
const CAPTURES = join(ROOT, "parsers/queue_flows/captures");
const TAPS = ["arrivals", "departures"].flatMap((side) => ["--tap", `s1:2:${side}=${CAPTURES}/queue-${side}.pcap.zst`]);

/** A query with short windows, since the capture is shorter than a window of the query that the page submits. */
const QUERY =
  "PARSE queue_depth(every=10ms), queue_flows(delay=0ms, every=10ms) FROM * TO * AT s1:2 SAMPLE * PROCESS " +
  "(top-k: key=(src_ip, src_port, dst_ip, dst_port), by=queued_bytes, k=10, w=10ms, s=10ms), (group-max: group=queue, by=queue_bytes, w=10ms, s=10ms)";

describe.skipIf(!existsSync(CHROMIUM))("queue", () => {
  const files = folder();
  let url = "";
  let node: Program;
  let server: Program;
  let browser: Browser;
  let page: Page;
  let errors: string[];

  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    const [port, nodePort] = [await freePort(), await freePort()];
    url = `http://127.0.0.1:${port}`;
    node = new Program(files.path, "node", join(ROOT, "build/bin/tapline-multilog"), "--node", "queue", "--listen", `127.0.0.1:${nodePort}`, "--memory-mib", "64", ...TAPS);
    server = new Program(files.path, "server", join(ROOT, "bin/tapline"), "server", "--port", String(port), "--multilog", `queue=127.0.0.1:${nodePort}`, ...TAPS);
    browser = await openBrowser();
    ({ page, errors } = await openTab(await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light" })));
    await until("the server is ready", async () => {
      if (!server.runs) throw new Error(server.log);
      return (await fetch(`${url}/readyz`)).ok;
    });
  });

  afterAll(async () => {
    await browser?.close();
    await server?.end();
    await node?.end();
    files.remove();
  });

  async function violations(): Promise<string[]> {
    await page.evaluate(axe.source);
    const result = await page.evaluate(() => (window as any).axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
    return result.violations.map((violation: any) => `${violation.id}: ${violation.nodes.map((node: any) => node.html).join("; ")}`);
  }

  async function json(path: string, body?: object): Promise<any> {
    const response = await fetch(url + path, { method: body ? "POST" : "GET", headers: { "Content-Type": "application/json" }, body: body && JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  test("a page without data submits the query that fills it", async () => {
    await page.goto(`${url}/#/queues/s1/2`);
    await page.getByText("No query reports the bursts of this queue").waitFor();
    await page.getByRole("button", { name: "Submit this query" }).click();
    await page.locator(".queue-chart").waitFor();
    const { queries } = await json("/api/v1/queries");
    expect(queries).toHaveLength(1);
    expect(queries[0].text).toContain("AT s1:2");
    await page.getByText("no burst at s1:2").waitFor();
  });

  test("stacks are as high as the queue was deep", async () => {
    const { id } = await json("/api/v1/queries", { query: QUERY });
    await until("the query has ended", async () => (await json(`/api/v1/queries/${id}`)).state === "finished");
    await page.getByLabel("Query", { exact: true }).selectOption(id);
    await until("the intervals are shown", async () => (await page.locator(".queue-chart .column").count()) > 10);
    const { rows } = await json(`/api/v1/queries/${id}/results?processor=1`);
    const depths: number[] = rows.map(({ value }: any) => value).filter((value: any) => value !== null);
    const max = Math.max(...depths);
    const heights = await page.locator(".queue-chart .column").evaluateAll((all) =>
      all.map((column) => [...column.children].reduce((sum, part) => sum + parseFloat((part as HTMLElement).style.height), 0)),
    );
    expect(heights).toHaveLength(depths.length);
    heights.forEach((height, index) => expect(height, `column ${index}`).toBeCloseTo((100 * depths[index]) / max, 3));
    const shown = await page.locator(".queue-chart .columns > div").count();
    expect(await page.locator(".queue-chart .gap").count(), "gaps").toBe(shown - depths.length);
    expect(await violations()).toEqual([]);
    await page.getByRole("region", { name: "Contents" }).screenshot({ path: join(SCREENSHOTS, "queue.png"), animations: "disabled" });
    await page.setViewportSize({ width: 390, height: 844 });
    await until("nothing is wider than a phone", () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test("a segment opens its flow's packets in its interval", async () => {
    await page.locator(".queue-chart .selected .flow-1").click();
    const headers = page.getByRole("region", { name: "Headers" }).locator("tbody tr");
    await headers.first().waitFor();
    const dialog = page.locator("dialog");
    const [source, destination] = (await dialog.locator("#drill-title code").textContent())!.split(" > ");
    const [begin, end] = (await dialog.locator("p.quiet").textContent())!.replace(" UTC", "").split(" – ");
    for (const cells of await headers.evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent!)))) {
      expect(cells.slice(2, 4)).toEqual([source, destination]);
      expect(cells[0] >= begin && cells[0].slice(0, 12) <= end, cells[0]).toBe(true);
    }
    expect(errors, "errors on the page, and violations of its content security policy").toEqual([]);
  });
});
