package io.tapline.control;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;

/**
 * The process at the other end of a TCP connection within this host, as the kernel's tables of
 * sockets show it (proc_net(5)): on loopback an address proves nothing, the user does.
 */
public final class LocalPeer {
  private static final List<Path> TABLES =
      List.of(Path.of("/proc/self/net/tcp"), Path.of("/proc/self/net/tcp6"));
  private static final String ROOT = "0";

  /** Columns of the tables. */
  private static final int LOCAL = 1;

  private static final int REMOTE = 2;
  private static final int USER = 7;
  private static final int INODE = 9;

  private LocalPeer() {}

  /** This process's user, root, and the user who started this process by sudo. */
  private static Set<String> ownUsers() throws IOException {
    String self = Files.getAttribute(Path.of("/proc/self"), "unix:uid").toString();
    String sudo = self.equals(ROOT) ? System.getenv("SUDO_UID") : null;
    return new HashSet<>(Arrays.asList(self, ROOT, sudo));
  }

  /**
   * Returns whether this process's user, root, or the user who started this process by sudo holds
   * the other end. False if no process does: a closed socket has lost its user, and shows root's.
   *
   * @param peer the other end's address
   * @param own this end's
   */
  public static boolean isOwnUser(InetSocketAddress peer, InetSocketAddress own) {
    try {
      Set<String> users = ownUsers();
      for (Path table : TABLES) {
        for (String line : Files.readAllLines(table)) {
          String[] row = line.strip().split(" +");
          if (row.length > INODE && !row[INODE].equals("0") && isOf(row, peer, own)) {
            return users.contains(row[USER]);
          }
        }
      }
      return false;
    } catch (IOException e) {
      return false;
    }
  }

  private static boolean isOf(String[] row, InetSocketAddress peer, InetSocketAddress own)
      throws UnknownHostException {
    return hasPort(row[LOCAL], peer)
        && hasPort(row[REMOTE], own)
        && addressOf(row[LOCAL]).equals(peer.getAddress())
        && addressOf(row[REMOTE]).equals(own.getAddress());
  }

  private static boolean hasPort(String text, InetSocketAddress address) {
    int colon = text.indexOf(':');
    return colon > 0 && text.substring(colon + 1).equals("%04X".formatted(address.getPort()));
  }

  /** Of {@code 0100007F:1F90}: words of four bytes, each with its last byte first. */
  private static InetAddress addressOf(String text) throws UnknownHostException {
    byte[] words = HexFormat.of().parseHex(text, 0, text.indexOf(':'));
    byte[] bytes = new byte[words.length];
    for (int i = 0; i < words.length; i++) {
      bytes[i] = words[i ^ 3];
    }
    return InetAddress.getByAddress(bytes);
  }
}
