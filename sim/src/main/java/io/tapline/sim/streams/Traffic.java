package io.tapline.sim.streams;

import java.util.Arrays;
import java.util.Locale;
import java.util.Random;

/**
 * One partition's tuples over a span of time that repeats endlessly, each time with later
 * timestamps and other flows.
 *
 * <pre>
 *   top-k        http_get                       one per flow
 *   diff-group   syn … fin                      two per flow, up to 100 ms apart
 *   join         syn … http_get … fin           three per flow
 * </pre>
 *
 * <p>Keys are URLs or clients. They follow Zipf's law, or are uniform if only their number matters.
 * Arrays are in time order. Immutable.
 */
public final class Traffic {
  /** Kind of query over the tuples. */
  public enum Kind {
    TOP_K(1),
    DIFF_GROUP(2),
    JOIN(3);

    final int tuplesPerFlow;

    Kind(int tuplesPerFlow) {
      this.tuplesPerFlow = tuplesPerFlow;
    }

    /** Returns the name shown to users. */
    public String label() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  /** The kinds of tuples. */
  static final byte SYN = 0;

  static final byte GET = 1;
  static final byte FIN = 2;

  static final long BASE_NS = 1_795_204_788_000_000_000L;
  private static final int LONGEST_FLOW_NS = 100_000_000;

  final long spanNs;
  final int count;

  /** Offset from {@link #BASE_NS} in the first repetition. */
  final long[] offsetNs;

  final byte[] type;
  final int[] flow;
  private final long[] flowHash;
  private final int[] key;
  private final long otherFlows;

  private Traffic(long spanNs, SortedTuples tuples, long[] flowHash, int[] key, long otherFlows) {
    this.spanNs = spanNs;
    this.count = tuples.offsetNs.length;
    this.offsetNs = tuples.offsetNs;
    this.type = tuples.type;
    this.flow = tuples.flow;
    this.flowHash = flowHash;
    this.key = key;
    this.otherFlows = otherFlows;
  }

  /** Tuples in order of time. */
  private record SortedTuples(long[] offsetNs, byte[] type, int[] flow) {}

  /**
   * Generates the traffic of one partition.
   *
   * @param tuples tuples of one repetition
   * @param uniform true if all keys are equally frequent
   */
  public static Traffic of(
      Kind kind, long spanNs, int tuples, int keys, boolean uniform, int partition) {
    Random random = new Random(partition);
    int flows = tuples / kind.tuplesPerFlow;
    long[] hash = new long[flows];
    int[] key = new int[flows];
    Zipf zipf = uniform ? null : new Zipf(keys);
    for (int i = 0; i < flows; i++) {
      hash[i] = random.nextLong();
      key[i] = uniform ? (int) (((long) i * keys / flows + partition) % keys) : zipf.next(random);
    }
    shuffle(key, random);
    return new Traffic(spanNs, events(kind, spanNs, flows, random), hash, key, random.nextLong());
  }

  /** Returns requests at regular intervals, with their keys in this order. */
  static Traffic ofRequests(long spanNs, int[] keys) {
    Random random = new Random(keys.length);
    long[] hash = random.longs(keys.length).toArray();
    SortedTuples events = events(Kind.TOP_K, spanNs, keys.length, random);
    return new Traffic(spanNs, events, hash, keys, random.nextLong());
  }

  private static void shuffle(int[] values, Random random) {
    for (int i = values.length - 1; i > 0; i--) {
      int j = random.nextInt(i + 1);
      int value = values[i];
      values[i] = values[j];
      values[j] = value;
    }
  }

  private static SortedTuples events(Kind kind, long spanNs, int flows, Random random) {
    int per = kind.tuplesPerFlow;
    long[] order = new long[flows * per];
    long[] time = new long[flows * per];
    for (int flow = 0; flow < flows; flow++) {
      long start = (long) ((spanNs - LONGEST_FLOW_NS) * ((double) flow / flows));
      long length = 2 + random.nextInt(LONGEST_FLOW_NS - 2);
      for (int i = 0; i < per; i++) {
        time[flow * per + i] = i == 0 ? start : i == per - 1 ? start + length : start + length / 2;
      }
    }
    // Sorts times in the high bits and tuple indices in the low ones. Microseconds suffice for
    // sorting; for long spans, the unit is coarser and times fit into 30 bits.
    long unitNs = Math.max(1000, spanNs >> 30);
    for (int i = 0; i < order.length; i++) {
      order[i] = time[i] / unitNs << 32 | i;
    }
    Arrays.parallelSort(order);
    SortedTuples sorted =
        new SortedTuples(new long[order.length], new byte[order.length], new int[order.length]);
    long last = 0;
    for (int i = 0; i < order.length; i++) {
      int tuple = (int) order[i];
      last = Math.max(last, time[tuple]);
      sorted.offsetNs[i] = last;
      sorted.flow[i] = tuple / per;
      sorted.type[i] = type(kind, tuple % per);
    }
    return sorted;
  }

  private static byte type(Kind kind, int place) {
    return switch (kind) {
      case TOP_K -> GET;
      case DIFF_GROUP -> place == 0 ? SYN : FIN;
      case JOIN -> (byte) place;
    };
  }

  long timeNs(int tuple, int repetition) {
    return BASE_NS + offsetNs[tuple] + repetition * spanNs;
  }

  /** Returns the hash of a tuple's flow, which differs in each repetition. */
  long flowHash(int tuple, int repetition) {
    return flowHash[flow[tuple]] + flowShift(repetition);
  }

  /** Returns the difference between a repetition's hashes and those of the first. */
  long flowShift(int repetition) {
    return repetition * otherFlows;
  }

  int key(int tuple) {
    return key[flow[tuple]];
  }

  String url(int tuple) {
    return "/page/" + key(tuple);
  }

  byte[] client(int tuple) {
    int key = key(tuple);
    return new byte[] {10, (byte) (key >> 16), (byte) (key >> 8), (byte) key};
  }

  /** Returns the tuple in the monitor's JSON format. */
  String json(int tuple, int repetition) {
    byte[] client = client(tuple);
    StringBuilder json = new StringBuilder(200);
    json.append("{\"time_ns\":").append(timeNs(tuple, repetition));
    json.append(",\"flow_id\":\"").append(Long.toHexString(flowHash(tuple, repetition)));
    json.append("-7\",\"src_ip\":\"").append(client[0] & 0xff).append('.').append(client[1] & 0xff);
    json.append('.').append(client[2] & 0xff).append('.').append(client[3] & 0xff);
    json.append("\",\"src_port\":").append(port(tuple));
    json.append(",\"dst_ip\":\"10.0.1.1\",\"dst_port\":80");
    if (type[tuple] == GET) {
      json.append(",\"url\":\"").append(url(tuple)).append("\",\"response_time_ns\":0}");
    } else {
      json.append(",\"event\":\"").append(event(tuple)).append("\"}");
    }
    return json.toString();
  }

  String event(int tuple) {
    return type[tuple] == SYN ? "syn" : "fin";
  }

  long port(int tuple) {
    return 1024 + flow[tuple] % 60_000;
  }
}
