package io.tapline.control.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.compiler.Inventory;
import io.tapline.compiler.access.Rights;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.network.NetworkPlan;
import io.tapline.compiler.network.StreamLayout;
import io.tapline.control.PipelineException;
import io.tapline.control.ProgressListener;
import io.tapline.control.accounting.MirrorAccounting;
import io.tapline.control.query.monitors.Monitors;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.query.services.Backend;
import io.tapline.control.query.services.StreamSites;
import io.tapline.control.query.services.TopicKeeper;
import io.tapline.control.query.services.Topics;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.flink.Login;
import io.tapline.network.Network;
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

/** Accepts, runs and reports queries. Thread-safe. */
public final class QueryService implements AutoCloseable {
  /** Number of ended queries whose results are kept. */
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

  /**
   * Queries that an earlier control plane left and that lost their resources in the network, with
   * the reason.
   */
  private final Map<String, String> displaced = new ConcurrentHashMap<>();

  private boolean closed;
  private boolean detached;

  /**
   * A service.
   *
   * @param network network of the inventory, in which queries are placed and mirrored
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
   * From now on, the switches of this network mirror exactly what running queries need.
   *
   * @param hosts agents whose monitors receive the copies; null if there are none
   */
  public void mirrorThrough(NetworkAdapter adapter, AgentRegistry hosts) {
    placements.mirrorThrough(adapter);
    if (hosts != null) {
      accounting.begin(adapter, hosts);
    }
  }

  /** Returns the accounting of mirrored packets, which must be notified of hosts' leases. */
  public MirrorAccounting accounting() {
    return accounting;
  }

  /** Returns the planner, which explains texts. */
  public QueryPlanner planner() {
    return planner;
  }

  /** Returns the services that queries depend on. */
  public Services services() {
    return services;
  }

  /** Returns the results of queries. */
  public QueryResults results() {
    return store.results();
  }

  /**
   * Compiles a query and starts it.
   *
   * @return its ID; {@link #find} returns its state from then on
   * @throws PipelineException if Kafka can't say which topics of its alerts exist
   */
  public String submit(String text, Source source, ProgressListener progress)
      throws QueryRejected, TooManyQueries, PipelineException {
    return submit(text, source, progress, Rights.ALL, mostRunning());
  }

  /**
   * Does the same for a caller with these rights.
   *
   * @param most maximum number of the tenant's queries that run at once
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
   * Reserves the network's resources again for the queries that an earlier control plane left. Call
   * it before switches are updated.
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
   * Resumes the queries that an earlier control plane left. REQUIRES: {@link #restorePlaces} was
   * called, no query was submitted yet, and the registry does not listen.
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

  /** Finishes a query whose end was already recorded; some of its resources may still exist. */
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
      // Catches errors, too: clients wait for the query's end.
      LOG.error("query {} failed", live.id(), e);
      ended(live, QueryState.FAILED, "internal error: " + e);
    } finally {
      end(live);
    }
  }

  /** Removes the rules first, so that a query seen as ended has none. */
  private void ended(LiveQuery live, QueryState state, String error) {
    placements.remove(live.id());
    live.enter(state, error);
  }

  /** The store is not used after the end has completed: {@link #close} may be waiting for that. */
  private void end(LiveQuery live) {
    boolean written = awaitWritten(live);
    try {
      forgetOldest();
    } finally {
      placements.remove(live.id());
      running.remove(live.id());
      // If it is not written, the next leader records the end.
      if (written) {
        live.forgotten();
      }
      live.end().complete(null);
    }
  }

  /**
   * Waits until the end is in Redis: a query that ended during an outage of Redis would otherwise
   * be shown as running forever.
   */
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

  /** Fails every running query, because something that all of them depend on is or was gone. */
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

  /** Returns all queries, latest first. */
  public List<QueryInfo> list() {
    return store.list(id -> Optional.ofNullable(running.get(id)).map(LiveQuery::shown));
  }

  /** Returns a running query's placement in the network; empty if it has none. */
  public Optional<NetworkPlan> placement(String id) {
    Stream stream =
        Optional.ofNullable(running.get(id))
            .map(LiveQuery::stream)
            .orElseGet(Stream::getDefaultInstance);
    return placements.find(id).map(plan -> StreamLayout.of(plan, stream));
  }

  /** Returns the inventory's network, if it has one. */
  public Optional<Network> network() {
    return placements.network();
  }

  /** Returns the state of that network's switches; empty if this service does not control them. */
  public Optional<NetworkStatus> switches() {
    return placements.switches();
  }

  /** Returns the plan that a query runs. */
  public Optional<JsonNode> plan(String id) {
    LiveQuery live = running.get(id);
    return live != null ? Optional.of(live.plan()) : store.plan(id);
  }

  /** Asks a query to end with the results so far; does nothing if it has ended or never existed. */
  public void stop(String id) {
    LiveQuery live = running.get(id);
    if (live != null) {
      live.stop();
    }
  }

  /** Waits until the query has ended and everything of it except its results has been removed. */
  public QueryInfo awaitEnd(String id) {
    LiveQuery live = running.get(id);
    if (live != null) {
      live.end().join();
    }
    return find(id).orElseThrow(() -> new NoSuchElementException("no query " + id));
  }

  /** Returns the Kafka brokers to which monitors on hosts send tuples. */
  public String hostBrokers() {
    return backend.hostBrokers();
  }

  /** Returns how the monitor of a host logs in there; no login if brokers require none. */
  public Login hostLogin(String host) {
    return backend.access().hostLogin(host);
  }

  /** Returns the number of running queries. */
  public int runningCount() {
    return running.size();
  }

  /** Returns the maximum number of queries that run at once. */
  public int mostRunning() {
    return backend.mostQueries();
  }

  /** Returns the number of running monitor processes; one on an interface serves many queries. */
  public int monitorCount() {
    return monitors.running();
  }

  /** Stops every query and waits until all have ended; accepts none from now on. */
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

  /** Leaves every query as it is for another control plane; accepts none from now on. */
  public synchronized void detach() {
    closed = true;
    detached = true;
    notifyAll();
    running.values().forEach(live -> live.run().detach());
  }

  /** Stops every query that was not left to another control plane. */
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
