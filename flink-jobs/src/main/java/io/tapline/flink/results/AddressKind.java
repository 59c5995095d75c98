package io.tapline.flink.results;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** The kind of network to which an address belongs (RFC 6890 and its registries). */
enum AddressKind {
  PUBLIC,
  PRIVATE,
  LOOPBACK,
  LINK_LOCAL,
  /** Not a single host: unspecified, multicast, broadcast or reserved. */
  NO_HOST;

  private record Block(byte[] address, int bits) {
    static Block of(String text) {
      int slash = text.indexOf('/');
      return new Block(
          bytes(text.substring(0, slash)), Integer.parseInt(text.substring(slash + 1)));
    }

    boolean holds(byte[] addressBytes) {
      if (addressBytes.length != address.length) {
        return false;
      }
      for (int bit = 0; bit < bits; bit++) {
        if (((address[bit / 8] ^ addressBytes[bit / 8]) & 0x80 >> bit % 8) != 0) {
          return false;
        }
      }
      return true;
    }
  }

  private static final Map<Block, AddressKind> BLOCKS = new LinkedHashMap<>();

  /** IPv6 blocks whose addresses embed an IPv4 address, with that address's byte offset. */
  private static final Map<Block, Integer> TRANSLATED = new LinkedHashMap<>();

  static {
    // A block that is contained in another block precedes it.
    put(LOOPBACK, "127.0.0.0/8", "::1/128");
    put(LINK_LOCAL, "169.254.0.0/16", "fe80::/10");
    put(PRIVATE, "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10");
    put(PRIVATE, "192.0.0.0/24", "198.18.0.0/15", "fc00::/7", "fec0::/10", "64:ff9b:1::/48");
    put(NO_HOST, "0.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4", "::/128", "ff00::/8", "2001::/32");
    TRANSLATED.put(Block.of("64:ff9b::/96"), 12);
    TRANSLATED.put(Block.of("2002::/16"), 2);
    TRANSLATED.put(Block.of("::ffff:0:0:0/96"), 12);
    TRANSLATED.put(new Block(mappedPrefix(), 96), 12);
    TRANSLATED.put(Block.of("::/96"), 12);
  }

  private static void put(AddressKind kind, String... blocks) {
    Arrays.stream(blocks).forEach(block -> BLOCKS.put(Block.of(block), kind));
  }

  /** Returns the prefix ::ffff:0:0/96, which Java would parse as IPv4. */
  private static byte[] mappedPrefix() {
    byte[] prefix = new byte[16];
    prefix[10] = (byte) 0xff;
    prefix[11] = (byte) 0xff;
    return prefix;
  }

  private static byte[] bytes(String address) {
    try {
      return InetAddress.getByName(address).getAddress();
    } catch (UnknownHostException e) {
      throw new IllegalArgumentException(address + " is not an address", e);
    }
  }

  static AddressKind of(InetAddress address) {
    return of(address.getAddress());
  }

  private static AddressKind of(byte[] address) {
    for (Map.Entry<Block, AddressKind> block : BLOCKS.entrySet()) {
      if (block.getKey().holds(address)) {
        return block.getValue();
      }
    }
    for (Map.Entry<Block, Integer> block : TRANSLATED.entrySet()) {
      if (block.getKey().holds(address)) {
        return of(Arrays.copyOfRange(address, block.getValue(), block.getValue() + 4));
      }
    }
    return PUBLIC;
  }
}
