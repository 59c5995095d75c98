/** A bar that shows that the server is unreachable or requires a token; otherwise empty. */
import type { Api, Link } from "./api";
import { fill, h } from "./dom";

const PROBE_MS = 2_000;

export class LinkBar {
  readonly element = h("div", { class: "link-bar", role: "status" });
  private wasDisconnected = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** Calls `recovered` when requests are answered again. */
  constructor(private readonly api: Api, private readonly recovered: () => void) {
    api.onLink((link) => this.show(link));
  }

  private show(link: Link): void {
    this.element.dataset.link = link;
    if (link === "gone") {
      fill(this.element, h("p", {}, h("strong", {}, "The server does not respond."), " This page shows earlier data and retries until the server responds."));
      this.wasDisconnected = true;
      this.probe();
    } else if (link === "unauthorized") {
      this.requestToken();
      this.wasDisconnected = true;
    } else if (link === "up") {
      fill(this.element);
      if (this.wasDisconnected) this.recovered();
      this.wasDisconnected = false;
    }
  }

  private probe(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (this.api.link !== "gone") return;
      this.api.get("/healthz").catch(() => this.probe());
    }, PROBE_MS);
  }

  private requestToken(): void {
    const input = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
    const message = this.api.token === "" ? "The server requires a token." : "The server does not accept your token: it has expired or belongs to another server.";
    const form = h(
      "form",
      { onsubmit: (event) => (event.preventDefault(), void this.tryToken(input.value.trim())) },
      h("strong", {}, message),
      h("label", { for: "token" }, "Token"),
      input,
      h("button", { type: "submit", class: "primary" }, "Use token"),
    );
    fill(this.element, form);
    input.focus();
  }

  private async tryToken(token: string): Promise<void> {
    this.api.token = token;
    this.api.report("connecting");
    try {
      await this.api.get("/api/v1/queries");
    } catch {
      // The bar already shows the reason.
    }
  }
}
