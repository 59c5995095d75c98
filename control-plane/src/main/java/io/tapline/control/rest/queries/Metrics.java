package io.tapline.control.rest.queries;

import io.javalin.http.Context;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.QueryState;
import io.tapline.control.query.Services;
import io.tapline.control.registry.AgentState;
import io.tapline.control.registry.ClockOffset;
import io.tapline.control.rest.events.EventStreams;
import io.tapline.control.rest.http.Route;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.exceptions.JedisException;

/** Metrics for Prometheus. Thread-safe. */
public final class Metrics implements AutoCloseable {
  public static final String MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8";

  private static final Logger LOG = LoggerFactory.getLogger(Metrics.class);
  private static final String ROUTE = "tapline.route";

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final JvmGcMetrics garbageCollection = new JvmGcMetrics();
  private final AtomicInteger active = new AtomicInteger();
  private final QueryService queries;
  private final Counter submitted;
  private volatile Map<QueryState, Double> byState = Map.of();
  private volatile Map<String, String> faults = Map.of();

  public Metrics(QueryService queries, EventStreams streams, Supplier<List<AgentState>> agents) {
    this.queries = queries;
    submitted =
        Counter.builder("tapline.queries.submitted")
            .description("Queries accepted")
            .register(registry);
    for (Rejection reason : Rejection.values()) {
      rejectedBy(reason);
    }
    for (QueryState state : QueryState.allShown()) {
      Gauge.builder("tapline.queries", () -> byState.getOrDefault(state, Double.NaN))
          .description("Stored queries, by state; NaN while Redis does not answer")
          .tag("state", state.text())
          .register(registry);
    }
    for (String service : Services.NAMES) {
      Gauge.builder("tapline.service.ready", () -> ready(faults.get(service)))
          .description("1 if a service that queries need is reachable and accepts data")
          .tag("service", service)
          .register(registry);
    }
    Gauge.builder("tapline.kafka.disk.free.ratio", queries.services()::kafkaDiskFree)
        .description("Free share of the broker's fullest disk")
        .register(registry);
    Gauge.builder("tapline.agents.clocks.apart", () -> clockDifference(agents.get()))
        .description("Lower bound of the clock difference between hosts with agents")
        .baseUnit("seconds")
        .register(registry);
    Gauge.builder("tapline.queries.running", queries::runningCount)
        .description("Running queries of this process")
        .register(registry);
    Gauge.builder("tapline.monitors.running", queries::monitorCount)
        .description("Running monitor processes that read capture files")
        .register(registry);
    Gauge.builder("tapline.event.streams", streams::open)
        .description("Open event streams")
        .register(registry);
    Gauge.builder("tapline.http.active", active::get)
        .description("Requests in progress")
        .register(registry);
    new JvmMemoryMetrics().bindTo(registry);
    new JvmThreadMetrics().bindTo(registry);
    garbageCollection.bindTo(registry);
  }

  /** Exports the expiry of this server's certificate. */
  public void certificateEnds(Instant notAfter) {
    Gauge.builder("tapline.certificate.not.after.timestamp", notAfter::getEpochSecond)
        .description("Expiry of this process's certificates, by purpose, as Unix time")
        .tag("purpose", "rest")
        .baseUnit("seconds")
        .strongReference(true)
        .register(registry);
  }

  private static double clockDifference(List<AgentState> agents) {
    return ClockOffset.differenceNs(
            agents.stream()
                .filter(agent -> agent.up() && agent.clock() != null)
                .map(AgentState::clock)
                .toList())
        / 1e9;
  }

  /** The reason why a query was rejected. */
  enum Rejection {
    /** The query does not compile. */
    WRONG,
    /** The maximum number of queries is already running. */
    TOO_MANY,
    /** The server captures no traffic. */
    NO_DATA_PATH
  }

  void submitted() {
    submitted.increment();
  }

  void rejected(Rejection reason) {
    rejectedBy(reason).increment();
  }

  private Counter rejectedBy(Rejection reason) {
    return Counter.builder("tapline.queries.rejected")
        .description("Rejected queries, by reason")
        .tag("reason", reason.name().toLowerCase(Locale.ROOT))
        .register(registry);
  }

  /** Counts a request as in progress, until {@link #request} is called. */
  public void begin() {
    active.incrementAndGet();
  }

  /**
   * Records the route that serves a request: its template, since the number of paths is unbounded.
   */
  public static void route(Context ctx, Route route) {
    ctx.attribute(ROUTE, route.path());
  }

  public void request(Context ctx, float milliseconds) {
    active.decrementAndGet();
    String route = ctx.attribute(ROUTE);
    String method = ctx.method().isHttpMethod() ? ctx.method().name() : "other";
    Timer.builder("tapline.http.requests")
        .description("Requests answered")
        .tag("method", method)
        .tag("route", route == null ? "none" : route)
        .tag("status", Integer.toString(ctx.statusCode()))
        .register(registry)
        .record(Duration.ofNanos((long) (milliseconds * 1e6)));
  }

  /** Returns all metrics in Prometheus's format. */
  public String scrape() {
    faults = queries.services().lastFaults();
    byState = countByState();
    return registry.scrape();
  }

  private static double ready(String fault) {
    return fault == null ? Double.NaN : fault.isEmpty() ? 1 : 0;
  }

  private Map<QueryState, Double> countByState() {
    try {
      Map<QueryState, Double> counts = new EnumMap<>(QueryState.class);
      for (QueryState state : QueryState.allShown()) {
        counts.put(state, 0.0);
      }
      for (QueryInfo query : queries.list()) {
        counts.merge(query.state(), 1.0, Double::sum);
      }
      return counts;
    } catch (JedisException e) {
      LOG.warn("can't count queries: {}", e.getMessage());
      return Map.of();
    }
  }

  @Override
  public void close() {
    garbageCollection.close();
    registry.close();
  }
}
