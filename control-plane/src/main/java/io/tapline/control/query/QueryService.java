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
import io.tapline.control.query.events.EventHub;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.query.services.Backend;
import io.tapline.control.query.services.StreamSites;
import io.tapline.control.query.services.TopicKeeper;
import io.tapline.control.query.services.Topics;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.control.registry.TriggerSet;
import io.tapline.flink.Login;
import io.tapline.network.Network;
import io.tapline.schema.proto.PacketTrigger;
import io.tapline.schema.proto.Stream;
import io.tapline.schema.rpc.MonitorStatus;
import io.tapline.sdn.mirror.NetworkAdapter;
import io.tapline.sdn.mirror.NetworkStatus;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.exceptions.JedisException;

/** Accepts, runs and reports queries. Thread-safe. */
public final class QueryService implements AutoCloseable {
  /** Number of ended queries whose results are kept. */
  public static final int MAX_KEPT = 100;

  private static final Logger LOG = LoggerFactory.getLogger(QueryService.class);
  private static final long REWRITE_MS = 1_000;

  private final Backend backend;
  private final QueryPlacements placements;
  private final StreamSites sites;
  private final QueryPlanner planner;
  private final TriggerAdmission triggers;
  private volatile Function<String, TriggerQuota> quotas = tenant -> TriggerQuota.NONE;
  private final QueryStore store;
  private final Topics topics;
  private final TopicKeeper topicKeeper;
  private final Services services;
  private final MirrorAccounting accounting = new MirrorAccounting();
  private final EventHub events;
  private final QueryEnvironment environment;
  private final Map<String, Query> running = new ConcurrentHashMap<>();
  private volatile StateStore state = new MemoryStateStore();

  /**
   * Queries of an earlier control plane that could not get their resources in the network back,
   * with the reason.
   */
  private final Map<String, String> displaced = new ConcurrentHashMap<>();

  private boolean closed;
  private boolean detached;

  /**
   * Creates a service.
   *
   * @param network network of the inventory, in which queries are placed and mirrored
   */
  public QueryService(
      Backend backend, Catalogue catalogue, Inventory inventory, Optional<Network> network)
      throws PipelineException {
    this.backend = backend;
    this.placements = new QueryPlacements(network, inventory.ports());
    this.store = new QueryStore(backend.endpoints().redis(), backend.jobKey());
    this.events = new EventHub(store.events());
    this.topics = new Topics(backend.endpoints().kafka(), backend.access());
    this.sites = new StreamSites(network, topics, backend.flink());
    this.planner = new QueryPlanner(catalogue, inventory, placements, sites, topics);
    this.triggers = new TriggerAdmission(inventory.traffic());
    this.topicKeeper = new TopicKeeper(topics, backend.topics());
    this.services = new Services(backend, topics, store);
    this.environment =
        new QueryEnvironment(
            backend,
            store,
            topicKeeper,
            new AtomicInteger(),
            placements,
            accounting,
            running::size);
  }

  /**
   * From now on, makes the adapter's switches mirror exactly the packets that running queries need.
   *
   * @param hosts agents whose monitors receive the copies; null if there are none
   */
  public void mirrorThrough(NetworkAdapter adapter, AgentRegistry hosts) {
    placements.mirrorThrough(adapter);
    if (hosts != null) {
      accounting.begin(adapter, hosts);
    }
  }

  /**
   * Limits the triggers of queries that are submitted from now on.
   *
   * @param quotas returns the quota of a tenant
   */
  public void limitTriggers(Function<String, TriggerQuota> quotas) {
    this.quotas = quotas;
  }

  /** Returns the accounting of mirrored packets, which must be notified of hosts' leases. */
  public MirrorAccounting accounting() {
    return accounting;
  }

  /** Returns the hub of running queries' events, which must be notified of hosts' leases. */
  public EventHub events() {
    return events;
  }

  /** Returns the planner, which also previews queries. */
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
   * @return its ID, with which {@link #find} returns its state
   * @throws PipelineException if Kafka does not report which of the query's alert topics exist
   */
  public String submit(String text, Source source, ProgressListener progress)
      throws QueryRejected, TooManyQueries, PipelineException {
    return submit(text, source, progress, Rights.ALL, maxRunning());
  }

  /**
   * Submits a query for a caller with these rights.
   *
   * @param maxQueries maximum number of the tenant's concurrent queries
   */
  public String submit(
      String text, Source source, ProgressListener progress, Rights rights, int maxQueries)
      throws QueryRejected, TooManyQueries, PipelineException {
    TriggerQuota quota = quotas.apply(rights.tenant());
    QueryPlanner.Reservation reservation = planner.reserve(text, source, rights, quota.groups());
    QueryRecord record = reservation.record();
    String tooBusy =
        triggers.put(record.id(), record.hosts(), record.plan().getTriggersList(), quota.core());
    if (!tooBusy.isEmpty()) {
      placements.release(record.id());
      throw new QueryRejected(text, List.of(TriggerAdmission.error(text, tooBusy)));
    }
    Query.Start options = new Query.Start(false, reservation.refusal(), source);
    Query query = new Query(environment, state, record, options, progress);
    admit(query, rights, maxQueries);
    start(query);
    return query.id();
  }

  /**
   * Reserves the network's resources again for the queries that an earlier control plane left
   * behind. REQUIRES: switches have not been updated yet.
   */
  public void restorePlaces(List<QueryRecord> left) {
    displaced.putAll(new RestoredPlaces(placements).restore(left));
  }

  /**
   * Resumes the queries that an earlier control plane left behind. REQUIRES: {@link #restorePlaces}
   * was called, no query has been submitted, and the registry is not listening yet.
   */
  public void resume(List<QueryRecord> left, StateStore store, Source source) {
    state = store;
    for (QueryRecord record : left) {
      LOG.info("resuming {} in state {}", record.id(), record.info().state());
      Query query =
          new Query(
              environment,
              state,
              record,
              new Query.Start(true, "", source),
              ProgressListener.SILENT);
      running.put(query.id(), query);
      triggers.restore(query.id(), record.hosts(), record.plan().getTriggersList());
      events.open(query.id(), true);
      query.rewriteAs(record.info());
      if (record.stopping()) {
        query.stopHere();
      }
      Optional.ofNullable(displaced.get(record.id())).ifPresent(query::abort);
      begin(query, record.hasEnded() ? () -> finish(query, record.info()) : () -> run(query));
    }
  }

  /** Finishes a query whose end was already recorded; some of its resources may still exist. */
  private void finish(Query query, QueryInfo end) {
    try {
      query.cleanUpAfter();
    } catch (PipelineException e) {
      LOG.warn("can't clean up after {}: {}", query.id(), e.getMessage());
    } finally {
      query.rewriteAs(end);
      end(query);
    }
  }

  private synchronized void admit(Query query, Rights rights, int maxQueries)
      throws TooManyQueries {
    if (closed || running.size() >= maxRunning()) {
      release(query);
      throw new TooManyQueries(maxRunning());
    }
    if (running.keySet().stream().filter(rights::owns).count() >= maxQueries) {
      release(query);
      throw new TooManyQueries(rights.tenant(), maxQueries);
    }
    running.put(query.id(), query);
    events.open(query.id(), false);
  }

  private void start(Query query) {
    try {
      query.submit();
    } catch (RuntimeException e) {
      release(query);
      running.remove(query.id());
      events.close(query.id());
      query.forget();
      query.end().complete(null);
      throw e;
    }
    begin(query, () -> run(query));
  }

  private static void begin(Query query, Runnable work) {
    Thread thread = new Thread(work, "query-" + query.id());
    thread.setDaemon(true);
    thread.start();
  }

  private void run(Query query) {
    try {
      ended(query, query.run(), "");
    } catch (PipelineException e) {
      LOG.info("query {} failed", query.id(), e);
      ended(query, QueryState.FAILED, e.getMessage());
    } catch (Throwable e) {
      // Catches errors, too: clients wait for the query's end.
      LOG.error("query {} failed", query.id(), e);
      ended(query, QueryState.FAILED, "internal error: " + e);
    } finally {
      end(query);
    }
  }

  /** Removes the query's rules and logs its last events, before users see that it has ended. */
  private void ended(Query query, QueryState state, String error) {
    release(query);
    drainEvents();
    query.enter(state, error);
  }

  /** Gives the query's rules and its monitors' time for triggers to others. */
  private void release(Query query) {
    placements.release(query.id());
    triggers.remove(query.id());
  }

  private void drainEvents() {
    try {
      events.drain();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Removes an ended query and completes {@link Query#end}, for which {@link #close} waits. */
  private void end(Query query) {
    boolean wasWritten = awaitWritten(query);
    try {
      forgetOldest();
    } finally {
      release(query);
      running.remove(query.id());
      drainEvents();
      events.close(query.id());
      // If the end was not written, the next leader records it.
      if (wasWritten) {
        query.forget();
      }
      query.end().complete(null);
    }
  }

  /**
   * Waits until the query's end is in Redis, since a query that ended while Redis was down would
   * otherwise be shown as running forever. Returns false if this service is closed first.
   */
  private boolean awaitWritten(Query query) {
    try {
      while (!query.written()) {
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

  /**
   * Fails every running query, because a service that all of them depend on is or was unavailable.
   */
  public void failAll(String reason) {
    for (Query query : running.values()) {
      try {
        query.rewrite();
      } catch (JedisException e) {
        LOG.error("can't write query {} to Redis", query.id(), e);
      }
      query.abort(reason);
    }
  }

  private void forgetOldest() {
    try {
      list().stream()
          .filter(query -> query.state().ended())
          .skip(MAX_KEPT)
          .forEach(
              query ->
                  store.remove(
                      query.id(),
                      store.plan(query.id()).map(p -> p.path("processors").size()).orElse(0)));
    } catch (JedisException e) {
      LOG.error("can't remove old queries from Redis", e);
    }
  }

  public Optional<QueryInfo> find(String id) {
    Query query = running.get(id);
    return query != null ? Optional.of(query.shown()) : store.find(id);
  }

  /** Returns all queries, latest first. */
  public List<QueryInfo> list() {
    return store.list(id -> Optional.ofNullable(running.get(id)).map(Query::shown));
  }

  /** Returns a running query's placement in the network; empty if it has none. */
  public Optional<NetworkPlan> placement(String id) {
    Stream stream =
        Optional.ofNullable(running.get(id))
            .map(Query::stream)
            .orElseGet(Stream::getDefaultInstance);
    return placements.find(id).map(plan -> StreamLayout.of(plan, stream));
  }

  /** Returns the inventory's network, if it has one. */
  public Optional<Network> network() {
    return placements.network();
  }

  /** Returns the state of the network's switches; empty if this service does not know it. */
  public Optional<NetworkStatus> switches() {
    return placements.switches();
  }

  /** Returns a query's plan as JSON; empty if the query is unknown. */
  public Optional<JsonNode> plan(String id) {
    Query query = running.get(id);
    return query != null ? Optional.of(query.plan()) : store.plan(id);
  }

  /**
   * Sets the triggers of a running query, as {@code QueryMonitor.triggers} describes.
   *
   * @return the reason why they are refused, in which case those of before remain; empty if they
   *     are not
   */
  public String triggers(String id, TriggerSet set, Consumer<MonitorStatus.Triggers> responses) {
    Query query = running.get(id);
    if (query == null) {
      return "";
    }
    List<PacketTrigger> all = List.copyOf(set.triggers().values());
    double core = quotas.apply(TriggerAdmission.tenant(id)).core();
    String tooBusy = triggers.put(id, query.record().hosts(), all, core);
    if (tooBusy.isEmpty()) {
      query.triggers(set, responses);
    }
    return tooBusy;
  }

  /** Asks a query to end with the results so far; does nothing if it has ended or never existed. */
  public void stop(String id) {
    Query query = running.get(id);
    if (query != null) {
      query.stop();
    }
  }

  /** Waits until the query has ended and all its resources except its results have been removed. */
  public QueryInfo awaitEnd(String id) {
    Query query = running.get(id);
    if (query != null) {
      query.end().join();
    }
    return find(id).orElseThrow(() -> new NoSuchElementException("no query " + id));
  }

  /** Returns the Kafka brokers to which monitors on hosts send tuples. */
  public String hostBrokers() {
    return backend.hostBrokers();
  }

  /** Returns the login of a host's monitor at these brokers; no login if they require none. */
  public Login hostLogin(String host) {
    return backend.access().hostLogin(host);
  }

  /** Returns the number of running queries. */
  public int runningCount() {
    return running.size();
  }

  /** Returns the maximum number of concurrent queries. */
  public int maxRunning() {
    return backend.maxQueries();
  }

  /** Returns the number of running monitor processes that read capture files. */
  public int monitorCount() {
    return environment.fileMonitors().get();
  }

  /** Rejects new queries; stops and awaits all that were not left to another control plane. */
  public void stopAll() {
    List<Query> all;
    synchronized (this) {
      closed = true;
      notifyAll();
      all = detached ? List.of() : List.copyOf(running.values());
    }
    all.forEach(query -> query.stopHere());
    all.forEach(query -> query.end().join());
  }

  /** Leaves all queries to another control plane, and rejects new ones from then on. */
  public synchronized void detach() {
    closed = true;
    detached = true;
    notifyAll();
    running.values().forEach(query -> query.detach());
  }

  /** Stops every query that was not left to another control plane, and closes the connections. */
  @Override
  public void close() {
    stopAll();
    services.close();
    sites.close();
    accounting.close();
    topicKeeper.close();
    topics.close();
    events.close();
    store.close();
  }
}
