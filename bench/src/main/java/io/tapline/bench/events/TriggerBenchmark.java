package io.tapline.bench.events;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ObjLongConsumer;

/**
 * Measures the latency of a monitor's triggers, until their events arrive at a client of the
 * server's event stream. Two triggers count the packets of each window of 10 ms, which has at most
 * one: the first is true as soon as there is a packet, the second one is tested at the window's
 * end. The first one's latency is measured from the time at which the packet was sent.
 */
public final class TriggerBenchmark implements AutoCloseable {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final long WINDOW_NS = 10_000_000;

  /** The period is not a multiple of the window, so packets arrive at all positions of windows. */
  private static final int PACKETS_PER_SECOND = 19;

  private static final long SETTLE_MS = 1_000;
  private static final long ON_THE_WAY_NS = 500_000;
  private static final long NOT_ARRIVED = Long.MIN_VALUE;
  private static final String TRIGGERS =
      "PARSE packets FROM * TO * LIMIT 3600s SAMPLE * PROCESS"
          + " (trigger: when=\"count > 0\", only=\"dst_port == 9\", every=10ms),"
          + " (trigger: when=\"count > 0 and sum(bytes) > 0\", only=\"dst_port == 9\", every=10ms)";

  private final MarkedLink link;
  private final Follower triggers;

  /** Times at which packets were sent, by the beginning of their window. */
  private final Map<Long, Long> sentNs = new TreeMap<>();

  /** Times at which the first event of each window arrived, by the window's beginning. */
  private final Map<Long, Long> crossedNs = new HashMap<>();

  private final Map<Long, Long> endedNs = new HashMap<>();

  /**
   * The outcomes of one kind of condition.
   *
   * @param windows windows with a packet
   * @param latencies from the packet, or from the window's end, to its event's arrival
   */
  public record Outcome(int windows, Latencies latencies) {
    /** Returns true if each window with a packet had an event, and there were such windows. */
    public boolean isComplete() {
      return windows > 0 && latencies.ns().length == windows;
    }
  }

  /** Starts the query on the server. */
  public TriggerBenchmark(MeasuredServer server) throws IOException, InterruptedException {
    link = server.link();
    triggers = new Follower(server.events(server.start(TRIGGERS)), this::event);
  }

  /** Sends packets for this time, and waits for their events. */
  public void measure(int seconds) throws IOException, InterruptedException {
    synchronized (this) {
      crossedNs.clear();
      endedNs.clear();
    }
    long[] sent = link.sendTimed(PACKETS_PER_SECOND, seconds);
    Thread.sleep(SETTLE_MS);
    synchronized (this) {
      sentNs.clear();
      Arrays.stream(sent).forEach(ns -> sentNs.putIfAbsent(ns - ns % WINDOW_NS, ns));
    }
  }

  /** Returns the latencies from a packet that makes a condition true within its window. */
  public synchronized Outcome crossings() {
    return outcome(crossedNs, 0);
  }

  /** Returns the latencies from the end of a window whose condition is tested there. */
  public synchronized Outcome windows() {
    return outcome(endedNs, WINDOW_NS);
  }

  /** Returns the number of events that the server reported as missing. */
  public long missing() {
    return triggers.missing.get();
  }

  private Outcome outcome(Map<Long, Long> arrivedNs, long windowNs) {
    long[] ages =
        sentNs.values().stream()
            .mapToLong(
                sent -> {
                  // A packet that is sent at the end of a window may arrive in the next one.
                  long window = sent - sent % WINDOW_NS;
                  long next = (sent + ON_THE_WAY_NS) / WINDOW_NS * WINDOW_NS;
                  long found = arrivedNs.containsKey(window) ? window : next;
                  long since = windowNs == 0 ? sent : found + windowNs;
                  return arrivedNs.containsKey(found) ? arrivedNs.get(found) - since : NOT_ARRIVED;
                })
            .filter(age -> age != NOT_ARRIVED)
            .sorted()
            .toArray();
    return new Outcome(sentNs.size(), new Latencies(ages));
  }

  private synchronized void event(JsonNode event, long arrivedNs) {
    JsonNode fields = event.path("fields");
    Map<Long, Long> arrived = fields.path("trigger").asInt() == 0 ? crossedNs : endedNs;
    arrived.putIfAbsent(fields.path("window_start_ns").asLong(), arrivedNs);
  }

  @Override
  public void close() throws IOException {
    triggers.close();
  }

  /** Reads a query's events on its own thread, and passes each on with the time of its arrival. */
  private static final class Follower implements AutoCloseable {
    private final InputStream stream;
    private final ObjLongConsumer<JsonNode> events;
    private final AtomicLong missing = new AtomicLong();

    Follower(URI address, ObjLongConsumer<JsonNode> events) throws IOException {
      this.events = events;
      stream = address.toURL().openStream();
      Thread reader = new Thread(this::read, "trigger-events");
      reader.setDaemon(true);
      reader.start();
    }

    private void read() {
      BufferedReader lines =
          new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
      try {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          if (line.startsWith("data: ")) {
            Instant now = Instant.now();
            long nowNs = now.getEpochSecond() * 1_000_000_000L + now.getNano();
            JsonNode data = MAPPER.readTree(line.substring("data: ".length()));
            missing.set(Math.max(missing.get(), data.path("missing").asLong()));
            data.path("events").forEach(event -> events.accept(event, nowNs));
          }
        }
      } catch (IOException e) {
        // The benchmark has ended.
      }
    }

    @Override
    public void close() throws IOException {
      stream.close();
    }
  }
}
