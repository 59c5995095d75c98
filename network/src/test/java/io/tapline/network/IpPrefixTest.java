package io.tapline.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigInteger;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class IpPrefixTest {
  /** Returns an address with mostly zero bits, so that two addresses often share a prefix. */
  private static byte[] address(Random random) {
    byte[] bytes = new byte[random.nextBoolean() ? 4 : 16];
    for (int bits = random.nextInt(4); bits > 0; bits--) {
      bytes[random.nextInt(bytes.length)] |= (byte) (1 << random.nextInt(8));
    }
    return bytes;
  }

  private static IpPrefix prefix(Random random) {
    byte[] address = address(random);
    int length = random.nextInt(8 * address.length + 1);
    return new IpPrefix(address, 8 * address.length).shortened(length);
  }

  /** Compares bit by bit. */
  private static boolean covers(byte[] prefix, int length, byte[] address) {
    int hostBits = 8 * prefix.length - length;
    return prefix.length == address.length
        && new BigInteger(1, prefix)
            .shiftRight(hostBits)
            .equals(new BigInteger(1, address).shiftRight(hostBits));
  }

  @Test
  void parsesTextLikeTheJdk() throws UnknownHostException {
    Random random = new Random(1);
    for (int i = 0; i < 2000; i++) {
      byte[] bytes = address(random);
      String text = InetAddress.getByAddress(bytes).getHostAddress();
      IpPrefix prefix = IpPrefix.parse(text).orElseThrow();
      if (prefix.isIpv6() || bytes.length == 4) {
        assertThat(prefix.address()).as(text).isEqualTo(bytes);
      }
      assertThat(prefix.length()).isEqualTo(prefix.longest());
      assertThat(IpPrefix.parse(prefix.addressText())).contains(prefix);
      assertThat(IpPrefix.of(prefix.toString())).isEqualTo(prefix);
      assertThat(new IpPrefix(prefix.address(), prefix.length())).isEqualTo(prefix);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "0.0.0.0, 0.0.0.0/32",
    "255.255.255.255, 255.255.255.255/32",
    "::, ::/128",
    "::1, ::1/128",
    "2001:DB8:0:0:0:0:0:1, 2001:db8::1/128",
    "1:0:0:2:0:0:0:3, 1:0:0:2::3/128",
    "1:0:0:2:0:0:3:4, 1::2:0:0:3:4/128",
    "1:0:2:3:4:5:6:7, 1:0:2:3:4:5:6:7/128",
    "1:2:3:4:5:6:7::, 1:2:3:4:5:6:7:0/128",
    "::ffff:10.0.0.1, ::ffff:a00:1/128",
  })
  void formatsTheShortestTextOfAnAddress(String text, String shortest) {
    assertThat(IpPrefix.parse(text)).hasToString("Optional[" + shortest + "]");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "10.0.0",
        "10.0.0.0.0",
        "10.0.0.256",
        "10.0.0.01",
        "10.0.0.-1",
        "10.0.0.1/32",
        " 10.0.0.1",
        "4294967296.0.0.1",
        "h1",
        ":",
        ":::",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "1:2:3:4:5:6:7::8",
        "1::2::3",
        "12345::",
        "g::",
        "::10.0.0.1:1",
        "fe80::1%eth0",
      })
  void rejectsOtherTextAsAddress(String text) {
    assertThat(IpPrefix.parse(text)).isEmpty();
  }

  @Test
  void anyAddressIsAnEmptyString() {
    assertThat(IpPrefix.of("")).isEqualTo(IpPrefix.ANY);
    assertThat(IpPrefix.ANY).hasToString("");
    assertThat(IpPrefix.of("10.0.0.1")).hasToString("10.0.0.1/32");
    assertThat(IpPrefix.of("0.0.0.0/0"))
        .isEqualTo(IpPrefix.all(4))
        .isNotEqualTo(IpPrefix.ANY)
        .hasToString("0.0.0.0/0");
    assertThat(IpPrefix.of("::/0")).isEqualTo(IpPrefix.all(6)).hasToString("::/0");
    assertThat(IpPrefix.of("10.1.2.3/8")).hasToString("10.0.0.0/8");
    assertThat(IpPrefix.of("2001:db8:1:2:3::/65")).hasToString("2001:db8:1:2::/65");
  }

  @Test
  void malformedPrefixesAreNamed() {
    assertThatThrownBy(() -> IpPrefix.of("h1"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("'h1' is not a prefix");
    for (String text : new String[] {"", "10.0.0.1", "/8", "10.0.0/8", "10.0.0.0/", "::/x", "::"}) {
      assertThatThrownBy(() -> IpPrefix.withLength(text))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("'" + text + "' is not an address/length");
    }
    for (String text : new String[] {"10.0.0.0/33", "10.0.0.0/-1", "::/129"}) {
      assertThatThrownBy(() -> IpPrefix.withLength(text))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("'" + text + "' has an invalid prefix length");
      assertThatThrownBy(() -> IpPrefix.of(text))
          .hasMessage("'" + text + "' has an invalid prefix length");
    }
    assertThatThrownBy(() -> new IpPrefix(new byte[5], 8))
        .hasMessage("an address has 4 or 16 bytes, not 5");
  }

  @Test
  void coversTheAddressesThatShareItsBits() {
    Random random = new Random(2);
    int covered = 0;
    for (int i = 0; i < 20_000; i++) {
      IpPrefix wide = prefix(random);
      IpPrefix narrow = prefix(random);
      byte[] address = address(random);
      boolean expected = covers(wide.address(), wide.length(), address);
      assertThat(wide.covers(address)).as("%s, %s", wide, address).isEqualTo(expected);
      assertThat(IpPrefix.ANY.covers(address)).isTrue();
      boolean around =
          wide.length() <= narrow.length()
              && covers(wide.address(), wide.length(), narrow.address());
      assertThat(wide.covers(narrow)).as("%s, %s", wide, narrow).isEqualTo(around);
      assertThat(wide.overlaps(narrow)).isEqualTo(around || narrow.covers(wide));
      assertThat(narrow.overlaps(wide)).isEqualTo(wide.overlaps(narrow));
      if (wide.overlaps(narrow)) {
        assertThat(wide.and(narrow)).isEqualTo(around ? narrow : wide);
      }
      covered += expected ? 1 : 0;
    }
    assertThat(covered).isGreaterThan(1000);
    assertThat(IpPrefix.ANY.covers(new byte[0])).isFalse();
    assertThat(IpPrefix.all(4).covers(new byte[16])).isFalse();
    assertThat(IpPrefix.all(6).covers(IpPrefix.ANY)).isFalse();
  }

  @Test
  void theHalvesOfAPrefixMergeIntoIt() {
    Random random = new Random(3);
    for (int i = 0; i < 5000; i++) {
      IpPrefix wholePrefix = prefix(random);
      if (wholePrefix.length() == wholePrefix.longest()) {
        continue;
      }
      byte[] bytes = wholePrefix.address();
      bytes[wholePrefix.length() / 8] |= (byte) (0x80 >> wholePrefix.length() % 8);
      IpPrefix upper = new IpPrefix(bytes, wholePrefix.length() + 1);
      IpPrefix lower = new IpPrefix(wholePrefix.address(), wholePrefix.length() + 1);
      assertThat(lower.joined(upper)).isEqualTo(wholePrefix);
      assertThat(upper.joined(lower)).isEqualTo(wholePrefix);
      assertThat(lower.joined(lower)).isNull();
      assertThat(wholePrefix.joined(upper)).isNull();
    }
    assertThat(IpPrefix.of("10.0.1.0/24").joined(IpPrefix.of("10.0.2.0/24"))).isNull();
    assertThat(IpPrefix.ANY.joined(IpPrefix.ANY)).isNull();
    assertThat(IpPrefix.all(4).joined(IpPrefix.all(4))).isNull();
  }
}
