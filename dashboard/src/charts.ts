/** Charts drawn by uPlot in the page's colours. A table next to each chart has the latest window's values. */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { number, quantity } from "./format";
import { readableText } from "./readable";
import type { Distribution } from "./types";
import type { Series } from "./windows";

export const LINE_COLOURS = ["--series-1", "--series-2", "--series-3", "--series-4", "--series-5", "--series-6"];

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function axis(more: uPlot.Axis): uPlot.Axis {
  const font = `11px ${colour("--sans") || "sans-serif"}`;
  return { stroke: () => colour("--muted"), grid: { stroke: () => colour("--line"), width: 1 }, ticks: { show: false }, font, ...more };
}

/** Size of the x axis. The gap keeps its first label below the lowest label of the y axis. */
const BELOW = { size: 36, gap: 11 };

/** A chart that fills its container's width. A change of colours, names or bounds re-creates its plot. */
abstract class Chart<T> {
  readonly element = document.createElement("div");
  private plot: uPlot | null = null;
  private shape = "";
  private data: T | null = null;
  private readonly observer = new ResizeObserver(() => this.resize());

  constructor(label: string, private readonly height: number) {
    this.element.className = "chart";
    this.element.setAttribute("role", "img");
    this.element.setAttribute("aria-label", readableText(label));
    this.observer.observe(this.element);
  }

  protected abstract options(data: T): { shape: string; options: Omit<uPlot.Options, "width" | "height"> };
  protected abstract columns(data: T): uPlot.AlignedData;

  show(data: T, label: string): void {
    this.data = data;
    this.element.setAttribute("aria-label", readableText(label));
    this.draw();
  }

  /** Redraws after a change of colours. */
  redraw(): void {
    this.shape = "";
    this.draw();
  }

  private draw(): void {
    if (this.data === null || this.element.clientWidth === 0) return;
    const { shape, options } = this.options(this.data);
    if (this.plot === null || shape !== this.shape) {
      this.plot?.destroy();
      this.shape = shape;
      this.plot = new uPlot({ ...options, width: this.element.clientWidth, height: this.height }, this.columns(this.data), this.element);
    } else {
      this.plot.setData(this.columns(this.data));
    }
  }

  private resize(): void {
    if (this.plot === null) this.draw();
    else if (this.element.clientWidth > 0) this.plot.setSize({ width: this.element.clientWidth, height: this.height });
  }

  destroy(): void {
    this.observer.disconnect();
    this.plot?.destroy();
  }
}

/** Intervals between ticks in seconds, for windows at least a second apart. */
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400];

const UTC = (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC");

/** Returns a series with a hollow point for each value and no line. */
function hollowPoints(stroke: string): uPlot.Series {
  return { stroke, paths: () => null, points: { show: true, size: 7, width: 1.5, fill: colour("--card") } };
}

/** Shows the values of the leading groups by window; values of partial windows are hollow points. */
export class SeriesChart extends Chart<Series> {
  constructor(private readonly unit: string) {
    super("values by window", 200);
  }

  protected options({ names, times }: Series) {
    const lines = names.map((_, index) => colour(LINE_COLOURS[index % LINE_COLOURS.length]));
    const fine = times.some((time, index) => index > 0 && time - times[index - 1] < 0.9);
    const options: Omit<uPlot.Options, "width" | "height"> = {
      tzDate: UTC,
      legend: { show: false },
      cursor: { points: { size: 6 }, drag: { setScale: false } },
      scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] } },
      axes: [
        axis({ ...BELOW, incrs: fine ? undefined : SECONDS, values: [[60, "{HH}:{mm}"], [1, "{HH}:{mm}:{ss}"], [0.001, ":{ss}.{fff}"]] }),
        axis({ size: 74, values: (_, ticks) => ticks.map((tick) => quantity(tick, this.unit)) }),
      ],
      series: [
        {},
        ...lines.map((stroke, index) => ({
          label: names[index],
          stroke,
          width: 2,
          points: { show: names.length < 3, size: 5, fill: stroke },
        })),
        ...lines.map(hollowPoints),
      ],
    };
    return { shape: [fine, ...names].join("\n"), options };
  }

  protected columns({ times, values, partial }: Series): uPlot.AlignedData {
    return [times, ...values, ...ofPartial(values, partial)];
  }
}

/** Keeps only values from partial windows. */
export function ofPartial(values: (number | null)[][], partial: boolean[]): (number | null)[][] {
  return values.map((line) => line.map((value, index) => (partial[index] ? value : null)));
}

/** A distribution, drawn hollow or dashed if a part of its window was not monitored. */
export interface Spread extends Distribution {
  partial: boolean;
}

/**
 * Shows the distribution of a group's values: exact counts between bounds, or the cumulative share up to each bound.
 * There are two bounds per octave, drawn at equal distances, so the axis is almost logarithmic.
 */
export class DistributionChart extends Chart<Spread> {
  constructor(private readonly unit: string, private readonly cumulative: boolean) {
    super("distribution", 170);
  }

  protected options({ histogram, partial }: Spread) {
    const bounds = allBounds(histogram);
    const bound = (index: number) => (bounds[index] === undefined ? "" : quantity(bounds[index], this.unit));
    const options: Omit<uPlot.Options, "width" | "height"> = {
      legend: { show: false },
      cursor: { drag: { setScale: false } },
      scales: { x: { time: false, range: [this.cumulative ? -0.1 : -1, Math.max(1, bounds.length - 1) + 0.1] }, y: { range: (_, __, max) => [0, this.cumulative ? 1 : Math.max(1, max * 1.08)] } },
      axes: [
        axis({ ...BELOW, space: 74, incrs: [1, 2, 4, 8, 16, 32], values: (_, ticks) => ticks.map(bound) }),
        axis({ size: 60, incrs: this.cumulative ? [0.25, 0.5] : WHOLE, values: (_, ticks) => ticks.map((tick) => (this.cumulative ? `${Math.round(tick * 100)} %` : number(tick))) }),
      ],
      series: [{}, this.line(partial)],
    };
    return { shape: `${partial} ${bounds.join()}`, options };
  }

  private line(partial: boolean): uPlot.Series {
    if (this.cumulative) return { stroke: colour("--series-1"), width: 2, dash: partial ? [6, 4] : undefined, points: { show: false } };
    const paths = uPlot.paths.bars!({ size: [1, Infinity], align: -1, gap: 1 });
    return { stroke: colour("--series-1"), fill: partial ? undefined : colour("--series-1-fill"), width: 1, paths, points: { show: false } };
  }

  protected columns({ histogram }: Spread): uPlot.AlignedData {
    const counts = new Map(histogram.map(({ le, count }) => [le, count]));
    const all = allBounds(histogram).map((bound) => counts.get(bound) ?? 0);
    return [all.map((_, index) => index), this.cumulative ? shares(all) : all];
  }
}

const WHOLE = [1, 2, 5].flatMap((digit) => [...Array(12).keys()].map((power) => digit * 10 ** power)).sort((a, b) => a - b);

/**
 * Returns the bounds of all buckets, including empty ones, from the one below the smallest to the largest: 0, 1, 2, 3,
 * 4, 6, 8, 12…
 */
export function allBounds(histogram: Distribution["histogram"]): number[] {
  const [zero, ...others] = histogram.map(({ le }) => le);
  // A logarithmic axis has no zero, so zero is drawn next to the lowest other bound.
  if (zero === 0) return others.length === 0 ? [0] : [0, ...allBounds(histogram.slice(1)).filter((bound) => bound > 0)];
  const min = zero ?? 0;
  const max = histogram.at(-1)?.le ?? 0;
  const bounds = [0, 1];
  for (let power = 2; bounds[bounds.length - 1] < max; power *= 2) bounds.push(power, power * 1.5);
  const first = Math.max(0, bounds.indexOf(min) - 1);
  return bounds.slice(first).filter((bound) => bound <= max);
}

/** Returns the cumulative share of each count; null if there are no values. */
export function shares(counts: number[]): (number | null)[] {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return counts.map(() => null);
  let below = 0;
  return counts.map((count) => (below += count) / all);
}
