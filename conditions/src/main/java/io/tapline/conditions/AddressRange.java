package io.tapline.conditions;

import io.tapline.network.IpPrefix;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Literal;
import java.util.Arrays;
import java.util.Optional;

/**
 * Addresses whose key, under a mask, lies between two keys, both inclusive. A key is the byte 4 or
 * 6, then the address in network order, padded with zeros: IPv4 sorts before IPv6.
 */
record AddressRange(byte[] low, byte[] high, byte[] mask) {
  private static final int KEY_BYTES = 17;

  static byte[] key(byte[] address) {
    byte[] key = new byte[KEY_BYTES];
    key[0] = (byte) (address.length == 4 ? 4 : 6);
    System.arraycopy(address, 0, key, 1, Math.min(address.length, KEY_BYTES - 1));
    return key;
  }

  private static byte[] noMask() {
    byte[] mask = new byte[KEY_BYTES];
    Arrays.fill(mask, (byte) -1);
    return mask;
  }

  /** Returns the addresses of a range, a prefix or a single address. */
  static AddressRange of(ConditionTree.Range range) throws ConditionException {
    if (!range.hasHigh()) {
      return of(range.getLow());
    }
    byte[] low = one(range.getLow());
    byte[] high = one(range.getHigh());
    if (Arrays.compareUnsigned(low, high) > 0) {
      throw new ConditionException(range.getLow().getAt(), "the range ends before it begins");
    }
    return new AddressRange(low, high, noMask());
  }

  static AddressRange of(Literal literal) throws ConditionException {
    if (!literal.getWord().contains("/")) {
      byte[] key = one(literal);
      return new AddressRange(key, key, noMask());
    }
    try {
      IpPrefix prefix = IpPrefix.withLength(literal.getWord());
      byte[] high = prefix.address();
      for (int bit = prefix.length(); bit < prefix.longest(); bit++) {
        high[bit / Byte.SIZE] |= (byte) (0x80 >> bit % Byte.SIZE);
      }
      return new AddressRange(key(prefix.address()), key(high), noMask());
    } catch (IllegalArgumentException e) {
      throw new ConditionException(literal.getAt(), e.getMessage());
    }
  }

  /** Returns the key of one address. */
  static byte[] one(Literal literal) throws ConditionException {
    Optional<IpPrefix> address =
        literal.hasText() ? Optional.empty() : IpPrefix.parse(literal.getWord());
    if (address.isEmpty()) {
      throw new ConditionException(
          literal.getAt(), "'" + literal.getWord() + "' is not an address");
    }
    return key(address.get().address());
  }

  /** Returns the addresses that match a pattern such as 192.*.*.1 or 2001:db8:*:*:*:*:*:1. */
  static AddressRange like(Literal pattern) throws ConditionException {
    String text = pattern.getWord();
    boolean isIpV6 = text.contains(":");
    String[] parts = text.split(isIpV6 ? ":" : "\\.", -1);
    int partBytes = isIpV6 ? 2 : 1;
    if (parts.length * partBytes != (isIpV6 ? 16 : 4)) {
      throw new ConditionException(
          pattern.getAt(), "a pattern must have as many parts as an address");
    }
    byte[] address = new byte[parts.length * partBytes];
    byte[] mask = noMask();
    for (int i = 0; i < parts.length; i++) {
      int value = parts[i].equals("*") ? 0 : part(parts[i], isIpV6, pattern);
      for (int b = 0; b < partBytes; b++) {
        int shift = Byte.SIZE * (partBytes - 1 - b);
        address[i * partBytes + b] = (byte) (value >> shift);
        mask[1 + i * partBytes + b] = (byte) (parts[i].equals("*") ? 0 : -1);
      }
    }
    return new AddressRange(key(address), key(address), mask);
  }

  private static int part(String part, boolean isIpV6, Literal pattern) throws ConditionException {
    boolean isKnown = part.matches(isIpV6 ? "[0-9a-fA-F]{1,8}" : "[0-9]{1,9}");
    long value = isKnown ? Long.parseLong(part, isIpV6 ? 16 : 10) : -1;
    if (value < 0 || value > (isIpV6 ? 0xffff : 0xff)) {
      throw new ConditionException(
          pattern.getAt(), "'" + part + "' is neither a part of an address nor *");
    }
    return (int) value;
  }

  boolean holds(byte[] key) {
    byte[] masked = key.clone();
    for (int i = 0; i < masked.length; i++) {
      masked[i] &= mask[i];
    }
    return Arrays.compareUnsigned(low, masked) <= 0 && Arrays.compareUnsigned(masked, high) <= 0;
  }
}
