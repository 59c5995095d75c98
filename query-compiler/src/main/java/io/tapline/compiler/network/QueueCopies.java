package io.tapline.compiler.network;

import io.tapline.network.SwitchPorts;
import io.tapline.network.rules.CopyMark;
import io.tapline.network.rules.RuleMatch;
import io.tapline.network.rules.Wanted;
import io.tapline.placement.PlacementException;
import io.tapline.schema.proto.Queue;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * The queues that switches copy, both arrivals and departures, for all queries. Immutable.
 *
 * <pre>
 *   switch ──queue──▶ neighbour
 *     │ packets forwarded to the port: arrivals
 *     │                  │ packets received from the link: departures
 *     └──────▶ monitor ◀─┘   each with a mark as its destination address
 * </pre>
 *
 * A queue that several queries measure is copied once per monitor.
 */
final class QueueCopies {
  private final SwitchPorts ports;

  /** The queues of each query, with their marks and hosts. */
  private final Map<String, List<Queue>> queries;

  private QueueCopies(SwitchPorts ports, Map<String, List<Queue>> queries) {
    this.ports = ports;
    this.queries = queries;
  }

  static QueueCopies none(SwitchPorts ports) {
    return new QueueCopies(ports, Map.of());
  }

  boolean has(String query) {
    return queries.containsKey(query);
  }

  /** Returns the queues of a query, with their marks and hosts. */
  List<Queue> of(String query) {
    return queries.getOrDefault(query, List.of());
  }

  /** Adds a query, with queues that {@link #place} returned. */
  QueueCopies with(String query, List<Queue> queues) {
    Map<String, List<Queue>> changed = new LinkedHashMap<>(queries);
    changed.put(query, List.copyOf(queues));
    return new QueueCopies(ports, changed);
  }

  QueueCopies without(String query) {
    Map<String, List<Queue>> changed = new LinkedHashMap<>(queries);
    changed.remove(query);
    return new QueueCopies(ports, changed);
  }

  private Stream<Queue> all() {
    return queries.values().stream().flatMap(List::stream);
  }

  /**
   * Returns the queues, each with the host that measures it and the mark of its copies.
   *
   * @param hosts the hosts that have a monitor
   * @throws PlacementException if no host can see both sides of a queue, or the inventory lists no
   *     link at it
   */
  List<Queue> place(List<Queue> queues, Set<String> hosts) {
    QueueCopies copies = this;
    List<Queue> placedQueues = new ArrayList<>();
    for (Queue queue : queues) {
      Queue placedQueue =
          copies.marked(queue.toBuilder().setHost(copies.host(queue, hosts)).build());
      placedQueues.add(placedQueue);
      copies = copies.with("", placedQueues);
    }
    return placedQueues;
  }

  /**
   * Returns the host with the smallest total distance to both ends of the queue's link. Copies of
   * arrivals must reach the host without waiting in the queue themselves, so its switch must be at
   * least as near to the queue's switch as to the neighbour. If several hosts are equally near,
   * returns the one that measures the fewest queues.
   */
  private String host(Queue queue, Set<String> hosts) {
    String here = queue.getSwitchName();
    String peer = neighbour(queue);
    Map<String, Integer> toHere = ports.distancesTo(here);
    Map<String, Integer> toPeer = ports.distancesTo(peer);
    record Candidate(String host, int links, long queues) {}
    Optional<Candidate> best =
        hosts.stream()
            .flatMap(
                host ->
                    ports.switchOf(host).map(switchName -> Map.entry(host, switchName)).stream())
            .filter(entry -> toHere.containsKey(entry.getValue()))
            .filter(entry -> toHere.get(entry.getValue()) <= toPeer.get(entry.getValue()))
            .map(
                entry ->
                    new Candidate(
                        entry.getKey(),
                        toHere.get(entry.getValue()) + toPeer.get(entry.getValue()),
                        all().filter(placed -> placed.getHost().equals(entry.getKey())).count()))
            .min(
                Comparator.comparingInt(Candidate::links)
                    .thenComparingLong(Candidate::queues)
                    .thenComparing(Candidate::host));
    return best.orElseThrow(() -> noHost(queue, peer, hosts)).host();
  }

  private static PlacementException noHost(Queue queue, String peer, Set<String> hosts) {
    return new PlacementException(
        PlacementException.Code.NO_HOST,
        "no monitor can see both sides of queue %s: the host must receive copies of arrivals from %s without crossing %s. Hosts with an agent: %s"
            .formatted(
                text(queue),
                queue.getSwitchName(),
                peer,
                hosts.isEmpty() ? "none" : String.join(", ", new TreeSet<>(hosts))));
  }

  private static String text(Queue queue) {
    return queue.getSwitchName() + ":" + queue.getPort();
  }

  private String neighbour(Queue queue) {
    return ports
        .find(queue.getSwitchName(), queue.getPort())
        .orElseThrow(
            () ->
                new PlacementException(
                    PlacementException.Code.NO_HOST,
                    "the inventory lists no link at " + text(queue)))
        .neighbour();
  }

  /**
   * Returns the queue with the mark that the same queue already has for this host, else with a free
   * mark.
   */
  private Queue marked(Queue queue) {
    TreeSet<Integer> taken = new TreeSet<>();
    for (Queue copiedQueue : all().toList()) {
      if (copiedQueue.toBuilder().clearMark().build().equals(queue)) {
        return copiedQueue;
      }
      taken.add(copiedQueue.getMark());
    }
    int mark = 1;
    while (taken.contains(mark)) {
      mark++;
    }
    return queue.toBuilder().setMark(mark).build();
  }

  /** Returns the packets wanted at each switch, by switch name. */
  Map<String, List<Wanted>> wanted() {
    Map<String, List<Wanted>> wanted = new LinkedHashMap<>();
    queries.forEach(
        (query, queues) -> {
          for (Queue queue : queues) {
            at(wanted, queue.getSwitchName())
                .add(new Wanted(query, arrivals(queue), RuleMatch.leaving(queue.getPort())));
            SwitchPorts.Port peerPort =
                ports.otherEnd(queue.getSwitchName(), queue.getPort()).orElseThrow();
            at(wanted, neighbour(queue))
                .add(new Wanted(query, departures(queue), RuleMatch.entering(peerPort.tapName())));
          }
        });
    return wanted;
  }

  private static List<Wanted> at(Map<String, List<Wanted>> wanted, String name) {
    return wanted.computeIfAbsent(name, ignored -> new ArrayList<>());
  }

  /** Returns the name that rules give to copies of arrivals: the host and the mark. */
  private static String arrivals(Queue queue) {
    return "%s:queue-%d-arrivals".formatted(queue.getHost(), queue.getMark());
  }

  private static String departures(Queue queue) {
    return "%s:queue-%d-departures".formatted(queue.getHost(), queue.getMark());
  }

  /** Returns the host that receives each kind of copy, by the copies' name in rules. */
  Map<String, String> hosts() {
    Map<String, String> hosts = new HashMap<>();
    all()
        .forEach(
            queue -> {
              hosts.put(arrivals(queue), queue.getHost());
              hosts.put(departures(queue), queue.getHost());
            });
    return hosts;
  }

  /** Returns the mark that each kind of copy carries, by the copies' name in rules. */
  Map<String, Long> marks() {
    Map<String, Long> marks = new HashMap<>();
    all()
        .forEach(
            queue -> {
              marks.put(arrivals(queue), CopyMark.arrivals(queue.getMark()));
              marks.put(departures(queue), CopyMark.departures(queue.getMark()));
            });
    return marks;
  }
}
