package io.tapline.e2e;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A client in the testbed that sends datagrams at one rate and then at a lower one, and counts
 * them. Each datagram within a second belongs to a separate flow, so it causes one tuple.
 * Destination ports follow Zipf's law.
 */
final class DatagramLoad {
  private static final String SCRIPT =
      """
      import collections, itertools, json, random, socket, sys, time
      to, phases = sys.argv[1], [(int(sys.argv[2]), int(sys.argv[3])), (int(sys.argv[4]), int(sys.argv[5]))]
      sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(900)]
      ports = range(20000, 20200)
      weights = list(itertools.accumulate(1 / (i + 1) for i in range(len(ports))))
      used = collections.Counter()
      sent = collections.defaultdict(collections.Counter)
      times = [time.time_ns()]
      for rate, seconds in phases:
          begin, count = time.monotonic(), 0
          while (passed := time.monotonic() - begin) < seconds:
              for port in random.choices(ports, cum_weights=weights, k=int(passed * rate) - count):
                  used[port] += 1
                  sockets[used[port] % len(sockets)].sendto(b"x", (to, port))
                  sent[time.time_ns() // 1000000000][port] += 1
                  count += 1
              time.sleep(0.005)
          times.append(time.time_ns())
      print(json.dumps({"times": times, "sent": sent}))
      """;

  /** A phase with a rate in datagrams per second. */
  record Phase(int rate, int seconds) {}

  /**
   * The datagrams that were sent.
   *
   * @param fellNs time at which the rate fell
   * @param bySecond number of datagrams per port, by second since the epoch
   */
  record SentDatagrams(long beganNs, long fellNs, Map<Long, Map<Integer, Long>> bySecond) {

    /** Returns the number of datagrams per port in a window of whole seconds. */
    Map<Integer, Long> in(long fromNs, long toNs) {
      Map<Integer, Long> ports = new HashMap<>();
      for (long second = fromNs / 1_000_000_000L; second < toNs / 1_000_000_000L; second++) {
        bySecond
            .getOrDefault(second, Map.of())
            .forEach((port, count) -> ports.merge(port, count, Long::sum));
      }
      return ports;
    }

    /** Returns true if datagrams were sent throughout a period. */
    boolean covers(long fromNs, long toNs) {
      return bySecond.containsKey(fromNs / 1_000_000_000L - 1)
          && bySecond.containsKey(toNs / 1_000_000_000L);
    }
  }

  private DatagramLoad() {}

  static Cli.Running start(Fabric fabric, String host, String destination, Phase high, Phase low) {
    List<String> words = new ArrayList<>(List.of("python3", "-c", SCRIPT, destination));
    for (Phase phase : List.of(high, low)) {
      words.addAll(List.of(Integer.toString(phase.rate()), Integer.toString(phase.seconds())));
    }
    return fabric.start(host, words.toArray(String[]::new));
  }

  /** Parses the client's final output. */
  static SentDatagrams sent(String printed) {
    JsonNode report = Cli.parse(printed);
    Map<Long, Map<Integer, Long>> bySecond = new HashMap<>();
    report
        .path("sent")
        .properties()
        .forEach(
            second -> {
              Map<Integer, Long> ports = new HashMap<>();
              second
                  .getValue()
                  .properties()
                  .forEach(
                      port -> ports.put(Integer.valueOf(port.getKey()), port.getValue().asLong()));
              bySecond.put(Long.valueOf(second.getKey()), ports);
            });
    return new SentDatagrams(
        report.path("times").path(0).asLong(), report.path("times").path(1).asLong(), bySecond);
  }
}
