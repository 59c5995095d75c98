package io.tapline.compiler.packets;

import com.google.protobuf.util.Durations;
import io.tapline.compiler.text.Literals;
import io.tapline.schema.proto.ConditionStep;
import io.tapline.schema.proto.PacketTrigger;
import io.tapline.schema.proto.PrefixLength;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The cost of triggers that a monitor tests on packets, as a share of one core's time. It follows
 * the model in parsers/trigger/admission.h, with the same costs except for receiving a packet: that
 * is the cost of the cheapest parser in docs/explanation/sizing.md.
 */
public final class TriggerCost {
  /** Share of a core that may be used; the rest is a reserve. */
  public static final double MAX_BUSY = 0.8;

  /** Maximum number of groups that a channel counts separately in each pane. */
  public static final long MAX_GROUPS = 1L << 17;

  private static final double PARSE_NS = 117;

  // The costs of admission.h, which describes them; a test compares them.
  static final double MATCH = 14;
  static final double MATCH_ROOT = 0.35;
  static final double TCP = 40;
  static final double COUNT_GROUP = 17;
  static final double MISS_GROUP = 64;
  static final double CACHED_GROUPS = 7700;
  static final double SWEEP_SET = 64;
  static final double SWEEP_TRIGGER = 15;
  static final double TEST_TRIGGER = 23;
  static final double SWEEP_GROUP = 50;
  static final double FIND_GROUP = 20;
  static final double ADD_DISTINCT = 43;
  static final double ADD_PERCENTILE = 170;
  static final double MERGE_VALUES = 600;
  static final double TEST_VALUES = 55;
  static final double LOOK_SET = 30;
  static final double LOOK_TRIGGER = 2;
  static final double TEST_LIMIT = 1;
  static final double LOOK_INTERVAL = 1_000_000;
  static final double MAX_LOOKS = 0.1;

  /** Length above which windows are also tested before their end, if they don't overlap. */
  private static final long LONG_WINDOW_NS = 2_000_000;

  private static final Set<ConditionStep.Measure> FROM_HEADERS =
      Set.of(
          ConditionStep.Measure.PACKETS,
          ConditionStep.Measure.BYTES,
          ConditionStep.Measure.PAYLOAD_BYTES,
          ConditionStep.Measure.SYN,
          ConditionStep.Measure.SYN_ACK,
          ConditionStep.Measure.FIN,
          ConditionStep.Measure.RST,
          ConditionStep.Measure.MAX_BYTES,
          ConditionStep.Measure.MAX_PAYLOAD_BYTES,
          ConditionStep.Measure.BURST,
          ConditionStep.Measure.FLOWS,
          ConditionStep.Measure.DISTINCT_SRC_IP,
          ConditionStep.Measure.DISTINCT_SRC_PORT,
          ConditionStep.Measure.DISTINCT_DST_IP,
          ConditionStep.Measure.DISTINCT_DST_PORT);

  private static final Set<ConditionStep.Measure> DISTINCT =
      Set.of(
          ConditionStep.Measure.FLOWS,
          ConditionStep.Measure.DISTINCT_SRC_IP,
          ConditionStep.Measure.DISTINCT_SRC_PORT,
          ConditionStep.Measure.DISTINCT_DST_IP,
          ConditionStep.Measure.DISTINCT_DST_PORT);

  private static final double NS_PER_SECOND = 1e9;

  private static final String PERCENTILE = "percentile ";

  /**
   * The expected traffic of a monitor.
   *
   * @param packetsPerSecond packets per second that a core receives; more than 0
   * @param groups groups in a pane of each channel; capped at the number of packets in the pane
   */
  public record Traffic(double packetsPerSecond, long groups) {}

  /** A window and grouping. Triggers with equal ones share counters. */
  private record Channel(
      long everyNs,
      long windowNs,
      List<String> group,
      List<PrefixLength> networks,
      boolean keepsValues) {
    static Channel of(PacketTrigger trigger) {
      long everyNs = Durations.toNanos(trigger.getEvery());
      long windowNs = trigger.hasWindow() ? Durations.toNanos(trigger.getWindow()) : everyNs;
      return new Channel(
          everyNs,
          windowNs,
          trigger.getGroupList(),
          trigger.getNetworksList(),
          TriggerCost.comparesValues(trigger));
    }

    /** Returns the number of panes in a window, which are counted separately. */
    long panes() {
      return windowNs / everyNs;
    }

    /** Returns true if a window's groups must also be looked up in its earlier panes. */
    boolean finds() {
      return panes() > 1 && !group.isEmpty();
    }

    String text() {
      String every = Literals.durationText(Durations.fromNanos(everyNs));
      return panes() == 1
          ? every
          : "%s every %s".formatted(Literals.durationText(Durations.fromNanos(windowNs)), every);
    }
  }

  /**
   * The triggers of a channel, and the kinds of distinct values and percentiles that they compare.
   */
  private record Load(int triggers, Set<String> kinds) {
    Load plus(Load more) {
      Set<String> all = new TreeSet<>(kinds);
      all.addAll(more.kinds);
      return new Load(triggers + more.triggers, all);
    }
  }

  private final Map<Channel, Load> channels = new LinkedHashMap<>();
  private final int triggers;
  private final double matchNs;

  /** Computes the costs that do not depend on traffic. REQUIRES: at least one trigger. */
  public TriggerCost(List<PacketTrigger> triggers) {
    this.triggers = triggers.size();
    boolean needsTcp = triggers.stream().anyMatch(TriggerCost::needsTcp);
    this.matchNs = MATCH + MATCH_ROOT * Math.sqrt(matchSets()) + (needsTcp ? TCP : 0);
    for (PacketTrigger packetTrigger : triggers) {
      channels.merge(
          Channel.of(packetTrigger),
          new Load(1, kinds(packetTrigger)),
          (one, more) -> one.plus(more));
    }
  }

  private static Stream<ConditionStep> steps(PacketTrigger trigger) {
    return Stream.concat(trigger.getWhenList().stream(), trigger.getClearList().stream());
  }

  private static boolean needsTcp(PacketTrigger trigger) {
    return steps(trigger)
        .anyMatch(
            step ->
                step.hasMeasure() && !FROM_HEADERS.contains(step.getMeasure())
                    || step.getQuantile().getMeasure() == ConditionStep.Measure.RTT_NS);
  }

  /**
   * Returns true if a trigger compares distinct values or percentiles. Such triggers share counters
   * only with each other.
   */
  public static boolean comparesValues(PacketTrigger trigger) {
    return !kinds(trigger).isEmpty();
  }

  /** Returns the kinds of distinct values and percentiles that a trigger compares. */
  private static Set<String> kinds(PacketTrigger trigger) {
    return steps(trigger)
        .flatMap(
            step ->
                step.hasQuantile()
                    ? Stream.of(PERCENTILE + step.getQuantile().getMeasure())
                    : Stream.of(step.getMeasure()).filter(DISTINCT::contains).map(Enum::name))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private double addValuesNs() {
    return channels.values().stream()
        .flatMap(load -> load.kinds().stream())
        .mapToDouble(kind -> kind.startsWith(PERCENTILE) ? ADD_PERCENTILE : ADD_DISTINCT)
        .sum();
  }

  private long grouped() {
    return channels.keySet().stream().filter(channel -> !channel.group().isEmpty()).count();
  }

  private static double share(double packetsPerSecond, double ns) {
    return packetsPerSecond * ns / NS_PER_SECOND;
  }

  private double sweep(Traffic traffic) {
    double share = 0;
    for (Map.Entry<Channel, Load> entry : channels.entrySet()) {
      double everyNs = entry.getKey().everyNs();
      double packets = traffic.packetsPerSecond() * everyNs / NS_PER_SECOND;
      share += sweepNs(entry.getKey(), entry.getValue(), packets, traffic.groups()) / everyNs;
      share += looks(entry.getKey(), entry.getValue().triggers(), packets);
    }
    return share;
  }

  /** Returns the share of a core that tests of open windows take. */
  private double looks(Channel channel, int triggers, double packets) {
    boolean tested = channel.panes() == 1 && channel.everyNs() > LONG_WINDOW_NS;
    if (!tested || !channel.group().isEmpty()) {
      return 0;
    }
    double sets = Math.min(matchSets(), packets);
    double lookNs = sets * (LOOK_SET + triggers * LOOK_TRIGGER) + triggers * TEST_LIMIT;
    return Math.min(lookNs / LOOK_INTERVAL, MAX_LOOKS);
  }

  /**
   * Returns the maximum number of match sets, assuming that filters are disjoint or nested, so that
   * each adds at most one.
   */
  private double matchSets() {
    return triggers + 1;
  }

  private double sweepNs(Channel channel, Load load, double packets, long groups) {
    long panes = channel.panes();
    if (!channel.group().isEmpty()) {
      double counters = Math.min(groups, packets);
      return counters * (panes * SWEEP_GROUP + (panes - 1) * FIND_GROUP)
          + mergeNs(channel, load, counters);
    }
    double sets = Math.min(matchSets(), packets);
    return panes * sets * (SWEEP_SET + load.triggers() * SWEEP_TRIGGER)
        + mergeNs(channel, load, sets)
        + load.triggers() * TEST_TRIGGER;
  }

  /** Returns the time to merge and test the distinct values and percentiles of a window. */
  private static double mergeNs(Channel channel, Load load, double counters) {
    return load.kinds().isEmpty()
        ? 0
        : counters
            * (channel.panes() * load.kinds().size() * MERGE_VALUES
                + load.triggers() * TEST_VALUES);
  }

  /** Returns the time to count a packet in one of a channel's groups. */
  private static double countGroupNs(double groups) {
    double missing = groups <= CACHED_GROUPS ? 0 : 1 - CACHED_GROUPS / groups;
    return COUNT_GROUP + missing * MISS_GROUP;
  }

  private double countGroupsNs(Traffic traffic) {
    double sum = 0;
    for (Channel channel : channels.keySet()) {
      double packets = traffic.packetsPerSecond() * channel.everyNs() / NS_PER_SECOND;
      sum += channel.group().isEmpty() ? 0 : countGroupNs(Math.min(traffic.groups(), packets));
    }
    return sum;
  }

  /** Returns the expected share of a core that the triggers take. */
  public double busy(Traffic traffic) {
    double packetNs = PARSE_NS + matchNs + countGroupsNs(traffic) + addValuesNs();
    return share(traffic.packetsPerSecond(), packetNs) + sweep(traffic);
  }

  /** Returns the expected share of a core that parsing packets takes. */
  public static double parsing(Traffic traffic) {
    return share(traffic.packetsPerSecond(), PARSE_NS);
  }

  /**
   * Returns the expected share of a core that the triggers of several queries in one monitor take.
   * Each packet is parsed once for all of them.
   */
  public static double together(List<TriggerCost> queries, Traffic traffic) {
    double parsing = parsing(traffic);
    double sum = queries.stream().mapToDouble(query -> query.busy(traffic) - parsing).sum();
    return queries.isEmpty() ? 0 : parsing + sum;
  }

  /**
   * Returns the maximum number of packets per second that a core sustains with {@link #MAX_GROUPS}
   * groups.
   */
  public double sustained() {
    double low = 0;
    double high = NS_PER_SECOND;
    for (int i = 0; i < Double.SIZE; i++) {
      double middle = (low + high) / 2;
      if (busy(new Traffic(middle, MAX_GROUPS)) <= MAX_BUSY) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** Returns the cost as text for users, independent of the expected traffic. */
  public List<String> explain() {
    List<String> parts = new ArrayList<>();
    parts.add("%.0f ns per packet to parse it, %.0f to match it".formatted(PARSE_NS, matchNs));
    if (grouped() > 0) {
      parts.add(
          "%.0f to %.0f to count it in %s"
              .formatted(
                  grouped() * COUNT_GROUP,
                  grouped() * countGroupNs(MAX_GROUPS),
                  plural(grouped(), "grouping", "groupings")));
      parts.add("%.0f ns for each group in a window".formatted(SWEEP_GROUP));
    }
    if (addValuesNs() > 0) {
      parts.add("%.0f per packet for distinct values and percentiles".formatted(addValuesNs()));
    }
    if (channels.keySet().stream().anyMatch(Channel::finds)) {
      parts.add(
          "%.0f more for each further every= that a longer window spans"
              .formatted(SWEEP_GROUP + FIND_GROUP));
    }
    return List.of(
        "%s in %s: %s"
            .formatted(
                plural(triggers, "trigger", "triggers"), windows(), String.join(", ", parts)),
        "a core sustains %s packets/s of this query, using %.0f %% of its time"
            .formatted(millions(sustained()), MAX_BUSY * 100));
  }

  /** Returns the cost at the expected traffic, as text for users. */
  public String at(Traffic traffic) {
    return "testing %s on packets, in %s, takes %.0f %% of a core at %s packets/s and %s: parsing %.0f %%, matching %.0f %%, counting groups %.0f %%,%s sweeping %.0f %%"
        .formatted(
            plural(triggers, "trigger", "triggers"),
            windows(),
            busy(traffic) * 100,
            millions(traffic.packetsPerSecond()),
            plural(traffic.groups(), "group per window", "groups per window"),
            share(traffic.packetsPerSecond(), PARSE_NS) * 100,
            share(traffic.packetsPerSecond(), matchNs) * 100,
            share(traffic.packetsPerSecond(), countGroupsNs(traffic)) * 100,
            valuesText(traffic),
            sweep(traffic) * 100);
  }

  private String valuesText(Traffic traffic) {
    return addValuesNs() == 0
        ? ""
        : " distinct values and percentiles %.0f %%,"
            .formatted(share(traffic.packetsPerSecond(), addValuesNs()) * 100);
  }

  private String windows() {
    List<String> lengths =
        channels.keySet().stream()
            .sorted(Comparator.comparing(Channel::everyNs).thenComparing(Channel::windowNs))
            .map(Channel::text)
            .distinct()
            .toList();
    return "windows of " + String.join(", ", lengths);
  }

  private static String millions(double packetsPerSecond) {
    return String.format(Locale.ROOT, "%.2f million", packetsPerSecond / 1e6);
  }

  private static String plural(long count, String one, String several) {
    return String.format(Locale.ROOT, "%,d %s", count, count == 1 ? one : several);
  }
}
