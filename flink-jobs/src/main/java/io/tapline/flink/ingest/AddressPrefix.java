package io.tapline.flink.ingest;

import java.net.InetAddress;
import java.net.UnknownHostException;

/**
 * An address and the number of its significant bits.
 *
 * @param address 4 or 16 bytes
 */
record AddressPrefix(byte[] address, int length) {
  /**
   * Parses "address/length".
   *
   * @throws IllegalArgumentException if the text is not that
   */
  static AddressPrefix parse(String text) {
    int slash = text.indexOf('/');
    String address = slash < 0 ? "" : text.substring(0, slash);
    if (!address.matches("[0-9.]+|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*")) {
      throw new IllegalArgumentException("'" + text + "' is no address/length");
    }
    try {
      byte[] bytes = InetAddress.getByName(address).getAddress();
      int length = Integer.parseInt(text.substring(slash + 1));
      boolean mapped = address.indexOf(':') >= 0 && bytes.length == 4;
      byte[] whole = mapped ? mapped(bytes) : bytes;
      if (length < 0 || length > 8 * whole.length) {
        throw new IllegalArgumentException("'" + text + "' has no such length");
      }
      return new AddressPrefix(whole, length);
    } catch (UnknownHostException | NumberFormatException e) {
      throw new IllegalArgumentException("'" + text + "' is no address/length", e);
    }
  }

  /** Returns ::ffff:a.b.c.d, which Java parses as IPv4. */
  private static byte[] mapped(byte[] ipv4) {
    byte[] bytes = new byte[16];
    bytes[10] = (byte) 0xff;
    bytes[11] = (byte) 0xff;
    System.arraycopy(ipv4, 0, bytes, 12, 4);
    return bytes;
  }

  /** Returns true for covered addresses of the same family. */
  boolean covers(byte[] other) {
    if (other.length != address.length) {
      return false;
    }
    for (int bit = 0; bit < length; bit += 8) {
      int mask = length - bit >= 8 ? 0xff : 0xff << (8 - (length - bit)) & 0xff;
      if (((other[bit / 8] ^ address[bit / 8]) & mask) != 0) {
        return false;
      }
    }
    return true;
  }
}
