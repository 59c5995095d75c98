package io.tapline.control.query;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.compiler.taps.PortNames;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * Reads queue bursts from queries' event logs. Thread-safe. {@link #measuring()} and {@link #read}
 * throw a {@link redis.clients.jedis.exceptions.JedisException} if Redis can't be reached.
 */
public final class QueueBursts {
  /** A queue that packets report (INT): SWITCH-ID:PORT[.QUEUE-ID]. */
  private static final Pattern REPORTED = Pattern.compile("[0-9]+:[0-9]+([.][0-9]+)?");

  private static final String PARSER = "queue_burst";
  private static final EventIndex.Kind BURSTS =
      new EventIndex.Kind(
          event -> event.path("parser").asText().equals(PARSER),
          QueueBursts::beginNs,
          event -> beginNs(event) + event.path("fields").path("duration_ns").asLong());

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final QueryService queries;
  private final Map<String, EventIndex> logs = new ConcurrentHashMap<>();

  public QueueBursts(QueryService queries) {
    this.queries = queries;
  }

  private static long beginNs(JsonNode event) {
    return event.path("fields").path("begin_ns").asLong();
  }

  /**
   * Resolves SWITCH:NEIGHBOUR or SWITCH:PORT with the inventory's network. A switch that is given
   * by its ID, as packets report it (INT), need not be in the network.
   *
   * @return the queue's name, as in AT or in tuples
   * @throws IllegalArgumentException if it is not such a name, or the network lacks the switch or
   *     the port; the message lists what exists
   */
  public String resolve(String written) {
    String[] parts = written.split(":", -1);
    if (parts.length != 2 || parts[0].isEmpty() || parts[1].isEmpty()) {
      throw new IllegalArgumentException(
          "'%s' is not a queue; expected SWITCH:NEIGHBOUR or SWITCH:PORT-NUMBER"
              .formatted(written));
    }
    PortNames.Result result = ports().resolve(parts[0], parts[1]);
    if (result instanceof PortNames.Problem problem) {
      if (REPORTED.matcher(written).matches() && ports().checkSwitch(parts[0]).isPresent()) {
        return written;
      }
      throw new IllegalArgumentException(problem.message() + "; expected " + problem.expected());
    }
    PortNames.Port port = (PortNames.Port) result;
    return port.switchName() + ":" + port.port();
  }

  private PortNames ports() {
    return queries.planner().ports();
  }

  /** Returns the switch or host at the other end of a queue's link; empty if it is unknown. */
  public String neighbour(String queue) {
    String[] parts = queue.split(":", -1);
    return parts.length < 2 ? "" : ports().neighbourAt(parts[0], parts[1]).orElse("");
  }

  /**
   * A query that reports bursts.
   *
   * @param queues the queues that its AT names; empty if it measures every queue with two taps, and
   *     every queue that packets report
   * @param flow value of its argument {@code flow}; empty if its plan has none
   */
  public record MeasuredQueues(String query, List<String> queues, String flow) {
    public MeasuredQueues {
      queues = List.copyOf(queues);
    }

    /** Returns true if the query may have measured a queue. */
    public boolean measures(String queue) {
      return queues.isEmpty() || queues.contains(queue);
    }
  }

  /** Returns the kept queries that report bursts, the latest first. */
  public List<MeasuredQueues> measuring() {
    List<MeasuredQueues> found =
        queries.list().stream().map(QueryInfo::id).flatMap(this::measuring).toList();
    logs.keySet().retainAll(found.stream().map(MeasuredQueues::query).toList());
    return found;
  }

  private Stream<MeasuredQueues> measuring(String query) {
    JsonNode plan = queries.plan(query).orElseGet(MAPPER::createObjectNode);
    boolean parses =
        StreamSupport.stream(plan.path("parsers").spliterator(), false)
            .anyMatch(parser -> parser.asText().equals(PARSER));
    List<String> queues =
        StreamSupport.stream(plan.path("queues").spliterator(), false)
            .map(port -> port.path("switch_name").asText() + ":" + port.path("port").asText())
            .toList();
    return parses ? Stream.of(new MeasuredQueues(query, queues, flow(plan))) : Stream.empty();
  }

  private static String flow(JsonNode plan) {
    for (JsonNode argument : plan.path("arguments")) {
      if (argument.path("parser").asText().equals(PARSER)
          && argument.path("name").asText().equals("flow")) {
        return argument.path("value").asText();
      }
    }
    return "";
  }

  /**
   * Passes the events of a query's latest bursts between two times to the sink, each with its
   * queue, in log order. May also pass other events of the log.
   *
   * @param toNs 0 for no end
   * @return the time from which the events are complete: bursts that ended earlier may be missing;
   *     0 if none are missing
   */
  public long read(String query, long fromNs, long toNs, BiConsumer<String, JsonNode> sink) {
    PortNames ports = ports();
    return logs.computeIfAbsent(query, id -> new EventIndex(id, queries.events().store(), BURSTS))
        .read(
            fromNs,
            toNs == 0 ? Long.MAX_VALUE : toNs,
            event -> sink.accept(ports.place(event.path("fields").path("queue").asText()), event));
  }
}
