package io.tapline.control;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Set;

/**
 * The user at the other end of a TCP connection within this host, according to the kernel's socket
 * tables (proc_net(5)). On loopback, an address proves nothing, but the socket's user does.
 */
public final class LocalPeer {
  private static final Path TABLE = Path.of("/proc/self/net/tcp");
  private static final Path TABLE_6 = Path.of("/proc/self/net/tcp6");
  private static final HexFormat HEX = HexFormat.of().withUpperCase();

  /** Prefix of an IPv4 address in an IPv6 socket (RFC 4291, section 2.5.5.2). */
  private static final byte[] MAPPED = HEX.parseHex("00000000000000000000FFFF");

  private static final String ROOT = "0";

  private static final int IPV6_BYTES = 16;

  /** Index of the column with the socket's user. */
  private static final int USER = 7;

  /** Index of the column with the socket's inode, which is 0 after the socket is closed. */
  private static final int INODE = 9;

  private LocalPeer() {}

  /** Returns this process's user, root, and the user who started this process with sudo. */
  private static Set<String> ownUsers() throws IOException {
    String self = Files.getAttribute(Path.of("/proc/self"), "unix:uid").toString();
    String sudo = self.equals(ROOT) ? System.getenv("SUDO_UID") : null;
    return new HashSet<>(Arrays.asList(self, ROOT, sudo));
  }

  /**
   * Returns true if this process's user, root, or the user who started this process with sudo owns
   * the other end. Returns false if no process does: a closed socket no longer has a user and
   * appears to be root's.
   *
   * @param peer the other end's address
   * @param own this end's address
   */
  public static boolean isOwnUser(InetSocketAddress peer, InetSocketAddress own) {
    byte[] peerAddress = peer.getAddress().getAddress();
    byte[] ownAddress = own.getAddress().getAddress();
    try {
      return peerAddress.length == IPV6_BYTES
          ? isOwnUser(TABLE_6, text(peerAddress, peer), text(ownAddress, own))
          : isOwnUser(TABLE, text(peerAddress, peer), text(ownAddress, own))
              || isOwnUser(TABLE_6, text(mapped(peerAddress), peer), text(mapped(ownAddress), own));
    } catch (IOException e) {
      return false;
    }
  }

  /**
   * Compares rows as strings instead of parsing them all: the table has a row for every socket of
   * this host, and is read for each connection.
   */
  private static boolean isOwnUser(Path table, String local, String remote) throws IOException {
    String wanted = ": " + local + " " + remote + " ";
    try (BufferedReader rows = Files.newBufferedReader(table, StandardCharsets.US_ASCII)) {
      for (String row = rows.readLine(); row != null; row = rows.readLine()) {
        if (row.contains(wanted)) {
          String[] columns = row.strip().split(" +");
          if (columns.length > INODE && !columns[INODE].equals("0")) {
            return ownUsers().contains(columns[USER]);
          }
        }
      }
      return false;
    }
  }

  private static byte[] mapped(byte[] address) {
    byte[] mapped = Arrays.copyOf(MAPPED, MAPPED.length + address.length);
    System.arraycopy(address, 0, mapped, MAPPED.length, address.length);
    return mapped;
  }

  /**
   * Formats an address as {@code 0100007F:1F90}: words of four bytes, each in little-endian order.
   */
  private static String text(byte[] address, InetSocketAddress socket) {
    byte[] words = new byte[address.length];
    for (int i = 0; i < words.length; i++) {
      words[i] = address[i ^ 3];
    }
    return HEX.formatHex(words) + ":" + HEX.toHexDigits((short) socket.getPort());
  }
}
