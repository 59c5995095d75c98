package io.tapline.flink.ingest;

import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.accounting.Accounts;
import io.tapline.flink.group.Answers;
import io.tapline.flink.group.Exemplar;
import io.tapline.flink.group.Key;
import io.tapline.schema.BatchReaderException;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Pairs tuples by flow ID: the start and end events of one parser (diff), a value and a second
 * parser's key fields (join), or both. All tuples of a flow are in one partition.
 *
 * <pre>
 *   start ──▶ flow{start}            joined tuple ──▶ flow{key, count}
 *   end   ──▶ value = end - start, waits until the watermark has passed it
 *             0 joined: "unjoined"   1: counted under its key   more: "reused", the key is ambiguous
 * </pre>
 *
 * <p>Without a join, an end counts immediately. With a join, a value waits, because a joined tuple
 * with an earlier packet time may arrive in a later batch than the value; joined tuples with a
 * later packet time are not waited for. Flows are bounded in number, in bytes and in idle time; an
 * eviction is counted if it loses a value. Not thread-safe.
 */
final class FlowPairing {
  /**
   * Idle time after which a flow is evicted. A monitor reports the end of every connection much
   * sooner.
   */
  private static final long LONGEST_SILENCE_NS = 3_600_000_000_000L;

  private static final long MAX_KEY_BYTES = 64 << 20;
  private static final String CERTAIN_AFTER = "certain_after_ns";

  private final ProcessorSpec spec;
  private final int maxFlows;

  /** True for each key field that comes from the joined parser. */
  private final boolean[] joined;

  private final Map<FlowId, Flow> flows = new LinkedHashMap<>(16, 0.75f, true);
  private final WaitingValues waiting = new WaitingValues();
  private long keyBytes;

  FlowPairing(ProcessorSpec spec, int maxFlows) {
    this.spec = spec;
    this.maxFlows = maxFlows;
    this.joined = new boolean[spec.key().fields().size()];
    for (int i = 0; i < joined.length; i++) {
      joined[i] = spec.key().joinFields().contains(spec.key().fields().get(i));
    }
  }

  void require(Rows rows, String parser) throws BatchReaderException {
    rows.requireNumber("flow_hash");
    rows.requireNumber("flow_incarnation");
    boolean isOwn = parser.equals(spec.parser());
    for (int i = 0; i < joined.length; i++) {
      if (isOwn != joined[i]) {
        rows.require(spec.key().fields().get(i));
      }
    }
    if (isOwn) {
      requireValue(rows);
    }
  }

  private void requireValue(Rows rows) throws BatchReaderException {
    if (spec.value().isDifference()) {
      rows.require(spec.value().eventField());
      if (rows.entries(spec.value().eventField()) == null) {
        throw BatchReaderException.malformed(
            "column " + spec.value().eventField() + " contains no strings");
      }
      if (rows.has(CERTAIN_AFTER)) {
        rows.requireNumber(CERTAIN_AFTER);
      }
      return;
    }
    TupleValues.require(spec, rows);
    boolean isWhole = spec.value().field().isEmpty() || spec.takesHashes() || spec.countsPresent();
    if (!isWhole && rows.isReal(spec.value().field())) {
      throw BatchReaderException.malformed(
          "column " + spec.value().field() + " is not a whole number");
    }
  }

  /**
   * Adds tuples of the processor's parser or of the joined one. REQUIRES: {@link #require} was
   * called for the rows.
   */
  void add(Rows rows, String parser, Combiner out, Accounts.OfProcessor accounts) {
    if (!parser.equals(spec.parser())) {
      addJoined(rows, accounts);
    } else if (spec.value().isDifference()) {
      addEvents(rows, out, accounts);
    } else {
      addValues(rows, accounts);
    }
    shrink(accounts);
  }

  private void addEvents(Rows rows, Combiner out, Accounts.OfProcessor accounts) {
    int[] events = rows.entries(spec.value().eventField());
    boolean[] starts = rows.entriesAmong(spec.value().eventField(), spec.value().starts());
    boolean[] ends = rows.entriesAmong(spec.value().eventField(), spec.value().ends());
    long[] certainAfter = rows.has(CERTAIN_AFTER) ? rows.numbers(CERTAIN_AFTER) : null;
    boolean[] atOnce = certainAfter == null ? null : rows.absent(CERTAIN_AFTER);
    Ids ids = new Ids(rows);
    for (int row = 0; row < rows.count(); row++) {
      boolean delayed = certainAfter != null && (atOnce == null || !atOnce[row]);
      long time = rows.timeNs(row) - (delayed ? certainAfter[row] : 0);
      if (starts[events[row]]) {
        start(rows, ids, row, time);
      } else if (ends[events[row]]) {
        end(rows, ids, row, time, out, accounts);
      }
    }
  }

  private void start(Rows rows, Ids ids, int row, long timeNs) {
    Flow flow = flow(rows, ids, row);
    if (flow.startNs == Flow.NONE) {
      flow.startNs = timeNs;
    }
  }

  private void end(
      Rows rows, Ids ids, int row, long timeNs, Combiner out, Accounts.OfProcessor accounts) {
    FlowId id = ids.of(row);
    Flow flow = flows.get(id);
    if (flow == null || flow.startNs == Flow.NONE || flow.ended) {
      accounts.drop("without_start", 1);
      return;
    }
    flow.touch(rows, row);
    flow.ended = true;
    byte[][] parts = keyParts(rows, row, false);
    PairedValue duration = PairedValue.of(timeNs - flow.startNs);
    if (spec.key().isJoin()) {
      // Flows are evicted while the watermark does not advance, so there may be more values.
      if (waiting.size() >= maxFlows) {
        accounts.drop("flow_state_full", 1);
        return;
      }
      Exemplar exemplar = rows.exemplar(row).startingAt(flow.startNs);
      waiting.add(new Waiting(rows.timeNs(row), id, parts, duration, flow.rate, exemplar));
    } else {
      flows.remove(id);
      out.add(
          Key.concat(parts),
          rows.timeNs(row),
          duration,
          flow.rate,
          id.hash(),
          () -> rows.exemplar(row).startingAt(flow.startNs));
    }
  }

  private void addValues(Rows rows, Accounts.OfProcessor accounts) {
    TupleValues values = TupleValues.of(spec, rows);
    byte[] responses = rows.answers();
    Ids ids = new Ids(rows);
    for (int row = 0; row < rows.count(); row++) {
      if (waiting.size() >= maxFlows) {
        accounts.drop("flow_state_full", 1);
        continue;
      }
      waiting.add(
          new Waiting(
              rows.timeNs(row),
              ids.of(row),
              keyParts(rows, row, false),
              new PairedValue(
                  values.at(row),
                  values.isPresent(row),
                  responses == null ? Answers.WHOLE : responses[row]),
              rows.samplingRate(),
              rows.exemplar(row)));
    }
  }

  private void addJoined(Rows rows, Accounts.OfProcessor accounts) {
    Ids ids = new Ids(rows);
    for (int row = 0; row < rows.count(); row++) {
      Flow flow = flow(rows, ids, row);
      if (flow.joined++ == 0) {
        flow.keyParts = keyParts(rows, row, true);
        keyBytes += flow.keyBytes();
        shrink(accounts);
      }
    }
  }

  /** The flow IDs of a batch's rows. */
  private record Ids(long[] hashes, long[] incarnations) {
    Ids(Rows rows) {
      this(rows.numbers("flow_hash"), rows.numbers("flow_incarnation"));
    }

    FlowId of(int row) {
      return new FlowId(hashes[row], incarnations[row]);
    }
  }

  private Flow flow(Rows rows, Ids ids, int row) {
    Flow flow = flows.computeIfAbsent(ids.of(row), id -> new Flow());
    flow.touch(rows, row);
    return flow;
  }

  /**
   * Returns the key fields from one of the two parsers, at their positions in the key; the other
   * parser's fields are null.
   */
  private byte[][] keyParts(Rows rows, int row, boolean ofJoined) {
    byte[][] parts = new byte[joined.length][];
    for (int i = 0; i < parts.length; i++) {
      if (ofJoined == joined[i]) {
        parts[i] = rows.keyPart(spec.key().fields().get(i), row);
      }
    }
    return parts;
  }

  /**
   * Counts the waiting values that the watermark has passed, and evicts flows that have been idle
   * for too long.
   */
  void advance(long watermarkNs, Combiner out, Accounts.OfProcessor accounts) {
    Waiting value = waiting.pollBefore(watermarkNs);
    while (value != null) {
      resolve(value, out, accounts);
      value = waiting.pollBefore(watermarkNs);
    }
    if (watermarkNs > LONGEST_SILENCE_NS && watermarkNs < Long.MAX_VALUE) {
      expireBefore(watermarkNs - LONGEST_SILENCE_NS, accounts);
    }
  }

  private void expireBefore(long timeNs, Accounts.OfProcessor accounts) {
    var eldest = flows.values().iterator();
    while (eldest.hasNext()) {
      Flow flow = eldest.next();
      if (flow.touchedNs >= timeNs) {
        return;
      }
      eldest.remove();
      discard(flow, flow.startNs == Flow.NONE ? "without_start" : "without_end", accounts);
    }
  }

  private void resolve(Waiting value, Combiner out, Accounts.OfProcessor accounts) {
    Flow flow = spec.value().isDifference() ? flows.remove(value.id()) : flows.get(value.id());
    if (flow == null && spec.value().isDifference()) {
      return; // The flow was counted when it was evicted.
    }
    if (flow == null || flow.joined == 0) {
      accounts.drop("unjoined", 1);
    } else if (flow.joined > 1) {
      accounts.addReused(1);
    } else {
      emit(value, merged(value.keyParts(), flow.keyParts), Math.min(value.rate(), flow.rate), out);
    }
    if (flow != null && spec.value().isDifference()) {
      keyBytes -= flow.keyBytes();
    }
  }

  private static byte[][] merged(byte[][] own, byte[][] joined) {
    byte[][] parts = own.clone();
    for (int i = 0; i < parts.length; i++) {
      parts[i] = parts[i] == null ? joined[i] : parts[i];
    }
    return parts;
  }

  private void emit(Waiting value, byte[][] parts, double rate, Combiner out) {
    Exemplar exemplar = value.exemplar();
    out.add(
        Key.concat(parts), value.timeNs(), value.value(), rate, value.id().hash(), () -> exemplar);
  }

  /** Counts all waiting values, and discards the flows that are still open. */
  void finish(Combiner out, Accounts.OfProcessor accounts) {
    advance(Long.MAX_VALUE, out, accounts);
    for (Flow flow : flows.values()) {
      discard(flow, flow.startNs == Flow.NONE ? "without_start" : "without_end", accounts);
    }
    flows.clear();
  }

  private void shrink(Accounts.OfProcessor accounts) {
    var eldest = flows.values().iterator();
    int surplus = flows.size() - maxFlows;
    while (eldest.hasNext() && (surplus > 0 || keyBytes > MAX_KEY_BYTES)) {
      discard(eldest.next(), "flow_state_full", accounts);
      eldest.remove();
      surplus--;
    }
  }

  /**
   * Accounts for an evicted flow. If the processor's value is not a time difference, the flow has
   * only key fields, and no value is lost.
   */
  private void discard(Flow flow, String reason, Accounts.OfProcessor accounts) {
    keyBytes -= flow.keyBytes();
    if (spec.value().isDifference()) {
      accounts.drop(reason, 1);
    }
  }

  void write(DataOutput out) throws IOException {
    out.writeInt(flows.size());
    for (var entry : flows.entrySet()) {
      entry.getKey().write(out);
      entry.getValue().write(out);
    }
    waiting.write(out);
  }

  void read(DataInput in) throws IOException {
    for (int i = in.readInt(); i > 0; i--) {
      FlowId id = FlowId.read(in);
      Flow flow = Flow.read(in);
      flows.put(id, flow);
      keyBytes += flow.keyBytes();
    }
    waiting.read(in);
  }
}
