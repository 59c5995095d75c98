package io.tapline.control.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.compiler.Catalogue;
import io.tapline.compiler.Inventory;
import io.tapline.compiler.Rights;
import io.tapline.compiler.network.Network;
import io.tapline.compiler.network.NetworkPlan;
import io.tapline.compiler.network.StreamLayout;
import io.tapline.control.PipelineException;
import io.tapline.control.ProgressListener;
import io.tapline.control.accounting.MirrorAccounting;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.flink.Login;
import io.tapline.schema.proto.Stream;
import io.tapline.sdn.mirror.NetworkAdapter;
import io.tapline.sdn.mirror.NetworkStatus;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.exceptions.JedisException;

/** Takes queries, runs them, and tells of them. Thread-safe. */
public final class QueryService implements AutoCloseable {
  /** Ended queries whose results are kept. */
  public static final int MOST_KEPT = 100;

  private static final Logger LOG = LoggerFactory.getLogger(QueryService.class);
  private static final long REWRITE_MS = 1_000;

  private final Backend backend;
  private final QueryPlacements placements;
  private final StreamSites sites;
  private final QueryPlanner planner;
  private final QueryStore store;
  private final Topics topics;
  private final TopicKeeper topicKeeper;
  private final Services services;
  private final Monitors monitors;
  private final MirrorAccounting accounting = new MirrorAccounting();
  private final Runs runs;
  private final Map<String, LiveQuery> running = new ConcurrentHashMap<>();
  private volatile StateStore state = new MemoryStateStore();

  /** Queries that an earlier control plane left and that have lost their places, and why. */
  private final Map<String, String> displaced = new ConcurrentHashMap<>();

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
    this.placements = new QueryPlacements(network);
    this.store = new QueryStore(backend.endpoints().redis(), backend.jobKey());
    this.topics = new Topics(backend.endpoints().kafka(), backend.access());
    this.sites = new StreamSites(network, topics, backend.flink());
    this.planner = new QueryPlanner(catalogue, inventory, placements, sites, topics);
    this.topicKeeper = new TopicKeeper(topics, backend.topics());
    this.services = new Services(backend, topics, store);
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

  /** What texts would do. */
  public QueryPlanner planner() {
    return planner;
  }

  /** What queries need. */
  public Services services() {
    return services;
  }

  /** What queries have found. */
  public QueryResults results() {
    return store.results();
  }

  /**
   * Compiles a query and starts it.
   *
   * @return its ID; whether it then runs, {@link #find} tells
   * @throws PipelineException if Kafka does not tell whether the topics of its alerts are there
   */
  public String submit(String text, Source source, ProgressListener progress)
      throws QueryRejected, TooManyQueries, PipelineException {
    return submit(text, source, progress, Rights.ALL, mostRunning());
  }

  /**
   * The same for somebody with these rights.
   *
   * @param most of the tenant's queries that run at once
   */
  public String submit(
      String text, Source source, ProgressListener progress, Rights rights, int most)
      throws QueryRejected, TooManyQueries, PipelineException {
    QueryPlanner.Submission submission = planner.submission(text, source, rights);
    Runs.Start how = new Runs.Start(false, submission.refusal(), source);
    LiveQuery live = runs.of(state, submission.record(), how, progress);
    reserve(live, rights, most);
    start(live);
    return live.id();
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
          displaced.put(
              record.id(),
              "it was mirrored to %s, which can't be so again%s: submit it anew"
                  .formatted(
                      String.join(", ", record.hosts()),
                      outcome.refusal().isEmpty() ? "" : " (" + outcome.refusal() + ")"));
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
      Optional.ofNullable(displaced.get(record.id())).ifPresent(live.run()::abort);
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
    } catch (Throwable e) {
      // Errors, too: clients wait for the query's end.
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
    boolean written = awaitWritten(live);
    try {
      forgetOldest();
    } finally {
      placements.remove(live.id());
      running.remove(live.id());
      // Else whoever leads next writes how it ended.
      if (written) {
        live.forgotten();
      }
      live.end().complete(null);
    }
  }

  /** One that ended while Redis was away would be called running for ever, once it is back. */
  private boolean awaitWritten(LiveQuery live) {
    try {
      while (!live.written()) {
        synchronized (this) {
          if (closed) {
            return false;
          }
          wait(REWRITE_MS);
        }
      }
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
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
    Stream stream =
        Optional.ofNullable(running.get(id))
            .map(LiveQuery::stream)
            .orElseGet(Stream::getDefaultInstance);
    return placements.find(id).map(plan -> StreamLayout.of(plan, stream));
  }

  /** The inventory's network, if it has one. */
  public Optional<Network> network() {
    return placements.network();
  }

  /** What is known of that network's switches; empty if they are not this one's. */
  public Optional<NetworkStatus> switches() {
    return placements.switches();
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

  /** Of Kafka: where monitors on hosts send tuples. */
  public String hostBrokers() {
    return backend.hostBrokers();
  }

  /** How the monitor of a host logs in there; none if brokers want none. */
  public Login hostLogin(String host) {
    return backend.access().hostLogin(host);
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

  /** Stops every query and waits for their ends; takes none from now on. */
  public void stopAll() {
    List<LiveQuery> all;
    synchronized (this) {
      closed = true;
      notifyAll();
      all = detached ? List.of() : List.copyOf(running.values());
    }
    all.forEach(live -> live.run().stop());
    all.forEach(live -> live.end().join());
  }

  /** Leaves every query as it is, for another control plane; takes none from now on. */
  public synchronized void detach() {
    closed = true;
    detached = true;
    notifyAll();
    running.values().forEach(live -> live.run().detach());
  }

  /** Stops every query that was not left to others. */
  @Override
  public void close() {
    stopAll();
    monitors.close();
    services.close();
    sites.close();
    accounting.close();
    topicKeeper.close();
    topics.close();
    store.close();
  }
}
