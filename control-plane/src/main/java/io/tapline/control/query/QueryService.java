package io.tapline.control.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.compiler.Catalogue;
import io.tapline.compiler.CompileResult;
import io.tapline.compiler.Compiler;
import io.tapline.compiler.Inventory;
import io.tapline.compiler.Note;
import io.tapline.compiler.Rights;
import io.tapline.compiler.network.Network;
import io.tapline.compiler.network.NetworkPlan;
import io.tapline.control.PipelineException;
import io.tapline.control.ProgressListener;
import io.tapline.control.accounting.MirrorAccounting;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.schema.proto.Plan;
import io.tapline.sdn.mirror.NetworkAdapter;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import org.apache.flink.api.common.JobID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.exceptions.JedisException;

/** Takes queries, runs them, and tells of them. Thread-safe. */
public final class QueryService implements AutoCloseable {
  /** Ended queries whose results are kept. */
  public static final int MOST_KEPT = 100;

  /** What queries need, as {@link #faults} and metrics call it. */
  public static final List<String> SERVICES = List.of("kafka", "flink", "redis");

  private static final Logger LOG = LoggerFactory.getLogger(QueryService.class);
  private static final DateTimeFormatter ID_TIME =
      DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss", Locale.ROOT).withZone(ZoneOffset.UTC);

  private final Backend backend;
  private final Catalogue catalogue;
  private final Inventory inventory;
  private final QueryPlacements placements;
  private final QueryStore store;
  private final Topics topics;
  private final TopicKeeper topicKeeper;
  private final Readiness readiness;
  private final Monitors monitors;
  private final MirrorAccounting accounting = new MirrorAccounting();
  private final Runs runs;
  private final Map<String, LiveQuery> running = new ConcurrentHashMap<>();
  private volatile StateStore state = new MemoryStateStore();
  private boolean closed;
  private boolean detached;

  /**
   * A service.
   *
   * @param network of the inventory: where queries are placed and by which rules mirrored
   */
  public QueryService(
      Backend backend, Catalogue catalogue, Inventory inventory, Optional<Network> network)
      throws PipelineException {
    this.backend = backend;
    this.catalogue = catalogue;
    this.inventory = inventory;
    this.placements = new QueryPlacements(network);
    this.store = new QueryStore(backend.endpoints());
    this.topics = new Topics(backend.endpoints());
    this.topicKeeper = new TopicKeeper(topics, backend.topics());
    this.readiness = new Readiness(services());
    this.monitors = new Monitors(backend);
    this.runs =
        new Runs(backend, store, topicKeeper, monitors, placements, accounting, running::size);
  }

  /**
   * From now on this network's switches mirror what running queries want, and only that.
   *
   * @param hosts whose monitors get it; null: nobody's
   */
  public void mirrorThrough(NetworkAdapter adapter, AgentRegistry hosts) {
    placements.mirrorThrough(adapter);
    if (hosts != null) {
      accounting.begin(adapter, hosts);
    }
  }

  /** Wants to hear of hosts' leases. */
  public MirrorAccounting accounting() {
    return accounting;
  }

  /** Asks Kafka and Redis for an answer. */
  public void requireServices() throws PipelineException {
    topics.requireReachable();
    if (!store.reachable()) {
      throw new PipelineException(
          PipelineException.Kind.RESOURCES,
          "no Redis answers at %s:%d: check that it runs and that the address is right"
              .formatted(backend.endpoints().redisHost(), backend.endpoints().redisPort()));
    }
  }

  /** The parsers that queries can name. */
  public Catalogue catalogue() {
    return catalogue;
  }

  private CompileResult compile(String text, Rights rights) {
    return Compiler.compile(
        text, catalogue, inventory, Compiler.Options.local(newId(rights.tenant()), rights));
  }

  /**
   * What a query would do.
   *
   * @param result with the monitors and rules of the network, if there is one
   * @param placement in the network, beside the queries that run
   */
  public record Explanation(CompileResult result, Optional<NetworkPlan> placement) {}

  /**
   * Compiles without running.
   *
   * @param source what the query would look at, if it can be submitted
   */
  public Explanation explain(String text, Rights rights, Optional<Source> source) {
    CompileResult local = compile(text, rights);
    if (local.plan().isEmpty()) {
      return new Explanation(local, Optional.empty());
    }
    Plan plan = local.plan().get();
    Optional<AgentRegistry> hosts = source.flatMap(Source::hosts);
    Optional<AgentRegistry> mirrored = hosts.filter(any -> placements.mirrors());
    QueryPlacements.Outcome outcome =
        placements.tried(plan.getQuery(), plan.getMatch(), mirrored.map(RemoteMonitors::up));
    Plan placed =
        outcome
            .plan()
            .map(
                place ->
                    mirrored.isEmpty() ? advised(plan, place) : RemoteMonitors.placed(plan, place))
            .or(() -> hosts.map(agents -> RemoteMonitors.everywhere(plan, agents)))
            .orElse(plan);
    List<Note> notes = new ArrayList<>(notes(local, outcome));
    source
        .map(Source::unavailable)
        .filter(reason -> !reason.isEmpty())
        .ifPresent(reason -> notes.add(Note.warning(reason)));
    return new Explanation(
        new CompileResult(Optional.of(placed), notes, List.of()), outcome.plan());
  }

  /** As it would be if somebody mirrored. */
  private static Plan advised(Plan plan, NetworkPlan network) {
    return plan.toBuilder()
        .clearMonitors()
        .addAllMonitors(network.placed().monitors())
        .clearRules()
        .addAllRules(network.placed().rules())
        .build();
  }

  private static List<Note> notes(CompileResult compiled, QueryPlacements.Outcome outcome) {
    List<Note> notes = new ArrayList<>(compiled.notes());
    if (!outcome.refusal().isEmpty()) {
      notes.add(Note.warning(outcome.refusal()));
    }
    return notes;
  }

  /**
   * Compiles a query and starts it.
   *
   * @return its ID; whether it then runs, {@link #find} tells
   */
  public String submit(String text, Source source, ProgressListener progress)
      throws QueryRejected, TooManyQueries {
    return submit(text, source, progress, Rights.ALL, mostRunning());
  }

  /**
   * The same for somebody with these rights.
   *
   * @param most of the tenant's queries that run at once
   */
  public String submit(
      String text, Source source, ProgressListener progress, Rights rights, int most)
      throws QueryRejected, TooManyQueries {
    CompileResult compiled = compile(text, rights);
    if (compiled.plan().isEmpty()) {
      throw new QueryRejected(text, compiled.errors());
    }
    Plan local = compiled.plan().get();
    // Mirrored packets come to agents' monitors: only where there are agents.
    Optional<AgentRegistry> mirrored = source.hosts().filter(hosts -> placements.mirrors());
    QueryPlacements.Outcome outcome =
        placements.add(local.getQuery(), local.getMatch(), mirrored.map(RemoteMonitors::up));
    Optional<NetworkPlan> place = outcome.plan().filter(found -> mirrored.isPresent());
    Plan plan = planned(local, source, place);
    QueryInfo query =
        new QueryInfo(
            plan.getQuery(),
            plan.getText(),
            QueryState.SUBMITTED,
            LiveQuery.nowNs(),
            0,
            0,
            "",
            messages(compiled, outcome, plan, source));
    QueryRecord record =
        new QueryRecord(
            query,
            QueryStep.SUBMITTED,
            new JobID().toHexString(),
            plan,
            mirrored.isPresent(),
            source.hosts().isEmpty()
                ? List.of()
                : RemoteMonitors.parts(plan, place.map(NetworkPlan::parts).orElse(Map.of())),
            false);
    String refusal = mirrored.isPresent() && place.isEmpty() ? outcome.refusal() : "";
    LiveQuery live = runs.of(state, record, new Runs.Start(false, refusal, source), progress);
    reserve(live, rights, most);
    start(live);
    return query.id();
  }

  /**
   * Makes room in the network for what an earlier control plane left, where it had it. To be called
   * before switches are told anything.
   */
  public void restorePlaces(List<QueryRecord> left) {
    for (QueryRecord record : left) {
      if (record.mirrored() && record.step() != QueryStep.ENDING) {
        QueryPlacements.Outcome outcome =
            placements.add(record.id(), record.plan().getMatch(), Optional.of(record.hosts()));
        Set<String> hosts = outcome.plan().map(plan -> plan.parts().keySet()).orElse(Set.of());
        if (!hosts.equals(record.hosts())) {
          LOG.error(
              "{} was at {} and can't be there again: {}",
              record.id(),
              record.hosts(),
              outcome.refusal());
        }
      }
    }
  }

  /**
   * Goes on with what an earlier control plane left. REQUIRES: {@link #restorePlaces}; nothing was
   * submitted yet, and the registry does not listen.
   */
  public void resume(List<QueryRecord> left, StateStore from, Source source) {
    state = from;
    for (QueryRecord record : left) {
      LOG.info("going on with {}, which was {}", record.id(), record.step());
      LiveQuery live =
          runs.of(state, record, new Runs.Start(true, "", source), ProgressListener.SILENT);
      running.put(live.id(), live);
      live.rewriteAs(record.info());
      if (record.stopping()) {
        live.run().stop();
      }
      boolean over = record.step() == QueryStep.ENDING;
      begin(live, over ? () -> finish(live, record.info()) : () -> run(live));
    }
  }

  /** How it ended was known; what it used may be there still. */
  private void finish(LiveQuery live, QueryInfo end) {
    try {
      live.run().cleanUpAfter();
    } catch (PipelineException e) {
      LOG.warn("cleaning up after {}: {}", live.id(), e.getMessage());
    } finally {
      live.rewriteAs(end);
      end(live);
    }
  }

  private static List<String> messages(
      CompileResult compiled, QueryPlacements.Outcome outcome, Plan plan, Source source) {
    List<Note> notes = notes(compiled, outcome);
    source
        .hosts()
        .flatMap(hosts -> Clocks.note(plan, hosts.states()))
        .ifPresent(note -> notes.add(Note.warning(note)));
    return notes.stream().map(Note::message).toList();
  }

  private static Plan planned(Plan local, Source source, Optional<NetworkPlan> place) {
    return place
        .map(network -> RemoteMonitors.placed(local, network))
        .or(() -> source.hosts().map(hosts -> RemoteMonitors.everywhere(local, hosts)))
        .orElse(local);
  }

  private synchronized void reserve(LiveQuery live, Rights rights, int most) throws TooManyQueries {
    if (closed || running.size() >= mostRunning()) {
      placements.remove(live.id());
      throw new TooManyQueries(mostRunning());
    }
    if (running.keySet().stream().filter(rights::owns).count() >= most) {
      placements.remove(live.id());
      throw new TooManyQueries(rights.tenant(), most);
    }
    running.put(live.id(), live);
  }

  private void start(LiveQuery live) {
    try {
      live.submitted();
    } catch (RuntimeException e) {
      placements.remove(live.id());
      running.remove(live.id());
      live.forgotten();
      live.end().complete(null);
      throw e;
    }
    begin(live, () -> run(live));
  }

  private static void begin(LiveQuery live, Runnable work) {
    Thread thread = new Thread(work, "query-" + live.id());
    thread.setDaemon(true);
    thread.start();
  }

  private void run(LiveQuery live) {
    try {
      live.enter(QueryState.STARTING, "");
      ended(live, live.run().run(), "");
    } catch (PipelineException e) {
      LOG.info("query {} failed", live.id(), e);
      ended(live, QueryState.FAILED, e.getMessage());
    } catch (RuntimeException e) {
      LOG.error("query {} failed", live.id(), e);
      ended(live, QueryState.FAILED, "internal error: " + e);
    } finally {
      end(live);
    }
  }

  /** Who sees that it has ended sees no rules of it. */
  private void ended(LiveQuery live, QueryState state, String error) {
    placements.remove(live.id());
    live.enter(state, error);
  }

  /** The store is used no more once the end is complete: {@link #close} may be waiting for it. */
  private void end(LiveQuery live) {
    try {
      forgetOldest();
    } finally {
      placements.remove(live.id());
      running.remove(live.id());
      live.forgotten();
      live.end().complete(null);
    }
  }

  /** Fails every query that runs: something that all of them need is gone, or was. */
  public void failAll(String reason) {
    for (LiveQuery live : running.values()) {
      try {
        live.rewrite();
      } catch (JedisException e) {
        LOG.error("query {} can't be written to Redis", live.id(), e);
      }
      live.run().abort(reason);
    }
  }

  private void forgetOldest() {
    try {
      list().stream()
          .filter(query -> query.state().ended())
          .skip(MOST_KEPT)
          .forEach(
              query ->
                  store.remove(
                      query.id(),
                      store.plan(query.id()).map(p -> p.path("processors").size()).orElse(0)));
    } catch (JedisException e) {
      LOG.error("old queries can't be removed from Redis", e);
    }
  }

  public Optional<QueryInfo> find(String id) {
    LiveQuery live = running.get(id);
    return live != null ? Optional.of(live.shown()) : store.find(id);
  }

  /** Latest first. */
  public List<QueryInfo> list() {
    return store.list(id -> Optional.ofNullable(running.get(id)).map(LiveQuery::shown));
  }

  /** A running query's place in the network; empty if it has none. */
  public Optional<NetworkPlan> placement(String id) {
    return placements.find(id);
  }

  /** The plan that a query runs. */
  public Optional<JsonNode> plan(String id) {
    LiveQuery live = running.get(id);
    return live != null ? Optional.of(live.plan()) : store.plan(id);
  }

  /**
   * Asks a query to end with what it has seen; nothing happens to one that has ended or was never
   * there.
   */
  public void stop(String id) {
    LiveQuery live = running.get(id);
    if (live != null) {
      live.stop();
    }
  }

  /** Waits until the query has ended and everything of it but its results is gone. */
  public QueryInfo awaitEnd(String id) {
    LiveQuery live = running.get(id);
    if (live != null) {
      live.end().join();
    }
    return find(id).orElseThrow(() -> new NoSuchElementException("no query " + id));
  }

  /** The latest window of each processor that has one. */
  public List<WindowResult> latestWindows(String id) {
    return store.latestWindows(id);
  }

  /**
   * Windows written after an entry ({@code ""}: all), a page at a time, in the order of writing.
   */
  public List<WindowResult> windowsAfter(String id, String entry) {
    return store.windowsAfter(id, entry);
  }

  /** Windows that are kept. */
  public long windowCount(String id) {
    return store.windowCount(id);
  }

  /** Entry of the last window; empty where there is none. */
  public String lastWindow(String id) {
    return store.lastWindow(id);
  }

  /** All result rows that are kept, in the order of windows. */
  public List<JsonNode> rows(String id) {
    List<JsonNode> rows = new ArrayList<>();
    String last = "";
    for (List<WindowResult> page = windowsAfter(id, last);
        !page.isEmpty();
        page = windowsAfter(id, last)) {
      for (WindowResult window : page) {
        window.rows().forEach(rows::add);
        last = window.entry();
      }
    }
    return rows;
  }

  /** Counters over the whole query, as completeness is written. */
  public JsonNode totals(String id) {
    return store.totals(id);
  }

  /** Of Kafka: where monitors on hosts send tuples. */
  public String hostBrokers() {
    return backend.hostBrokers();
  }

  /** Queries under way. */
  public int runningCount() {
    return running.size();
  }

  /** As many as may be under way at once. */
  public int mostRunning() {
    return backend.mostQueries();
  }

  /** Monitor processes under way; one on an interface serves many queries that look at it. */
  public int monitorCount() {
    return monitors.running();
  }

  /** What is wrong with each service that queries need; an empty text for one that is well. */
  public Map<String, String> faults() {
    return readiness.faults();
  }

  /** The same as it was found last, at once; without services that nobody has asked yet. */
  public Map<String, String> lastFaults() {
    return readiness.lastFaults();
  }

  /** Whether what queries need does its part. */
  public boolean ready() {
    return faults().values().stream().allMatch(String::isEmpty);
  }

  private Map<String, Supplier<String>> services() {
    List<Supplier<String>> asked =
        List.of(
            () -> topics.reachable() ? "" : "does not answer",
            () -> backend.flink().isRunning() ? "" : "does not answer",
            store::fault);
    Map<String, Supplier<String>> services = new LinkedHashMap<>();
    for (int i = 0; i < asked.size(); i++) {
      services.put(SERVICES.get(i), asked.get(i));
    }
    return services;
  }

  private static String newId(String tenant) {
    return "%s-%s-%06x"
        .formatted(
            tenant, ID_TIME.format(Instant.now()), ThreadLocalRandom.current().nextInt(1 << 24));
  }

  /** Stops every query and waits for their ends; takes none from now on. */
  public void stopAll() {
    List<LiveQuery> all;
    synchronized (this) {
      closed = true;
      all = detached ? List.of() : List.copyOf(running.values());
    }
    all.forEach(live -> live.run().stop());
    all.forEach(live -> live.end().join());
  }

  /** Leaves every query as it is, for another control plane; takes none from now on. */
  public synchronized void detach() {
    closed = true;
    detached = true;
    running.values().forEach(live -> live.run().detach());
  }

  /** Stops every query that was not left to others. */
  @Override
  public void close() {
    stopAll();
    monitors.close();
    readiness.close();
    accounting.close();
    topicKeeper.close();
    topics.close();
    store.close();
  }
}
