/** The line under every result that states how much of the traffic it was computed from. */
import { h } from "./dom";
import { number, percent } from "./format";
import type { Totals } from "./types";

export function isComplete(of: Totals): boolean {
  return (
    (of.sampling_rate ?? 1) >= 1 && dropped(of) === 0 && !of.late && !of.reused && !of.clock_steps && !of.packets_polled && (of.silent ?? []).length === 0
  );
}

function dropped(of: Totals): number {
  return Object.values(of.dropped ?? {}).reduce((sum, count) => sum + count, 0);
}

/**
 * Creates the line: first the verdict, then the counts, with losses by reason. `partial` means that a part was not
 * monitored.
 */
export function completenessLine(of: Totals, partial = false): HTMLElement {
  const complete = isComplete(of) && !partial;
  const line = h("p", { class: `completeness ${complete ? "good" : "fair"}` });
  line.append(h("strong", {}, complete ? "Complete" : partial ? "Partial" : "Incomplete"));
  if ((of.sampling_rate ?? 1) < 1) line.append(fact("of flows kept", percent(of.sampling_rate!)));
  if (of.packets_in !== undefined) line.append(fact("packets", number(of.packets_in)));
  if (of.tuples !== undefined) line.append(fact("tuples", number(of.tuples)));
  for (const [reason, count] of Object.entries(of.dropped ?? {})) line.append(fact(`dropped: ${reason}`, number(count), true));
  if (of.late) line.append(fact("late", number(of.late), true));
  if (of.reused) line.append(fact("connections with several requests, not counted", number(of.reused), true));
  if (of.unanswered) line.append(fact("unanswered", number(of.unanswered)));
  if (of.half_seen) line.append(fact("half seen", number(of.half_seen)));
  if (of.duplicates) line.append(fact("repeated batches, counted once", number(of.duplicates)));
  if (of.clock_steps) line.append(fact("batches after a clock was set back", number(of.clock_steps), true));
  if (of.packets_polled) line.append(fact("packets stamped when polled: waits are off by up to about 1 ms", number(of.packets_polled), true));
  if (of.silent?.length) line.append(fact("silent monitors", of.silent.join(", "), true));
  return line;
}

function fact(name: string, value: string, bad = false): HTMLElement {
  return h("span", { class: bad ? "fact bad" : "fact" }, h("b", {}, value), ` ${name}`);
}
