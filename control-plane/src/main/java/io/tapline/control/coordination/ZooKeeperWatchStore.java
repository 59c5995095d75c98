package io.tapline.control.coordination;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.drill.WatchRecord;
import io.tapline.control.drill.WatchStore;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Stores watches in ZooKeeper for the control plane of one term; the term fences its writes. */
final class ZooKeeperWatchStore implements WatchStore {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /**
   * Size of each term's range of alert numbers. Terms are milliseconds since the epoch, so alert
   * numbers are microseconds.
   */
  private static final long ALERTS_PER_TERM = 1_000;

  private static final String HEARD = ZooKeeperStateStore.HEARD;

  /** Node with the IDs of new records that are being stored in several transactions. */
  private static final String UNFINISHED = "/watches-unfinished";

  private final ZooKeeperStateStore store;

  ZooKeeperWatchStore(ZooKeeperStateStore store) {
    this.store = store;
  }

  @Override
  public long lastAlert() {
    return store.term() * ALERTS_PER_TERM;
  }

  @Override
  public void putAll(List<WatchRecord> watches) throws IOException {
    Set<String> known = new HashSet<>(store.children(ZooKeeperStateStore.WATCHES));
    List<NodeChange> changes = new ArrayList<>();
    List<String> added = new ArrayList<>();
    for (WatchRecord watch : watches) {
      byte[] bytes = WatchJson.of(watch).toString().getBytes(StandardCharsets.UTF_8);
      if (bytes.length > ZooKeeperStateStore.MAX_BYTES) {
        throw new IOException(
            "the record of watch %s is too long to be stored: %d bytes"
                .formatted(watch.id(), bytes.length));
      }
      if (known.contains(watch.id())) {
        changes.add(NodeChange.replaced(path(watch.id()), bytes));
      } else {
        changes.add(NodeChange.created(path(watch.id()), bytes));
        added.add(watch.id());
      }
    }
    List<List<NodeChange>> transactions = NodeChange.transactions(changes);
    if (transactions.size() == 1) {
      store.change(changes);
    } else if (transactions.size() > 1) {
      change(transactions, added);
    }
  }

  /** Makes changes that don't fit into one transaction. */
  private void change(List<List<NodeChange>> transactions, List<String> added) throws IOException {
    removeUnfinished();
    store.put(UNFINISHED, MAPPER.writeValueAsBytes(added));
    try {
      for (List<NodeChange> transaction : transactions) {
        store.change(transaction);
      }
      store.delete(UNFINISHED);
    } catch (IOException e) {
      try {
        removeUnfinished();
      } catch (IOException later) {
        // The next leader removes the new records.
        e.addSuppressed(later);
      }
      throw e;
    }
  }

  /** Removes the new records of a {@link #putAll} that ended before it had stored all of them. */
  private void removeUnfinished() throws IOException {
    if (store.has(UNFINISHED)) {
      removeAll(MAPPER.readValue(store.get(UNFINISHED), new TypeReference<List<String>>() {}));
      store.delete(UNFINISHED);
    }
  }

  private static String path(String id) {
    return ZooKeeperStateStore.WATCHES + "/" + id;
  }

  @Override
  public void removeAll(Collection<String> ids) throws IOException {
    Set<String> known = new HashSet<>(store.children(ZooKeeperStateStore.WATCHES));
    List<NodeChange> changes =
        ids.stream().filter(known::contains).map(id -> NodeChange.deleted(path(id))).toList();
    for (List<NodeChange> transaction : NodeChange.transactions(changes)) {
      store.change(transaction);
    }
  }

  @Override
  public List<WatchRecord> watches() throws IOException {
    removeUnfinished();
    List<WatchRecord> watches = new ArrayList<>();
    for (String id : store.children(ZooKeeperStateStore.WATCHES)) {
      watches.add(WatchJson.read(MAPPER.readTree(store.get(path(id)))));
    }
    watches.sort(Comparator.comparingLong(WatchRecord::addedNs));
    return watches;
  }

  @Override
  public void putLastHeard(Map<String, Long> heardNs) throws IOException {
    store.put(HEARD, MAPPER.writeValueAsBytes(heardNs));
  }

  @Override
  public Map<String, Long> lastHeard() throws IOException {
    return store.has(HEARD)
        ? MAPPER.readValue(store.get(HEARD), new TypeReference<>() {})
        : Map.of();
  }
}
