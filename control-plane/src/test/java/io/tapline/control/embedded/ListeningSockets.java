package io.tapline.control.embedded;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** Finds the addresses on which a process listens, from /proc (proc_net(5)). */
final class ListeningSockets {
  private static final String LISTEN = "0A";

  private ListeningSockets() {}

  /**
   * Returns the addresses of a process's listening TCP sockets.
   *
   * @param process process ID, or "self"
   */
  static List<String> of(String process) throws IOException {
    Set<String> inodes = inodes(Path.of("/proc", process, "fd"));
    List<String> addresses = new ArrayList<>();
    for (String table : List.of("tcp", "tcp6")) {
      for (String line : Files.readAllLines(Path.of("/proc", process, "net", table))) {
        String[] fields = line.strip().split("\\s+");
        if (fields[3].equals(LISTEN) && inodes.contains("socket:[" + fields[9] + "]")) {
          addresses.add(address(fields[1].substring(0, fields[1].indexOf(':'))));
        }
      }
    }
    return addresses;
  }

  private static Set<String> inodes(Path descriptors) throws IOException {
    Set<String> inodes = new HashSet<>();
    try (Stream<Path> all = Files.list(descriptors)) {
      for (Path descriptor : all.toList()) {
        try {
          inodes.add(Files.readSymbolicLink(descriptor).toString());
        } catch (IOException closedConcurrently) {
          continue;
        }
      }
    }
    return inodes;
  }

  /** Decodes an address: words of 32 bits in host byte order, which is little-endian here. */
  private static String address(String hex) throws IOException {
    byte[] bytes = HexFormat.of().parseHex(hex);
    ByteBuffer words = ByteBuffer.wrap(bytes);
    for (int i = 0; i < bytes.length; i += Integer.BYTES) {
      words.putInt(i, Integer.reverseBytes(words.getInt(i)));
    }
    return InetAddress.getByAddress(bytes).getHostAddress();
  }
}
