/** Types of the server's REST interface (docs/reference/rest.md), with the same names. */

export type State = "submitted" | "starting" | "running" | "finished" | "stopped" | "failed";

export interface QueryBrief {
  id: string;
  text: string;
  state: State;
  submitted_ns: number;
  started_ns: number;
  ended_ns: number;
  error: string;
  notes: string[];
}

export interface Query extends QueryBrief {
  plan: Plan;
  placement?: Placement;
  totals: Totals;
}

export interface Completeness {
  sampling_rate: number;
  packets_in: number;
  packets_out?: number;
  tuples?: number;
  dropped: Record<string, number>;
  late: number;
  reused?: number;
  duplicates?: number;
  clock_steps?: number;
  packets_polled?: number;
  unanswered?: number;
  half_seen?: number;
  silent?: string[];
}

export type Totals = Partial<Completeness> & { bytes_in?: number; tuples_in?: number };

export interface PlanAddress {
  prefix?: string;
  port?: number;
  last_port?: number;
  host?: string;
}

export interface PlanProcessor {
  name: string;
  parser?: string;
  join?: { parser: string; fields: string[] };
  key?: string[];
  value?: { count?: object; field?: string; difference?: object; condition_text?: string; unit?: string };
  aggregate?: string;
  ranking?: { k: number; ascending?: boolean };
  window?: { size?: string; slide?: string };
  trigger?: { severity?: string };
  answers?: boolean;
}

export interface PlanFilter {
  parsers: string[];
  text: string;
}

export interface Plan {
  query: string;
  text?: string;
  parsers?: string[];
  match?: { from?: PlanAddress[]; to?: PlanAddress[]; vlans?: number[]; tenants?: number[] };
  queues?: { switch_name: string; port: string }[];
  reported?: { from?: PlanAddress[]; to?: PlanAddress[] };
  limit?: { duration?: string; packets?: number };
  sampling?: { mode?: string; rate?: number };
  topic?: string;
  monitors?: { id: string; host?: string }[];
  processors: PlanProcessor[];
  filters?: PlanFilter[];
  rules?: { switch_id: string; priority: number; match: string; actions: string[] }[];
}

export interface Placement {
  network: string;
  mirrored_at: string;
  monitors: { id: string; host: string; input_bps: number; own: boolean }[];
  aggregators: { host: string; input_bps: number }[];
  processors: { host: string; input_bps: number }[];
  rules: Record<string, number>;
  extra_bps: Record<string, number>;
  weighted_bps: number;
}

export interface Explanation {
  plan: Plan;
  notes: string[];
  placement?: Placement;
  text: string;
}

export interface Exemplar {
  flow_id: string;
  src_ip: string;
  src_port: number;
  dst_ip: string;
  dst_port: number;
  start_ns: number;
  end_ns: number;
  monitor: string;
}

/** Distribution of the tuples that have a value; statistics are null if no tuple has one. */
export interface Distribution {
  count: number;
  mean: number | null;
  min: number | null;
  max: number | null;
  p50: number | null;
  p90: number | null;
  p95: number | null;
  p99: number | null;
  histogram: { le: number; count: number }[];
}

export interface Row {
  rank?: number;
  key: Record<string, string | number | boolean | null>;
  value: number | null;
  unanswered?: number;
  half_seen?: number;
  absent?: number;
  low?: number | null;
  high?: number | null;
  tied?: boolean;
  partial?: boolean;
  alert?: { id: string; state: "raised" | "cleared"; severity: string; since_ns: number };
  distribution?: Distribution;
  /** The numbers that an aggregate shows in addition to its value. */
  details?: Record<string, unknown>;
  exemplars?: Exemplar[];
}

export interface Window {
  processor: number;
  name: string;
  window_start_ns: number;
  window_end_ns: number;
  rows: Row[];
  completeness: Completeness;
}

export interface QueryError {
  line: number;
  column: number;
  length: number;
  message: string;
  expected?: string;
  suggestion?: string;
  code: string;
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  errors?: QueryError[];
}

export interface Field {
  name: string;
  type: string;
  unit: string;
  description: string;
}

export interface Parser {
  name: string;
  description: string;
  fields: Field[];
}

export interface Processor {
  name: string;
  description: string;
  arguments: { name: string; type: string; default: string; range: string; description: string }[];
}

export interface MeasuredLink {
  switch: string;
  port?: string;
  side?: string;
  neighbour?: string;
  loads: LinkLoad[];
}

/** An event of a trigger on link_load. Unknown figures are absent. */
export interface LinkEvent {
  switch: string;
  port?: string;
  side?: string;
  neighbour?: string;
  time_ns: number;
  share?: number;
  low_share?: number;
  bits_per_second?: number;
  flows?: LinkEventFlow[];
  flows_left_out?: number;
}

export interface LinkEventFlow {
  src_ip: string;
  src_port: number;
  dst_ip: string;
  dst_port: number;
  protocol: string;
  bits_per_second?: number;
}

export interface LinkLoad {
  field: string;
  statistic: string;
  value: number | null;
  window_start_ns: number;
  window_end_ns: number;
  partial: boolean;
  query: string;
  state: State;
  processor: number;
}

export interface MeasuredQueue {
  queue: string;
  neighbour?: string;
  queries: string[];
  bursts: number;
  incomplete: boolean;
  complete_since_ns?: number;
  latest_ns?: number;
  delay_ns?: number;
  victims: number;
  lost: number;
  verdict: string[];
}

export interface Burst {
  begin_ns: number;
  end_ns: number;
  delay_ns: number;
  peak_bytes: number;
  victims: number;
  lost: number;
  culprits: { source: string; destination: string; share: number }[];
  victim_flows: { source: string; destination: string; packets: number; delay_ns: number; waited_ns: number }[];
  /** Filter for the packets of the main culprits and victims in drill-down. */
  filter: string;
}

export interface QueueDiagnosis {
  queue: string;
  queries: string[];
  bursts: Burst[];
  incomplete: boolean;
  complete_since_ns: number;
  verdict: string[];
}

export interface MultilogNode {
  node: string;
  address: string;
  state: "up" | "unreachable";
  error?: string;
  packets?: number;
  rows?: number;
  dropped?: Record<string, number>;
  memory_bytes?: number;
}

export interface Agent {
  agent: string;
  state: "up" | "lost";
  since_ns: number;
  version?: string;
  interface?: string;
  capacity_mbps?: number;
  load?: number;
  cores?: number;
  clock_offset_ns?: number;
  clock_error_ns?: number;
  parsers?: string[];
  queries: string[];
}

/** Times are strings, because they have more digits than a number can represent. */
export interface Header {
  node: string;
  time_ns: string;
  [field: string]: string | number | boolean;
}

export interface DrillResponse {
  rows?: Header[];
  truncated?: boolean;
  nodes: string[];
  missing: Record<string, string>;
  left_out?: Record<string, string>;
}

export interface Watch {
  id: string;
  filter: string;
  aggregate: string;
  group_by: string[];
  when: string;
  window_ns: number;
  every_ns: number;
  severity: string;
  nodes: string[];
  /** Present once the server has ended the watch. */
  reason?: string;
  /** The nodes' evaluation states, while the watch is active. */
  evaluation?: WatchEvaluation[];
}

export interface WatchEvaluation {
  node: string;
  evaluates: boolean;
  unknown_since_ns?: number;
  not_evaluated_ns?: number;
}

export interface Alert {
  number: number;
  id: string;
  watch: string;
  node: string;
  severity: string;
  window_start_ns: number;
  window_end_ns: number;
  key: Record<string, string>;
  value?: number | null;
  // Only alerts of watches in a monitor.
  low?: number;
  high?: number;
  certain?: boolean;
  incomplete?: boolean;
  lost_packets?: number;
}
