package io.tapline.sdn.flow;

/**
 * TCP segments whose flags, after masking, equal a value.
 *
 * @param mask 12 bits; 0 matches any packet, including other protocols
 */
public record TcpFlags(int value, int mask) {
  public static final TcpFlags ANY = new TcpFlags(0, 0);

  private static final int FIN = 1;
  private static final int SYN = 2;
  private static final int RST = 4;

  /** Segments that neither open nor end a connection. */
  public static final TcpFlags DATA = new TcpFlags(0, FIN | SYN | RST);

  public boolean matches(int flags) {
    return (flags & mask) == value;
  }

  /** Returns the flags in the syntax of ovs-ofctl. */
  @Override
  public String toString() {
    return "0x%03x/0x%03x".formatted(value, mask);
  }
}
