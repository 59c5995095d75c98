package io.tapline.network.rules;

import java.util.ArrayList;
import java.util.List;

/**
 * Ports that agree with a value in the bits of a mask, as OpenFlow switches match them.
 *
 * @param mask 16 bits; 0 matches any port
 */
public record PortMask(int value, int mask) {
  public static final PortMask ANY = new PortMask(0, 0);
  private static final int ALL_BITS = 0xffff;

  public PortMask {
    value &= mask;
  }

  public static PortMask of(int port) {
    return new PortMask(port, ALL_BITS);
  }

  /** Returns the fewest masks that together cover exactly the ports from first to last. */
  public static List<PortMask> range(int first, int last) {
    List<PortMask> masks = new ArrayList<>();
    int port = first;
    while (port <= last) {
      int size = port == 0 ? ALL_BITS + 1 : Integer.lowestOneBit(port);
      while (port + size - 1 > last) {
        size /= 2;
      }
      masks.add(new PortMask(port, ALL_BITS & -size));
      port += size;
    }
    return masks;
  }

  /**
   * Returns the ports with {@code count} zeros starting with the second lowest bit: half of all
   * ports, a quarter, etc. Linux assigns even ports to clients first, so the lowest bit carries
   * little information.
   */
  static PortMask zeros(int count) {
    return new PortMask(0, ((1 << count) - 1) << 1);
  }

  int bits() {
    return Integer.bitCount(mask);
  }

  boolean covers(int port) {
    return (port & mask) == value;
  }

  boolean covers(PortMask otherMask) {
    return (mask & ~otherMask.mask) == 0 && (otherMask.value & mask) == value;
  }

  boolean overlaps(PortMask otherMask) {
    return ((value ^ otherMask.value) & mask & otherMask.mask) == 0;
  }

  /** Returns the intersection. REQUIRES: the two overlap. */
  PortMask and(PortMask otherMask) {
    return new PortMask(value | otherMask.value, mask | otherMask.mask);
  }

  /** Returns the union of both as one mask if they differ in one bit; else null. */
  PortMask joined(PortMask otherMask) {
    int difference = value ^ otherMask.value;
    boolean siblings = mask == otherMask.mask && Integer.bitCount(difference) == 1;
    return siblings ? new PortMask(value, mask & ~difference) : null;
  }

  /** Returns the mask as ovs-ofctl writes it. */
  @Override
  public String toString() {
    return mask == ALL_BITS ? String.valueOf(value) : "0x%x/0x%x".formatted(value, mask);
  }
}
