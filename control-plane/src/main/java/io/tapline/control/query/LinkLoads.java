package io.tapline.control.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.compiler.taps.PortNames;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;

/**
 * Reads link loads from the latest windows of queries that run {@code link_load}. Every call may
 * throw a {@link redis.clients.jedis.exceptions.JedisException} if Redis can't be reached.
 */
public final class LinkLoads {
  private static final String PARSER = "link_load";
  private static final Set<String> FIELDS =
      Set.of(
          "bits_per_second",
          "low_bits_per_second",
          "high_bits_per_second",
          "share",
          "low_share",
          "high_share");

  /** Aggregates of loads that are loads themselves, unlike the sum of several intervals' loads. */
  private static final Map<String, String> STATISTICS =
      Map.of("MAX", "max", "MIN", "min", "AVG", "avg");

  /** The fields that identify a link. Groups by any other field cover only parts of links. */
  private static final Set<String> KEY = Set.of("switch", "port", "side");

  private final QueryService queries;

  public LinkLoads(QueryService queries) {
    this.queries = queries;
  }

  /**
   * A link, as its tap names it.
   *
   * @param port empty if the tap shows all ports of the switch as one
   * @param side {@code arrivals} or {@code departures}; empty if the tap does not specify it
   * @param neighbour the switch or host at the other end; empty if unknown
   * @param loads the latest load for each field and statistic
   */
  public record Link(
      String switchName, String port, String side, String neighbour, List<LinkLoad> loads) {
    public Link {
      loads = List.copyOf(loads);
    }
  }

  private record Place(String switchName, String port, String side) implements Comparable<Place> {
    private static final Comparator<Place> ORDER =
        Comparator.comparing(Place::switchName)
            .thenComparing(place -> place.port().length())
            .thenComparing(Place::port)
            .thenComparing(Place::side);

    @Override
    public int compareTo(Place other) {
      return ORDER.compare(this, other);
    }
  }

  /**
   * Returns the measured links, ordered by switch and port.
   *
   * @param allowed selects queries by ID; the results of others are not read
   */
  public List<Link> read(Predicate<String> allowed) {
    Map<Place, List<LinkLoad>> loads = new TreeMap<>();
    for (QueryInfo query : queries.list()) {
      if (allowed.test(query.id())) {
        read(query, loads);
      }
    }
    PortNames ports = queries.planner().ports();
    List<Link> links = new ArrayList<>();
    loads.forEach((place, figures) -> links.add(link(place, figures, ports)));
    return links;
  }

  private static Link link(Place place, List<LinkLoad> loads, PortNames ports) {
    loads.sort(Comparator.comparing(LinkLoad::field).thenComparing(LinkLoad::statistic));
    String neighbour = ports.neighbourAt(place.switchName(), place.port()).orElse("");
    return new Link(place.switchName(), place.port(), place.side(), neighbour, loads);
  }

  private void read(QueryInfo query, Map<Place, List<LinkLoad>> loads) {
    Optional<JsonNode> plan = queries.plan(query.id()).map(json -> json.path("processors"));
    if (plan.isEmpty() || !anyMeasures(plan.get())) {
      return;
    }
    for (WindowResult window : queries.results().latestWindows(query.id())) {
      JsonNode processor = plan.get().path(window.processor());
      if (measures(processor)) {
        for (JsonNode row : window.rows()) {
          add(load(query, processor, window, row), place(row.path("key")), loads);
        }
      }
    }
  }

  private static boolean anyMeasures(JsonNode processors) {
    for (JsonNode processor : processors) {
      if (measures(processor)) {
        return true;
      }
    }
    return false;
  }

  private static boolean measures(JsonNode processor) {
    boolean switches = false;
    for (JsonNode field : processor.path("key")) {
      if (!KEY.contains(field.asText())) {
        return false;
      }
      switches |= field.asText().equals("switch");
    }
    return switches
        && processor.path("parser").asText().equals(PARSER)
        && FIELDS.contains(processor.path("value").path("field").asText())
        && STATISTICS.containsKey(processor.path("aggregate").asText());
  }

  private static LinkLoad load(
      QueryInfo query, JsonNode processor, WindowResult window, JsonNode row) {
    JsonNode value = row.path("value");
    return new LinkLoad(
        query.id(),
        query.state(),
        window.processor(),
        STATISTICS.get(processor.path("aggregate").asText()),
        processor.path("value").path("field").asText(),
        window.windowStartNs(),
        window.windowEndNs(),
        value.isNumber() ? OptionalDouble.of(value.asDouble()) : OptionalDouble.empty(),
        row.path("partial").asBoolean());
  }

  private static Place place(JsonNode key) {
    return new Place(text(key.path("switch")), text(key.path("port")), text(key.path("side")));
  }

  private static String text(JsonNode name) {
    return name.isTextual() ? name.asText() : "";
  }

  /**
   * Keeps the load of the latest window for each field and statistic. Ignores taps without a
   * switch, which identify no link.
   */
  private static void add(LinkLoad load, Place place, Map<Place, List<LinkLoad>> loads) {
    if (place.switchName().isEmpty()) {
      return;
    }
    List<LinkLoad> knownLoads = loads.computeIfAbsent(place, ignored -> new ArrayList<>());
    boolean superseded =
        knownLoads.stream()
            .anyMatch(one -> one.isSameFigure(load) && one.windowEndNs() >= load.windowEndNs());
    if (!superseded) {
      knownLoads.removeIf(load::isSameFigure);
      knownLoads.add(load);
    }
  }
}
