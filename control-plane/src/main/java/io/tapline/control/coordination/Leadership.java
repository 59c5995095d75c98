package io.tapline.control.coordination;

import io.tapline.control.PipelineException;
import io.tapline.control.PipelineException.Kind;
import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.state.SessionConnectionStateErrorPolicy;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A control plane's part in the leader election: one of the candidates leads, until it ends or its
 * ZooKeeper session expires. A former leader never leads again, since it can't know what other
 * leaders have done in the meantime. Thread-safe.
 *
 * <p>Over TLS, only clients with the subject of this control plane's certificate can access these
 * nodes ({@link NodeRights}):
 *
 * <pre>
 *   /tapline/leader/…       one ephemeral node per control plane; the first leads
 *   /tapline/term           term of the last leader; its version fences writes
 *   /tapline/queries/ID     record of a query that has not ended
 *   /tapline/agents/NAME    hosts whose agents had a lease
 *   /tapline/watches/ID     record of a watch
 *   /tapline/heard          time of the last contact of each MultiLog node
 *   /tapline/text-key       secret for string hashes, if the control planes were given none
 * </pre>
 */
public final class Leadership implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Leadership.class);
  private static final String ROOT = "tapline";
  private static final String LEADER = "/leader";
  static final String TERM = "/term";

  private static final Duration CONNECT = Duration.ofSeconds(15);
  private static final int CONNECTION_MS = 3_000;
  private static final int RETRY_MS = 100;
  private static final int RETRIES = 5;

  private final CuratorFramework client;
  private final ZooKeeperTls tls;
  private final NodeRights rights;
  private final CompletableFuture<Void> led = new CompletableFuture<>();
  private final CompletableFuture<Void> lost = new CompletableFuture<>();
  private LeaderLatch latch;

  private Leadership(CuratorFramework client, ZooKeeperTls tls, NodeRights rights) {
    this.client = client;
    this.tls = tls;
    this.rights = rights;
  }

  /**
   * Connects to ZooKeeper.
   *
   * @param servers {@code host:port,…}
   * @param session session timeout, after which leadership is lost
   * @param tls TLS files; none for a connection without TLS
   * @param creators subjects of the certificates that may create nodes next to {@code /tapline}
   *     once this control plane leads; if empty, the ACL of the root node is left unchanged
   */
  public static Leadership connect(
      String servers, Duration session, TlsFiles tls, List<String> creators)
      throws PipelineException {
    return connect(servers, session, tls, creators, CONNECT);
  }

  static Leadership connect(
      String servers, Duration session, TlsFiles tls, List<String> creators, Duration timeout)
      throws PipelineException {
    try {
      NodeRights rights = new NodeRights(!tls.isNone(), creators);
      return connect(servers, session, new ZooKeeperTls(tls), rights, timeout);
    } catch (IOException e) {
      throw new PipelineException(Kind.RESOURCES, "ZooKeeper over TLS: " + e.getMessage(), e);
    }
  }

  private static Leadership connect(
      String servers, Duration session, ZooKeeperTls tls, NodeRights rights, Duration timeout)
      throws PipelineException {
    CuratorFramework client =
        CuratorFrameworkFactory.builder()
            .connectString(servers)
            .namespace(ROOT)
            .aclProvider(rights)
            .zkClientConfig(tls.settings())
            .sessionTimeoutMs((int) session.toMillis())
            .connectionTimeoutMs(CONNECTION_MS)
            .retryPolicy(new ExponentialBackoffRetry(RETRY_MS, RETRIES))
            // The connection may move to another ZooKeeper server: only the end of the session ends
            // the leadership.
            .connectionStateErrorPolicy(new SessionConnectionStateErrorPolicy())
            .build();
    client.start();
    String fault =
        "no ZooKeeper answers at %s%s: check that it is running and that the addresses%s are right"
            .formatted(
                servers,
                tls.isWanted() ? " over TLS" : "",
                tls.isWanted() ? ", authorities and certificates at both ends" : "");
    try {
      if (client.blockUntilConnected((int) timeout.toMillis(), TimeUnit.MILLISECONDS)) {
        // Without access to the election's nodes, a candidate would wait forever.
        client.getChildren().forPath("/");
        return new Leadership(client, tls, rights);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (Exception e) {
      fault = NodeRights.fault(e).getMessage();
    }
    client.close();
    tls.close();
    throw new PipelineException(Kind.RESOURCES, fault);
  }

  /**
   * Enters the election. Called once.
   *
   * @param url URL at which users and other control planes reach this one
   */
  public synchronized void campaign(String url) throws PipelineException {
    latch = new LeaderLatch(client, LEADER, url);
    latch.addListener(
        new LeaderLatchListener() {
          @Override
          public void isLeader() {
            led.complete(null);
          }

          @Override
          public void notLeader() {
            // Deletes the file with the key first: the caller may end the process immediately.
            tls.close();
            lost.complete(null);
          }
        });
    try {
      latch.start();
    } catch (Exception e) {
      throw new PipelineException(Kind.RESOURCES, "ZooKeeper: " + e.getMessage(), e);
    }
  }

  /** Returns a future that completes when this control plane becomes the leader. */
  public CompletableFuture<Void> led() {
    return led;
  }

  /** Returns a future that completes when this control plane loses the leadership. */
  public CompletableFuture<Void> lost() {
    return lost;
  }

  /** Returns the URL of the leader; empty if none is known. */
  public synchronized String leader() {
    try {
      return latch == null ? "" : latch.getLeader().getId();
    } catch (Exception e) {
      LOG.debug("can't determine the leader: {}", e.toString());
      return "";
    }
  }

  /**
   * Begins a term higher than all earlier ones; writes by the stores of earlier terms are rejected
   * from now on.
   */
  public ZooKeeperStateStore claim() throws IOException {
    try {
      rights.close(client);
      ensure(ZooKeeperStateStore.QUERIES);
      ensure(ZooKeeperStateStore.AGENTS);
      ensure(ZooKeeperStateStore.WATCHES);
      while (true) {
        Stat stat = new Stat();
        byte[] previousData = read(stat);
        long last = Long.parseLong(new String(previousData, StandardCharsets.US_ASCII));
        // Control planes without ZooKeeper use the clock as their term, and agents may have seen
        // such a term.
        long term = Math.max(System.currentTimeMillis(), last + 1);
        try {
          Stat newStat =
              client
                  .setData()
                  .withVersion(stat.getVersion())
                  .forPath(TERM, Long.toString(term).getBytes(StandardCharsets.US_ASCII));
          return new ZooKeeperStateStore(client, term, newStat.getVersion());
        } catch (KeeperException.BadVersionException another) {
          LOG.info("another control plane began a term at the same time");
        }
      }
    } catch (Exception e) {
      throw NodeRights.fault(e);
    }
  }

  private void ensure(String path) throws Exception {
    try {
      client.create().creatingParentsIfNeeded().forPath(path, new byte[0]);
    } catch (KeeperException.NodeExistsException e) {
      // The node already exists.
    }
  }

  private byte[] read(Stat stat) throws Exception {
    try {
      return client.getData().storingStatIn(stat).forPath(TERM);
    } catch (KeeperException.NoNodeException first) {
      client.create().orSetData().creatingParentsIfNeeded().forPath(TERM, new byte[] {'0'});
      return client.getData().storingStatIn(stat).forPath(TERM);
    }
  }

  /** Leaves the election; the next candidate takes over immediately. */
  @Override
  public synchronized void close() {
    try {
      if (latch != null) {
        latch.close();
      }
    } catch (IOException e) {
      LOG.debug("could not leave the election before closing the session: {}", e.getMessage());
    }
    client.close();
    tls.close();
  }
}
