package io.tapline.control.cli;

import io.tapline.control.HashKey;
import io.tapline.control.HashKeys;
import io.tapline.control.coordination.Leadership;
import io.tapline.control.coordination.ZooKeeperStateStore;
import io.tapline.control.drill.WatchService;
import io.tapline.control.query.QueryRecord;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.Source;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.control.registry.LeaseListener;
import io.tapline.control.rest.Leader;
import io.tapline.sdn.controller.Controller;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a control plane that may lead does when it does: it begins a term, goes on with the queries
 * that are kept, and only then listens for switches and agents, which find everything wanted that
 * they have. Before that it takes neither.
 */
final class Lead implements Leader, LeaseListener, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Lead.class);

  private final Leadership leadership;
  private final Supplier<Controller> controllers;
  private final WatchService watches;
  private final Optional<HashKeys> keys;
  private volatile ZooKeeperStateStore store;
  private volatile boolean leads;
  private Controller controller;

  /**
   * @param controllers starts the network's controller; gives null if there is none
   * @param watches of the hosts, which are this one's from then on
   * @param keys of hashes; empty: that of texts is kept with the queries
   */
  Lead(
      Leadership leadership,
      Supplier<Controller> controllers,
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

  /** Enters the election; {@code onLead} is called once this one leads and answers. */
  CompletableFuture<Void> campaign(QueryService queries, AgentRegistry registry, Runnable onLead) {
    return leadership
        .led()
        .thenRunAsync(
            () -> {
              try {
                begin(queries, registry);
                onLead.run();
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            });
  }

  private synchronized void begin(QueryService queries, AgentRegistry registry) throws IOException {
    store = leadership.claim();
    watches.lead();
    registry.lead(store.term(), keys.isPresent() ? keys.get() : keptKeys());
    List<QueryRecord> left = store.queries();
    queries.restorePlaces(left);
    controller = controllers.get();
    if (controller != null) {
      queries.mirrorThrough(controller, registry);
    }
    registry.expect(store.agents());
    queries.resume(left, store, Source.hosts(registry));
    registry.open();
    leads = true;
  }

  /** Those of who led before: hashes have to stay the same. */
  private HashKeys keptKeys() throws IOException {
    return HashKeys.KNOWN.withTexts(store.textKey(HashKey.random()));
  }

  /** Whoever leads next has to know which hosts there are. */
  @Override
  public void up(String agent, String multilog) {
    CompletableFuture.runAsync(
        () -> {
          try {
            store.addAgent(agent);
          } catch (IOException e) {
            LOG.warn("agent {} can't be kept: {}", agent, e.getMessage());
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
