package io.tapline.control.coordination;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.utils.ZKPaths;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;

/**
 * Who may do what with nodes in ZooKeeper. Over TLS all below {@code /tapline} is for the subject
 * of the control plane's certificate alone, which control planes of one deployment share; in the
 * clear nobody has a subject, and nodes are everybody's. Thread-safe.
 */
final class NodeRights implements ACLProvider {
  private static final String ROOT = "/";
  private static final String X509 = "x509";

  private final List<ACL> own;
  private final List<String> creators;

  /**
   * Rights of a connection.
   *
   * @param certified whether the connection has a certificate
   * @param creators subjects that may create nodes beside {@code /tapline}; empty: every client
   *     that ZooKeeper admits
   */
  NodeRights(boolean certified, List<String> creators) {
    this.own = certified ? Ids.CREATOR_ALL_ACL : Ids.OPEN_ACL_UNSAFE;
    this.creators = creators;
  }

  @Override
  public List<ACL> getDefaultAcl() {
    return own;
  }

  @Override
  public List<ACL> getAclForPath(String path) {
    return own;
  }

  /**
   * Closes the nodes that others, or versions before this class, left open to more than this
   * subject.
   *
   * @param client of the namespace
   */
  void close(CuratorFramework client) throws Exception {
    if (own.equals(Ids.OPEN_ACL_UNSAFE)) {
      return;
    }
    closeRoot(client.usingNamespace(null));
    // From here on nobody else can add to what is found below.
    client.setACL().withACL(own).forPath(ROOT);
    closeChildren(client, ROOT, client.getACL().forPath(ROOT));
  }

  private void closeRoot(CuratorFramework client) throws Exception {
    if (!creators.isEmpty()) {
      List<ACL> rights = new ArrayList<>(own);
      creators.forEach(subject -> rights.add(new ACL(Perms.CREATE, new Id(X509, subject))));
      client.setACL().withACL(rights).forPath(ROOT);
    }
  }

  /**
   * The same for all that is below a node.
   *
   * @param closed what the server makes of {@link #own}
   */
  private void closeChildren(CuratorFramework client, String path, List<ACL> closed)
      throws Exception {
    for (String name : client.getChildren().forPath(path)) {
      String child = ZKPaths.makePath(path, name);
      try {
        if (!client.getACL().forPath(child).equals(closed)) {
          client.setACL().withACL(own).forPath(child);
        }
        closeChildren(client, child, closed);
      } catch (KeeperException.NoNodeException gone) {
        // As that of a control plane that has left the election.
      }
    }
  }

  /** A failure as a sentence for people. */
  static IOException fault(Exception e) {
    return e instanceof KeeperException.NoAuthException refused
        ? new IOException(
            "ZooKeeper does not let this control plane have %s: it belongs to another certificate's subject"
                .formatted(refused.getPath()),
            e)
        : new IOException("ZooKeeper: " + e.getMessage(), e);
  }
}
