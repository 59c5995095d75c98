package io.tapline.compiler.network;

import io.tapline.network.SwitchPorts;
import io.tapline.network.rules.Wanted;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The packets that switches copy for queries in addition to those that the queries' matches select.
 * Immutable.
 */
record Copies(QueueCopies queues, TrafficCopies traffic) {
  static Copies none(SwitchPorts ports) {
    return new Copies(QueueCopies.none(ports), TrafficCopies.none(ports));
  }

  Copies with(QueueCopies newQueues) {
    return new Copies(newQueues, traffic);
  }

  Copies with(TrafficCopies newTraffic) {
    return new Copies(queues, newTraffic);
  }

  boolean has(String query) {
    return queues.has(query) || traffic.has(query);
  }

  Copies without(String query) {
    return new Copies(queues.without(query), traffic.without(query));
  }

  /** Returns the packets wanted at each switch, by switch name. */
  Map<String, List<Wanted>> wanted() {
    Map<String, List<Wanted>> wanted = new HashMap<>(queues.wanted());
    traffic
        .wanted()
        .forEach(
            (name, more) ->
                wanted.merge(name, more, (a, b) -> Stream.concat(a.stream(), b.stream()).toList()));
    return wanted;
  }

  /** Returns the host that receives each kind of copy, by the copies' name in rules. */
  Map<String, String> hosts() {
    Map<String, String> hosts = new HashMap<>(queues.hosts());
    hosts.putAll(traffic.hosts());
    return hosts;
  }

  /** Returns the mark that each kind of copy carries, by the copies' name in rules. */
  Map<String, Long> marks() {
    Map<String, Long> marks = new HashMap<>(queues.marks());
    marks.putAll(traffic.marks());
    return marks;
  }
}
