package io.tapline.control.server;

import io.tapline.control.HashKey;
import io.tapline.control.HashKeys;
import io.tapline.control.coordination.Leadership;
import io.tapline.control.coordination.ZooKeeperStateStore;
import io.tapline.control.drill.WatchService;
import io.tapline.control.query.QueryRecord;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.control.registry.LeaseListener;
import io.tapline.control.rest.Leader;
import io.tapline.sdn.controller.Controller;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes over when this control plane is elected: starts a term, reserves the network's resources
 * for the stored queries again, listens for switches, resumes the queries, and then listens for
 * agents. So, when switches and agents connect, it knows which state they must keep.
 */
public final class LeaderSession implements Leader, LeaseListener, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LeaderSession.class);

  /** Starts the network's controller; returns null if there is none. */
  interface ControllerStart {
    Controller start() throws IOException;
  }

  private final Leadership leadership;
  private final ControllerStart controllers;
  private final WatchService watches;
  private final Optional<HashKeys> keys;
  private volatile ZooKeeperStateStore store;
  private volatile boolean leads;
  private Controller controller;

  /**
   * Creates the candidate.
   *
   * @param watches watches of the hosts, which this control plane manages once it leads
   * @param keys hash keys; if empty, the key of string hashes is stored with the queries
   */
  public LeaderSession(
      Leadership leadership,
      ControllerStart controllers,
      WatchService watches,
      Optional<HashKeys> keys) {
    this.leadership = leadership;
    this.controllers = controllers;
    this.watches = watches;
    this.keys = keys;
  }

  @Override
  public Optional<String> elsewhere() {
    return leads
        ? Optional.empty()
        : Optional.of(leadership.led().isDone() ? "" : leadership.leader());
  }

  /**
   * Takes over once this control plane is elected, and then calls {@code onLead}. The caller must
   * enter the election.
   */
  public CompletableFuture<Void> campaign(
      QueryService queries, AgentRegistry registry, Runnable onLead) {
    return leadership
        .led()
        .thenRunAsync(
            () -> {
              try {
                begin(queries, registry);
                onLead.run();
              } catch (IOException e) {
                throw new CompletionException(e);
              }
            });
  }

  private synchronized void begin(QueryService queries, AgentRegistry registry) throws IOException {
    store = leadership.claim();
    watches.lead(store.watchStore());
    registry.lead(store.term(), keys.isPresent() ? keys.get() : keptKeys());
    List<QueryRecord> left = store.queries();
    queries.restorePlaces(left);
    controller = controllers.start();
    if (controller != null) {
      queries.mirrorThrough(controller, registry);
      controller.announceRoutesTo(registry);
    }
    registry.expect(store.agents());
    queries.resume(left, store, Source.hosts(registry));
    registry.open();
    leads = true;
  }

  /** Returns the keys of the previous leaders, since hashes must remain the same. */
  private HashKeys keptKeys() throws IOException {
    return HashKeys.KNOWN.withTexts(store.textKey(HashKey.random()));
  }

  /** Stores the host for the next leader. */
  @Override
  public void up(String agent, String multilog) {
    CompletableFuture.runAsync(
        () -> {
          try {
            store.addAgent(agent);
          } catch (IOException e) {
            LOG.warn("can't store agent {}: {}", agent, e.getMessage());
          }
        });
  }

  @Override
  public void lost(String agent) {}

  @Override
  public void forgotten(String agent) {}

  @Override
  public synchronized void close() {
    if (controller != null) {
      controller.close();
    }
  }
}
