package io.tapline.flink.support;

import io.tapline.schema.proto.TupleBatch;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * Seeded random traffic, as several monitors see it: connections with requests, both as tuples and
 * as batches.
 */
public final class Workload {
  private static final long BASE_NS = 1_795_204_788_000_000_000L;
  private static final long SECOND_NS = 1_000_000_000L;
  private static final long LATE_FLOWS = 1L << 40;

  /** All tuples, except those that arrive too late to be counted. */
  public final List<Tuple> tuples = new ArrayList<>();

  /** The records of each partition, in order; the last record ends the stream. */
  public final List<List<byte[]>> partitions = new ArrayList<>();

  /** The time at which each monitor's stream ends. */
  public final List<Long> endsNs = new ArrayList<>();

  /**
   * The latest time at which a monitor began to watch; {@link Long#MIN_VALUE} if batches do not
   * state these times.
   */
  public long watchedSinceNs = Long.MIN_VALUE;

  public long repeats;

  /**
   * For each partition, the indexes of records whose tuples arrive long after their windows have
   * closed.
   */
  public final List<Set<Integer>> lateRecords = new ArrayList<>();

  public long lateTuples;
  private long lateChance;

  public Workload(String query, int monitors, int seconds, int connections, long seed) {
    this(query, monitors, seconds, connections, seed, 0, false);
  }

  /**
   * Generates the traffic.
   *
   * @param lateChance on average, one in this many intervals is followed by a late batch; 0 for no
   *     late batches
   * @param hasStartTime whether batches state when their monitor began to watch, a random time in
   *     the first half of the traffic
   */
  public Workload(
      String query,
      int monitors,
      int seconds,
      int connections,
      long seed,
      int lateChance,
      boolean hasStartTime) {
    this.lateChance = lateChance;
    Random random = new Random(seed);
    Random watch = new Random(~seed);
    for (int monitor = 0; monitor < monitors; monitor++) {
      List<Tuple> own = connections(monitor, seconds, connections, random);
      tuples.addAll(own);
      long end = BASE_NS + (seconds + monitor * 3L) * SECOND_NS + random.nextInt(1_000_000);
      endsNs.add(end);
      MonitorStream stream = new MonitorStream(query, "m" + monitor, 0, 1);
      if (hasStartTime) {
        long since = BASE_NS + watch.nextLong(seconds * SECOND_NS / 2);
        stream.watchedSince(since);
        watchedSinceNs = Math.max(watchedSinceNs, since);
      }
      partitions.add(batches(stream, own, end, random));
    }
  }

  private static List<Tuple> connections(int monitor, int seconds, int count, Random random) {
    List<Tuple> tuples = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      long flow = monitor * 1_000_000L + i + 1;
      long start = BASE_NS + (long) (random.nextDouble() * (seconds - 1) * SECOND_NS);
      long end = start + 1 + random.nextInt(900_000_000);
      tuples.add(Tuple.event(start, flow, "syn"));
      for (int requests = random.nextInt(8) == 0 ? random.nextInt(4) : 1;
          requests > 0;
          requests--) {
        long time = start + 1 + random.nextLong(end - start);
        int rank = (int) Math.abs(random.nextGaussian() * 4);
        tuples.add(Tuple.http(time, flow, "/page" + rank, time - start));
      }
      if (random.nextInt(20) > 0) {
        tuples.add(Tuple.event(end, flow, random.nextInt(4) == 0 ? "rst" : "fin"));
      }
    }
    tuples.sort(Comparator.comparingLong(Tuple::timeNs));
    return tuples;
  }

  /**
   * Returns a monitor's records. For each interval of up to 60 tuples, there is a batch of each
   * parser, in random order, and sometimes an empty batch as a heartbeat, or a late batch. Some
   * records are repeated. The last record ends the stream.
   */
  private List<byte[]> batches(
      MonitorStream stream, List<Tuple> tuples, long endNs, Random random) {
    List<byte[]> records = new ArrayList<>();
    Set<Integer> lateOnes = new HashSet<>();
    lateRecords.add(lateOnes);
    int next = 0;
    while (next < tuples.size()) {
      int end = Math.min(tuples.size(), next + 1 + random.nextInt(60));
      List<Tuple> interval = tuples.subList(next, end);
      long before = next == 0 ? Long.MIN_VALUE : interval.get(0).timeNs();
      long after = interval.get(interval.size() - 1).timeNs();
      List<String> parsers =
          random.nextBoolean()
              ? List.of("tcp_conn_time", "http_get")
              : List.of("http_get", "tcp_conn_time");
      for (int i = 0; i < 2; i++) {
        String parser = parsers.get(i);
        List<Tuple> own =
            new ArrayList<>(interval.stream().filter(t -> t.parser().equals(parser)).toList());
        add(records, stream.batch(i == 0 ? before : after, own), random);
      }
      if (random.nextInt(4) == 0) {
        add(records, stream.batch(after, List.of()), random);
      }
      if (lateChance > 0 && next > 0 && random.nextInt((int) lateChance) == 0) {
        lateOnes.add(records.size());
        records.add(stream.batch(after, late(random)).toByteArray());
      }
      next = end;
    }
    records.add(stream.end(endNs).toByteArray());
    return records;
  }

  /**
   * Returns requests from half an hour before the traffic, each on a connection without other
   * tuples.
   */
  private List<Tuple> late(Random random) {
    List<Tuple> late = new ArrayList<>();
    for (int i = 1 + random.nextInt(5); i > 0; i--) {
      long time = BASE_NS - 1800 * SECOND_NS + random.nextInt(1_000_000_000);
      late.add(Tuple.http(time, LATE_FLOWS + lateTuples++, "/late", 1));
    }
    return late;
  }

  private void add(List<byte[]> records, TupleBatch batch, Random random) {
    records.add(batch.toByteArray());
    if (random.nextInt(5) == 0) {
      records.add(records.get(random.nextInt(records.size())));
      repeats++;
    }
  }
}
