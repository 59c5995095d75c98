/** The completeness line of a result, which states how much of the traffic the result covers. */
import { h } from "./dom";
import { number, percent } from "./format";
import type { Totals } from "./types";

export function isComplete(totals: Totals): boolean {
  return (
    (totals.sampling_rate ?? 1) >= 1 && dropped(totals) === 0 && !totals.late && !totals.reused && !totals.clock_steps && !totals.packets_polled && (totals.silent ?? []).length === 0
  );
}

function dropped(totals: Totals): number {
  return Object.values(totals.dropped ?? {}).reduce((sum, count) => sum + count, 0);
}

/**
 * Creates the line: first the verdict, then the counts, with losses by reason. `partial` means that part of the window
 * was not monitored.
 */
export function completenessLine(totals: Totals, partial = false): HTMLElement {
  const complete = isComplete(totals) && !partial;
  const line = h("p", { class: `completeness ${complete ? "good" : "fair"}` });
  line.append(h("strong", {}, complete ? "Complete" : partial ? "Partial" : "Incomplete"));
  if ((totals.sampling_rate ?? 1) < 1) line.append(fact("of flows kept", percent(totals.sampling_rate!)));
  if (totals.packets_in !== undefined) line.append(fact("packets", number(totals.packets_in)));
  if (totals.tuples !== undefined) line.append(fact("tuples", number(totals.tuples)));
  for (const [reason, count] of Object.entries(totals.dropped ?? {})) line.append(fact(`dropped: ${reason}`, number(count), true));
  if (totals.late) line.append(fact("late", number(totals.late), true));
  if (totals.reused) line.append(fact("connections with several requests, not counted", number(totals.reused), true));
  if (totals.unanswered) line.append(fact("unanswered", number(totals.unanswered)));
  if (totals.half_seen) line.append(fact("half seen", number(totals.half_seen)));
  if (totals.duplicates) line.append(fact("repeated batches, counted once", number(totals.duplicates)));
  if (totals.clock_steps) line.append(fact("batches sent after a clock stepped backwards", number(totals.clock_steps), true));
  if (totals.packets_polled) line.append(fact("packets timestamped when polled: delays are off by up to about 1 ms", number(totals.packets_polled), true));
  if (totals.silent?.length) line.append(fact("silent monitors", totals.silent.join(", "), true));
  return line;
}

function fact(name: string, value: string, bad = false): HTMLElement {
  return h("span", { class: bad ? "fact bad" : "fact" }, h("b", {}, value), ` ${name}`);
}
