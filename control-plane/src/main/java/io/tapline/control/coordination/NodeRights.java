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
 * Access rights on ZooKeeper's nodes. Over TLS, only clients with the subject of the control
 * plane's certificate, which the control planes of a deployment share, can access anything below
 * {@code /tapline}; without TLS there are no subjects, and nodes are open to every client.
 * Thread-safe.
 */
final class NodeRights implements ACLProvider {
  private static final String ROOT = "/";
  private static final String X509 = "x509";

  private final List<ACL> own;
  private final List<String> creators;

  /**
   * Creates the rights of a connection.
   *
   * @param certified true if the connection has a certificate
   * @param creators subjects that may create nodes next to {@code /tapline}; if empty, the ACL of
   *     the root node is left unchanged
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
   * Restricts access to nodes that other clients, or versions that set no ACLs, left open to other
   * subjects.
   *
   * @param client client in the namespace {@code /tapline}
   */
  void close(CuratorFramework client) throws Exception {
    if (own.equals(Ids.OPEN_ACL_UNSAFE)) {
      return;
    }
    closeRoot(client.usingNamespace(null));
    // Sets the ACL before listing the children, so that other clients can't add any in between.
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
   * Sets the ACLs of all descendants of a node.
   *
   * @param closedACLs {@link #own} as the server stores it
   */
  private void closeChildren(CuratorFramework client, String path, List<ACL> closedACLs)
      throws Exception {
    for (String name : client.getChildren().forPath(path)) {
      String child = ZKPaths.makePath(path, name);
      try {
        if (!client.getACL().forPath(child).equals(closedACLs)) {
          client.setACL().withACL(own).forPath(child);
        }
        closeChildren(client, child, closedACLs);
      } catch (KeeperException.NoNodeException e) {
        // The node no longer exists, for example because its control plane has left the election.
      }
    }
  }

  /** Converts a failure to an exception with a user-facing message. */
  static IOException fault(Exception e) {
    return e instanceof KeeperException.NoAuthException refused
        ? new IOException(
            "ZooKeeper denies this control plane access to %s: another certificate's subject owns it"
                .formatted(refused.getPath()),
            e)
        : new IOException("ZooKeeper: " + e.getMessage(), e);
  }
}
