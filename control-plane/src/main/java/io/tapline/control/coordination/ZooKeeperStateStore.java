package io.tapline.control.coordination;

import io.tapline.control.HashKey;
import io.tapline.control.drill.WatchStore;
import io.tapline.control.query.QueryRecord;
import io.tapline.control.query.StateStore;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.apache.zookeeper.KeeperException;

/**
 * Stores records of queries and watches in ZooKeeper for the control plane of one term. Each write
 * also checks that no later term has begun, so a control plane that does not know yet that it has
 * been deposed can't change anything. Thread-safe.
 */
public final class ZooKeeperStateStore implements StateStore {
  static final String QUERIES = "/queries";
  static final String AGENTS = "/agents";
  static final String WATCHES = "/watches";
  static final String HEARD = "/heard";
  static final String TEXT_KEY = "/text-key";

  /**
   * Maximum size of a node's data, below ZooKeeper's limit of slightly more than a million bytes.
   */
  static final int MAX_BYTES = 1_000_000;

  private final CuratorFramework client;
  private final long term;
  private final int fence;

  /**
   * Creates the store of a term.
   *
   * @param fence version of the term's node, which each write checks
   */
  ZooKeeperStateStore(CuratorFramework client, long term, int fence) {
    this.client = client;
    this.term = term;
    this.fence = fence;
  }

  public long term() {
    return term;
  }

  @Override
  public void put(QueryRecord query) throws IOException {
    byte[] bytes = query.bytes();
    if (bytes.length > MAX_BYTES) {
      throw new IOException(
          "the plan of query %s is too long to be stored: %d bytes"
              .formatted(query.id(), bytes.length));
    }
    put(QUERIES + "/" + query.id(), bytes);
  }

  void put(String path, byte[] bytes) throws IOException {
    try {
      try {
        fenced(client.transactionOp().setData().forPath(path, bytes));
      } catch (KeeperException.NoNodeException absent) {
        create(path, bytes);
      }
    } catch (Exception e) {
      throw fault(e);
    }
  }

  /**
   * Creates a node, or overwrites it if it exists: a write whose response was lost may have
   * succeeded.
   */
  private void create(String path, byte[] bytes) throws Exception {
    try {
      fenced(client.transactionOp().create().forPath(path, bytes));
    } catch (KeeperException.NodeExistsException e) {
      fenced(client.transactionOp().setData().forPath(path, bytes));
    }
  }

  /**
   * Makes all changes or none. Their total size is limited: see {@link NodeChange#transactions}.
   */
  void change(List<NodeChange> changes) throws IOException {
    try {
      CuratorOp[] writes = new CuratorOp[changes.size()];
      for (int i = 0; i < writes.length; i++) {
        writes[i] = write(changes.get(i));
      }
      fenced(writes);
    } catch (Exception e) {
      throw fault(e);
    }
  }

  private CuratorOp write(NodeChange change) throws Exception {
    return switch (change.kind()) {
      case CREATED -> client.transactionOp().create().forPath(change.path(), change.bytes());
      case REPLACED -> client.transactionOp().setData().forPath(change.path(), change.bytes());
      case DELETED -> client.transactionOp().delete().forPath(change.path());
    };
  }

  private void fenced(CuratorOp... writes) throws Exception {
    List<CuratorOp> all = new ArrayList<>();
    all.add(client.transactionOp().check().withVersion(fence).forPath(Leadership.TERM));
    all.addAll(List.of(writes));
    client.transaction().forOperations(all);
  }

  private static IOException fault(Exception e) {
    return e instanceof KeeperException.BadVersionException
        ? new IOException("another control plane leads", e)
        : NodeRights.fault(e);
  }

  @Override
  public void remove(String query) throws IOException {
    delete(QUERIES + "/" + query);
  }

  void delete(String path) throws IOException {
    try {
      fenced(client.transactionOp().delete().forPath(path));
    } catch (KeeperException.NoNodeException e) {
      // The node is already gone.
    } catch (Exception e) {
      throw fault(e);
    }
  }

  @Override
  public List<QueryRecord> queries() throws IOException {
    List<QueryRecord> records = new ArrayList<>();
    for (String id : children(QUERIES)) {
      records.add(QueryRecord.of(get(QUERIES + "/" + id)));
    }
    records.sort(Comparator.comparingLong(record -> record.info().submittedNs()));
    return records;
  }

  byte[] get(String path) throws IOException {
    try {
      return client.getData().forPath(path);
    } catch (Exception e) {
      throw fault(e);
    }
  }

  boolean has(String path) throws IOException {
    try {
      return client.checkExists().forPath(path) != null;
    } catch (Exception e) {
      throw fault(e);
    }
  }

  List<String> children(String path) throws IOException {
    try {
      return client.getChildren().forPath(path);
    } catch (KeeperException.NoNodeException e) {
      return List.of();
    } catch (Exception e) {
      throw fault(e);
    }
  }

  /** Returns a store of watches for the same term. */
  public WatchStore watchStore() {
    return new ZooKeeperWatchStore(this);
  }

  /** Returns the hosts whose agents have had a lease. */
  public List<String> agents() throws IOException {
    return children(AGENTS);
  }

  /** Records that a host's agent has had a lease. */
  public void addAgent(String name) throws IOException {
    put(AGENTS + "/" + name, new byte[0]);
  }

  /**
   * Returns the key of string hashes that an earlier term stored; stores and returns {@code newKey}
   * if there is none.
   */
  public HashKey textKey(HashKey newKey) throws IOException {
    try {
      return HashKey.of(new String(client.getData().forPath(TEXT_KEY), StandardCharsets.US_ASCII));
    } catch (KeeperException.NoNodeException e) {
      put(TEXT_KEY, newKey.digits().getBytes(StandardCharsets.US_ASCII));
      return newKey;
    } catch (Exception e) {
      throw fault(e);
    }
  }

  /** Does nothing: {@link Leadership} owns the connection. */
  @Override
  public void close() {}
}
