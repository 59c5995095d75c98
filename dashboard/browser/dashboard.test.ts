/**
 * Tests the dashboard in real Chromium, with a real server that monitors a real link. Each test continues from the
 * state that the previous one left.
 */
import axe from "axe-core";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHROMIUM, ROOT, run, until } from "./programs";
import { QueueLink } from "./queue-link";
import { openBrowser, openTab, Tapline } from "./tapline";
import { gateway, obstacle } from "./web-link";

/** TAPLINE_SCREENSHOTS=docs/how-to/dashboard writes the screenshots of the documentation. */
const SCREENSHOTS = join(ROOT, process.env.TAPLINE_SCREENSHOTS ?? "build/dashboard-screenshots");
const WANTED: Record<string, number> = { "/page/start": 12, "/page/search?q=<b>shoes</b>": 7, "/page/basket": 3 };

const reason = existsSync(CHROMIUM) ? obstacle() : `no ${CHROMIUM}`;
if (reason !== "") console.warn(`SKIPPED: the dashboard's browser tests: ${reason}`);

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const result = await page.evaluate(() => (window as any).axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  return result.violations.map((violation: any) => `${violation.id}: ${violation.nodes.map((node: any) => `${node.html} ${node.failureSummary}`).join("; ")}`);
}

describe.skipIf(reason !== "")("dashboard", () => {
  const tapline = new Tapline();
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let errors: string[];
  let id = "";

  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    [browser] = await Promise.all([openBrowser(), tapline.open()]);
    context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light", acceptDownloads: true });
    ({ page, errors } = await openTab(context));
  });

  afterAll(async () => {
    await browser?.close();
    await tapline.close();
  });

  /** Captures the whole page, or only its visible part. */
  async function screenshot(name: string, inSight = false): Promise<void> {
    const path = join(SCREENSHOTS, `${name}.png`);
    if (inSight) return void (await page.screenshot({ path, animations: "disabled" }));
    const [width, height] = await page.evaluate(() => [innerWidth, document.querySelector("main")!.getBoundingClientRect().bottom + scrollY]);
    await page.screenshot({ path, fullPage: true, clip: { x: 0, y: 0, width, height }, animations: "disabled" });
  }

  /** Checks the page at a phone's width, which no element may exceed. */
  async function onPhone(look = async () => {}): Promise<void> {
    await page.setViewportSize({ width: 390, height: 844 });
    await until("nothing is wider than a phone", () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await look();
    await page.setViewportSize({ width: 1280, height: 800 });
  }

  function query(parser: string): string {
    return (
      `PARSE ${parser}\nFROM * TO ${tapline.link.place}\nLIMIT 1h SAMPLE *\n` +
      "PROCESS (top-k: k=5, w=1h, s=1s), (diff-group: group=url, w=1h, s=1s)"
    );
  }

  /**
   * Replaces the editor's text as a user does. `fill` changes the selection before the editor has handled its focus: in
   * 1 of 100 cases, the editor then restored its own selection, and the new text was inserted before the old text.
   */
  async function write(text: string, to = page): Promise<void> {
    await to.getByLabel("Query", { exact: true }).press("Control+a");
    await to.keyboard.insertText(text);
  }

  /**
   * Runs the query in the editor, waits until the page shows the query, and returns its ID. Throws with the page's
   * message if the query does not start.
   */
  async function runQuery(from = page, tenant = "q"): Promise<string> {
    await from.getByRole("button", { name: "Run" }).click();
    const address = new RegExp(`#/queries/(${tenant}-[^/]+)$`);
    return until("the query has started", async () => {
      const id = address.exec(from.url())?.[1];
      if (id === undefined) throw new Error(`${from.url()}: ${await from.locator("section", { hasText: "New query" }).innerText({ timeout: 1_000 })}`);
      return id;
    });
  }

  test("an error is marked in a query, and the plan of the corrected query appears before it runs", async () => {
    await page.goto(tapline.url);
    await write(query("htp_get"));
    const errorList = page.locator(".errors li");
    await until("the error is shown", async () => (await errorList.first().textContent())?.includes("unknown parser 'htp_get'"));
    expect(await errorList.first().textContent()).toContain("1:7");
    expect(await page.locator(".cm-lintRange-error").allTextContents()).toEqual(["htp_get"]);
    await screenshot("error");
    await page.getByRole("button", { name: "Use http_get" }).click();
    await errorList.first().waitFor({ state: "detached" });
    await page.locator(".plan-card:not(.stale) .tree", { hasText: tapline.link.address }).waitFor();
    const tree = await page.locator(".tree").textContent();
    for (const part of ["packets", "monitor", "http_get", "top-k", "diff-group", "windows of 1 h 00 min every 1 s"]) expect(tree).toContain(part);
    expect(await violations(page)).toEqual([]);
    await screenshot("editor");
  });

  test("the editor completes the names of the server's parsers", async () => {
    const editor = page.getByLabel("Query", { exact: true });
    await write("PARSE ");
    const offers = page.locator(".cm-tooltip-autocomplete .cm-completionLabel");
    await until("parsers are offered", async () => {
      await editor.press("Control+Space");
      return (await offers.getByText("mysql_query").count()) > 0;
    });
    const { parsers } = await tapline.json("/api/v1/parsers");
    const offered = await offers.allTextContents();
    expect([...offered].sort()).toEqual(parsers.map(({ name }: { name: string }) => name).sort());
    await editor.press("Escape");
    await write(query("http_get"));
  });

  test("a live ranking equals what the web server logged, and the server's result", async () => {
    id = await runQuery();
    await page.locator("[data-state=running]").waitFor();
    await tapline.link.requestRepeatedly(WANTED);
    const expected = Object.entries(WANTED).map(([path, count]) => [path, String(count)]);
    expect([...tapline.link.logged("/page/")].map(([path, count]) => [path, String(count)])).toEqual(expected);
    await until("the page shows all requests", async () => JSON.stringify(await ranking()) === JSON.stringify(expected));
    const result = await tapline.json(`/api/v1/queries/${id}/results?processor=0&limit=3`);
    expect(result.rows.map((row: any) => [row.key.url, String(row.value)])).toEqual(expected);
    // No one-hour window is complete yet.
    expect(await page.locator("[data-processor='0'] .completeness").textContent()).toMatch(/^Partial/);
    expect(await page.locator("[data-processor='0'] .bar.hollow").count()).toBe(expected.length);
    const previousAttribute = await page.locator("[data-processor='0']").getAttribute("data-end");
    await until("further windows arrive", async () => (await page.locator("[data-processor='0']").getAttribute("data-end")) !== previousAttribute);
  });

  async function ranking(): Promise<(string | null)[][]> {
    const rows = page.locator("[data-processor='0'] tbody tr");
    return rows.evaluateAll((all) => all.map((row) => [row.querySelector(".key")!.textContent, row.querySelector(".value")!.textContent]));
  }

  test("distributions have a histogram and a distribution function; pages have no accessibility violation", async () => {
    const card = page.locator("[data-processor='1']");
    await card.locator("figure canvas").nth(1).waitFor();
    await page.locator("[data-processor='0'] .chart canvas").waitFor();
    await expect(card.locator(".chart").nth(0).getAttribute("aria-label")).resolves.toMatch(/^Histogram of \/page\/.*: \d+ values/);
    expect(await violations(page)).toEqual([]);
    await screenshot("query");
    await page.getByRole("button", { name: "Use dark colours" }).click();
    expect(await violations(page)).toEqual([]);
    await screenshot("query-dark");
    await onPhone(() => screenshot("phone"));
    await page.getByRole("button", { name: "Use light colours" }).click();
  });

  test("windows are partial, and hollow, until one was watched from its beginning", async () => {
    const { id: short } = await tapline.json("/api/v1/queries", { query: query("http_get").replaceAll("w=1h", "w=15s") });
    const look = await openTab(context);
    try {
      await look.page.goto(`${tapline.url}/#/queries/${short}`);
      const card = look.page.locator("[data-processor='0']");
      const complete = card.locator(".completeness");
      await until("a complete window is shown", async () => {
        await tapline.link.requestRepeatedly({ "/again": 1 });
        const text = (await complete.count()) > 0 ? ((await complete.textContent()) ?? "") : "";
        const hollow = await card.locator(".bar.hollow").count();
        return text.startsWith("Complete") && hollow === 0 && (await card.locator(".bar").count()) > 0;
      });
      const { rows } = await tapline.json(`/api/v1/queries/${short}/results?processor=0`);
      const partial = rows.map((row: any) => row.partial === true);
      expect(partial.indexOf(false), "windows before the first complete one").toBeGreaterThan(0);
      expect(partial.slice(partial.indexOf(false)), "no partial window after the first complete one").not.toContain(true);
      await until("the chart's label counts the partial windows", async () => /, \d+ of them partial$/.test((await card.locator(".chart").getAttribute("aria-label")) ?? ""));
      expect(await card.locator(".legend").textContent()).toContain("not captured completely");
      expect(await violations(look.page)).toEqual([]);
      await look.page.screenshot({ path: join(SCREENSHOTS, "partial.png"), animations: "disabled" });
      expect(look.errors).toEqual([]);
    } finally {
      await look.page.close();
      await fetch(`${tapline.url}/api/v1/queries/${short}`, { method: "DELETE" });
    }
  });

  test("a row opens its packets on the hosts, which can be downloaded", async () => {
    const row = page.locator("[data-processor='0']").getByRole("button", { name: "/page/basket" });
    await row.focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    const headers = dialog.locator(".headers tbody tr");
    await headers.first().waitFor();
    const cells = await headers.evaluateAll((rows) => rows.map((element) => [...element.querySelectorAll("td")].map((cell) => cell.textContent)));
    expect(cells[0][4]).toBe("tcp");
    expect(cells[0][6]).toBe("S");
    expect(Number(cells[1][8]), "the SYN is acknowledged").toBe((Number(cells[0][7]) + 1) % 2 ** 32);
    for (const [, node, source, destination] of cells) {
      expect(node).toBe("web");
      expect([source, destination]).toContain(tapline.link.place);
    }
    expect(await violations(page)).toEqual([]);
    await screenshot("drill", true);
    const [download] = await Promise.all([page.waitForEvent("download"), dialog.getByRole("button", { name: "Download pcapng" }).click()]);
    const file = join(tapline.folder.path, "row.pcapng");
    await download.saveAs(file);
    expect(readFileSync(file).readUInt32LE(0)).toBe(0x0a0d0d0a);
    expect(run("tshark", "-r", file).trim().split("\n")).toHaveLength(cells.length);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    await until("the row has the focus again", () => row.evaluate((button) => button === document.activeElement));
  });

  test("a stopped query shows its state and keeps its last result", async () => {
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator("[data-state=stopped]").waitFor();
    const { rows: latest } = await tapline.json(`/api/v1/queries/${id}/results?processor=0&limit=3`);
    const end = latest.at(-1).window_end_ns;
    // The last window has fewer than three rows if the query ended long after most requests.
    const rows = latest.filter((row: any) => row.window_end_ns === end);
    const last = String(Number(end));
    await until("the last window is shown", async () => (await page.locator("[data-processor='0']").getAttribute("data-end")) === last);
    expect(await ranking()).toEqual(rows.map((row: any) => [row.key.url, String(row.value)]));
    expect(await page.getByRole("button", { name: "Stop" }).isVisible()).toBe(false);
    await page.getByRole("link", { name: "Queries", exact: true }).click();
    await page.locator(".queries tr", { has: page.locator(`a[title="${id}"]`) }).locator("[data-state=stopped]").waitFor();
  });

  test("hosts watch and alert; nodes show what they keep", async () => {
    await page.getByRole("link", { name: "Watches" }).click();
    await page.getByLabel("Filter").fill("dst_port == 8080");
    await page.getByLabel("Alert when").fill("COUNT > 10");
    await page.getByRole("button", { name: "Watch", exact: true }).click();
    await page.getByRole("button", { name: /^Remove/ }).waitFor();
    const alert = page.getByRole("region", { name: "List of alerts" }).locator("tbody tr").first();
    await until("an alert", async () => {
      await tapline.link.requestRepeatedly({ "/watched": 5 });
      return (await alert.count()) > 0;
    });
    expect(await alert.textContent()).toContain(tapline.link.address.replace(/\.2$/, ".1"));
    expect(await violations(page)).toEqual([]);
    await screenshot("watches");
    await onPhone();
    await page.getByRole("link", { name: "Nodes" }).click();
    const node = page.getByRole("region", { name: "MultiLog nodes" }).locator("tbody tr");
    await node.waitFor();
    const [state, packets, kept, lost] = await node.locator("td").allTextContents();
    const count = (text: string) => [...text.replaceAll(",", "").matchAll(/\d+/g)].reduce((sum, [digits]) => sum + Number(digits), 0);
    expect(state).toBe("up");
    expect(count(packets)).toBeGreaterThan(0);
    expect(count(packets), "packets are kept or counted as lost").toBe(count(kept) + count(lost));
    expect(await violations(page)).toEqual([]);
  });

  test("a query that ends shows its state, and its page sends no more requests", async () => {
    await page.goto(`${tapline.url}/#/queries`);
    await write(query("http_get").replace("LIMIT 1h", "LIMIT 20p"));
    await runQuery();
    await page.locator("[data-state=running]").waitFor();
    await until("the query has received its packets", async () => {
      await tapline.link.requestRepeatedly({ "/ended": 3 });
      return (await page.locator("[data-state=finished]").count()) > 0;
    });
    await page.locator("[data-processor='0'] .key", { hasText: "/ended" }).waitFor();
    await until("the stream has ended", async () => (await page.locator("[data-link=ended]").count()) > 0);
    expect(await page.getByRole("button", { name: "Stop" }).isVisible()).toBe(false);
    expect(await page.getByText("was interrupted").isVisible()).toBe(false);
  });

  test("characters that change the direction of text are shown as escapes, and edited unchanged", async () => {
    const hostile = query("http_get").replace("LIMIT", 'WHERE url = "/\u202egpj.exe"\nLIMIT');
    const { id: turned } = await tapline.json("/api/v1/queries", { query: hostile });
    const look = await openTab(context);
    try {
      await look.page.goto(`${tapline.url}/#/queries`);
      const row = look.page.locator(`a[href='#/queries/${turned}']`);
      await row.waitFor();
      expect(await row.textContent()).toContain('url = "/\\u{202e}gpj.exe"');
      await row.click();
      const text = look.page.locator("pre.query").first();
      await until("the query is shown", async () => ((await text.textContent()) ?? "").includes("/\\u{202e}gpj.exe"));
      expect(await look.page.evaluate(() => document.body.textContent!.includes("\u202e"))).toBe(false);
      await look.page.getByRole("button", { name: "Edit as new" }).click();
      await look.page.locator(".cm-specialChar", { hasText: "\\u{202e}" }).waitFor();
      const second = await runQuery(look.page);
      expect((await tapline.json(`/api/v1/queries/${second}`)).text).toBe(hostile);
      await fetch(`${tapline.url}/api/v1/queries/${second}`, { method: "DELETE" });
      expect(look.errors).toEqual([]);
    } finally {
      await look.page.close();
      await fetch(`${tapline.url}/api/v1/queries/${turned}`, { method: "DELETE" });
    }
  });

  test("the loss of a server is shown, directly or behind a gateway, and the page reconnects with the token that the server then requires", async () => {
    const gate = await gateway(tapline.url);
    const behind = await openTab(context);
    try {
      await page.goto(`${tapline.url}/#/queries`);
      await write(query("http_get"));
      await runQuery();
      await page.locator("[data-state=running]").waitFor();
      await tapline.link.requestRepeatedly({ "/kept": 3 });
      await until("the page shows its requests", async () => JSON.stringify(await ranking()) === '[["/kept","3"]]');
      await behind.page.goto(`${gate.url}/#/queries`);
      await behind.page.locator(".queries [data-state=running]").first().waitFor();
      await tapline.killServer();
      for (const view of [page, behind.page]) await view.getByText("The server does not respond.").waitFor();
      expect(await ranking(), "its earlier data are still shown").toEqual([["/kept", "3"]]);
      expect(await violations(page)).toEqual([]);
      await screenshot("gone");
      const token = await tapline.startServerWithAgent();
      for (const view of [page, behind.page]) {
        await view.getByText("The server requires a token.").waitFor();
        await view.getByLabel("Token").fill(token);
        await view.getByRole("button", { name: "Use token" }).click();
        await view.getByLabel("Token").waitFor({ state: "detached" });
      }
      await page.getByText("The server does not have this query").waitFor();
      for (const view of [page, behind.page]) {
        await view.goto(`${new URL(view.url()).origin}/#/queries`);
        await view.getByText("No queries yet").waitFor();
      }
      expect(behind.errors).toEqual([]);
    } finally {
      await behind.page.close();
      gate.close();
    }
  });

  test("the page asks for another token after the token has expired", async () => {
    const token = tapline.replaceToken();
    const bar = page.locator(".link-bar");
    await bar.getByText("The server does not accept your token").waitFor();
    expect(await violations(page)).toEqual([]);
    await screenshot("token");
    await bar.getByLabel("Token").fill("of-nobody");
    await bar.getByRole("button", { name: "Use token" }).click();
    await until("the page asks for a token again", async () => (await bar.getByLabel("Token").inputValue()) === "");
    await bar.getByLabel("Token").fill(token);
    await bar.getByRole("button", { name: "Use token" }).click();
    await bar.getByLabel("Token").waitFor({ state: "detached" });
    await page.getByText("No queries yet").waitFor();
  });

  test("a plan shows which hosts' agents will watch and what switches will mirror, before it runs", async () => {
    await write("PARSE http_get\nFROM * TO web:8080\nWHERE status < 500\nLIMIT 1h SAMPLE *\nPROCESS (top-k: k=5, w=1h, s=1s)");
    const plan = page.locator(".plan-card:not(.stale)");
    await plan.locator(".branch", { hasText: `web (${tapline.link.address}/32):8080` }).waitFor();
    expect(await plan.locator(".branch", { hasText: /^monitor/ }).textContent()).toMatch(/^monitor client \(/);
    expect(await plan.locator(".branch", { hasText: /^keep/ }).textContent()).toBe("keep status < 500");
    const { plan: wanted } = await tapline.json("/api/v1/explain", { query: await page.evaluate(() => sessionStorage.getItem("tapline.draft")) });
    expect(wanted.monitors.map(({ host }: { host: string }) => host)).toEqual(["client"]);
    expect(wanted.rules.length).toBeGreaterThan(0);
    const rows = plan.locator("[aria-label='Mirror rules'] tbody tr");
    const shown = await rows.evaluateAll((all) => all.map((row) => [row.querySelector("th")!.textContent, row.querySelectorAll("td")[1].textContent]));
    expect(shown).toEqual(wanted.rules.map((rule: any) => [rule.switch_id, rule.match]));
    for (const fact of ["Mirrored at", "Extra traffic", "Rules in mirror tables"]) expect(await plan.locator(".facts").textContent()).toContain(fact);
    expect(await violations(page)).toEqual([]);
    await screenshot("plan");
    await onPhone();
    expect((await tapline.json("/api/v1/queries")).queries, "nothing runs yet").toEqual([]);
  });

  test("the planned query runs on the agent of that host", async () => {
    // IDs begin with the token's tenant.
    const running = await runQuery(page, "operators");
    await page.locator("[data-state=running]").waitFor();
    expect(await page.locator(".tree .branch", { hasText: /^monitor/ }).textContent()).toMatch(/^monitor client \(/);
    await tapline.link.requestRepeatedly({ "/planned": 4, "/also": 2 });
    await until("the page shows the results of that agent", async () => JSON.stringify(await ranking()) === '[["/planned","4"],["/also","2"]]');
    const { agents } = await tapline.json("/api/v1/nodes");
    expect(agents.map(({ agent, queries }: any) => [agent, queries])).toEqual([["client", [running]]]);
    await page.getByRole("link", { name: "Nodes" }).click();
    await page.getByRole("region", { name: "Agents" }).getByRole("link", { name: running }).waitFor();
    expect(await violations(page)).toEqual([]);
    await screenshot("nodes");
    await onPhone();
  });

  test("links show the loads that a query measured", async () => {
    await tapline.killServer();
    await tapline.startServer("--tap", `edge1:eth2=${join(ROOT, "testbed/captures/http_small.pcap.zst")}`);
    const look = await openTab(context);
    try {
      await look.page.goto(`${tapline.url}/#/links`);
      await look.page.getByText("No query has measured links.").waitFor();
      const query = "PARSE link_load(link=100000000) FROM * TO * SAMPLE * PROCESS (group-max: by=share, group=(switch, port), w=1s), (group-max: by=bits_per_second, group=(switch, port), w=1s)";
      const { id: measuring } = await tapline.json("/api/v1/queries", { query });
      await until("the query has ended", async () => (await tapline.json(`/api/v1/queries/${measuring}`)).state === "finished");
      const rows = look.page.getByRole("region", { name: "Link loads" }).locator("tbody tr");
      await look.page.getByText("(ended)").waitFor();
      const { links } = await tapline.json("/api/v1/links?switch=edge1");
      const share = links[0].loads.find(({ field }: any) => field === "share").value;
      const [cells] = await rows.evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent!)));
      expect(cells[0]).toBe("edge1:eth2");
      expect(parseFloat(cells[3])).toBeCloseTo(100 * share, 1);
      expect(cells[4]).toMatch(/[kM]b\/s$/);
      expect(await violations(look.page)).toEqual([]);
      await look.page.screenshot({ path: join(SCREENSHOTS, "links.png"), animations: "disabled", fullPage: true });
      expect(look.errors).toEqual([]);
    } finally {
      await look.page.close();
    }
  });

  test("a queue shows its contents by flow, its bursts, and the packets of a flow", async () => {
    await tapline.killServer();
    const link = new QueueLink();
    link.open();
    const node = await tapline.startNode("queue", link.arrivals);
    await tapline.startServer("--tap", `s1:2:arrivals=${link.arrivals}`, "--tap", `s1:2:departures=${link.departures}`, ...node.options);
    const look = await openTab(context);
    try {
      await look.page.goto(`${tapline.url}/#/queues/s1/2`);
      await look.page.getByText("No query reports the bursts of this queue").waitFor();
      await look.page.getByRole("button", { name: "Submit this query" }).click();
      await look.page.getByText("No packet has left the queue yet.").waitFor();
      const { queries } = await tapline.json("/api/v1/queries");
      await until("the query is running", async () => (await tapline.json(`/api/v1/queries/${queries[0].id}`)).state === "running");
      link.send();
      const columns = look.page.locator(".queue-chart .column");
      await until("all intervals are shown", async () => (await columns.count()) >= 20 && (await look.page.locator(".queue-chart .gap").count()) >= 2);
      const victims = look.page.getByRole("region", { name: "Queue bursts" }).locator("tbody tr").first();
      expect(await victims.textContent()).toContain("10.99.1.2:40003 > 10.99.2.2:7000: 1 packet");
      // The page shows new windows up to two seconds after the server has them.
      await until("each column is as high as the depth of its interval", async () => {
        const { rows } = await tapline.json(`/api/v1/queries/${queries[0].id}/results?processor=1`);
        const depths = rows.map(({ value }: any) => value).filter((value: any) => value !== null);
        const heights = await columns.evaluateAll((all) => all.map((column) => [...column.children].reduce((sum, part) => sum + parseFloat((part as HTMLElement).style.height), 0)));
        const max = Math.max(...depths);
        return heights.every((height, index) => Math.abs(height - (100 * depths.at(index - heights.length)!) / max) < 0.001);
      });
      expect(await violations(look.page)).toEqual([]);
      await look.page.locator(".queue-chart .selected .flow-2").click();
      const headers = look.page.getByRole("region", { name: "Headers" }).locator("tbody tr");
      await headers.first().waitFor();
      const flow = (await look.page.locator("#drill-title code").textContent())!.split(" > ");
      for (const header of await headers.allTextContents()) for (const end of flow) expect(header).toContain(end);
      expect(look.errors).toEqual([]);
    } finally {
      await look.page.close();
      await node.end();
      link.close();
    }
  });

  test("an unanswered group has no time, and its number of requests equals the server's log", async () => {
    await tapline.killServer();
    const captures = join(ROOT, "testbed/captures");
    await tapline.startServer("--pcap", join(captures, "hanging_small.pcap.zst"));
    const requests: { url: string; status: number }[] = readFileSync(join(captures, "hanging_small.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line));
    const unanswered = new Map<string, number>();
    for (const { url, status } of requests) unanswered.set(url, (unanswered.get(url) ?? 0) + (status === 499 ? 1 : 0));
    const { id: hanging } = await tapline.json("/api/v1/queries", { query: "PARSE http_get TO * SAMPLE * PROCESS (group-avg: group=url, by=response_time_ns), (diff-group: group=url)" });
    const look = await openTab(context);
    try {
      await look.page.goto(`${tapline.url}/#/queries/${hanging}`);
      await look.page.locator("[data-state=finished]").waitFor();
      for (const processor of [0, 1]) {
        const rows = look.page.locator(`[data-processor='${processor}'] tbody tr`);
        await until("all groups are shown", async () => (await rows.count()) === unanswered.size);
        const shown = await rows.evaluateAll((all) => {
          const columns = [...all[0].closest("table")!.querySelectorAll("thead th")].map((element) => element.querySelector("button")?.dataset.column);
          return all.map((row) => ["key", "value", "unanswered"].map((name) => row.children[columns.indexOf(name)].textContent!));
        });
        expect(new Map(shown.map(([url, , count]) => [url, Number(count)]))).toEqual(unanswered);
        expect(shown.filter(([, value]) => value === "-").map(([url]) => url), "groups without a time").toEqual(["/search"]);
      }
      expect(await look.page.locator("[data-processor='1'] .completeness").textContent()).toContain("30 unanswered");
      expect(await violations(look.page)).toEqual([]);
      await look.page.screenshot({ path: join(SCREENSHOTS, "unanswered.png"), animations: "disabled", fullPage: true });
      expect(look.errors).toEqual([]);
    } finally {
      await look.page.close();
    }
  });

  test("none of the tests caused an error on the page", () => {
    expect(errors, "errors on the page, and violations of its content security policy").toEqual([]);
  });
});
