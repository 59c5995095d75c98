package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testbed.FatTreePlan;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.LongUnaryOperator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests ports that a monitor infers from the routes of Tapline's controller, while the controller
 * changes these routes: hosts move from switch to switch, and links fail and return. Each port is
 * compared with the one on which the switch sent the packet. Skipped, with the reason, on hosts
 * that can't run a testbed.
 *
 * <pre>
 *   senders ──▶ switches ──▶ captured at each port: the truth
 *                  └ unmarked copies ──▶ the collector's monitor ──▶ a row for each packet
 * </pre>
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@MakesNetworkDevices
class ReroutedPortsTest {
  /** Number of datagrams; `make soak` sends a million during 100 changes. */
  private static final int PACKETS = number("TAPLINE_REROUTED_PACKETS", 15_000);

  private static final int CHANGES = number("TAPLINE_REROUTED_CHANGES", 8);
  private static final int PER_SECOND = number("TAPLINE_REROUTED_PACKETS_PER_SECOND", 500);

  /** Number of changes per link failure; the failure and the link's return are two of them. */
  private static final int CHANGES_PER_FAILURE = 50;

  private static final int FAILS = 5;
  private static final int RETURNS = 7;

  /** Time for which a port may be unknown after all switches have confirmed a change. */
  private static final long SETTLE_NS = TimeUnit.MILLISECONDS.toNanos(1000);

  /**
   * Time for which a packet may be on its way to the collector: it may be sent before a change, and
   * copied by a busy machine's switches during the change.
   */
  private static final long IN_FLIGHT_NS = TimeUnit.MILLISECONDS.toNanos(100);

  /**
   * Maximum number of packets, per move of a guest, whose port may be unknown: 0.1 % of the 10,000
   * packets that {@code make soak} sends per change.
   */
  private static final int MAX_ABSENT_PER_MOVE = 10;

  private static final List<String> SENDERS = List.of("h-0-0-0", "h-1-1-0", "h-2-1-1", "h-3-1-0");
  private static final String RATES =
      "PARSE flow_rate(vantage=all) FROM * TO * LIMIT %ds SAMPLE * "
          + "PROCESS (group-max: by=samples, group=(src_ip, switch, output_port, input_port), w=1s)";
  private static final String LOADS =
      "PARSE link_load(vantage=all) FROM * TO * LIMIT %ds SAMPLE * "
          + "PROCESS (group-sum: by=samples, group=(switch, port), w=1s)";

  /** The time span of a change, from before it begins until its ports are known again. */
  private record Change(String what, String mac, long beginNs, long endNs) {
    boolean covers(NumberedDatagrams.Datagram datagram, String destination) {
      return datagram.sentNs() >= beginNs - IN_FLIGHT_NS
          && datagram.sentNs() <= endNs
          && (mac.isEmpty() || mac.equals(destination));
    }
  }

  /** A row: the port on which, according to the monitor, a switch forwarded a datagram. */
  private record Inferred(int number, String switchName, String port, String inputPort) {
    String place() {
      return switchName + ":" + port;
    }

    String entry() {
      return switchName + ":" + inputPort;
    }
  }

  @TempDir private Path folder;
  private final Random random = new Random(26);
  private final Map<String, String> portOfDevice = new HashMap<>();

  /** For each port with a cable to another switch, the port at the cable's other end. */
  private final Map<String, String> farEnds = new HashMap<>();

  private final List<Change> changes = new ArrayList<>();
  private final Set<String> deadPorts = new TreeSet<>();
  private final List<Inferred> inferred = new ArrayList<>();
  private String cursor = "";
  private MirroredNetwork network;
  private FatTreePlan plan;

  private static int number(String variable, int normal) {
    return Integer.parseInt(System.getenv().getOrDefault(variable, "" + normal));
  }

  @BeforeAll
  void start() throws Exception {
    network = MirroredNetwork.upWithCollector(Set.of(), InferredPortsTest::unmark);
    plan = network.fabric.plan();
    for (FatTreePlan.Switch sw : plan.switches()) {
      for (int port = 0; port < sw.ports().size(); port++) {
        portOfDevice.put(sw.ports().get(port), sw.id() + ":" + (port + 1));
      }
    }
    for (FatTreePlan.Cable cable : plan.cables()) {
      farEnds.put(portOfDevice.get(cable.a()), portOfDevice.get(cable.b()));
      farEnds.put(portOfDevice.get(cable.b()), portOfDevice.get(cable.a()));
    }
  }

  @AfterAll
  void stop() throws Exception {
    if (network != null) {
      network.close();
    }
  }

  private void awaitSettled(String what, int hosts, int links) throws Exception {
    String wanted = "settled true, %d hosts, %d links".formatted(hosts, links);
    String[] found = new String[1];
    try {
      Fabric.await(
          what,
          () -> {
            JsonNode topology = network.get("/topology");
            found[0] =
                "settled %s, %d hosts, %d links"
                    .formatted(
                        topology.path("settled").asBoolean(),
                        count(topology.path("hosts"), "mac"),
                        topology.path("links").size());
            return found[0].equals(wanted);
          });
    } catch (AssertionError e) {
      throw new AssertionError("%s: %s instead of %s".formatted(what, found[0], wanted), e);
    }
  }

  private static long count(JsonNode array, String field) {
    long count = 0;
    for (JsonNode node : array) {
      count += node.has(field) ? 1 : 0;
    }
    return count;
  }

  private static long nowNs() {
    return TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis());
  }

  private interface Step {
    String run() throws Exception;
  }

  /** Makes a change, and waits until all switches have confirmed it. */
  private void change(String what, int hosts, int links, Step step) throws Exception {
    long beginNs = nowNs();
    String mac = step.run();
    awaitSettled(what, hosts, links);
    changes.add(new Change(what, mac, beginNs, nowNs() + SETTLE_NS));
  }

  private void setLink(FatTreePlan.Cable cable, String state) {
    Fabric.run(List.of("ip", "link", "set", cable.a(), state)).expectSuccess();
  }

  private void readRows(String query) throws Exception {
    while (true) {
      JsonNode page = network.get("/queries/" + query + "/results?after=" + cursor);
      for (JsonNode row : page.path("rows")) {
        JsonNode key = row.path("key");
        String[] address = key.path("src_ip").asText().split("\\.");
        if (address[0].equals("11")) {
          int number = 0;
          for (int i = 1; i < 4; i++) {
            number = number << 8 | Integer.parseInt(address[i]);
          }
          inferred.add(
              new Inferred(
                  number,
                  key.path("switch").asText(),
                  key.path("output_port").asText(""),
                  key.path("input_port").asText("")));
        }
      }
      if (page.path("rows").isEmpty()) {
        return;
      }
      cursor = page.path("last_entry").asText();
    }
  }

  private void awaitRows(String query) throws Exception {
    int known = -1;
    for (int second = 0; second < 90 && inferred.size() != known; second += 5) {
      known = inferred.size();
      Thread.sleep(5000);
      readRows(query);
    }
  }

  /** Returns a random cable between a sender's switch and another switch. */
  private FatTreePlan.Cable uplink() {
    List<FatTreePlan.Cable> uplinks =
        plan.cables().stream()
            .filter(
                cable ->
                    SENDERS.stream()
                        .map(sender -> sender.replaceFirst("h-(\\d-\\d)-\\d", "edge-$1:"))
                        .anyMatch(
                            name ->
                                portOfDevice.get(cable.a()).startsWith(name)
                                    || portOfDevice.get(cable.b()).startsWith(name)))
            .toList();
    return uplinks.get(random.nextInt(uplinks.size()));
  }

  /** Changes routes while datagrams are sent. */
  private void changeRoutes(Guests guests, NumberedDatagrams datagrams, String rates)
      throws Exception {
    int hosts = plan.hosts().size() + guests.count();
    int links = plan.cables().size();
    long startNs = System.nanoTime();
    LongUnaryOperator dueNs =
        number -> startNs + number * TimeUnit.SECONDS.toNanos(PACKETS / PER_SECOND) / CHANGES;
    FatTreePlan.Cable cut = null;
    for (int i = 0; i < CHANGES; i++) {
      while (System.nanoTime() < dueNs.applyAsLong(i)) {
        Thread.sleep(20);
      }
      assertThat(datagrams.areSent()).as("datagrams pass during change %d", i).isTrue();
      if (i % CHANGES_PER_FAILURE == FAILS) {
        FatTreePlan.Cable cable = uplink();
        cut = cable;
        deadPorts.addAll(List.of(portOfDevice.get(cable.a()), portOfDevice.get(cable.b())));
        change(
            cable.a() + " fails",
            hosts,
            links - 1,
            () -> {
              setLink(cable, "down");
              return "";
            });
      } else if (i % CHANGES_PER_FAILURE == RETURNS) {
        FatTreePlan.Cable cable = cut;
        change(
            cable.a() + " returns",
            hosts,
            links,
            () -> {
              setLink(cable, "up");
              return "";
            });
        cut = null;
      } else {
        change(
            "a guest moves",
            hosts,
            cut == null ? links : links - 1,
            () -> {
              int guest = guests.move();
              return Guests.mac(guest);
            });
      }
      readRows(rates);
    }
  }

  @Test
  void portsAreThoseByWhichSwitchesForwardWhileRoutesChange() throws Exception {
    Guests guests = new Guests(network.fabric, random);
    guests.arrive();
    awaitSettled(
        "the guests are known", plan.hosts().size() + guests.count(), plan.cables().size());
    int seconds = PACKETS / PER_SECOND + 600;
    String rates = network.submit(RATES.formatted(seconds));
    String loads = network.submit(LOADS.formatted(seconds));
    network.server().awaitState(rates, "running");
    network.server().awaitState(loads, "running");
    Thread.sleep(3000);
    List<String> targets = targets(guests);
    ForwardedPackets forwarded = ForwardedPackets.capture(plan, folder.resolve("forwarded"));
    Map<Integer, NumberedDatagrams.Datagram> sent;
    try (NumberedDatagrams datagrams =
        new NumberedDatagrams(network.fabric, folder, SENDERS, targets, PACKETS, PER_SECOND)) {
      changeRoutes(guests, datagrams, rates);
      sent = datagrams.finish();
    }
    awaitRows(rates);
    forwarded.finish();
    assertThat(forwarded.missed()).as("packets that the capture missed").isZero();
    compare(forwarded, sent, targets);
    compareSums(forwarded, loads);
    JsonNode dropped = network.get("/queries/" + rates).path("totals").path("dropped");
    System.out.println("Not inferred: " + dropped);
    network.stop(rates);
    network.stop(loads);
  }

  /** Returns the Ethernet addresses of the guests, and of all hosts except the senders. */
  private List<String> targets(Guests guests) {
    List<String> targets = new ArrayList<>();
    for (FatTreePlan.Node host : plan.hosts()) {
      if (!SENDERS.contains(host.id())) {
        targets.add(host.mac());
      }
    }
    for (int guest = 0; guest < guests.count(); guest++) {
      targets.add(Guests.mac(guest));
    }
    return targets;
  }

  /**
   * Returns true if a datagram really entered a switch at the ingress port that the monitor
   * reported.
   */
  private boolean hasEntered(Inferred row, ForwardedPackets forwarded) {
    String farEnd = farEnds.get(row.entry());
    if (farEnd != null) {
      return forwarded.hasSent(farEnd, row.number());
    }
    String sender = SENDERS.get(row.number() % SENDERS.size());
    return plan.hosts().stream()
        .filter(host -> host.id().equals(sender))
        .allMatch(host -> row.entry().equals(portOfDevice.get(host.switchPort())));
  }

  private void compare(
      ForwardedPackets forwarded,
      Map<Integer, NumberedDatagrams.Datagram> sent,
      List<String> targets) {
    List<String> wrong = new ArrayList<>();
    Map<String, Integer> absent = new TreeMap<>();
    Map<String, Integer> switches = new TreeMap<>();
    Set<Integer> numbers = new TreeSet<>();
    int known = 0;
    int atDeadPorts = 0;
    int withoutEntry = 0;
    for (Inferred row : inferred) {
      NumberedDatagrams.Datagram datagram = sent.get(row.number());
      String destination = targets.get(datagram.target());
      numbers.add(row.number());
      switches.merge(row.switchName(), 1, Integer::sum);
      List<Change> during =
          changes.stream().filter(change -> change.covers(datagram, destination)).toList();
      if (row.inputPort().isEmpty()) {
        withoutEntry++;
      } else {
        assertThat(hasEntered(row, forwarded)).as("%s: ingress port", row).isTrue();
      }
      if (row.port().isEmpty()) {
        assertThat(during)
            .as("%s, %s to %s: no port. Changes: %s", row, datagram, destination, changes)
            .isNotEmpty();
        absent.merge(during.get(0).what(), 1, Integer::sum);
      } else if (forwarded.hasSent(row.place(), row.number())) {
        known++;
      } else if (deadPorts.contains(row.place())
          && forwarded.portsOf(row.switchName(), row.number()).isEmpty()) {
        atDeadPorts++;
      } else {
        wrong.add(
            "%s to %s, not by %s"
                .formatted(row, destination, forwarded.portsOf(row.switchName(), row.number())));
      }
    }
    int allAbsent = absent.values().stream().mapToInt(Integer::intValue).sum();
    System.out.printf(
        "Ports during %d changes of routes: %,d datagrams, %,d ports as forwarded, %d wrong, %d absent (%.3f %%: %s), "
            + "%d at failed links; %d without an ingress port; by switch: %s%n",
        changes.size(),
        numbers.size(),
        known,
        wrong.size(),
        allAbsent,
        100.0 * allAbsent / sent.size(),
        absent,
        atDeadPorts,
        withoutEntry,
        switches);
    assertThat(withoutEntry).isLessThanOrEqualTo(inferred.size() / 20);
    assertThat(wrong).isEmpty();
    assertThat(numbers).as("a row for each datagram").hasSize(sent.size());
    int moves = (int) changes.stream().filter(change -> !change.mac().isEmpty()).count();
    assertThat(absent.getOrDefault("a guest moves", 0))
        .as("%s", absent)
        .isLessThanOrEqualTo(MAX_ABSENT_PER_MOVE * moves);
    if (PACKETS / CHANGES >= 10_000) {
      assertThat(allAbsent).as("%s", absent).isLessThanOrEqualTo(sent.size() / 1000);
    }
  }

  /**
   * Checks that the monitor attributes no more packets to any port than the port sent, and at least
   * 97 % of all packets to some port.
   */
  private void compareSums(ForwardedPackets forwarded, String loads) throws Exception {
    Map<String, Double> counted = new TreeMap<>();
    for (JsonNode row : network.server().rows(loads)) {
      JsonNode key = row.path("key");
      counted.merge(
          key.path("switch").asText() + ":" + key.path("port").asText(),
          row.path("value").asDouble(),
          Double::sum);
    }
    long sent = 0;
    double found = 0;
    for (String port : portOfDevice.values()) {
      if (deadPorts.contains(port) || forwarded.packets(port) == 0) {
        continue;
      }
      double samples = counted.getOrDefault(port, 0.0);
      assertThat(samples).as(port).isLessThanOrEqualTo(forwarded.packets(port));
      sent += forwarded.packets(port);
      found += samples;
    }
    System.out.printf("Packets by port: %,d sent, %,.0f inferred%n", sent, found);
    assertThat(found).isBetween(0.97 * sent, 1.0 * sent);
  }
}
