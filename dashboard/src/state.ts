/** Shows a query's state as a coloured word. */
import { h } from "./dom";
import type { State } from "./types";

const LOOKS: Record<State, string> = {
  submitted: "waiting",
  starting: "waiting",
  running: "good",
  finished: "ended",
  stopped: "ended",
  failed: "bad",
};

export function statePill(state: State): HTMLElement {
  return h("span", { class: `pill ${LOOKS[state] ?? "ended"}`, "data-state": state }, state);
}

export function hasEnded(state: State): boolean {
  return state === "finished" || state === "stopped" || state === "failed";
}
