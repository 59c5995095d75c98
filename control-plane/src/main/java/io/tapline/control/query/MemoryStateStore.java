package io.tapline.control.query;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The state store of a control plane whose queries end when it exits. */
public final class MemoryStateStore implements StateStore {
  private final Map<String, QueryRecord> queries = new LinkedHashMap<>();

  @Override
  public synchronized void put(QueryRecord query) {
    queries.put(query.id(), query);
  }

  @Override
  public synchronized void remove(String query) {
    queries.remove(query);
  }

  @Override
  public synchronized List<QueryRecord> queries() {
    return List.copyOf(queries.values());
  }

  @Override
  public void close() {}
}
