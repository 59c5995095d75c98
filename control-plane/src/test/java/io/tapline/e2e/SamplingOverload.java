package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.embedded.EmbeddedServices;
import io.tapline.e2e.DatagramLoad.Phase;
import io.tapline.e2e.DatagramLoad.SentDatagrams;
import io.tapline.sim.placement.Plot;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Tests SAMPLE auto over switches, under five times the load that the pipeline can process. A
 * client sends datagrams through the fat tree, and an edge switch mirrors them. After a while, the
 * link between the broker and the job passes only a fifth of the tuples. Then the load drops to
 * half the rate that the link passes. The client counts its own flows.
 *
 * <p>Reports the sampling rate, the age of the latest result, the number of packets that the switch
 * copied, the number of windows in which all ten rows had the true value within their bounds, and
 * the time from the drop of the load until all flows are kept again. Run by {@code bench/overload}.
 */
class SamplingOverload {
  private static final int OVERLOAD_S =
      Integer.parseInt(System.getenv().getOrDefault("OVERLOAD_SECONDS", "150"));
  private static final int QUIET_S =
      Integer.parseInt(System.getenv().getOrDefault("OVERLOAD_QUIET_SECONDS", "50"));
  private static final int LOAD = 3_000;
  private static final int MAX_FLOWS = 262_144;
  private static final double SHARE = 0.2;
  private static final int THROTTLED_AFTER_S = 12;

  /**
   * Size of a tuple in the topic while all flows are kept, including its share of the batch header.
   */
  private static final int BYTES_A_TUPLE = 17;

  /** Seconds from when the link becomes slow until the sampling rate is considered settled. */
  private static final int SETTLED_S = 30;

  /** Minimum sampling rate at which all flows count as kept. */
  private static final double ALL = 0.98;

  private static final long WINDOW_NS = 2_000_000_000L;

  /** Length of the period before the load drops, in which the mean lag must be low. */
  private static final long WORKED_OFF_NS = 20_000_000_000L;

  private static final String SENDER = "h-3-1-1";
  private static final String MONITOR = "h-0-0-1";
  private static final String EDGE = "e00";
  private static final String TO = "10.0.0.2";
  private static final String QUERY =
      "PARSE udp_flow FROM * TO %s:20000-20199 LIMIT 1h SAMPLE auto PROCESS (top-k: k=10, w=2s, s=2s)"
          .formatted(TO);

  /** A point in the plot: a time since the epoch, and the value at that time. */
  private record At(long ns, double value) {}

  private final List<At> ages = new ArrayList<>();
  private final List<At> copied = new ArrayList<>();

  /** Sampling rates by end of window. */
  private final TreeMap<Long, Double> rates = new TreeMap<>();

  private long throttledNs;
  private ThinLink link;
  private EmbeddedServices services;
  private MirroredNetwork network;

  @BeforeEach
  void start() throws Exception {
    network = MirroredNetwork.upWith(Set.of(MONITOR), MAX_FLOWS, this::services);
  }

  /**
   * Starts a broker and Redis; returns the server's options for them. The server and monitors reach
   * the broker over the link.
   */
  private List<String> services(String address) throws Exception {
    link = new ThinLink(address);
    services = EmbeddedServices.startOpenBehind(address, link.port());
    link.lead(services.hostBrokers());
    String redis = services.endpoints().redis().address();
    return List.of("--brokers", address + ":" + link.port(), "--redis", redis);
  }

  @AfterEach
  void stop() throws Exception {
    for (AutoCloseable resource : new AutoCloseable[] {network, link, services}) {
      if (resource != null) {
        resource.close();
      }
    }
  }

  @Test
  void lagIsBoundedEstimatesAreRightAndTheRateRecovers() throws Exception {
    String query = network.submit(QUERY);
    network.server().awaitState(query, "running");
    Phase high = new Phase(LOAD, OVERLOAD_S);
    Phase low = new Phase((int) (LOAD * SHARE / 2), QUIET_S);
    try (Cli.Running sender = DatagramLoad.start(network.fabric, SENDER, TO, high, low)) {
      watch(query, sender);
      Cli.Result result = sender.await(30);
      assertThat(result.exitCode()).as(result.stderr()).isZero();
      SentDatagrams sent = DatagramLoad.sent(result.stdout());
      awaitLastWindows(query, sent);
      network.stop(query);
      judge(query, sent);
    }
  }

  /**
   * Waits for windows that are still in flight. If they never arrive, the result is judged without
   * them.
   */
  private void awaitLastWindows(String query, SentDatagrams sent) throws Exception {
    long lastNs = sent.fellNs() + (QUIET_S - 6) * 1_000_000_000L;
    for (int i = 0; i < 60 && look(query) < lastNs; i++) {
      Thread.sleep(1_000);
    }
  }

  private void watch(String query, Cli.Running sender) throws Exception {
    long beganNs = Requests.nowNs();
    Map<String, Long> previousCopiedByRule = network.fabric.copiedByRule(EDGE);
    long copiedNs = beganNs;
    while (sender.process().isAlive()) {
      Thread.sleep(500);
      double passed = (Requests.nowNs() - beganNs) / 1e9;
      if (throttledNs == 0 && passed >= THROTTLED_AFTER_S) {
        link.hold(SHARE * LOAD * BYTES_A_TUPLE);
        throttledNs = Requests.nowNs();
      }
      long shownNs = look(query);
      long now = Requests.nowNs();
      if (shownNs > 0) {
        ages.add(new At(now, (now - shownNs) / 1e9));
      }
      if (now - copiedNs > 1_500_000_000L) {
        Map<String, Long> laterCopiedByRule = network.fabric.copiedByRule(EDGE);
        copied.add(
            new At(now, 1e9 * more(previousCopiedByRule, laterCopiedByRule) / (now - copiedNs)));
        previousCopiedByRule = laterCopiedByRule;
        copiedNs = now;
      }
    }
  }

  /**
   * Returns the number of packets that rules have counted since {@code previousValues}; new rules
   * count from zero.
   */
  private static long more(Map<String, Long> previousValues, Map<String, Long> laterValues) {
    return laterValues.entrySet().stream()
        .mapToLong(
            rule -> Math.max(0, rule.getValue() - previousValues.getOrDefault(rule.getKey(), 0L)))
        .sum();
  }

  /** Reads the results; returns the end of the latest window, or 0 if there is none. */
  private long look(String query) throws Exception {
    String cursor = "";
    for (JsonNode page = page(query, cursor);
        !page.path("rows").isEmpty();
        page = page(query, cursor)) {
      for (JsonNode row : page.path("rows")) {
        double rate = row.at("/completeness/sampling_rate").asDouble();
        rates.put(row.path("window_end_ns").asLong(), rate);
      }
      cursor = page.path("last_entry").asText();
    }
    return rates.isEmpty() ? 0 : rates.lastKey();
  }

  private JsonNode page(String query, String cursor) throws Exception {
    return network.get("/queries/" + query + "/results?after=" + cursor);
  }

  /**
   * Checks the bounds of the windows in which flows were left out, except the first and last, which
   * are incomplete. Also checks that the lag falls again and that the rate recovers.
   */
  private void judge(String query, SentDatagrams sent) throws Exception {
    Map<Long, List<JsonNode>> windows = new TreeMap<>();
    for (JsonNode row : network.server().rows(query)) {
      long startNs = row.path("window_start_ns").asLong();
      boolean estimated = !row.path("low").equals(row.path("high"));
      if (estimated && sent.covers(startNs, startNs + WINDOW_NS)) {
        windows.computeIfAbsent(startNs, ignored -> new ArrayList<>()).add(row);
      }
    }
    List<Long> inexact =
        windows.keySet().stream().filter(w -> !holds(w, windows.get(w), sent)).toList();
    print(query, windows.size(), inexact.size(), sent);
    for (long startNs : inexact) {
      System.out.printf(
          "Overload: outside of its bounds: the window from second %.0f%n",
          (startNs - sent.beganNs()) / 1e9);
    }
    assertThat(mean(ages, sent.fellNs() - WORKED_OFF_NS, sent.fellNs()))
        .as(
            "mean age of the latest window before the load drops, compared with the maximum (the lag must have fallen)")
        .isLessThan(max(ages, sent.beganNs(), sent.fellNs()) / 2);
    assertThat(recoveredAfter(sent)).as("seconds until all flows are kept again").isNotNegative();
    assertThat(windows).as("windows in which flows were left out").hasSizeGreaterThan(20);
    assertThat(inexact.size()).as("of %d windows", windows.size()).isLessThan(windows.size() / 10);
  }

  private static boolean holds(long startNs, List<JsonNode> rows, SentDatagrams sent) {
    Map<Integer, Long> truth = sent.in(startNs, startNs + WINDOW_NS);
    return rows.stream()
        .allMatch(
            row -> {
              long flows = truth.getOrDefault(row.at("/key/dst_port").asInt(), 0L);
              return flows >= row.path("low").asDouble() && flows <= row.path("high").asDouble();
            });
  }

  /**
   * Returns the seconds from the drop of the load until the end of the first later window in which
   * all flows were kept; -1 if there is none.
   */
  private double recoveredAfter(SentDatagrams sent) {
    return rates.entrySet().stream()
        .filter(entry -> entry.getKey() - WINDOW_NS >= sent.fellNs() && entry.getValue() >= ALL)
        .mapToDouble(entry -> (entry.getKey() - sent.fellNs()) / 1e9)
        .findFirst()
        .orElse(-1);
  }

  private static double mean(List<At> points, long fromNs, long toNs) {
    return points.stream()
        .filter(point -> point.ns() >= fromNs && point.ns() <= toNs)
        .mapToDouble(At::value)
        .average()
        .orElse(0);
  }

  private static double max(List<At> points, long fromNs, long toNs) {
    return points.stream()
        .filter(point -> point.ns() >= fromNs && point.ns() <= toNs)
        .mapToDouble(At::value)
        .max()
        .orElse(0);
  }

  private void print(String query, int windows, int inexact, SentDatagrams sent) throws Exception {
    long settledNs = throttledNs + SETTLED_S * 1_000_000_000L;
    long endNs = sent.fellNs() + QUIET_S * 1_000_000_000L;
    System.out.printf(
        "Overload: from second %.0f to %.0f mean rate %.3f, copied %.0f of %d packets/s, latest result %.1f s old on average,"
            + " %.1f s at most, overall at most %.1f s; %d of %d windows within their bounds; all flows kept again %.1f s after the load drops%n",
        (settledNs - sent.beganNs()) / 1e9,
        (sent.fellNs() - sent.beganNs()) / 1e9,
        mean(rateCourse(), settledNs, sent.fellNs()),
        mean(copied, settledNs, sent.fellNs()),
        LOAD,
        mean(ages, settledNs, sent.fellNs()),
        max(ages, settledNs, endNs),
        max(ages, sent.beganNs(), endNs),
        windows - inexact,
        windows,
        recoveredAfter(sent));
    System.out.println("Overload: " + network.get("/queries/" + query).path("totals"));
    String folder = System.getenv("OVERLOAD_OUT");
    if (folder != null) {
      Files.createDirectories(Path.of(folder));
      Files.writeString(Path.of(folder, "overload.svg"), svg(sent));
      Files.writeString(Path.of(folder, "overload.csv"), csv(sent));
    }
  }

  private List<At> rateCourse() {
    return rates.entrySet().stream()
        .map(entry -> new At(entry.getKey(), entry.getValue()))
        .toList();
  }

  private String csv(SentDatagrams sent) {
    StringBuilder csv = new StringBuilder("second,what,value\n");
    Map.of("rate", rateCourse(), "copied_per_second", copied, "age_seconds", ages)
        .forEach(
            (title, course) ->
                course.forEach(
                    point ->
                        csv.append(
                            "%.1f,%s,%.4f%n"
                                .formatted(
                                    (point.ns() - sent.beganNs()) / 1e9, title, point.value()))));
    return csv.toString();
  }

  private String svg(SentDatagrams sent) {
    double low = 100 * SHARE / 2;
    long endNs = sent.fellNs() + QUIET_S * 1_000_000_000L;
    List<At> loads =
        List.of(
            new At(sent.beganNs(), 100),
            new At(sent.fellNs(), 100),
            new At(sent.fellNs(), low),
            new At(endNs, low));
    return new Plot(
            "SAMPLE auto over switches, at five times the rate that the job can process",
            "seconds",
            "% and s")
        .line("packets sent, % of the maximum", points(loads, 1, sent), true)
        .line("copied by the switch, % of the maximum", points(copied, 100.0 / LOAD, sent), true)
        .line("flows kept, %", points(rateCourse(), 100, sent), false)
        .line("age of the latest window, s", points(ages, 1, sent), false)
        .svg();
  }

  private static List<Plot.Point> points(List<At> course, double unit, SentDatagrams sent) {
    return course.stream()
        .map(point -> new Plot.Point((point.ns() - sent.beganNs()) / 1e9, point.value() * unit, 0))
        .toList();
  }
}
