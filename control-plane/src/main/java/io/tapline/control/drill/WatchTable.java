package io.tapline.control.drill;

import io.tapline.control.drill.DrillException.Kind;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The watches, in memory and in the store. A watch is stored before any other component knows it.
 * Readers never wait for the store. Thread-safe.
 */
final class WatchTable {
  private static final Logger LOG = LoggerFactory.getLogger(WatchTable.class);

  /** Maximum number of active watches on nodes. */
  private static final int MAX_ON_NODES = 100;

  /** Maximum number of active watches in monitors. */
  private static final int MAX_IN_MONITORS = 16_384;

  /** Maximum number of ended watches that are remembered. */
  private static final int MAX_ENDED = 100;

  private static final long MAX_NUMBER = 999_999_999_999L;

  private final SecureRandom numbers = new SecureRandom();
  private WatchStore store = WatchStore.memory();
  private volatile Map<String, WatchRecord> records = Map.of();

  /**
   * Resumes the watches of a store.
   *
   * @throws IOException if they can't be read
   */
  synchronized void load(WatchStore watchStore) throws IOException {
    Map<String, WatchRecord> stored = new LinkedHashMap<>();
    watchStore.watches().forEach(watch -> stored.put(watch.id(), watch));
    store = watchStore;
    records = Collections.unmodifiableMap(stored);
  }

  /** Returns all watches by ID, including ended ones, in the order in which they were added. */
  Map<String, WatchRecord> all() {
    return records;
  }

  /** Returns an active watch; null if there is no active watch of that name. */
  WatchRecord active(String id) {
    WatchRecord watch = records.get(id);
    return watch != null && watch.isActive() ? watch : null;
  }

  /** Returns the active watches. */
  Map<String, WatchSpec> specs() {
    Map<String, WatchSpec> specs = new LinkedHashMap<>();
    records.forEach(
        (id, watch) -> {
          if (watch.isActive()) {
            specs.put(id, watch.spec());
          }
        });
    return specs;
  }

  /**
   * Adds watches that nothing evaluates yet, all or none.
   *
   * @param maxWatches maximum number of the owner's watches
   * @return their IDs, in order
   * @throws DrillException if there are too many, or they can't be stored
   */
  synchronized List<String> add(List<WatchSpec> specs, String owner, String token, int maxWatches)
      throws DrillException {
    if (count(owner) + specs.size() > maxWatches) {
      throw new DrillException(
          Kind.TOO_MANY_WATCHES,
          "%s has %d watches, and %d is its maximum: remove one"
              .formatted(owner, count(owner), maxWatches));
    }
    requireRoom(specs, false, MAX_ON_NODES);
    requireRoom(specs, true, MAX_IN_MONITORS);
    Map<String, WatchRecord> added = new LinkedHashMap<>();
    for (WatchSpec spec : specs) {
      String id = newId(added);
      added.put(id, WatchRecord.added(id, spec, owner, token, WatchService.nowNs()));
    }
    try {
      putAll(List.copyOf(added.values()));
    } catch (IOException e) {
      throw DrillException.notStored(e);
    }
    return List.copyOf(added.keySet());
  }

  private void requireRoom(List<WatchSpec> added, boolean inMonitors, int max)
      throws DrillException {
    long addedCount = added.stream().filter(spec -> spec.run().inMonitor() == inMonitors).count();
    long active =
        records.values().stream()
            .filter(watch -> watch.isActive() && watch.spec().run().inMonitor() == inMonitors)
            .count();
    if (addedCount > 0 && active + addedCount > max) {
      throw new DrillException(
          Kind.TOO_MANY_WATCHES,
          "%d watches %s are the maximum, and there are %d: remove some"
              .formatted(max, inMonitors ? "in monitors" : "on nodes", active));
    }
  }

  private long count(String owner) {
    return records.values().stream()
        .filter(watch -> watch.isActive() && watch.owner().equals(owner))
        .count();
  }

  /**
   * Returns a random name, so that it has never been used: a node may still have the watches of the
   * previous leader, whose alerts are not meant for this leader's clients.
   */
  private String newId(Map<String, WatchRecord> others) {
    String id;
    do {
      id = "watch_" + (1 + numbers.nextLong(MAX_NUMBER));
    } while (records.containsKey(id) || others.containsKey(id));
    return id;
  }

  private void putAll(List<WatchRecord> watches) throws IOException {
    store.putAll(watches);
    show(watches);
  }

  private void show(List<WatchRecord> watches) {
    Map<String, WatchRecord> changed = new LinkedHashMap<>(records);
    watches.forEach(watch -> changed.put(watch.id(), watch));
    records = Collections.unmodifiableMap(changed);
  }

  /**
   * Changes a watch, unless it has been removed. If the change can't be stored, makes it in memory
   * only and logs a warning.
   */
  void update(String id, UnaryOperator<WatchRecord> change) {
    updateAll(List.of(id), change);
  }

  /** Changes several watches, except those removed in the meantime, with one write to the store. */
  synchronized void updateAll(Collection<String> ids, UnaryOperator<WatchRecord> change) {
    List<WatchRecord> changed =
        ids.stream().map(records::get).filter(Objects::nonNull).map(change).toList();
    try {
      putAll(changed);
    } catch (IOException e) {
      LOG.warn("the history of watches {} can't be stored: {}", ids, e.getMessage());
      show(changed);
    }
  }

  /** Ends a watch, which stays in the list with the reason. */
  synchronized void end(String id, String reason) {
    update(id, watch -> watch.ended(WatchService.nowNs(), reason));
    records.values().stream()
        .filter(watch -> !watch.isActive())
        .limit(Math.max(0, records.size() - specs().size() - MAX_ENDED))
        .map(WatchRecord::id)
        .toList()
        .forEach(this::forget);
  }

  private void forget(String id) {
    try {
      remove(id);
    } catch (DrillException e) {
      LOG.warn("watch {} can't be forgotten: {}", id, e.getMessage());
    }
  }

  /**
   * Removes a watch permanently.
   *
   * @throws DrillException if there is none of that name, or the store does not answer
   */
  synchronized void remove(String id) throws DrillException {
    if (!records.containsKey(id)) {
      throw new DrillException(Kind.NOT_FOUND, "there is no watch " + id);
    }
    removeAll(List.of(id));
  }

  /** Permanently removes watches; ignores unknown IDs. */
  synchronized void removeAll(Collection<String> ids) throws DrillException {
    try {
      store.removeAll(ids);
    } catch (IOException e) {
      throw DrillException.notStored(e);
    }
    Map<String, WatchRecord> changed = new LinkedHashMap<>(records);
    changed.keySet().removeAll(ids);
    records = Collections.unmodifiableMap(changed);
  }

  /** Stores the times of nodes' last contacts. */
  void putLastHeard(Map<String, Long> heardNs) {
    try {
      store().putLastHeard(heardNs);
    } catch (IOException e) {
      LOG.warn("the times of nodes' last contacts can't be stored: {}", e.getMessage());
    }
  }

  private synchronized WatchStore store() {
    return store;
  }
}
