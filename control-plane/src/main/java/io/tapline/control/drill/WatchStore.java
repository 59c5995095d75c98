package io.tapline.control.drill;

import java.io.IOException;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The persistent state from which a control plane resumes watches. Thread-safe.
 *
 * <p>There is one writer at a time: a store that outlives its process rejects writes by a control
 * plane that has been replaced.
 */
public interface WatchStore {
  /** Returns a store whose watches end with this process. */
  static WatchStore memory() {
    return new Memory();
  }

  /**
   * Returns a number greater than that of any alert from an earlier control plane with this store.
   */
  long lastAlert();

  /**
   * Stores a record in place of the watch's previous one.
   *
   * @throws IOException if it can't be stored, or another control plane is the leader
   */
  default void put(WatchRecord watch) throws IOException {
    putAll(List.of(watch));
  }

  /**
   * Stores several records: all of the new ones, or none of them.
   *
   * @throws IOException if they can't be stored, or another control plane is the leader; some of
   *     the previous records may have been replaced
   */
  void putAll(List<WatchRecord> watches) throws IOException;

  /** Removes a watch's record, if there is one. */
  default void removeWatch(String id) throws IOException {
    removeAll(List.of(id));
  }

  /** Removes the records of several watches, if there are any. */
  void removeAll(Collection<String> ids) throws IOException;

  /** Returns all records in the order in which the watches were added. */
  List<WatchRecord> watches() throws IOException;

  /** Stores the time of each node's last contact, by name, in nanoseconds since the epoch. */
  void putLastHeard(Map<String, Long> heardNs) throws IOException;

  /** Returns the times that {@link #putLastHeard} stored last. */
  Map<String, Long> lastHeard() throws IOException;

  /** The store of a control plane whose watches end when it exits. */
  final class Memory implements WatchStore {
    private final Map<String, WatchRecord> watches = new LinkedHashMap<>();
    private Map<String, Long> lastHeard = Map.of();

    @Override
    public long lastAlert() {
      return 0;
    }

    @Override
    public synchronized void putAll(List<WatchRecord> changed) {
      changed.forEach(watch -> watches.put(watch.id(), watch));
    }

    @Override
    public synchronized void removeAll(Collection<String> ids) {
      watches.keySet().removeAll(ids);
    }

    @Override
    public synchronized List<WatchRecord> watches() {
      return List.copyOf(watches.values());
    }

    @Override
    public synchronized void putLastHeard(Map<String, Long> heardNs) {
      lastHeard = Map.copyOf(heardNs);
    }

    @Override
    public synchronized Map<String, Long> lastHeard() {
      return lastHeard;
    }
  }
}
