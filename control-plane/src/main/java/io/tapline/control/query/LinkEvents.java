package io.tapline.control.query;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.tapline.compiler.access.Scope;
import io.tapline.compiler.taps.PortNames;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;

/**
 * Reads the events of {@code link_load} triggers from queries' event logs. Thread-safe. Every call
 * may throw a {@link redis.clients.jedis.exceptions.JedisException} if Redis can't be reached.
 */
public final class LinkEvents {
  private static final String PARSER = "link_load";
  private static final EventIndex.Kind TRIGGERS =
      new EventIndex.Kind(
          event -> event.path("parser").asText().equals("trigger"),
          LinkEvents::timeNs,
          LinkEvents::timeNs);

  /** The name and value of a field in a group's text. */
  private static final Pattern NAMED = Pattern.compile("(?:^| )(switch|port|side)=(\\S*)");

  /** An absent value in a group's text. */
  private static final String NONE = "-";

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final QueryService queries;
  private final Map<String, EventIndex> logs = new ConcurrentHashMap<>();

  public LinkEvents(QueryService queries) {
    this.queries = queries;
  }

  private static long timeNs(JsonNode event) {
    return event.path("fields").path("ready_ns").asLong();
  }

  /**
   * The events to read.
   *
   * @param fromNs minimum packet time
   * @param toNs maximum packet time; 0 for none
   * @param limit maximum number of events; the latest are returned
   */
  public record EventSelection(long fromNs, long toNs, int limit, Predicate<LinkEvent> events) {}

  /**
   * The caller's rights. A caller sees all events of the queries it owns. For other queries, it
   * sees only the events of links that flows of its subnets use, and only these flows.
   *
   * @param owns selects queries by ID
   * @param scope the caller's subnets; a caller without limits sees only the queries that it owns
   */
  public record Viewer(Predicate<String> owns, Scope scope) {}

  /**
   * Events, the latest first.
   *
   * @param completeSinceNs time before which events may be missing; 0 if none are missing
   */
  public record FoundEvents(List<LinkEvent> events, long completeSinceNs) {
    public FoundEvents {
      events = List.copyOf(events);
    }
  }

  /** The latest events so far. At the limit, a later event replaces the earliest one. */
  private static final class Latest {
    private final PriorityQueue<LinkEvent> events =
        new PriorityQueue<>(Comparator.comparingLong(LinkEvent::timeNs));
    private final int limit;
    private long completeSinceNs;
    private long added;

    Latest(int limit) {
      this.limit = limit;
    }

    void add(LinkEvent event) {
      added++;
      events.add(event);
      if (events.size() > limit) {
        completeSince(events.remove().timeNs() + 1);
      }
    }

    void completeSince(long timeNs) {
      completeSinceNs = Math.max(completeSinceNs, timeNs);
    }

    FoundEvents found() {
      return new FoundEvents(
          events.stream().sorted(Comparator.comparingLong(LinkEvent::timeNs).reversed()).toList(),
          completeSinceNs);
    }
  }

  /** Returns the latest events that the viewer may see. */
  public FoundEvents read(EventSelection wanted, Viewer viewer) {
    List<String> all = queries.list().stream().map(QueryInfo::id).toList();
    logs.keySet().retainAll(all);
    Latest latest = new Latest(wanted.limit());
    for (String query : all) {
      boolean owned = viewer.owns().test(query);
      if (owned || !viewer.scope().isEverything()) {
        Set<Integer> triggers = triggers(query);
        if (!triggers.isEmpty()) {
          read(query, triggers, wanted, owned ? Optional.empty() : Optional.of(viewer), latest);
        }
      }
    }
    return latest.found();
  }

  /** Returns the numbers of the query's {@code link_load} triggers. */
  private Set<Integer> triggers(String query) {
    JsonNode processors =
        queries.plan(query).orElseGet(MAPPER::createObjectNode).path("processors");
    return IntStream.range(0, processors.size())
        .filter(number -> isTrigger(processors.path(number)))
        .boxed()
        .collect(Collectors.toSet());
  }

  private static boolean isTrigger(JsonNode processor) {
    return processor.path("name").asText().equals("trigger")
        && processor.path("parser").asText().equals(PARSER);
  }

  /**
   * Adds events of a query.
   *
   * @param restricted the viewer if it does not own the query; else empty
   */
  private void read(
      String query,
      Set<Integer> triggers,
      EventSelection wanted,
      Optional<Viewer> restricted,
      Latest latest) {
    PortNames ports = queries.planner().ports();
    long toNs = wanted.toNs() == 0 ? Long.MAX_VALUE : wanted.toNs();
    long previousAdded = latest.added;
    long sinceNs =
        logs.computeIfAbsent(query, id -> new EventIndex(id, queries.events().store(), TRIGGERS))
            .read(
                wanted.fromNs(),
                toNs,
                event -> {
                  if (timeNs(event) >= wanted.fromNs()
                      && timeNs(event) <= toNs
                      && triggers.contains(event.path("fields").path("trigger").asInt(-1))) {
                    event(query, event, ports)
                        .flatMap(found -> visible(found, restricted))
                        .filter(wanted.events())
                        .ifPresent(latest::add);
                  }
                });
    // A gap in a log from which the viewer sees no events would reveal the query.
    if (restricted.isEmpty() || latest.added > previousAdded) {
      latest.completeSince(sinceNs);
    }
  }

  private static Optional<LinkEvent> visible(LinkEvent event, Optional<Viewer> restricted) {
    if (restricted.isEmpty()) {
      return Optional.of(event);
    }
    List<LinkFlow> own =
        event.flows().stream().filter(flow -> flow.isWithin(restricted.get().scope())).toList();
    return own.isEmpty() ? Optional.empty() : Optional.of(event.restrictedTo(own));
  }

  /** Parses an event; returns empty if the event names no switch. */
  private static Optional<LinkEvent> event(String query, JsonNode event, PortNames ports) {
    JsonNode fields = event.path("fields");
    JsonNode tuple = json(fields.path("tuple"));
    Map<String, String> names = names(fields, tuple);
    if (!names.containsKey("switch")) {
      return Optional.empty();
    }
    String switchName = names.get("switch");
    String port = names.getOrDefault("port", "");
    return Optional.of(
        new LinkEvent(
            query,
            fields.path("trigger").asInt(),
            switchName,
            port,
            names.getOrDefault("side", ""),
            ports.neighbourAt(switchName, port).orElse(""),
            event.path("made_ns").asLong(),
            fields,
            tuple,
            flows(tuple),
            tuple.path("flows_left_out").isNumber()
                ? OptionalLong.of(tuple.path("flows_left_out").asLong())
                : OptionalLong.empty()));
  }

  /** Returns the tap's names from the tuple, or else from the group. */
  private static Map<String, String> names(JsonNode fields, JsonNode tuple) {
    Map<String, String> names = new HashMap<>();
    if (tuple.isMissingNode()) {
      Matcher group = NAMED.matcher(fields.path("group").asText(""));
      while (group.find()) {
        names.put(group.group(1), group.group(2));
      }
      names.values().removeIf(NONE::equals);
      return names;
    }
    for (String name : List.of("switch", "port", "side")) {
      if (tuple.path(name).isTextual()) {
        names.put(name, tuple.path(name).asText());
      }
    }
    return names;
  }

  private static List<LinkFlow> flows(JsonNode tuple) {
    return StreamSupport.stream(json(tuple.path("flows")).spliterator(), false)
        .map(LinkFlow::of)
        .flatMap(Optional::stream)
        .toList();
  }

  /** Parses a string field; returns a missing node if it is absent or not JSON. */
  private static JsonNode json(JsonNode text) {
    try {
      return text.isTextual() ? MAPPER.readTree(text.asText()) : MissingNode.getInstance();
    } catch (JsonProcessingException e) {
      return MissingNode.getInstance();
    }
  }
}
