package io.tapline.control.drill;

import io.tapline.control.drill.DrillException.Kind;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The watches, in memory and in the store. A watch is stored before anything else knows it. Readers
 * never wait for the store. Thread-safe.
 */
final class WatchTable {
  private static final Logger LOG = LoggerFactory.getLogger(WatchTable.class);

  /** Maximum number of active watches. */
  private static final int MAX_WATCHES = 100;

  /** Maximum number of ended watches that are remembered. */
  private static final int MAX_ENDED = 100;

  private static final long MAX_NUMBER = 999_999_999_999L;

  private final SecureRandom numbers = new SecureRandom();
  private WatchStore store = WatchStore.memory();
  private volatile Map<String, WatchRecord> records = Map.of();

  /**
   * Continues with the watches of a store.
   *
   * @throws IOException if they can't be read
   */
  synchronized void load(WatchStore from) throws IOException {
    Map<String, WatchRecord> stored = new LinkedHashMap<>();
    from.watches().forEach(watch -> stored.put(watch.id(), watch));
    store = from;
    records = Collections.unmodifiableMap(stored);
  }

  /** Returns all watches by ID, including ended ones, in the order in which they were added. */
  Map<String, WatchRecord> all() {
    return records;
  }

  /** Returns an active watch; null if there is none of that name. */
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
   * Adds a watch that no node evaluates yet.
   *
   * @param maxWatches maximum number of the owner's watches
   * @return its ID
   * @throws DrillException if there are too many, or it can't be stored
   */
  synchronized String add(WatchSpec spec, String owner, String token, int maxWatches)
      throws DrillException {
    if (count(owner) >= maxWatches) {
      throw new DrillException(
          Kind.TOO_MANY, "%s has %d watches, the maximum".formatted(owner, maxWatches));
    }
    if (specs().size() == MAX_WATCHES) {
      throw new DrillException(Kind.BUSY, MAX_WATCHES + " watches are the maximum: remove one");
    }
    WatchRecord watch = WatchRecord.added(newId(), spec, owner, token, WatchService.nowNs());
    try {
      put(watch);
    } catch (IOException e) {
      throw DrillException.notStored(e);
    }
    return watch.id();
  }

  private long count(String owner) {
    return records.values().stream()
        .filter(watch -> watch.isActive() && watch.owner().equals(owner))
        .count();
  }

  /**
   * Returns a name that was never used: a node may still have the watches of the previous leader,
   * whose alerts are not meant for this one's clients.
   */
  private String newId() {
    String id;
    do {
      id = "watch_" + (1 + numbers.nextLong(MAX_NUMBER));
    } while (records.containsKey(id));
    return id;
  }

  private void put(WatchRecord watch) throws IOException {
    store.put(watch);
    Map<String, WatchRecord> changed = new LinkedHashMap<>(records);
    changed.put(watch.id(), watch);
    records = Collections.unmodifiableMap(changed);
  }

  /**
   * Changes a watch, unless it was removed meanwhile. A change that can't be stored is made in
   * memory only: it concerns the watch's history.
   */
  synchronized void update(String id, UnaryOperator<WatchRecord> change) {
    WatchRecord before = records.get(id);
    if (before == null) {
      return;
    }
    WatchRecord after = change.apply(before);
    try {
      put(after);
    } catch (IOException e) {
      LOG.warn("the history of watch {} can't be stored: {}", id, e.getMessage());
      Map<String, WatchRecord> changed = new LinkedHashMap<>(records);
      changed.put(id, after);
      records = Collections.unmodifiableMap(changed);
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
    try {
      store.removeWatch(id);
    } catch (IOException e) {
      throw DrillException.notStored(e);
    }
    Map<String, WatchRecord> changed = new LinkedHashMap<>(records);
    changed.remove(id);
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
