package io.tapline.control.coordination;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.drill.WatchRecord;
import io.tapline.control.drill.WatchStore;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/** Stores watches in ZooKeeper for the control plane of one term, which fences its writes. */
final class ZooKeeperWatchStore implements WatchStore {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Terms are milliseconds since the epoch: numbers of alerts become microseconds. */
  private static final long ALERTS_PER_TERM = 1_000;

  private static final String HEARD = ZooKeeperStateStore.HEARD;

  private final ZooKeeperStateStore store;

  ZooKeeperWatchStore(ZooKeeperStateStore store) {
    this.store = store;
  }

  @Override
  public long lastAlert() {
    return store.term() * ALERTS_PER_TERM;
  }

  @Override
  public void put(WatchRecord watch) throws IOException {
    byte[] bytes = WatchJson.of(watch).toString().getBytes(StandardCharsets.UTF_8);
    if (bytes.length > ZooKeeperStateStore.MAX_BYTES) {
      throw new IOException("it is too long to be kept: " + bytes.length + " bytes");
    }
    store.put(path(watch.id()), bytes);
  }

  private static String path(String id) {
    return ZooKeeperStateStore.WATCHES + "/" + id;
  }

  @Override
  public void removeWatch(String id) throws IOException {
    store.delete(path(id));
  }

  @Override
  public List<WatchRecord> watches() throws IOException {
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
